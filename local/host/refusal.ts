/** The words the real API uses in `status`. */
export type RefusalStatus = 'unknown' | 'insufficient_capacity' | 'volume_placement_capacity' | 'name_taken';

/** An answer other than success, rendered as `{error, status}` like the real API's. */
export class Refusal extends Error {
  readonly httpStatus: number;
  readonly status: RefusalStatus;
  readonly headers: Record<string, string>;

  constructor(
    httpStatus: number,
    message: string,
    status: RefusalStatus = 'unknown',
    headers: Record<string, string> = {},
  ) {
    super(message);
    this.httpStatus = httpStatus;
    this.status = status;
    this.headers = headers;
  }
}
