import type { Knex } from 'knex';

/** What a job asks of a machine and what the machine says: sealed, and only for a while. */
export const up = async (db: Knex): Promise<void> => {
  await db.raw(`
    create table machine_calls (
      job_id text primary key references jobs (id) on delete cascade,
      agent_id text not null,
      -- Wiped when the call begins or ends: nothing can run it again.
      sealed_request jsonb,
      sealed_answer jsonb,
      -- The one attempt that may talk to the machine.
      begun_by text,
      expires_at timestamptz(3) not null
    );
    create index machine_calls_of_agent on machine_calls (agent_id);
    create index machine_calls_expired on machine_calls (expires_at);

    create index jobs_unfinished_of_agent on jobs (agent_id) where finished_at is null;
    -- Reading a log leaves a job each time; these are swept.
    create index jobs_of_logs on jobs (finished_at) where kind = 'agent.logs';
  `);
};
