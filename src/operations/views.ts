import { ApiError } from '../contract/errors.js';
import type { Db } from '../db/knex.js';
import { Agent } from '../models/agent.js';
import { isCall } from '../contract/shapes/job.js';
import { Job } from '../models/job.js';
import type { KeyRing } from '../models/key-ring.js';
import { openAnswer } from '../models/machine-call.js';
import { presentAgent } from '../presenters/agent.js';
import { presentJob, presentJobWithAnswer } from '../presenters/job.js';

export interface Ids {
  agentId?: string;
  jobId?: string | null;
}

/** What views are made from. */
export interface Sources {
  db: Db;
  keys: KeyRing;
}

const findAgent = (db: Db, { agentId = '' }: Ids) => Agent.query(db).findById(agentId).throwIfNotFound();
const findJob = async (db: Db, { jobId }: Ids) => (jobId ? Job.query(db).findById(jobId).throwIfNotFound() : undefined);

const isFine = (job: Job | undefined): boolean => !job?.isFinished || job.status === 'succeeded';

const withAnswer = async ({ db, keys }: Sources, job: Job) =>
  presentJobWithAnswer(job, isCall(job.kind) ? await openAnswer(db, keys, job.id) : undefined);

/** Answers made of rows, as they stand when the answer is sent. */
export const views = {
  agent: async ({ db }: Sources, ids: Ids) => {
    const agent = await findAgent(db, ids);
    if (agent.deletedAt !== null) throw new ApiError('not_found', 'The agent is gone.');
    return presentAgent(agent);
  },
  agentJob: async ({ db }: Sources, ids: Ids) => {
    const [agent, job] = await Promise.all([findAgent(db, ids), findJob(db, ids)]);
    return { ok: isFine(job), agent: presentAgent(agent), job: job ? presentJob(job) : null };
  },
  okJob: async ({ db }: Sources, ids: Ids) => {
    const job = await findJob(db, ids);
    return { ok: isFine(job), job: job ? presentJob(job) : null };
  },
  /** The wish to cancel was taken; how the job ends is the job's to say. */
  canceling: async ({ db }: Sources, ids: Ids) => {
    const job = await findJob(db, ids);
    return { ok: true, job: job ? presentJob(job) : null };
  },
  okJobWithAnswer: async (sources: Sources, ids: Ids) => {
    const job = await findJob(sources.db, ids);
    return { ok: isFine(job), job: job ? await withAnswer(sources, job) : null };
  },
  job: async ({ db }: Sources, ids: Ids) => {
    const job = await findJob(db, ids);
    return job ? presentJob(job) : null;
  },
  jobWithAnswer: async (sources: Sources, ids: Ids) => {
    const job = await findJob(sources.db, ids);
    return job ? withAnswer(sources, job) : null;
  },
  /** Shown once, by the call that made it. */
  secret: () => Promise.resolve(null),
} satisfies Record<string, (sources: Sources, ids: Ids) => Promise<unknown>>;

export type ViewName = keyof typeof views;
