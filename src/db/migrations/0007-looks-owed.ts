import type { Knex } from 'knex';

/** Looks at machines that the reconciler owes, and the names by which an orphan may be claimed. */
export const up = async (db: Knex): Promise<void> => {
  await db.raw(`
    -- The machine changed and could not be looked at: when that was last tried. null = nothing is owed.
    alter table agents add column look_owed_at timestamptz(3);
    create index agents_owed_a_look on agents (look_owed_at) where look_owed_at is not null;

    create index agents_of_machine on agents (host_machine_id) where host_machine_id is not null;
    create index agents_of_app on agents (host_app_name) where host_app_name is not null;
  `);
};
