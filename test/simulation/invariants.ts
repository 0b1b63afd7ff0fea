import type { World } from './world.js';

/** Everything that could speak for the agent's machines must be refused. Returns what was not. */
export const livingTokens = async ({ stack, tap }: World, agentId: string): Promise<string[]> => {
  const rows = await stack.db('runtime_identities').where({ agentId }).select('id');
  const living: string[] = [];
  const mustRefuse = async (what: string, runtimeId: string, status: Promise<{ status: number }>): Promise<void> => {
    const answer = await status;
    if (answer.status !== 401) living.push(`the ${what} token of ${runtimeId} answers ${answer.status}`);
  };
  for (const { id: runtimeId } of rows as { id: string }[]) {
    const { access, refresh, bootstrap } = tap.tokensOf(runtimeId);
    for (const token of access) {
      const headers = { authorization: `Bearer ${token}` };
      await mustRefuse('access', runtimeId, stack.nobody().call('runtime.auth.status', {}, { headers }));
    }
    for (const refreshToken of refresh)
      await mustRefuse(
        'refresh',
        runtimeId,
        stack.nobody().call('runtime.auth.refresh', {}, { body: { refreshToken } }),
      );
    for (const bootstrapToken of bootstrap)
      await mustRefuse(
        'bootstrap',
        runtimeId,
        stack
          .nobody()
          .call('runtime.bootstrap.exchange', {}, { body: { runtimeId, bootstrapToken, runtimeVersion: '1.0.0' } }),
      );
  }
  return living;
};

/** The same by the rows, for tokens that nobody has seen. */
export const livingRows = async ({ stack: { db } }: World, agentId: string): Promise<string[]> => {
  const { rows } = await db.raw<{ rows: { what: string }[] }>(
    `select 'gateway token ' || id as what from gateway_tokens where agent_id = :agentId and state <> 'retired'
     union all select 'runtime ' || id from runtime_identities where agent_id = :agentId and status <> 'revoked'
     union all select 'tokens ' || f.id from token_families f join runtime_identities r on r.id = f.runtime_id
                where r.agent_id = :agentId and f.revoked_at is null
     union all select 'bootstrap token of ' || r.id from bootstrap_tokens b
                 join runtime_identities r on r.id = b.runtime_id where r.agent_id = :agentId`,
    { agentId },
  );
  return rows.map(({ what }) => `${what} is alive`);
};

/** What must hold of a user's rows at every moment. Returns what does not. */
export const brokenRows = async ({ stack: { db } }: World, agentIds: readonly string[]): Promise<string[]> => {
  const { rows } = await db.raw<{ rows: { what: string }[] }>(
    `select a.id || ' is ' || a.status || ' and no job is under way' as what from agents a
      where a.id = any(:agentIds) and a.deleted_at is null
        and a.status in ('provisioning', 'starting', 'stopping', 'updating', 'deleting')
        and not exists (select 1 from jobs j where j.id = a.active_job_id and j.finished_at is null)
     union all
     select a.id || ' is ' || a.status || ' and ' || j.kind || ' (' || j.status || ') is its job' from agents a
       join jobs j on j.id = a.active_job_id
      where a.id = any(:agentIds)
        and (j.finished_at is not null
             or a.status <> case j.kind when 'agent.provision' then 'provisioning' when 'agent.start' then 'starting'
                                        when 'agent.stop' then 'stopping' when 'agent.delete' then 'deleting'
                                        else a.status end)
     union all
     select j.id || ' (' || j.kind || ') is past its deadline' from jobs j
      where j.agent_id = any(:agentIds) and coalesce(j.finished_at, now()) > j.deadline_at + interval '30 s'`,
    { agentIds },
  );
  return rows.map(({ what }) => what);
};
