import { Provider, type Configuration } from 'oidc-provider';
import type { IdentityKeys } from './keys.js';
import { subjectOf, type LocalUser } from './users.js';

export interface IdentityClient {
  clientId: string;
  redirectUri: string;
  /** `aud` of the access tokens: the API's name. */
  audience: string;
}

export type Users = () => Promise<readonly LocalUser[]>;

const hour = 3_600;

/**
 * An OpenID provider for development: one public client (code + PKCE), access tokens as JWTs that carry email, name and
 * role. Its own sessions and codes live in memory: after a restart people sign in again, their tokens stay good.
 */
export function makeProvider(
  issuer: string,
  { clientId, redirectUri, audience }: IdentityClient,
  keys: IdentityKeys,
  users: Users,
): Provider {
  const origin = new URL(redirectUri).origin;
  const bySubject = async (sub: string) => (await users()).find((user) => subjectOf(user) === sub);
  const suffix = new URL(issuer).port; // cookies know no ports: two worlds share one host
  const configuration: Configuration = {
    clients: [
      {
        client_id: clientId,
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        redirect_uris: [redirectUri],
        post_logout_redirect_uris: [`${origin}/`],
      },
    ],
    jwks: { keys: [keys.signing] },
    cookies: {
      keys: [keys.cookie],
      names: {
        session: `session_${suffix}`,
        interaction: `interaction_${suffix}`,
        resume: `resume_${suffix}`,
      },
    },
    claims: { openid: ['sub', 'role'], email: ['email', 'email_verified'], profile: ['name'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    clientBasedCORS: (_ctx, asking) => asking === origin,
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => audience, // so that a client which names no audience gets a JWT for ours
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          audience,
          scope: '',
          accessTokenFormat: 'jwt',
          accessTokenTTL: 12 * hour, // long enough that a token in a shell lasts the day
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    ttl: {
      Session: 14 * 24 * hour,
      Interaction: hour,
      Grant: 14 * 24 * hour,
      IdToken: hour,
      AuthorizationCode: 60,
      RefreshToken: 14 * 24 * hour,
    },
    issueRefreshToken: () => true,
    findAccount: async (_ctx, sub) => {
      const user = await bySubject(sub);
      return user && { accountId: sub, claims: () => ({ sub, email_verified: true, ...claimsOf(user) }) };
    },
    extraTokenClaims: async (_ctx, token) => {
      const user = 'accountId' in token && (await bySubject(token.accountId));
      return user ? claimsOf(user) : undefined;
    },
    // The client is ours: nobody is asked for consent.
    loadExistingGrant: async ({ oidc }) => {
      const grant = new oidc.provider.Grant({ clientId, accountId: oidc.session?.accountId });
      grant.addOIDCScope('openid email profile offline_access');
      await grant.save();
      return grant;
    },
  };
  return new Provider(issuer, configuration);
}

const claimsOf = ({ email, name, role }: LocalUser) => ({ email, name, role });
