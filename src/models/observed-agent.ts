import { isDeepStrictEqual } from 'node:util';
import type { Db } from '../db/knex.js';
import type { Observed } from '../rules/observe.js';
import type { Agent } from './agent.js';

/** The agents that no job holds: the only ones that an observer may write. */
export const unheld = <Query extends { whereNull(column: string): Query }>(query: Query): Query =>
  query.whereNull('deletedAt').whereNull('activeJobId').whereNull('holderJobId');

export interface Sight {
  observed: Observed;
  machine: Agent['machine'];
  machineUpdatedAt: Date | null;
  /** absent = the gateway was not asked. */
  gatewayReady?: boolean;
  /** What was found of the agent at the host that its row did not say, or said otherwise. */
  adopted?: Partial<
    Pick<Agent, 'hostAppName' | 'gatewayUrl' | 'hostMachineId' | 'hostVolumeId' | 'region' | 'provisionedAt'>
  >;
}

const lastErrorOf = ({ status, reason }: Observed) => {
  if (reason !== undefined)
    return {
      lastError: JSON.stringify({
        code: 'machine_not_ready',
        message: reason,
        at: new Date().toISOString(),
        jobId: null,
      }),
    };
  return status === 'error' ? {} : { lastError: null };
};

/**
 * Writes what was seen of an agent's machine, unless a job took the agent or anything else changed it since it was read.
 * Returns whether something was written; nothing is when nothing changed.
 */
export const writeObserved = async (db: Db, agent: Agent, sight: Sight): Promise<boolean> => {
  const { observed, machine, machineUpdatedAt, gatewayReady, adopted = {} } = sight;
  const isSame =
    observed.status === agent.status &&
    isDeepStrictEqual(machine, agent.machine) &&
    (gatewayReady ?? agent.gatewayReady) === agent.gatewayReady &&
    Object.keys(adopted).length === 0;
  if (isSame && machineUpdatedAt?.getTime() === agent.machineUpdatedAt?.getTime()) return false;
  const written = await unheld(db('agents'))
    .update({
      machineUpdatedAt,
      machineSeenAt: db.fn.now(),
      lookOwedAt: null,
      ...(gatewayReady === undefined ? {} : { gatewayCheckedAt: db.fn.now() }),
      ...(isSame
        ? {}
        : {
            ...adopted,
            status: observed.status,
            machine: machine === null ? null : JSON.stringify(machine),
            ...lastErrorOf(observed),
            gatewayReady: gatewayReady ?? (observed.status === 'error' ? false : agent.gatewayReady),
            updatedAt: db.fn.now(),
          }),
    })
    .where({ id: agent.id, updatedAt: agent.updatedAt });
  return written === 1;
};

/** A machine that could not be looked at is due again after half a minute, when others had their turn. */
const LONG_AGO = '4 minutes 30 seconds';

export interface Seen {
  unchanged: string[];
  /** Of these the gateway was asked, and answered as before. */
  asked: string[];
  failed: string[];
  /** Not looked at: the region had fallen silent. */
  skipped: string[];
}

/**
 * Notes that these agents' machines were looked at, in one statement for each kind. Where `isOwed`, those that could not be are owed
 * a look; those whose turn did not come are the first to get it.
 */
export const noteSeen = async (db: Db, { unchanged, asked, failed, skipped }: Seen, isOwed: boolean): Promise<void> => {
  // In order, so that two passes at once cannot lock each other out.
  const note = async (ids: string[], change: object): Promise<void> => {
    if (ids.length > 0) await db('agents').update(change).whereIn('id', ids.toSorted());
  };
  const machineSeenAt = db.raw(`now() - interval '${LONG_AGO}'`);
  await note(unchanged, { machineSeenAt: db.fn.now(), lookOwedAt: null });
  await note(asked, { gatewayCheckedAt: db.fn.now() });
  await note(failed, { machineSeenAt, ...(isOwed && { lookOwedAt: db.fn.now() }) });
  await note(skipped, { machineSeenAt, ...(isOwed && { lookOwedAt: db.raw(`now() - interval '5 seconds'`) }) });
};
