import type { Transaction } from 'objection';
import type { Agent } from '../../models/agent.js';
import type { Job } from '../../models/job.js';
import type { KeyedRequest } from '../../models/idempotency-key.js';
import { presentAgent } from '../../presenters/agent.js';
import { presentJob } from '../../presenters/job.js';
import { once } from '../once.js';
import type { Deps } from '../operation.js';

export interface Decided {
  agent: Agent;
  /** The job that does the work; absent when there is none to do. */
  job?: Job | undefined;
  /** The job was accepted by this call, not joined. */
  isNew?: boolean;
  /** The job that gave way to it. */
  superseded?: Job | undefined;
}

const toAnswer = ({ agent, job, isNew = false }: Decided) => ({
  status: isNew ? (202 as const) : (200 as const),
  view: 'agentJob' as const,
  ids: { agentId: agent.id, jobId: job?.id ?? null },
  now: { ok: true, agent: presentAgent(agent), job: job ? presentJob(job) : null },
});

/** Decides in one transaction, then hurries what was decided on its way; 202 for a new job, 200 for what was there before. */
export const answerJob = async (
  { db, jobs }: Deps,
  idempotency: KeyedRequest | undefined,
  decide: (trx: Transaction) => Promise<Decided>,
) => {
  const { decided, answer } = await once(db, idempotency, decide, toAnswer);
  if (decided?.superseded) jobs.hurryCancel(decided.superseded);
  if (decided?.job && decided.isNew === true) jobs.start(decided.job); // a lost start is the dispatcher's to find
  return answer;
};
