import { Agent, countOwnAgents } from '../../models/agent.js';
import { newId } from '../../models/new-id.js';
import { User } from '../../models/user.js';
import { presentAgent } from '../../presenters/agent.js';
import { choosePlan, requireRoomForAgent } from '../../rules/entitlement.js';
import { hostNameOf } from '../../rules/host-name.js';
import { entitlementOf, planRanks } from '../entitlement.js';
import { once } from '../once.js';
import type { Operation } from '../operation.js';
import { mergeByKey, takeBotToken } from './channels.js';

export const create: Operation<'agents.create'> = async ({ db, keys, plans, installationId }, call) => {
  const { body, idempotency } = call;
  const { userId } = call.caller;
  const entitlement = entitlementOf(plans, userId);
  const plan = choosePlan(body.plan, entitlement, planRanks(plans));
  const id = newId('agent');
  const { channels, sealedBotToken } = takeBotToken(keys, id, body.channels ?? {});
  const { answer } = await once(
    db,
    idempotency,
    async (trx) => {
      // The owner's row is the lock under which agents are counted: two at once never pass the cap.
      await User.query(trx).findById(userId).select('id').forUpdate();
      requireRoomForAgent(entitlement, await countOwnAgents(trx, userId));
      return Agent.query(trx)
        .insert({
          id,
          userId,
          name: body.name,
          persona: body.persona ?? '',
          avatar: body.avatar ?? '',
          plan,
          channels: mergeByKey({}, channels),
          capabilities: mergeByKey({}, body.capabilities ?? {}),
          sealedBotToken: sealedBotToken ?? null,
          hostName: hostNameOf(installationId, id),
        })
        .returning('*');
    },
    (agent) => ({ status: 201, view: 'agent', ids: { agentId: agent.id }, now: presentAgent(agent) }),
  );
  return answer;
};
