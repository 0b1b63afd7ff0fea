import type { Db } from '../db/knex.js';

export interface Orphan {
  machineId: string;
  appName: string;
  agentId: string;
}

/** Notes a machine that carries our tags and belongs to no agent; for operators to see, and to be reaped after its grace. */
export const rememberOrphan = async (db: Db, orphan: Orphan): Promise<void> => {
  await db('host_orphans').insert(orphan).onConflict('machineId').merge({ lastSeenAt: db.fn.now() });
};

/** Orphans that a full sweep no longer saw are gone. */
export const forgetOrphans = async (db: Db): Promise<void> => {
  await db('host_orphans').delete().where('lastSeenAt', '<', db.raw(`now() - interval '1 hour'`));
};
