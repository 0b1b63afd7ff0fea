import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { ControlActivities } from '../activities/control.js';
import type { HostActivities } from '../activities/host/index.js';

/** Queues share the prefix of the workflow's own (tests keep apart by it). */
const queue = (name: string): string => workflowInfo().taskQueue.replace(/control$/, name);

const HEARTBEAT = '8s';

/** Short database work. It must happen, however long the database is away. */
export const control = () =>
  proxyActivities<ControlActivities>({
    startToCloseTimeout: '10s',
    heartbeatTimeout: HEARTBEAT,
    retry: { initialInterval: '250ms', maximumInterval: '10s' },
  });

/** Waiting for another job of the same agent to end. */
export const controlWaits = () =>
  proxyActivities<ControlActivities>({
    startToCloseTimeout: '15m',
    heartbeatTimeout: HEARTBEAT,
    scheduleToCloseTimeout: '30m',
    retry: { initialInterval: '250ms', maximumInterval: '10s' },
  });

/** One effect at the host. */
export const host = () =>
  proxyActivities<HostActivities>({
    taskQueue: queue('host'),
    startToCloseTimeout: '60s',
    scheduleToCloseTimeout: '10m',
    heartbeatTimeout: HEARTBEAT,
    retry: { initialInterval: '500ms', maximumInterval: '15s' },
  });

/** Waiting for a machine; the waiting itself is bounded inside. */
export const hostWaits = () =>
  proxyActivities<HostActivities>({
    taskQueue: queue('host'),
    startToCloseTimeout: '10m',
    scheduleToCloseTimeout: '15m',
    heartbeatTimeout: HEARTBEAT,
    retry: { initialInterval: '500ms', maximumInterval: '15s' },
  });

/** Undoing and tearing down: tried for longer, somebody pays for what stays behind. */
export const hostUndo = () =>
  proxyActivities<HostActivities>({
    taskQueue: queue('host'),
    startToCloseTimeout: '2m',
    scheduleToCloseTimeout: '1h',
    heartbeatTimeout: HEARTBEAT,
    retry: { initialInterval: '500ms', maximumInterval: '30s' },
  });
