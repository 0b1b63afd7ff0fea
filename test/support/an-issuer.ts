import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

export interface Issuer {
  url: string;
  audience: string;
  /** A signed access token; claims win over the defaults. */
  token(subject: string, claims?: Record<string, unknown>, header?: { typ?: string }): Promise<string>;
  /** Signs with a new key from now on; the old one is published no longer. */
  rotate(): Promise<void>;
  close(): Promise<void>;
}

/** An identity provider as far as an API sees it: discovery, keys, signed tokens. The whole of one is in local/identity. */
export const anIssuer = async (): Promise<Issuer> => {
  const newKey = async (kid: string) => {
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' } };
  };
  let key = await newKey('test');
  const audience = 'https://agents.test';
  let url = '';
  const server = createServer((request, response) => {
    const body =
      request.url === '/jwks'
        ? { keys: [key.jwk] }
        : { issuer: url, jwks_uri: `${url}/jwks`, authorization_endpoint: url };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server has one
  return {
    url,
    audience,
    token: (subject, claims = {}, header = {}) =>
      new SignJWT({ email: `${subject}@example.com`, name: subject, ...claims })
        .setProtectedHeader({ alg: 'ES256', kid: key.kid, ...header })
        .setSubject(subject)
        .setIssuer(typeof claims['iss'] === 'string' ? claims['iss'] : url)
        .setAudience(typeof claims['aud'] === 'string' ? claims['aud'] : audience)
        .setIssuedAt()
        .setExpirationTime(typeof claims['exp'] === 'number' ? claims['exp'] : '1h')
        .sign(key.privateKey),
    rotate: async () => {
      key = await newKey(`${key.kid}-next`);
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};
