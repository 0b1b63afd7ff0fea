import type { Transaction } from 'objection';
import { type Agent, heldAgentForUpdate } from './agent.js';
import { writeAudit } from './audit-event.js';
import { gatewayTokenForMachine } from './gateway-token.js';
import { Job } from './job.js';
import type { KeyRing } from './key-ring.js';
import { derivedToken, hashToken } from './opaque-token.js';
import { BootstrapToken, ensureRuntimeIdentity, putBootstrapToken } from './runtime-identity.js';

/** What a machine is started with, as its environment names it. */
export interface MachineCredentials {
  ACP_BOOTSTRAP_TOKEN: string;
  ACP_GATEWAY_TOKEN: string;
}

/** Of these tokens the one that the runtime was given, else the first. */
const handedOver = async (trx: Transaction, runtimeId: string, tokens: string[]): Promise<string> => {
  const known = await BootstrapToken.query(trx).where({ runtimeId }).whereIn('hash', tokens.map(hashToken)).first();
  const token = tokens.find((one) => known?.hash.equals(hashToken(one))) ?? tokens[0];
  if (token === undefined) throw new Error('there is no key');
  return token;
};

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
  // Keys may change between two attempts: one that was handed over stays the one.
  const possible = keys.ids.map((keyId) => derivedToken(keys, keyId, 'bootstrap', jobId, held.generation));
  const bootstrapToken = await handedOver(trx, runtime.id, possible);
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
