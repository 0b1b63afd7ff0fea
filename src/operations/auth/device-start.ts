import { DEVICE_CODE_SECONDS, openDeviceLogin, POLL_SECONDS, showUserCode } from '../../models/device-login.js';
import type { Operation } from '../operation.js';

export const deviceStart: Operation<'auth.device.start'> = async ({ db, keys, publicUrl }, { body, address }) => {
  const { clientName = 'An unnamed client', kind = 'cli', scopes = ['*'] } = body ?? {};
  const { deviceCode, userCode } = await openDeviceLogin(db, keys, { clientName, kind, scopes, address });
  const shown = showUserCode(userCode);
  const verificationUri = `${publicUrl}/auth/device`;
  return {
    status: 200,
    body: {
      deviceCode,
      userCode: shown,
      verificationUri,
      verificationUriComplete: `${verificationUri}?user_code=${shown}`,
      expiresIn: DEVICE_CODE_SECONDS,
      interval: POLL_SECONDS,
      status: 'pending',
    },
  };
};
