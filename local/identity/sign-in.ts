import { createHash, randomBytes } from 'node:crypto';
import { Failure } from '../process/failure.js';
import { Browser } from './browser.js';
import type { IdentityClient } from './provider.js';

export interface SignIn extends IdentityClient {
  issuer: string;
  email: string;
  password: string;
}

/**
 * Signs in the way a person's browser does (authorize, login form, code, token) and answers the access token.
 * @throws Failure when the provider is not there or refuses
 */
export async function signIn({ issuer, email, password, ...client }: SignIn): Promise<string> {
  const endpoints = await discover(issuer);
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    client_id: client.clientId,
    redirect_uri: client.redirectUri,
    response_type: 'code',
    scope: 'openid email profile',
    resource: client.audience,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state: randomBytes(8).toString('hex'),
  });
  const browser = new Browser(client.redirectUri);
  const form = await browser.visit(`${endpoints.authorization_endpoint}?${query.toString()}`);
  if (!form.isPage) return trade(endpoints.token_endpoint, form.url, verifier, client);
  const back = await browser.submit(form.url, { email, password });
  if (back.isPage) throw new Failure(`The identity provider refused ${email}: wrong address or password.`);
  return trade(endpoints.token_endpoint, back.url, verifier, client);
}

async function trade(
  endpoint: string,
  back: string,
  verifier: string,
  { clientId, redirectUri, audience }: IdentityClient,
): Promise<string> {
  const code = new URL(back).searchParams.get('code');
  if (!code) throw new Failure(`The identity provider gave no code: ${new URL(back).search}`);
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    client_id: clientId,
    redirect_uri: redirectUri,
    resource: audience,
    code_verifier: verifier,
    code,
  });
  const answer = await fetch(endpoint, { method: 'POST', body });
  const text = await answer.text();
  if (!answer.ok) throw new Failure(`The identity provider gave no token: ${text}`);
  return (JSON.parse(text) as { access_token: string }).access_token; // RFC 6749, 5.1
}

interface Endpoints {
  authorization_endpoint: string;
  token_endpoint: string;
}

async function discover(issuer: string): Promise<Endpoints> {
  try {
    const answer = await fetch(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
    return (await answer.json()) as Endpoints; // OpenID Connect Discovery 1.0, section 3
  } catch {
    throw new Failure(`The identity provider ${issuer} does not answer: is the world running (npm start)?`);
  }
}
