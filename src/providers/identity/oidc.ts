import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose';
import { z } from 'zod';
import { ApiError } from '../../contract/errors.js';

export interface OidcOptions {
  issuer: string;
  audience: string;
  algorithms: string[];
  /** Found by discovery when absent. */
  jwksUrl?: string | undefined;
  /** `claim=value` that makes a person an operator. */
  operatorClaim?: string | undefined;
  operatorSubjects: string[];
}

/** A person as the identity provider vouches for them. */
export interface Identity {
  issuer: string;
  subject: string;
  email: string;
  name: string;
  isOperator: boolean;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

export type VerifyIdentity = (token: string) => Promise<Identity>;

const CLOCK_TOLERANCE_SECONDS = 30;
const DISCOVERY_TIMEOUT_MS = 5_000;

const keyTroubles = new Set(['ERR_JOSE_GENERIC', 'ERR_JWKS_INVALID', 'ERR_JWKS_TIMEOUT']);

const Discovery = z.object({ issuer: z.string(), jwks_uri: z.url() });

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

const unavailable = () =>
  new ApiError('unavailable', 'The identity provider does not answer; try again.', { retryAfterSeconds: 5 });

const discover = async (issuer: string): Promise<URL> => {
  const response = await fetch(`${issuer}/.well-known/openid-configuration`, {
    signal: AbortSignal.timeout(DISCOVERY_TIMEOUT_MS),
  });
  const found = Discovery.parse(await response.json());
  if (found.issuer.replace(/\/$/, '') !== issuer.replace(/\/$/, ''))
    throw new Error(`the discovery document is of another issuer: ${found.issuer}`);
  return new URL(found.jwks_uri);
};

/** Why a bearer was refused, in words that help its sender. */
const refusal = (error: unknown, audience: string): ApiError => {
  if (error instanceof errors.JWTExpired) return new ApiError('token_expired', 'The access token has expired.');
  if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'aud')
    return new ApiError(
      'unauthenticated',
      `The token is not for the audience ${audience}: ask for it when you sign in.`,
      {
        tokenSent: true,
      },
    );
  // Its keys could not be had: that says nothing of the token, which must not be thrown away.
  if (!(error instanceof errors.JOSEError) || keyTroubles.has(error.code)) return unavailable();
  return new ApiError('unauthenticated', 'The token is not one of our identity provider.', { tokenSent: true });
};

/** Verifies bearers of an OIDC issuer through its JWKS, which is fetched again when a key is unknown (at most twice a minute). */
export const makeOidc = (options: OidcOptions): VerifyIdentity => {
  const { issuer, audience, algorithms } = options;
  const [claim, claimValue] = options.operatorClaim?.split(/=(.*)/s) ?? [];
  let keys: ReturnType<typeof createRemoteJWKSet> | undefined;
  const keySet = async () => {
    keys ??= createRemoteJWKSet(options.jwksUrl === undefined ? await discover(issuer) : new URL(options.jwksUrl));
    return keys;
  };
  const isOperator = (payload: JWTPayload): boolean => {
    if (options.operatorSubjects.includes(payload.sub ?? '')) return true;
    const value = claim === undefined ? undefined : payload[claim];
    return Array.isArray(value) ? value.includes(claimValue) : value !== undefined && value === claimValue;
  };

  return async (token) => {
    if (token.split('.').length !== 3)
      throw new ApiError(
        'unauthenticated',
        'The bearer is not a JWT: ask the identity provider for an access token with our audience.',
        { tokenSent: true },
      );
    try {
      const { payload } = await jwtVerify(token, await keySet(), {
        // Some write their issuer with a slash at the end; the setting is kept without one.
        issuer: [issuer, `${issuer}/`],
        audience,
        algorithms,
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        requiredClaims: ['sub', 'exp'],
      });
      return {
        issuer,
        subject: payload.sub ?? '',
        email: text(payload['email']),
        name: text(payload['name']) || text(payload['email']),
        isOperator: isOperator(payload),
        expiresAt: (payload.exp ?? 0) * 1_000,
      };
    } catch (error) {
      throw refusal(error, audience);
    }
  };
};
