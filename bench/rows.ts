import type { Db } from '../src/db/knex.js';
import { newId } from '../src/models/new-id.js';

/** A user with so many agents that have a machine and are off. Returns the agents' ids. */
export const manyAgents = async (db: Db, userId: string, count: number): Promise<string[]> => {
  const ids: string[] = [];
  for (let done = 0; done < count; done += 1_000) {
    const rows = Array.from({ length: Math.min(1_000, count - done) }, () => {
      const id = newId('agent');
      return {
        id,
        userId,
        name: 'an agent of many',
        plan: 'free',
        hostName: `acp-bench-${id}`,
        hostAppName: `acp-bench-${id}`,
        hostMachineId: 'm1',
        provisionedAt: new Date(),
      };
    });
    await db('agents').insert(rows);
    ids.push(...rows.map((row) => row.id));
  }
  await db.raw('analyze agents');
  return ids;
};
