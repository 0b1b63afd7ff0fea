import type { Transaction } from 'objection';
import { createAgentJob, makeWay } from '../../jobs/index.js';
import { type Agent, changeAgent } from '../../models/agent.js';
import { writeAudit } from '../../models/audit-event.js';
import { retireGatewayTokens } from '../../models/gateway-token.js';
import { revokeRuntimes } from '../../models/runtime-identity.js';
import { requireProvisioning } from '../../rules/entitlement.js';
import { actorOf } from '../actor.js';
import { entitlementOf } from '../entitlement.js';
import { asRequester, type Operation } from '../operation.js';
import { answerJob, type Decided } from './answer-job.js';
import { getOwnAgentForUpdate } from './own-agent.js';

/** What an earlier attempt could authenticate with is dead from this commit on: the machine gets an identity of its own again. */
const beginAnew = async (trx: Transaction, agent: Agent, call: Parameters<typeof actorOf>[0]): Promise<void> => {
  await revokeRuntimes(trx, agent.id);
  await retireGatewayTokens(trx, agent.id);
  await changeAgent(trx, agent.id, { generation: agent.generation + 1 });
  const event = { action: 'agent.credentials_revoked', subjectType: 'agent', subjectId: agent.id };
  await writeAudit(trx, { ...actorOf(call), ...event, reason: 'provisioned anew' });
};

export const provision: Operation<'agents.provision'> = async (deps, call) => {
  const { caller, params, idempotency } = call;
  requireProvisioning(entitlementOf(deps.plans, caller.userId));
  return answerJob(deps, idempotency, async (trx): Promise<Decided> => {
    const agent = await getOwnAgentForUpdate(trx, caller.userId, params.id);
    const { join } = await makeWay(trx, agent, 'agent.provision');
    if (join) return { agent, job: join };
    // From `error` it is tried again: it finds what is there and goes on from it.
    if (agent.provisionedAt !== null && agent.status !== 'error') return { agent };
    const requestedBy = asRequester(caller);
    if (agent.status === 'error') await beginAnew(trx, agent, call);
    return { ...(await createAgentJob(trx, { kind: 'agent.provision', agent, requestedBy })), isNew: true };
  });
};
