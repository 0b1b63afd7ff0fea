import type { Knex } from 'knex';

/** Which session let another in: whoever revokes the one ends the other. And the order of the trail. */
export const up = async (db: Knex): Promise<void> => {
  await db.raw(`
    -- The session that made this named token or approved this device; null = a bearer of the identity provider.
    alter table token_families add column opened_by text;
    create index token_families_opened_by on token_families (opened_by) where opened_by is not null;
    alter table device_logins add column approved_by_session text;

    -- The trail is read in the order of the database's clock; ids come from the clocks of several processes.
    drop index audit_events_of_user;
    drop index audit_events_of_subject;
    create index audit_events_of_user on audit_events (user_id, at desc, id desc);
    create index audit_events_of_subject on audit_events (subject_id, at desc, id desc);
    -- For the janitor.
    create index jobs_of_commands on jobs (finished_at) where kind = 'agent.command';

    -- Machines that run and whose gateway did not answer.
    create index agents_unready on agents (machine_seen_at nulls first)
      where deleted_at is null and host_machine_id is not null and gateway_ready = false
        and machine ->> 'state' <> 'stopped';
    create index audit_events_in_order on audit_events (at desc, id desc);
  `);
};
