import { invalid } from './input.js';
import type { Machine } from './machine.js';
import type { MachineRecord } from './records.js';
import { Refusal } from './refusal.js';

const KNOWN = ['started', 'stopped', 'suspended', 'destroyed', 'failed', 'settled'];
const AT_REST = ['created', 'started', 'stopped', 'suspended', 'destroyed', 'failed'];

export interface Awaited {
  ok: true;
  state: string;
  version: string;
}

/**
 * Waits until the machine is in one of the states asked for (`state`, by default started).
 * @throws Refusal 408 after `timeout` seconds; 400 for `stopped` without a version; 404 for an
 *   unknown version.
 */
export function awaitState(machine: Machine, query: URLSearchParams): Promise<Awaited> {
  const states = query.getAll('state').flatMap((value) => value.split(','));
  const wanted = states.length === 0 ? ['started'] : states;
  const version = query.get('version') ?? query.get('instance_id');
  const timeout = Number(query.get('timeout') ?? 60);
  if (wanted.some((state) => !KNOWN.includes(state))) throw invalid('unknown state');
  if (!(timeout >= 1 && timeout <= 60)) throw invalid('timeout must be 1 to 60');
  if (version === null && wanted.includes('stopped')) throw invalid('version is required to wait for stopped');

  return new Promise((resolve, reject) => {
    const look = (): void => {
      try {
        const seen = arrived(machine.record, wanted, version);
        if (seen !== undefined) finish(() => resolve(seen));
      } catch (error) {
        finish(() => reject(error));
      }
    };
    const finish = (end: () => void): void => {
      unwatch();
      clearTimeout(timer);
      end();
    };
    const unwatch = machine.watch(look);
    const timer = setTimeout(
      () => finish(() => reject(new Refusal(408, 'deadline_exceeded: the machine is not there yet'))),
      timeout * 1_000,
    ).unref();
    look();
  });
}

function arrived(record: MachineRecord, wanted: string[], version: string | null): Awaited | undefined {
  if (version !== null && version !== record.version) {
    if (!record.pastVersions.includes(version)) throw new Refusal(404, `version ${version} not found`);
    if (wanted.some((state) => state === 'stopped' || state === 'settled'))
      return { ok: true, state: 'replaced', version };
    throw new Refusal(404, `version ${version} was replaced`);
  }
  const isThere = wanted.includes(record.state) || (wanted.includes('settled') && AT_REST.includes(record.state));
  return isThere ? { ok: true, state: record.state, version: record.version } : undefined;
}
