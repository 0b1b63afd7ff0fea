import { startIdentity } from './start.js';

/** The identity provider as a process of the local world; its settings come from IDENTITY_* (local/world/…). */

const setting = (name: string): string => {
  const value = process.env[`IDENTITY_${name}`];
  if (!value) throw new Error(`IDENTITY_${name} is not set`);
  return value;
};

const identity = await startIdentity({
  port: Number(setting('PORT')),
  dir: setting('DIR'),
  clientId: setting('CLIENT_ID'),
  redirectUri: setting('REDIRECT_URI'),
  audience: setting('AUDIENCE'),
});
console.log(JSON.stringify({ level: 'info', msg: 'identity provider is up', url: identity.url }));

process.once('SIGTERM', () => {
  void identity.close().then(() => process.exit(0));
});
