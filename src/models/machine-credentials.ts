import type { Transaction } from 'objection';
import { type Agent, heldAgentForUpdate } from './agent.js';
import { writeAudit } from './audit-event.js';
import { gatewayTokenForMachine } from './gateway-token.js';
import { Job } from './job.js';
import type { KeyRing } from './key-ring.js';
import { ensureRuntimeIdentity, mintBootstrapToken } from './runtime-identity.js';

/** What a machine is started with, as its environment names it. */
export interface MachineCredentials {
  ACP_BOOTSTRAP_TOKEN: string;
  ACP_GATEWAY_TOKEN: string;
}

/** Mints a bootstrap token for the machine that the job starts, and tells the gateway token. Throws NotHolder when the job was superseded, by a deletion above all: it hands out nothing any more. */
export const mintMachineCredentials = async (
  trx: Transaction,
  keys: KeyRing,
  { jobId, agent, runtimeVersion }: { jobId: string; agent: Agent; runtimeVersion: string },
): Promise<MachineCredentials> => {
  const held = await heldAgentForUpdate(trx, jobId, agent.id);
  const runtime = await ensureRuntimeIdentity(trx, held, runtimeVersion);
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
  return {
    ACP_BOOTSTRAP_TOKEN: await mintBootstrapToken(trx, runtime.id),
    ACP_GATEWAY_TOKEN: await gatewayTokenForMachine(trx, keys, agent.id),
  };
};
