import { Model, type Transaction } from 'objection';
import type { HeldBack } from '../contract/shapes/orphan.js';
import type { Db } from '../db/knex.js';
import { Agent } from './agent.js';
import { Job } from './job.js';

/** An app at the host that is ours by its name or tags and belongs to no agent. */
export class HostOrphan extends Model {
  static override tableName = 'host_orphans';
  static override idColumn = 'appName';
  declare appName: string;
  declare agentId: string | null;
  declare machineIds: string[];
  declare volumeIds: string[];
  declare firstSeenAt: Date;
  declare lastSeenAt: Date;
  declare sweeps: number;
  declare heldBack: HeldBack | null;
  declare reapAt: Date | null;
  declare reapBeganAt: Date | null;
  declare reapedAt: Date | null;
}

export type OrphanNote = Pick<HostOrphan, 'appName' | 'agentId' | 'machineIds' | 'volumeIds'>;

/** Those that were reaped are remembered for this long. */
const REMEMBERED = '30 days';

/**
 * Notes what a full sweep found; one that saw everything (`isWhole`) counts, and forgets what it did not see. Returns those that are new.
 * What comes back after it was reaped begins anew.
 */
export const noteOrphans = async (trx: Transaction, notes: OrphanNote[], isWhole: boolean): Promise<OrphanNote[]> => {
  const rows = notes.map((note) => ({
    app_name: note.appName,
    agent_id: note.agentId,
    machine_ids: note.machineIds,
    volume_ids: note.volumeIds,
  }));
  const { rows: noted } = await trx.raw<{ rows: { name: string; fresh: boolean }[] }>(
    `insert into host_orphans as o (app_name, agent_id, machine_ids, volume_ids, sweeps)
       select app_name, agent_id, machine_ids, volume_ids, cast(:counts as integer)
         from jsonb_to_recordset(cast(:rows as jsonb)) as n (app_name text, agent_id text, machine_ids text[], volume_ids text[])
     on conflict (app_name) do update set
       agent_id = excluded.agent_id,
       machine_ids = excluded.machine_ids,
       volume_ids = excluded.volume_ids,
       last_seen_at = now(),
       first_seen_at = case when o.reaped_at is null then o.first_seen_at else now() end,
       sweeps = case when o.reaped_at is null then o.sweeps else 0 end + cast(:counts as integer),
       reap_at = case when o.reaped_at is null then o.reap_at end,
       reap_began_at = case when o.reaped_at is null then o.reap_began_at end,
       reaped_at = null
     returning app_name as name, first_seen_at = now()::timestamptz(3) as fresh`,
    { rows: JSON.stringify(rows), counts: isWhole ? 1 : 0 },
  );
  if (isWhole)
    await trx.raw(
      `delete from host_orphans where last_seen_at < now()::timestamptz(3) and reap_began_at is null
         or reaped_at < now() - interval '${REMEMBERED}'`,
    );
  const fresh = new Set(noted.filter((row) => row.fresh).map((row) => row.name));
  return notes.filter(({ appName }) => fresh.has(appName));
};

/** Those still there, the oldest first. */
export const listOrphans = (db: Db, limit: number): Promise<HostOrphan[]> =>
  HostOrphan.query(db).whereNull('reapedAt').orderBy('firstSeenAt').orderBy('appName').limit(limit).execute();

export const countOrphans = (db: Db): Promise<number> => HostOrphan.query(db).whereNull('reapedAt').resultSize();

/** What the rows say of an orphan now: whether anything still claims it, the agent's row whatever it says, and its unfinished jobs. */
export const claimsOn = async (
  db: Db | Transaction,
  { appName, agentId, machineIds }: OrphanNote,
): Promise<{ isClaimed: boolean; agent: Agent | undefined; hasUnfinishedJob: boolean }> => {
  // One indexed look-up for each way to be named: joined by OR they would read the whole table.
  const agents = await Agent.query(db)
    .where({ hostName: appName })
    .union([
      Agent.query(db).where({ hostAppName: appName }),
      Agent.query(db).where({ id: agentId ?? '' }),
      Agent.query(db).whereIn('hostMachineId', machineIds),
    ]);
  const agent = agents.find(({ id }) => id === agentId);
  const unfinished = await Job.query(db)
    .whereIn('agentId', [agentId ?? '', ...agents.map(({ id }) => id)])
    .whereNull('finishedAt')
    .resultSize();
  return {
    isClaimed: agents.some(({ deletedAt }) => deletedAt === null),
    agent,
    hasUnfinishedJob: unfinished > 0,
  };
};

export const changeOrphan = async (
  db: Db | Transaction,
  appName: string,
  changes: Partial<Pick<HostOrphan, 'heldBack' | 'reapAt' | 'reapBeganAt' | 'reapedAt'>>,
): Promise<void> => {
  await HostOrphan.query(db).findById(appName).patch(changes);
};

export const forgetOrphan = async (db: Db, appName: string): Promise<void> => {
  await HostOrphan.query(db).deleteById(appName);
};
