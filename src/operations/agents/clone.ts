import { Agent, countOwnAgents } from '../../models/agent.js';
import { newId } from '../../models/new-id.js';
import { User } from '../../models/user.js';
import { presentAgent } from '../../presenters/agent.js';
import { choosePlan, requireRoomForAgent } from '../../rules/entitlement.js';
import { hostNameOf } from '../../rules/host-name.js';
import { settingsOnly } from '../../rules/settings-only.js';
import { entitlementOf, planRanks } from '../entitlement.js';
import { once } from '../once.js';
import type { Operation } from '../operation.js';
import { getOwnAgent } from './own-agent.js';

/** Configuration only: a credential, a token, a connection or the data on the volume never travels. */
export const clone: Operation<'agents.clone'> = async ({ db, plans, installationId }, call) => {
  const { caller, params, body, idempotency } = call;
  const { userId } = caller;
  const entitlement = entitlementOf(plans, userId);
  const id = newId('agent');
  const { answer } = await once(
    db,
    idempotency,
    async (trx) => {
      const source = await getOwnAgent(trx, userId, params.id);
      await User.query(trx).findById(userId).select('id').forUpdate();
      requireRoomForAgent(entitlement, await countOwnAgents(trx, userId));
      return Agent.query(trx)
        .insert({
          id,
          userId,
          name: body?.name ?? `${source.name} (copy)`,
          persona: source.persona,
          avatar: source.avatar,
          plan: choosePlan(source.plan, entitlement, planRanks(plans)),
          channels: settingsOnly(source.channels),
          capabilities: settingsOnly(source.capabilities),
          clonedFromAgentId: source.id,
          hostName: hostNameOf(installationId, id),
        })
        .returning('*');
    },
    (agent) => ({ status: 201, view: 'agent', ids: { agentId: agent.id }, now: presentAgent(agent) }),
  );
  return answer;
};
