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
bootstrap_tokens.hash bytea not null
bootstrap_tokens.runtime_id text not null
bootstrap_tokens.expires_at timestamp(3) with time zone not null
bootstrap_tokens.session_id text
bootstrap_tokens.created_at timestamp(3) with time zone not null default now()
gateway_tokens.id text not null
gateway_tokens.agent_id text not null
gateway_tokens.hash bytea not null
gateway_tokens.sealed jsonb not null
gateway_tokens.state text not null
gateway_tokens.created_at timestamp(3) with time zone not null default now()
gateway_tokens.retired_at timestamp(3) with time zone
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
runtime_identities.id text not null
runtime_identities.agent_id text not null
runtime_identities.generation integer not null
runtime_identities.status text not null default 'pending'::text
runtime_identities.runtime_release_version text not null
runtime_identities.revoked_at timestamp(3) with time zone
runtime_identities.created_at timestamp(3) with time zone not null default now()
runtime_identities.updated_at timestamp(3) with time zone not null default now()
runtime_sessions.id text not null
runtime_sessions.runtime_id text not null
runtime_sessions.key_id text not null
runtime_sessions.generation integer not null default 1
runtime_sessions.access_hash bytea not null
runtime_sessions.access_expires_at timestamp(3) with time zone not null
runtime_sessions.refresh_hash bytea not null
runtime_sessions.refresh_expires_at timestamp(3) with time zone not null
runtime_sessions.used_at timestamp(3) with time zone
runtime_sessions.revoked_at timestamp(3) with time zone
runtime_sessions.created_at timestamp(3) with time zone not null default now()
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
bootstrap_tokens: bootstrap_tokens_pkey PRIMARY KEY (hash)
bootstrap_tokens: bootstrap_tokens_runtime_id_fkey FOREIGN KEY (runtime_id) REFERENCES runtime_identities(id)
bootstrap_tokens: bootstrap_tokens_session_id_fkey FOREIGN KEY (session_id) REFERENCES runtime_sessions(id)
gateway_tokens: gateway_tokens_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id)
gateway_tokens: gateway_tokens_hash_key UNIQUE (hash)
gateway_tokens: gateway_tokens_pkey PRIMARY KEY (id)
gateway_tokens: gateway_tokens_state_check CHECK ((state = ANY (ARRAY['next'::text, 'current'::text, 'retired'::text])))
jobs: jobs_check CHECK (((finished_at IS NULL) = (status = ANY (ARRAY['queued'::text, 'running'::text]))))
jobs: jobs_pkey PRIMARY KEY (id)
jobs: jobs_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'canceled'::text])))
jobs: jobs_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
runtime_identities: runtime_identities_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id)
runtime_identities: runtime_identities_agent_id_generation_key UNIQUE (agent_id, generation)
runtime_identities: runtime_identities_pkey PRIMARY KEY (id)
runtime_identities: runtime_identities_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'active'::text, 'revoked'::text])))
runtime_sessions: runtime_sessions_access_hash_key UNIQUE (access_hash)
runtime_sessions: runtime_sessions_pkey PRIMARY KEY (id)
runtime_sessions: runtime_sessions_refresh_hash_key UNIQUE (refresh_hash)
runtime_sessions: runtime_sessions_runtime_id_fkey FOREIGN KEY (runtime_id) REFERENCES runtime_identities(id)
users: users_issuer_subject_key UNIQUE (issuer, subject)
users: users_pkey PRIMARY KEY (id)

-- indexes
CREATE UNIQUE INDEX agents_host_name_key ON public.agents USING btree (host_name)
CREATE INDEX agents_of_user ON public.agents USING btree (user_id, id DESC) WHERE (deleted_at IS NULL)
CREATE UNIQUE INDEX agents_pkey ON public.agents USING btree (id)
CREATE INDEX bootstrap_tokens_of_runtime ON public.bootstrap_tokens USING btree (runtime_id)
CREATE UNIQUE INDEX bootstrap_tokens_pkey ON public.bootstrap_tokens USING btree (hash)
CREATE UNIQUE INDEX gateway_tokens_hash_key ON public.gateway_tokens USING btree (hash)
CREATE UNIQUE INDEX gateway_tokens_one_each ON public.gateway_tokens USING btree (agent_id, state) WHERE (state <> 'retired'::text)
CREATE UNIQUE INDEX gateway_tokens_pkey ON public.gateway_tokens USING btree (id)
CREATE UNIQUE INDEX jobs_lock ON public.jobs USING btree (lock_key) WHERE (finished_at IS NULL)
CREATE INDEX jobs_of_agent ON public.jobs USING btree (agent_id, id DESC)
CREATE INDEX jobs_of_user ON public.jobs USING btree (user_id, id DESC)
CREATE UNIQUE INDEX jobs_pkey ON public.jobs USING btree (id)
CREATE INDEX jobs_unfinished ON public.jobs USING btree (created_at) WHERE (finished_at IS NULL)
CREATE UNIQUE INDEX runtime_identities_agent_id_generation_key ON public.runtime_identities USING btree (agent_id, generation)
CREATE UNIQUE INDEX runtime_identities_pkey ON public.runtime_identities USING btree (id)
CREATE UNIQUE INDEX runtime_sessions_access_hash_key ON public.runtime_sessions USING btree (access_hash)
CREATE INDEX runtime_sessions_of_runtime ON public.runtime_sessions USING btree (runtime_id)
CREATE UNIQUE INDEX runtime_sessions_pkey ON public.runtime_sessions USING btree (id)
CREATE UNIQUE INDEX runtime_sessions_refresh_hash_key ON public.runtime_sessions USING btree (refresh_hash)
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


-- triggers
CREATE TRIGGER job_changed BEFORE UPDATE OF status, step, steps, result, error, cancel_requested_at ON public.jobs FOR EACH ROW EXECUTE FUNCTION job_changed()
