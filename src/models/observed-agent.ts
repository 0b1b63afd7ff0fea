import { isDeepStrictEqual } from 'node:util';
import type { Db } from '../db/knex.js';
import type { Observed } from '../rules/observe.js';
import type { Agent } from './agent.js';

/**
 * Writes what was seen of an agent's machine, unless a job took the agent or anything else changed it since it was read.
 * Returns whether something was written; nothing is when nothing changed.
 */
export const writeObserved = async (
  db: Db,
  agent: Agent,
  { status, reason }: Observed,
  machine: Agent['machine'],
): Promise<boolean> => {
  const isSame = status === agent.status && isDeepStrictEqual(machine, agent.machine);
  if (isSame) return false;
  const lastError =
    reason === undefined
      ? status === 'error'
        ? undefined
        : null
      : JSON.stringify({ code: 'machine_not_ready', message: reason, at: new Date().toISOString(), jobId: null });
  const written = await db('agents')
    .update({
      status,
      machine: machine === null ? null : JSON.stringify(machine),
      ...(lastError === undefined ? {} : { lastError }),
      ...(status === 'online' ? { gatewayReady: true, gatewayCheckedAt: db.fn.now() } : {}),
      ...(status === 'error' ? { gatewayReady: false } : {}),
      updatedAt: db.fn.now(),
    })
    .where({ id: agent.id, updatedAt: agent.updatedAt })
    .whereNull('activeJobId')
    .whereNull('holderJobId');
  return written === 1;
};
