import type { Transaction } from 'objection';
import { type Agent, heldAgentForUpdate } from './agent.js';
import { writeAudit } from './audit-event.js';
import { gatewayTokenForMachine } from './gateway-token.js';
import { Job } from './job.js';
import type { KeyRing } from './key-ring.js';
import { derivedToken } from './opaque-token.js';
import { ensureRuntimeIdentity, putBootstrapToken } from './runtime-identity.js';

/** What a machine is started with, as its environment names it. */
export interface MachineCredentials {
  ACP_BOOTSTRAP_TOKEN: string;
  ACP_GATEWAY_TOKEN: string;
}

/**
 * The bootstrap token of the job that starts the machine, and the gateway token. Derived from the job, so that an attempt believed dead,
 * which comes back when the machine has booted, hands over the same. Throws NotHolder when the job was superseded, by a deletion above
 * all: it hands out nothing any more.
 */
export const makeMachineCredentials = async (
  trx: Transaction,
  keys: KeyRing,
  { jobId, agent, runtimeVersion }: { jobId: string; agent: Agent; runtimeVersion: string },
): Promise<MachineCredentials> => {
  const held = await heldAgentForUpdate(trx, jobId, agent.id);
  const runtime = await ensureRuntimeIdentity(trx, held, runtimeVersion);
  const bootstrapToken = derivedToken(keys, keys.currentId, 'bootstrap', jobId, held.generation);
  if (await putBootstrapToken(trx, runtime.id, bootstrapToken)) {
    const job = await Job.query(trx).findById(jobId).throwIfNotFound();
    await writeAudit(trx, {
      actorType: job.requestedByType === 'schedule' ? 'service' : job.requestedByType,
      actorId: job.requestedById,
      userId: agent.userId,
      action: 'runtime.bootstrap_minted',
      subjectType: 'runtime',
      subjectId: runtime.id,
      after: { agentId: agent.id, jobId },
    });
  }
  return {
    ACP_BOOTSTRAP_TOKEN: bootstrapToken,
    ACP_GATEWAY_TOKEN: await gatewayTokenForMachine(trx, keys, agent.id),
  };
};
