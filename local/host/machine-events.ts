import { eventId } from './ids.js';
import type { Exit } from './machine-process.js';
import type { MachineEvent, MachineState } from './records.js';

/** What happened to a machine; the state it led to is added by whoever records it. */
export interface Happening {
  type: string;
  request?: Record<string, unknown>;
}

export function machineEvent(status: MachineState, { type, request }: Happening): MachineEvent {
  const source = type === 'exit' ? 'flyd' : 'user';
  const event: MachineEvent = { id: eventId(), type, status, source, timestamp: Date.now() };
  return request === undefined ? event : { ...event, request };
}

/** The end of a machine's process: whether somebody asked for it, and whether it comes back. */
export function exitOf(exit: Exit, why: { isRequested: boolean; restarting: boolean }): Happening {
  const exit_event = {
    exit_code: exit.code ?? -1,
    guest_signal: exit.signal,
    oom_killed: false,
    requested_stop: why.isRequested,
    restarting: why.restarting,
    exited_at: new Date().toISOString(),
  };
  return { type: 'exit', request: { exit_event } };
}
