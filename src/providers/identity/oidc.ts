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
  /** Hears why the provider's keys could not be had. */
  onTrouble?: (error: unknown) => void;
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
/** A key that the provider withdraws opens nothing for longer than this. */
const KEYS_KEPT_MS = 60_000;
const DISCOVERY_TIMEOUT_MS = 5_000;

const keyTroubles = new Set(['ERR_JOSE_GENERIC', 'ERR_JWKS_INVALID', 'ERR_JWKS_TIMEOUT']);

const Discovery = z.object({ issuer: z.string(), jwks_uri: z.url() });

/** Of the header's `typ`: tokens for other purposes (a logout token) are signed by the same keys. */
const accessTypes = new Set(['jwt', 'at+jwt', 'application/at+jwt']);

/** What we keep of the claims. PostgreSQL takes no NUL, and halves of surrogate pairs would make two subjects one. */
const wellFormed = (text: string): boolean => !/[\p{Cs}\0]/u.test(text);
const Claims = z.object({
  sub: z.string().min(1).max(255).refine(wellFormed),
  exp: z.number(),
  email: z.string().max(320).refine(wellFormed).catch(''),
  name: z.string().max(200).refine(wellFormed).catch(''),
});

const unavailable = () =>
  new ApiError('unavailable', 'The identity provider does not answer; try again.', { retryAfterSeconds: 5 });

const discover = async (issuer: string): Promise<URL> => {
  const response = await fetch(`${issuer}/.well-known/openid-configuration`, {
    signal: AbortSignal.timeout(DISCOVERY_TIMEOUT_MS),
  });
  const found = Discovery.safeParse(response.ok ? await response.json() : undefined).data;
  if (!found) throw new Error(`the discovery document cannot be read: the provider answered ${response.status}`);
  if (found.issuer.replace(/\/$/, '') !== issuer.replace(/\/$/, ''))
    throw new Error(`the discovery document is of another issuer: ${found.issuer}`);
  return new URL(found.jwks_uri);
};

const notOurs = (): ApiError =>
  new ApiError('unauthenticated', 'The token is no access token of our identity provider.', { tokenSent: true });

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
  return notOurs();
};

/** Verifies bearers of an OIDC issuer through its JWKS, which is fetched again when a key is unknown (at most twice a minute). */
export const makeOidc = (options: OidcOptions): VerifyIdentity => {
  const { issuer, audience, algorithms } = options;
  const [claim, claimValue] = options.operatorClaim?.split(/=(.*)/s) ?? [];
  let keys: ReturnType<typeof createRemoteJWKSet> | undefined;
  const keySet = async () => {
    keys ??= createRemoteJWKSet(options.jwksUrl === undefined ? await discover(issuer) : new URL(options.jwksUrl), {
      cacheMaxAge: KEYS_KEPT_MS,
    });
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
      const { payload, protectedHeader } = await jwtVerify(token, await keySet(), {
        // Some write their issuer with a slash at the end; the setting is kept without one.
        issuer: [issuer, `${issuer}/`],
        audience,
        algorithms,
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        requiredClaims: ['sub', 'exp'],
      });
      const { sub, exp, email, name } = Claims.parse(payload);
      if (!accessTypes.has((protectedHeader.typ ?? 'JWT').toLowerCase())) throw notOurs();
      return {
        issuer,
        subject: sub,
        email,
        name: name || email,
        isOperator: isOperator(payload),
        expiresAt: exp * 1_000,
      };
    } catch (error) {
      if (error instanceof z.ZodError || error instanceof ApiError) throw notOurs();
      const refused = refusal(error, audience);
      if (refused.code === 'unavailable') options.onTrouble?.(error);
      throw refused;
    }
  };
};
