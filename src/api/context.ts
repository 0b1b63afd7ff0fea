import type { Caller } from '../operations/operation.js';

/** What the middlewares of one request tell each other. */
export interface RequestState {
  requestId: string;
  endpointId?: string;
  caller?: Caller;
  jobId?: string;
}
