import type { Knex } from 'knex';

/** What the reconciler remembers between its passes, and what waits for an operator. */
export const up = async (db: Knex): Promise<void> => {
  await db.raw(`
    -- How far the list of machines has been read; one row, written after a pass has done its work.
    create table host_watermarks (
      org text primary key,
      updated_after timestamptz,
      swept_at timestamptz(3)
    );

    -- Machines at the host that carry our tags and belong to no agent we know. Reported first, reaped after a grace period.
    create table host_orphans (
      machine_id text primary key,
      app_name text not null,
      agent_id text,
      first_seen_at timestamptz(3) not null default now(),
      last_seen_at timestamptz(3) not null default now(),
      reaped_at timestamptz(3)
    );

    -- What an operator did about a job that needs one.
    alter table jobs add column attended_at timestamptz(3);
    create index jobs_for_operators on jobs (id desc)
      where (error ->> 'needsOperator') = 'true' and attended_at is null;

    create index agents_with_machine on agents (id) where deleted_at is null and host_machine_id is not null;
  `);
};
