import type { WorkerOptions } from '@temporalio/worker';

/** What every worker is created with. */
export const workerDefaults = {
  /** Activities get this long to end when the worker is told to stop; 0, the SDK's own default, cancels them at once. */
  shutdownGraceTime: '20s',
  shutdownForceTime: '30s',
  // A cancel reaches an activity with a heartbeat: do not hold those back.
  maxHeartbeatThrottleInterval: '1s',
  defaultHeartbeatThrottleInterval: '1s',
  // The SDK's own default grows with the heap and has run workers out of memory.
  maxCachedWorkflows: 200,
} as const satisfies Partial<WorkerOptions>;
