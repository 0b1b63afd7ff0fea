import type { Jobs } from '../../jobs/index.js';
import type { Agent } from '../../models/agent.js';
import type { Job } from '../../models/job.js';
import { presentAgent } from '../../presenters/agent.js';
import { presentJob } from '../../presenters/job.js';

export interface Decided {
  agent: Agent;
  /** The job that does the work; absent when there is none to do. */
  job?: Job | undefined;
  /** The job was accepted by this call, not joined. */
  isNew?: boolean;
  /** The job that gave way to it. */
  superseded?: Job | undefined;
}

/** After the commit: hurries what was decided on its way, and answers 202 for a new job, 200 for what was there before. */
export const answerJob = (jobs: Jobs, { agent, job, isNew = false, superseded }: Decided) => {
  if (superseded) jobs.hurryCancel(superseded);
  if (job && isNew) jobs.start(job); // a lost start is the dispatcher's to find
  return {
    status: isNew ? (202 as const) : (200 as const),
    view: 'agentJob' as const,
    ids: { agentId: agent.id, jobId: job?.id ?? null },
    now: { ok: true, agent: presentAgent(agent), job: job ? presentJob(job) : null },
  };
};
