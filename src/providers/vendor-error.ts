import type { ErrorCode } from '../contract/errors.js';

/**
 * What a vendor's client throws, in our words: a code of the contract, and whether asking again can help.
 * Nothing of the vendor's own text gets in, it may hold an address or a token.
 */
export class VendorError extends Error {
  override name = 'VendorError';
  readonly code: ErrorCode;
  readonly retryable: boolean;
  /** HTTP status of the vendor's answer; absent when there was none. */
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  /** There was no connection to ask on: the vendor never heard of it. */
  readonly isUnsent: boolean;

  constructor(
    code: ErrorCode,
    message: string,
    facts: {
      retryable: boolean;
      status?: number | undefined;
      retryAfterMs?: number | undefined;
      isUnsent?: boolean;
    },
  ) {
    super(message);
    this.code = code;
    this.retryable = facts.retryable;
    this.status = facts.status;
    this.retryAfterMs = facts.retryAfterMs;
    this.isUnsent = facts.isUnsent ?? false;
  }
}

/** The vendor did it and said more of it than is read. */
export class AnswerTooLarge extends VendorError {
  override name = 'AnswerTooLarge';
}

export const hasStatus = (error: unknown, ...statuses: number[]): boolean =>
  error instanceof VendorError && error.status !== undefined && statuses.includes(error.status);
