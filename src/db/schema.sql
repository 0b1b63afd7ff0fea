-- What the migrations make of a database, for people to read and for test/db/schema.test.ts to compare.
-- Generated: DATABASE_URL=<a migrated database> node dist/src/cli/main.js admin schema > src/db/schema.sql

-- columns
agents.id text not null
agents.user_id text not null
agents.name text not null
agents.persona text not null default ''::text
agents.avatar text not null default ''::text
agents.plan text not null
agents.channels jsonb not null default '{}'::jsonb
agents.capabilities jsonb not null default '{}'::jsonb
agents.sealed_bot_token jsonb
agents.status text not null default 'offline'::text
agents.desired_status text not null default 'offline'::text
agents.last_error jsonb
agents.host_name text not null
agents.host_app_name text
agents.host_volume_id text
agents.host_machine_id text
agents.host_secrets_version bigint
agents.provisioned_at timestamp(3) with time zone
agents.region text
agents.gateway_url text
agents.generation integer not null default 1
agents.runtime_version text
agents.machine jsonb
agents.gateway_ready boolean
agents.gateway_checked_at timestamp(3) with time zone
agents.active_job_id text
agents.holder_job_id text
agents.cloned_from_agent_id text
agents.usage_messages bigint not null default 0
agents.usage_tokens_used bigint not null default 0
agents.created_at timestamp(3) with time zone not null default now()
agents.updated_at timestamp(3) with time zone not null default now()
agents.deleted_at timestamp(3) with time zone
agents.machine_seen_at timestamp(3) with time zone
agents.machine_updated_at timestamp(3) with time zone
agents.look_owed_at timestamp(3) with time zone
audit_events.id text not null
audit_events.at timestamp(3) with time zone not null default now()
audit_events.user_id text
audit_events.actor_type text not null
audit_events.actor_id text not null
audit_events.session_id text
audit_events.action text not null
audit_events.subject_type text not null
audit_events.subject_id text not null
audit_events.before jsonb
audit_events.after jsonb
audit_events.reason text
audit_events.request_id text
bootstrap_tokens.hash bytea not null
bootstrap_tokens.runtime_id text not null
bootstrap_tokens.expires_at timestamp(3) with time zone not null
bootstrap_tokens.family_id text
bootstrap_tokens.created_at timestamp(3) with time zone not null default now()
device_logins.id text not null
device_logins.device_code_hash bytea not null
device_logins.user_code_hash bytea not null
device_logins.client_name text not null
device_logins.kind text not null
device_logins.scopes text[] not null
device_logins.address text
device_logins.status text not null default 'pending'::text
device_logins.interval_seconds integer not null default 5
device_logins.polled_at timestamp(3) with time zone
device_logins.user_id text
device_logins.family_id text
device_logins.expires_at timestamp(3) with time zone not null
device_logins.created_at timestamp(3) with time zone not null default now()
device_logins.approved_by_session text
gateway_tokens.id text not null
gateway_tokens.agent_id text not null
gateway_tokens.hash bytea not null
gateway_tokens.sealed jsonb not null
gateway_tokens.state text not null
gateway_tokens.created_at timestamp(3) with time zone not null default now()
gateway_tokens.retired_at timestamp(3) with time zone
guesses.subject text not null
guesses.tried_at timestamp with time zone[] not null
guesses.ends_at timestamp(3) with time zone not null
host_orphans.app_name text not null
host_orphans.agent_id text
host_orphans.machine_ids text[] not null default '{}'::text[]
host_orphans.volume_ids text[] not null default '{}'::text[]
host_orphans.first_seen_at timestamp(3) with time zone not null default now()
host_orphans.last_seen_at timestamp(3) with time zone not null default now()
host_orphans.sweeps integer not null default 0
host_orphans.held_back text
host_orphans.reap_at timestamp(3) with time zone
host_orphans.reap_began_at timestamp(3) with time zone
host_orphans.reaped_at timestamp(3) with time zone
host_watermarks.org text not null
host_watermarks.updated_after timestamp with time zone
host_watermarks.swept_at timestamp(3) with time zone
idempotency_keys.principal text not null
idempotency_keys.endpoint text not null
idempotency_keys.key text not null
idempotency_keys.fingerprint bytea not null
idempotency_keys.status integer
idempotency_keys.view text
idempotency_keys.ids jsonb
idempotency_keys.created_at timestamp(3) with time zone not null default now()
jobs.id text not null
jobs.kind text not null
jobs.user_id text not null
jobs.agent_id text
jobs.subject_type text not null
jobs.subject_id text not null
jobs.status text not null default 'queued'::text
jobs.step text
jobs.steps jsonb not null default '[]'::jsonb
jobs.params jsonb not null default '{}'::jsonb
jobs.agent_before jsonb
jobs.result jsonb
jobs.error jsonb
jobs.lock_key text
jobs.cancelable boolean not null default true
jobs.cancel_requested_at timestamp(3) with time zone
jobs.cancel_code text
jobs.cancel_delivered_at timestamp(3) with time zone
jobs.requested_by_type text not null
jobs.requested_by_id text not null
jobs.workflow_id text not null
jobs.dispatched_at timestamp(3) with time zone
jobs.looked_at timestamp(3) with time zone
jobs.version bigint not null default 1
jobs.created_at timestamp(3) with time zone not null default now()
jobs.updated_at timestamp(3) with time zone not null default now()
jobs.started_at timestamp(3) with time zone
jobs.finished_at timestamp(3) with time zone
jobs.deadline_at timestamp(3) with time zone
jobs.attended_at timestamp(3) with time zone
machine_calls.job_id text not null
machine_calls.agent_id text not null
machine_calls.sealed_request jsonb
machine_calls.sealed_answer jsonb
machine_calls.begun_by text
machine_calls.expires_at timestamp(3) with time zone not null
runtime_identities.id text not null
runtime_identities.agent_id text not null
runtime_identities.generation integer not null
runtime_identities.status text not null default 'pending'::text
runtime_identities.runtime_release_version text not null
runtime_identities.revoked_at timestamp(3) with time zone
runtime_identities.created_at timestamp(3) with time zone not null default now()
runtime_identities.updated_at timestamp(3) with time zone not null default now()
spent_refresh_tokens.hash bytea not null
spent_refresh_tokens.family_id text not null
spent_refresh_tokens.generation integer not null
token_families.id text not null
token_families.kind text not null
token_families.user_id text not null
token_families.runtime_id text
token_families.name text not null default ''::text
token_families.scopes text[] not null
token_families.address text
token_families.key_id text not null
token_families.generation integer not null default 1
token_families.access_hash bytea not null
token_families.access_expires_at timestamp(3) with time zone not null
token_families.previous_access_hash bytea
token_families.previous_access_expires_at timestamp(3) with time zone
token_families.refresh_hash bytea
token_families.refresh_expires_at timestamp(3) with time zone
token_families.rotated_at timestamp(3) with time zone
token_families.used_at timestamp(3) with time zone
token_families.last_used_at timestamp(3) with time zone
token_families.expires_at timestamp(3) with time zone not null
token_families.revoked_at timestamp(3) with time zone
token_families.revoke_reason text
token_families.created_at timestamp(3) with time zone not null default now()
token_families.opened_by text
users.id text not null
users.issuer text not null
users.subject text not null
users.email text not null
users.name text not null
users.created_at timestamp(3) with time zone not null default now()
users.updated_at timestamp(3) with time zone not null default now()

-- constraints
agents: agents_host_name_key UNIQUE (host_name)
agents: agents_pkey PRIMARY KEY (id)
agents: agents_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
audit_events: audit_events_actor_type_check CHECK ((actor_type = ANY (ARRAY['user'::text, 'operator'::text, 'runtime'::text, 'service'::text])))
audit_events: audit_events_pkey PRIMARY KEY (id)
bootstrap_tokens: bootstrap_tokens_family_id_fkey FOREIGN KEY (family_id) REFERENCES token_families(id)
bootstrap_tokens: bootstrap_tokens_pkey PRIMARY KEY (hash)
bootstrap_tokens: bootstrap_tokens_runtime_id_fkey FOREIGN KEY (runtime_id) REFERENCES runtime_identities(id)
device_logins: device_logins_device_code_hash_key UNIQUE (device_code_hash)
device_logins: device_logins_family_id_fkey FOREIGN KEY (family_id) REFERENCES token_families(id)
device_logins: device_logins_kind_check CHECK ((kind = ANY (ARRAY['cli'::text, 'mcp'::text])))
device_logins: device_logins_pkey PRIMARY KEY (id)
device_logins: device_logins_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'approved'::text, 'denied'::text])))
device_logins: device_logins_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
gateway_tokens: gateway_tokens_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id)
gateway_tokens: gateway_tokens_hash_key UNIQUE (hash)
gateway_tokens: gateway_tokens_pkey PRIMARY KEY (id)
gateway_tokens: gateway_tokens_state_check CHECK ((state = ANY (ARRAY['next'::text, 'current'::text, 'retired'::text])))
guesses: guesses_pkey PRIMARY KEY (subject)
host_orphans: host_orphans_pkey PRIMARY KEY (app_name)
host_watermarks: host_watermarks_pkey PRIMARY KEY (org)
idempotency_keys: idempotency_keys_pkey PRIMARY KEY (principal, endpoint, key)
jobs: jobs_check CHECK (((finished_at IS NULL) = (status = ANY (ARRAY['queued'::text, 'running'::text]))))
jobs: jobs_pkey PRIMARY KEY (id)
jobs: jobs_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'canceled'::text])))
jobs: jobs_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
machine_calls: machine_calls_job_id_fkey FOREIGN KEY (job_id) REFERENCES jobs(id) ON DELETE CASCADE
machine_calls: machine_calls_pkey PRIMARY KEY (job_id)
runtime_identities: runtime_identities_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id)
runtime_identities: runtime_identities_agent_id_generation_key UNIQUE (agent_id, generation)
runtime_identities: runtime_identities_pkey PRIMARY KEY (id)
runtime_identities: runtime_identities_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'active'::text, 'revoked'::text])))
spent_refresh_tokens: spent_refresh_tokens_family_id_fkey FOREIGN KEY (family_id) REFERENCES token_families(id) ON DELETE CASCADE
spent_refresh_tokens: spent_refresh_tokens_pkey PRIMARY KEY (hash)
token_families: token_families_access_hash_key UNIQUE (access_hash)
token_families: token_families_check CHECK (((kind = 'runtime'::text) = (runtime_id IS NOT NULL)))
token_families: token_families_kind_check CHECK ((kind = ANY (ARRAY['cli'::text, 'mcp'::text, 'token'::text, 'runtime'::text])))
token_families: token_families_pkey PRIMARY KEY (id)
token_families: token_families_previous_access_hash_key UNIQUE (previous_access_hash)
token_families: token_families_refresh_hash_key UNIQUE (refresh_hash)
token_families: token_families_revoke_reason_check CHECK ((revoke_reason = ANY (ARRAY['logout'::text, 'revoked'::text, 'reuse'::text, 'replaced'::text, 'deleted'::text])))
token_families: token_families_runtime_id_fkey FOREIGN KEY (runtime_id) REFERENCES runtime_identities(id)
token_families: token_families_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
users: users_issuer_subject_key UNIQUE (issuer, subject)
users: users_pkey PRIMARY KEY (id)

-- indexes
CREATE INDEX agents_by_last_look ON public.agents USING btree (machine_seen_at NULLS FIRST) WHERE ((deleted_at IS NULL) AND (host_machine_id IS NOT NULL) AND (status <> 'offline'::text))
CREATE UNIQUE INDEX agents_host_name_key ON public.agents USING btree (host_name)
CREATE INDEX agents_of_app ON public.agents USING btree (host_app_name) WHERE (host_app_name IS NOT NULL)
CREATE INDEX agents_of_machine ON public.agents USING btree (host_machine_id) WHERE (host_machine_id IS NOT NULL)
CREATE INDEX agents_of_user ON public.agents USING btree (user_id, id DESC) WHERE (deleted_at IS NULL)
CREATE INDEX agents_owed_a_look ON public.agents USING btree (look_owed_at) WHERE (look_owed_at IS NOT NULL)
CREATE UNIQUE INDEX agents_pkey ON public.agents USING btree (id)
CREATE INDEX agents_under_way ON public.agents USING btree (updated_at) WHERE ((deleted_at IS NULL) AND ((active_job_id IS NOT NULL) OR (holder_job_id IS NOT NULL) OR (status = ANY (ARRAY['provisioning'::text, 'starting'::text, 'stopping'::text, 'updating'::text, 'deleting'::text]))))
CREATE INDEX agents_unready ON public.agents USING btree (machine_seen_at NULLS FIRST) WHERE ((deleted_at IS NULL) AND (host_machine_id IS NOT NULL) AND (gateway_ready = false) AND ((machine ->> 'state'::text) <> 'stopped'::text))
CREATE INDEX agents_with_machine ON public.agents USING btree (id) WHERE ((deleted_at IS NULL) AND (host_machine_id IS NOT NULL))
CREATE INDEX audit_events_in_order ON public.audit_events USING btree (at DESC, id DESC)
CREATE INDEX audit_events_of_subject ON public.audit_events USING btree (subject_id, at DESC, id DESC)
CREATE INDEX audit_events_of_user ON public.audit_events USING btree (user_id, at DESC, id DESC)
CREATE UNIQUE INDEX audit_events_pkey ON public.audit_events USING btree (id)
CREATE INDEX bootstrap_tokens_of_runtime ON public.bootstrap_tokens USING btree (runtime_id)
CREATE UNIQUE INDEX bootstrap_tokens_pkey ON public.bootstrap_tokens USING btree (hash)
CREATE UNIQUE INDEX device_logins_device_code_hash_key ON public.device_logins USING btree (device_code_hash)
CREATE INDEX device_logins_expiry ON public.device_logins USING btree (expires_at)
CREATE UNIQUE INDEX device_logins_pkey ON public.device_logins USING btree (id)
CREATE UNIQUE INDEX device_logins_user_code ON public.device_logins USING btree (user_code_hash) WHERE (status = 'pending'::text)
CREATE UNIQUE INDEX gateway_tokens_hash_key ON public.gateway_tokens USING btree (hash)
CREATE UNIQUE INDEX gateway_tokens_one_each ON public.gateway_tokens USING btree (agent_id, state) WHERE (state <> 'retired'::text)
CREATE UNIQUE INDEX gateway_tokens_pkey ON public.gateway_tokens USING btree (id)
CREATE UNIQUE INDEX guesses_pkey ON public.guesses USING btree (subject)
CREATE UNIQUE INDEX host_orphans_pkey ON public.host_orphans USING btree (app_name)
CREATE UNIQUE INDEX host_watermarks_pkey ON public.host_watermarks USING btree (org)
CREATE INDEX idempotency_keys_age ON public.idempotency_keys USING btree (created_at)
CREATE UNIQUE INDEX idempotency_keys_pkey ON public.idempotency_keys USING btree (principal, endpoint, key)
CREATE INDEX jobs_for_operators ON public.jobs USING btree (id DESC) WHERE (((error ->> 'needsOperator'::text) = 'true'::text) AND (attended_at IS NULL))
CREATE UNIQUE INDEX jobs_lock ON public.jobs USING btree (lock_key) WHERE (finished_at IS NULL)
CREATE INDEX jobs_of_agent ON public.jobs USING btree (agent_id, id DESC)
CREATE INDEX jobs_of_commands ON public.jobs USING btree (finished_at) WHERE (kind = 'agent.command'::text)
CREATE INDEX jobs_of_logs ON public.jobs USING btree (finished_at) WHERE (kind = 'agent.logs'::text)
CREATE INDEX jobs_of_user ON public.jobs USING btree (user_id, id DESC)
CREATE UNIQUE INDEX jobs_pkey ON public.jobs USING btree (id)
CREATE INDEX jobs_unfinished ON public.jobs USING btree (created_at) WHERE (finished_at IS NULL)
CREATE INDEX jobs_unfinished_of_agent ON public.jobs USING btree (agent_id) WHERE (finished_at IS NULL)
CREATE INDEX machine_calls_expired ON public.machine_calls USING btree (expires_at)
CREATE INDEX machine_calls_of_agent ON public.machine_calls USING btree (agent_id)
CREATE UNIQUE INDEX machine_calls_pkey ON public.machine_calls USING btree (job_id)
CREATE UNIQUE INDEX runtime_identities_agent_id_generation_key ON public.runtime_identities USING btree (agent_id, generation)
CREATE UNIQUE INDEX runtime_identities_pkey ON public.runtime_identities USING btree (id)
CREATE INDEX spent_refresh_tokens_of_family ON public.spent_refresh_tokens USING btree (family_id)
CREATE UNIQUE INDEX spent_refresh_tokens_pkey ON public.spent_refresh_tokens USING btree (hash)
CREATE UNIQUE INDEX token_families_access_hash_key ON public.token_families USING btree (access_hash)
CREATE INDEX token_families_of_runtime ON public.token_families USING btree (runtime_id) WHERE (runtime_id IS NOT NULL)
CREATE INDEX token_families_of_user ON public.token_families USING btree (user_id, id DESC) WHERE (kind <> 'runtime'::text)
CREATE INDEX token_families_opened_by ON public.token_families USING btree (opened_by) WHERE (opened_by IS NOT NULL)
CREATE UNIQUE INDEX token_families_pkey ON public.token_families USING btree (id)
CREATE UNIQUE INDEX token_families_previous_access_hash_key ON public.token_families USING btree (previous_access_hash)
CREATE UNIQUE INDEX token_families_refresh_hash_key ON public.token_families USING btree (refresh_hash)
CREATE UNIQUE INDEX users_issuer_subject_key ON public.users USING btree (issuer, subject)
CREATE UNIQUE INDEX users_pkey ON public.users USING btree (id)

-- functions
CREATE OR REPLACE FUNCTION public.job_changed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
    begin
      new.version := old.version + 1;
      new.updated_at := now();
      perform pg_notify('jobs', new.id);
      return new;
    end $function$

CREATE OR REPLACE FUNCTION public.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
    begin
      raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
    end $function$


-- triggers
CREATE TRIGGER audit_events_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.audit_events FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()
CREATE TRIGGER job_changed BEFORE UPDATE OF status, step, steps, result, error, cancel_requested_at ON public.jobs FOR EACH ROW EXECUTE FUNCTION job_changed()
