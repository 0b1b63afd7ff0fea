import { movingKinds } from '../contract/shapes/job.js';
import type { Db } from '../db/knex.js';

/**
 * Gives agents a way out that wait for a job which is not there: a status that only a job leads out of becomes `error`, and what names the
 * job is forgotten. That happens when a row was edited by hand, or restored without the other. Returns their ids.
 */
export const rescueStranded = async (db: Db): Promise<string[]> => {
  const { rows } = await db.raw<{ rows: { id: string }[] }>(
    `update agents a set
       status = case when status in ('online', 'offline', 'error') then status else 'error' end,
       last_error = case when status in ('online', 'offline', 'error') then last_error else jsonb_build_object(
         'code', 'outcome_unknown',
         'message', 'What was under way is lost.',
         'at', to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
         'jobId', null) end,
       active_job_id = null,
       holder_job_id = null,
       updated_at = now()
     where deleted_at is null
       and (active_job_id is not null or holder_job_id is not null
         or status in ('provisioning', 'starting', 'stopping', 'updating', 'deleting'))
       and updated_at < now() - interval '1 minute'
       and not exists (select 1 from jobs j where j.agent_id = a.id and j.finished_at is null
                         and (j.id in (a.active_job_id, a.holder_job_id) or j.kind = any(?)))
     returning id`,
    [[...movingKinds]],
  );
  return rows.map(({ id }) => id);
};
