import { ApiError } from '../../contract/errors.js';
import { createCall } from '../../jobs/index.js';
import { writeAudit } from '../../models/audit-event.js';
import { blinded } from '../../models/idempotency-key.js';
import { presentJob } from '../../presenters/job.js';
import { requireStartStop } from '../../rules/entitlement.js';
import { actorOf } from '../actor.js';
import { entitlementOf } from '../entitlement.js';
import { once } from '../once.js';
import { asRequester, type Operation } from '../operation.js';
import { getOwnAgentForUpdate } from './own-agent.js';

const DEFAULT_TIMEOUT_SECONDS = 30;

export const runCommand: Operation<'agents.run-command'> = async ({ db, jobs, keys, plans }, call) => {
  const { caller, params, body, idempotency } = call;
  requireStartStop(entitlementOf(plans, caller.userId));
  const { decided: job, answer } = await once(
    db,
    idempotency && blinded(keys, idempotency),
    async (trx) => {
      const agent = await getOwnAgentForUpdate(trx, caller.userId, params.id);
      if (!agent.isProvisioned) throw new ApiError('agent_not_provisioned', 'The agent has no machine.');
      if (agent.status !== 'online') throw new ApiError('agent_not_online', `The agent is ${agent.status}.`);
      const { command, timeoutSeconds = DEFAULT_TIMEOUT_SECONDS } = body;
      const requestedBy = asRequester(caller);
      const request = { command, timeoutSeconds };
      const accepted = await createCall(trx, keys, { kind: 'agent.command', agent, requestedBy, request });
      const event = { action: 'agent.command_run', subjectType: 'agent', subjectId: agent.id };
      await writeAudit(trx, { ...actorOf(call), ...event, after: { jobId: accepted.id } });
      return accepted;
    },
    (accepted) => ({
      status: 202 as const,
      view: 'okJobWithAnswer' as const,
      ids: { jobId: accepted.id },
      now: { ok: true, job: presentJob(accepted) },
    }),
  );
  if (job) jobs.start(job);
  return answer;
};
