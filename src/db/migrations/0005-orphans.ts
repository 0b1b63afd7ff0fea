import type { Knex } from 'knex';

/** Orphans by app, with what keeps each from being reaped; and what the reconciler knows of its last single look at a machine. */
export const up = async (db: Knex): Promise<void> => {
  await db.raw(`
    -- What is reaped is an app with all that is in it. The table held notes alone: the next sweep writes them again.
    drop table host_orphans;
    create table host_orphans (
      app_name text primary key,
      agent_id text,
      machine_ids text[] not null default '{}',
      volume_ids text[] not null default '{}',
      first_seen_at timestamptz(3) not null default now(),
      last_seen_at timestamptz(3) not null default now(),
      -- Whole sweeps that have seen it.
      sweeps integer not null default 0,
      held_back text,
      reap_at timestamptz(3),
      -- Written before the host is asked, so that a reaping whose reply was lost is told all the same.
      reap_began_at timestamptz(3),
      reaped_at timestamptz(3)
    );

    alter table agents
      -- When the machine was last looked at singly.
      add column machine_seen_at timestamptz(3),
      -- The host's own word for its last change, as of then.
      add column machine_updated_at timestamptz(3);
    create index agents_by_last_look on agents (machine_seen_at nulls first)
      where deleted_at is null and host_machine_id is not null and status <> 'offline';
    create index agents_under_way on agents (updated_at)
      where deleted_at is null and (active_job_id is not null or holder_job_id is not null
        or status in ('provisioning', 'starting', 'stopping', 'updating', 'deleting'));
  `);
};
