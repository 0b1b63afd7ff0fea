import type { Db } from '../db/knex.js';
import { stillStates } from '../rules/observe.js';
import { Agent } from './agent.js';
import { unheld } from './observed-agent.js';

/** Agents whose machines are due for a single look have not had one for this long. */
const STALE = '5 minutes';

const withMachine = (db: Db) => unheld(Agent.query(db)).whereNotNull('hostMachineId').where('status', '<>', 'offline');

/**
 * Agents whose machine runs and whose gateway did not answer last time, also those that should be off: what runs must show. The
 * longest waiting first. Most by far stand still as `stopped`, which the index agents_unready leaves out.
 */
export const listUnready = async (db: Db, limit: number): Promise<Agent[]> =>
  unheld(Agent.query(db))
    .whereNotNull('hostMachineId')
    .where({ gatewayReady: false })
    .whereNot({ status: 'online' })
    .whereNot({ desiredStatus: 'deleted' })
    .whereRaw(`machine ->> 'state' <> 'stopped'`)
    .whereRaw(`machine ->> 'state' <> all (?)`, [[...stillStates]])
    .orderByRaw('machine_seen_at nulls first')
    .limit(limit);

/** Agents whose machine changed, or vanished, when it could not be looked at; the longest waiting first. */
export const listOwed = async (db: Db, limit: number): Promise<Agent[]> =>
  unheld(Agent.query(db)).whereNotNull('lookOwedAt').orderBy('lookOwedAt').limit(limit);

/** How many agents want a single look now and then. */
export const countOnline = (db: Db): Promise<number> => withMachine(db).where({ status: 'online' }).resultSize();

/** Agents whose machine was looked at longest ago, for what no list shows: its checks, and whether its gateway answers. */
export const listStale = async (db: Db, limit: number): Promise<Agent[]> =>
  withMachine(db)
    .where({ status: 'online' })
    .whereRaw(`(machine_seen_at is null or machine_seen_at < now() - interval '${STALE}')`)
    .orderByRaw('machine_seen_at nulls first')
    .limit(limit);

/** Agents with a machine that is not known to be gone, by id after `after`, except those looked at a moment ago. */
export const listWithMachine = async (db: Db, after: string, limit: number): Promise<Agent[]> =>
  unheld(Agent.query(db))
    .whereNotNull('hostMachineId')
    .whereNotNull('machine')
    .whereRaw(`(machine_seen_at is null or machine_seen_at < now() - interval '${STALE}')`)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit);
