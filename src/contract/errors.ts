import type { Job } from './shapes/job.js';

/**
 * Every error the service can name, once: code -> HTTP status and title.
 * Jobs fail with codes of the same list; codes that only jobs use have no status of their own and read as 500.
 */
export const errorCodes = {
  invalid_request: { status: 400, title: 'The request is not valid' },
  unauthenticated: { status: 401, title: 'Authentication is required' },
  token_expired: { status: 401, title: 'The token has expired' },
  token_reused: { status: 401, title: 'The token was used before' },
  plan_required: { status: 402, title: 'The plan does not allow this' },
  limit_reached: { status: 402, title: 'A limit of the plan is reached' },
  insufficient_credits: { status: 402, title: 'Not enough credits' },
  payment_past_due: { status: 402, title: 'A payment is past due' },
  forbidden: { status: 403, title: 'Not allowed' },
  scope_required: { status: 403, title: 'The session lacks a scope' },
  delegation_required: { status: 403, title: 'A delegation is required' },
  operator_required: { status: 403, title: 'Only operators may do this' },
  grant_invalid: { status: 403, title: 'The grant is not valid' },
  model_not_allowed: { status: 403, title: 'The model is not allowed' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  conflict: { status: 409, title: 'The state of the resource does not allow this' },
  operation_in_progress: { status: 409, title: 'Another operation is in progress' },
  agent_not_provisioned: { status: 409, title: 'The agent has no machine yet' },
  agent_not_online: { status: 409, title: 'The agent is not online' },
  channel_not_configured: { status: 409, title: 'The channel is not configured' },
  already_decided: { status: 409, title: 'Already decided' },
  request_expired: { status: 409, title: 'The request has expired' },
  grant_already_used: { status: 409, title: 'The grant was used before' },
  payload_too_large: { status: 413, title: 'The payload is too large' },
  unsupported_media_type: { status: 415, title: 'The media type is not supported' },
  idempotency_key_reused: { status: 422, title: 'The idempotency key was used for another request' },
  rate_limited: { status: 429, title: 'Too many requests' },
  internal: { status: 500, title: 'Something went wrong on our side' },
  upstream_failed: { status: 502, title: 'An upstream service failed' },
  unavailable: { status: 503, title: 'The service is unavailable for the moment' },
  upstream_timeout: { status: 504, title: 'An upstream service did not answer in time' },
  // Jobs only.
  canceled: { status: 500, title: 'Canceled' },
  superseded: { status: 500, title: 'Superseded by a later request' },
  deadline_exceeded: { status: 500, title: 'Not finished in time' },
  outcome_unknown: { status: 500, title: 'The outcome is not known' },
  host_capacity: { status: 500, title: 'The machine host has no capacity' },
  host_unreachable: { status: 500, title: 'The machine host cannot be reached' },
  machine_not_ready: { status: 500, title: 'The machine did not become ready' },
  card_declined: { status: 500, title: 'The card was declined' },
  authentication_required: { status: 500, title: 'The card needs its owner' },
  no_payment_method: { status: 500, title: 'No payment method' },
  messenger_token_rejected: { status: 500, title: 'The messenger rejected the token' },
  messenger_login_expired: { status: 500, title: 'The messenger login expired' },
  messenger_login_failed: { status: 500, title: 'The messenger login failed' },
  vendor_misconfigured: { status: 500, title: 'A vendor refused our credentials' },
  update_failed: { status: 500, title: 'The update failed' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ErrorCode = keyof typeof errorCodes;

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && Object.hasOwn(errorCodes, code);

export interface FieldError {
  /** JSON pointer (RFC 6901) into the body, or `query/<name>`, `path/<name>`. */
  pointer: string;
  message: string;
}

export interface ErrorExtra {
  errors?: FieldError[];
  /** The job that stands in the way. */
  job?: Job;
  retryAfterSeconds?: number;
  /** A token came with the request and was refused (RFC 6750). */
  tokenSent?: boolean;
  headers?: Record<string, string>;
}

/** The one error that operations and rules throw; rendered as problem+json (RFC 9457) by src/api/render-error.ts. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly extra: ErrorExtra;

  constructor(code: ErrorCode, detail?: string, extra: ErrorExtra = {}) {
    super(detail ?? errorCodes[code].title);
    this.name = 'ApiError';
    this.code = code;
    this.extra = extra;
  }

  get status(): number {
    return errorCodes[this.code].status;
  }
}
