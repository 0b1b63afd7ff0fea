import type { Knex } from 'knex';

/** Users, agents, jobs and what a machine authenticates with. SQL, because SQL says it best. */
export const up = async (db: Knex): Promise<void> => {
  await db.raw(`
    create table users (
      id text primary key,
      issuer text not null,
      subject text not null,
      email text not null,
      name text not null,
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now(),
      unique (issuer, subject)
    );

    create table agents (
      id text primary key,
      user_id text not null references users (id),
      name text not null,
      persona text not null default '',
      avatar text not null default '',
      plan text not null,
      channels jsonb not null default '{}',
      capabilities jsonb not null default '{}',
      -- The messengerA bot token, sealed (src/models/sealed.ts); never part of channels.
      sealed_bot_token jsonb,
      status text not null default 'offline',
      desired_status text not null default 'offline',
      last_error jsonb,
      -- The app name at the host, decided before anything is created there.
      host_name text not null unique,
      host_app_name text,
      host_volume_id text,
      host_machine_id text,
      host_secrets_version bigint,
      provisioned_at timestamptz(3),
      region text,
      gateway_url text,
      generation integer not null default 1,
      runtime_version text,
      machine jsonb,
      gateway_ready boolean,
      gateway_checked_at timestamptz(3),
      -- What the owner sees as under way.
      active_job_id text,
      -- The one job whose activities may write this row (fencing); handed over when its holder has ended.
      holder_job_id text,
      cloned_from_agent_id text,
      usage_messages bigint not null default 0,
      usage_tokens_used bigint not null default 0,
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now(),
      deleted_at timestamptz(3)
    );
    create index agents_of_user on agents (user_id, id desc) where deleted_at is null;

    create table jobs (
      id text primary key,
      kind text not null,
      user_id text not null references users (id),
      agent_id text,
      subject_type text not null,
      subject_id text not null,
      status text not null default 'queued'
        check (status in ('queued', 'running', 'succeeded', 'failed', 'canceled')),
      step text,
      steps jsonb not null default '[]',
      params jsonb not null default '{}',
      -- What the agent was when the job was accepted: it is that again when the job is canceled before it began.
      agent_before jsonb,
      result jsonb,
      error jsonb,
      -- One unfinished job a key; null = no lock (superseded jobs give theirs up).
      lock_key text,
      cancelable boolean not null default true,
      cancel_requested_at timestamptz(3),
      cancel_code text,
      cancel_delivered_at timestamptz(3),
      requested_by_type text not null,
      requested_by_id text not null,
      workflow_id text not null,
      -- When Temporal last took (or refused) the start; the dispatcher's back-off counts from here.
      dispatched_at timestamptz(3),
      looked_at timestamptz(3),
      version bigint not null default 1,
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now(),
      started_at timestamptz(3),
      finished_at timestamptz(3),
      deadline_at timestamptz(3),
      check ((finished_at is null) = (status in ('queued', 'running')))
    );
    create unique index jobs_lock on jobs (lock_key) where finished_at is null;
    create index jobs_of_user on jobs (user_id, id desc);
    create index jobs_of_agent on jobs (agent_id, id desc);
    create index jobs_unfinished on jobs (created_at) where finished_at is null;

    -- Every change of a job raises its version and tells the watchers, in the writing transaction.
    create function job_changed() returns trigger language plpgsql as $$
    begin
      new.version := old.version + 1;
      new.updated_at := now();
      perform pg_notify('jobs', new.id);
      return new;
    end $$;
    create trigger job_changed before update of status, step, steps, result, error, cancel_requested_at on jobs
      for each row execute function job_changed();

    create table runtime_identities (
      id text primary key,
      agent_id text not null references agents (id),
      generation integer not null,
      status text not null default 'pending' check (status in ('pending', 'active', 'revoked')),
      runtime_release_version text not null,
      revoked_at timestamptz(3),
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now(),
      unique (agent_id, generation)
    );

    -- One family of derived tokens for each bootstrap token that was exchanged.
    create table runtime_sessions (
      id text primary key,
      runtime_id text not null references runtime_identities (id),
      key_id text not null,
      generation integer not null default 1,
      access_hash bytea not null unique,
      access_expires_at timestamptz(3) not null,
      refresh_hash bytea not null unique,
      refresh_expires_at timestamptz(3) not null,
      used_at timestamptz(3),
      revoked_at timestamptz(3),
      created_at timestamptz(3) not null default now()
    );
    create index runtime_sessions_of_runtime on runtime_sessions (runtime_id);

    create table bootstrap_tokens (
      hash bytea primary key,
      runtime_id text not null references runtime_identities (id),
      expires_at timestamptz(3) not null,
      session_id text references runtime_sessions (id),
      created_at timestamptz(3) not null default now()
    );
    create index bootstrap_tokens_of_runtime on bootstrap_tokens (runtime_id);

    create table gateway_tokens (
      id text primary key,
      agent_id text not null references agents (id),
      hash bytea not null unique,
      sealed jsonb not null,
      -- next: waits for the machine to take it; current; retired: no longer opens anything.
      state text not null check (state in ('next', 'current', 'retired')),
      created_at timestamptz(3) not null default now(),
      retired_at timestamptz(3)
    );
    create unique index gateway_tokens_one_each on gateway_tokens (agent_id, state) where state <> 'retired';
  `);
};
