import type { Knex } from 'knex';

/** Device login, token families for users and runtimes, idempotency keys, guess counters and the audit trail. */
export const up = async (db: Knex): Promise<void> => {
  await db.raw(`
    -- A family of tokens: a signed-in device, a named token, or a runtime. Tokens are derived from it; only hashes stand here.
    create table token_families (
      id text primary key,
      kind text not null check (kind in ('cli', 'mcp', 'token', 'runtime')),
      user_id text not null references users (id),
      runtime_id text references runtime_identities (id),
      name text not null default '',
      scopes text[] not null,
      address text,
      key_id text not null,
      generation integer not null default 1,
      access_hash bytea not null unique,
      access_expires_at timestamptz(3) not null,
      -- The predecessor's access token, good for a little while longer: calls under way should not fail.
      previous_access_hash bytea unique,
      previous_access_expires_at timestamptz(3),
      refresh_hash bytea unique,
      refresh_expires_at timestamptz(3),
      rotated_at timestamptz(3),
      -- First use of the present generation: from then on its predecessor's refresh token is reuse.
      used_at timestamptz(3),
      last_used_at timestamptz(3),
      -- The absolute end, whatever is refreshed.
      expires_at timestamptz(3) not null,
      revoked_at timestamptz(3),
      revoke_reason text check (revoke_reason in ('logout', 'revoked', 'reuse', 'replaced', 'deleted')),
      created_at timestamptz(3) not null default now(),
      check ((kind = 'runtime') = (runtime_id is not null))
    );
    create index token_families_of_user on token_families (user_id, id desc) where kind <> 'runtime';
    create index token_families_of_runtime on token_families (runtime_id) where runtime_id is not null;

    -- Refresh tokens of earlier generations, to know reuse when it comes.
    create table spent_refresh_tokens (
      hash bytea primary key,
      family_id text not null references token_families (id) on delete cascade,
      generation integer not null
    );
    create index spent_refresh_tokens_of_family on spent_refresh_tokens (family_id);

    insert into token_families (id, kind, user_id, runtime_id, scopes, key_id, generation, access_hash, access_expires_at,
                                refresh_hash, refresh_expires_at, used_at, expires_at, revoked_at, revoke_reason, created_at)
      select s.id, 'runtime', a.user_id, s.runtime_id, '{}', s.key_id, s.generation, s.access_hash, s.access_expires_at,
             s.refresh_hash, s.refresh_expires_at, s.used_at, s.created_at + interval '90 days', s.revoked_at,
             case when s.revoked_at is null then null else 'revoked' end, s.created_at
        from runtime_sessions s
        join runtime_identities r on r.id = s.runtime_id
        join agents a on a.id = r.agent_id;

    alter table bootstrap_tokens drop constraint bootstrap_tokens_session_id_fkey;
    alter table bootstrap_tokens rename column session_id to family_id;
    alter table bootstrap_tokens add constraint bootstrap_tokens_family_id_fkey
      foreign key (family_id) references token_families (id);
    drop table runtime_sessions;

    create table device_logins (
      id text primary key,
      device_code_hash bytea not null unique,
      -- Keyed hash: the code is short enough to be tried out otherwise. Unique while it can be entered.
      user_code_hash bytea not null,
      client_name text not null,
      kind text not null check (kind in ('cli', 'mcp')),
      scopes text[] not null,
      address text,
      status text not null default 'pending' check (status in ('pending', 'approved', 'denied')),
      interval_seconds integer not null default 5,
      polled_at timestamptz(3),
      user_id text references users (id),
      family_id text references token_families (id),
      expires_at timestamptz(3) not null,
      created_at timestamptz(3) not null default now()
    );
    create unique index device_logins_user_code on device_logins (user_code_hash) where status = 'pending';
    create index device_logins_expiry on device_logins (expires_at);

    -- What may be guessed only so often; exact over all processes. The tries of the last window, no more than the limit allows.
    create table guesses (
      subject text primary key,
      tried_at timestamptz[] not null,
      ends_at timestamptz(3) not null
    );

    create table idempotency_keys (
      principal text not null,
      endpoint text not null,
      key text not null,
      fingerprint bytea not null,
      status integer,
      view text,
      ids jsonb,
      created_at timestamptz(3) not null default now(),
      primary key (principal, endpoint, key)
    );
    create index idempotency_keys_age on idempotency_keys (created_at);

    create table audit_events (
      id text primary key,
      at timestamptz(3) not null default now(),
      -- Whose account it concerns; null = the installation's.
      user_id text,
      actor_type text not null check (actor_type in ('user', 'operator', 'runtime', 'service')),
      actor_id text not null,
      session_id text,
      action text not null,
      subject_type text not null,
      subject_id text not null,
      before jsonb,
      after jsonb,
      reason text,
      request_id text
    );
    create index audit_events_of_user on audit_events (user_id, id desc);
    create index audit_events_of_subject on audit_events (subject_id, id desc);

    create function refuse_change() returns trigger language plpgsql as $$
    begin
      raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
    end $$;
    create trigger audit_events_append_only before update or delete or truncate on audit_events
      for each statement execute function refuse_change();

  `);
};
