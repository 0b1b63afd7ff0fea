import { ActivityCancellationType, type ActivityOptions, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { ControlActivities } from '../activities/control.js';
import type { HostActivities } from '../activities/host/index.js';
import { patienceMs } from './patience.js';

/** Queues share the prefix of the workflow's own (tests keep apart by it). */
const queue = (name: string): string => workflowInfo().taskQueue.replace(/control$/, name);

/**
 * Every activity heartbeats, so that a dead worker is noticed; and a canceled one is waited for, so that undoing never runs beside
 * what it undoes. (The SDK documents the latter as its default, but sends TRY_CANCEL when the option is absent.)
 */
const careful = {
  heartbeatTimeout: '8s',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
} as const satisfies ActivityOptions;

/** Short database work. It must happen, however long the database is away. */
export const control = () =>
  proxyActivities<ControlActivities>({
    startToCloseTimeout: '10s',
    ...careful,
    retry: { initialInterval: '250ms', maximumInterval: '10s' },
  });

/** Waiting for another job of the same agent to end. */
export const controlWaits = () =>
  proxyActivities<ControlActivities>({
    startToCloseTimeout: '15m',
    ...careful,
    scheduleToCloseTimeout: patienceMs(30 * 60),
    retry: { initialInterval: '250ms', maximumInterval: '10s' },
  });

/** One effect at the host; given up before the job's deadline, so that the job says why. */
export const host = () =>
  proxyActivities<HostActivities>({
    taskQueue: queue('host'),
    startToCloseTimeout: '60s',
    scheduleToCloseTimeout: patienceMs(8 * 60),
    ...careful,
    retry: { initialInterval: '500ms', maximumInterval: '15s' },
  });

/** A command on a machine: tried once, because a second try could run it a second time. */
export const hostOnce = () =>
  proxyActivities<HostActivities>({
    taskQueue: queue('host'),
    scheduleToStartTimeout: '5m',
    startToCloseTimeout: '4m',
    ...careful,
    retry: { maximumAttempts: 1 },
  });

/** Reading from a machine, for somebody who waits. */
export const hostReads = () =>
  proxyActivities<HostActivities>({
    taskQueue: queue('host'),
    scheduleToStartTimeout: '1m',
    startToCloseTimeout: '30s',
    ...careful,
    retry: { initialInterval: '250ms', maximumInterval: '2s', maximumAttempts: 4 },
  });

/** Waiting for a machine; the waiting itself is bounded inside. */
export const hostWaits = () =>
  proxyActivities<HostActivities>({
    taskQueue: queue('host'),
    startToCloseTimeout: '10m',
    scheduleToCloseTimeout: patienceMs(15 * 60),
    ...careful,
    retry: { initialInterval: '500ms', maximumInterval: '15s' },
  });

/** Undoing: tried for a while on its own account, then an operator is asked. */
export const hostUndo = () =>
  proxyActivities<HostActivities>({
    taskQueue: queue('host'),
    startToCloseTimeout: '2m',
    scheduleToCloseTimeout: patienceMs(6 * 60),
    ...careful,
    retry: { initialInterval: '500ms', maximumInterval: '15s' },
  });

/** Tearing down: tried for longer, somebody pays for what stays behind. */
export const hostTearDown = () =>
  proxyActivities<HostActivities>({
    taskQueue: queue('host'),
    startToCloseTimeout: '2m',
    scheduleToCloseTimeout: patienceMs(60 * 60),
    ...careful,
    retry: { initialInterval: '500ms', maximumInterval: '30s' },
  });
