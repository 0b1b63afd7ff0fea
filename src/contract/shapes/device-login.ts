import { z } from 'zod';
import { Name, Timestamp } from '../common.js';
import { Scopes, SessionScope, TokenPair } from './session.js';

export const DeviceStart = z.strictObject({
  clientName: Name(100)
    .regex(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*$/u, 'must be one line without control characters')
    .optional()
    .describe('Shown to the person who approves'),
  kind: z.enum(['cli', 'mcp']).optional().describe('What kind of client it is; `cli` unless told'),
  scopes: Scopes.optional().describe('What the client asks for; `*` unless told'),
});

/** spec.md 2.1 */
export const DeviceLogin = z.strictObject({
  deviceCode: z.string(),
  userCode: z.string(),
  verificationUri: z.string(),
  verificationUriComplete: z.string(),
  expiresIn: z.number().int(),
  interval: z.number().int(),
  status: z.literal('pending'),
});

export const DevicePoll = z.strictObject({ deviceCode: z.string().max(256) });

/** RFC 8628's outcomes as a status; the pair once it is authorized (spec.md 3.1). */
export const DevicePollAnswer = z.union([
  z.strictObject({ status: z.enum(['authorization_pending', 'slow_down']), interval: z.number().int() }),
  z.strictObject({ status: z.enum(['access_denied', 'expired_token']) }),
  TokenPair,
]);

const userCode = z.string().max(32).describe('The code the device shows; case and punctuation do not matter');

export const DeviceApproval = z.strictObject({
  userCode,
  scopes: Scopes.optional().describe('What to grant: what was asked for, or less'),
});
export const DeviceDenial = z.strictObject({ userCode });
export const DeviceLookupQuery = z.object({ userCode });

export const DeviceDecision = z.strictObject({
  ok: z.literal(true),
  status: z.enum(['approved', 'denied']),
  clientName: z.string(),
});

export const DeviceLookup = z.strictObject({
  clientName: z.string(),
  address: z.string().nullable(),
  scopes: z.array(SessionScope),
  requestedAt: Timestamp,
  expiresAt: Timestamp,
});
