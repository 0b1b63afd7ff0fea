import type { Transaction } from 'objection';
import { ApiError } from '../../contract/errors.js';
import type { AgentStatus } from '../../contract/shapes/agent.js';
import type { LogLine } from '../../contract/shapes/machine-call.js';
import { createCall } from '../../jobs/index.js';
import { findUnfinished, type Job } from '../../models/job.js';
import { openAnswer } from '../../models/machine-call.js';
import { presentJob } from '../../presenters/job.js';
import { asRequester, type Call, type Deps, type Operation } from '../operation.js';
import { getOwnAgentForUpdate } from './own-agent.js';

const DEFAULT_TAIL = 100;
const WAIT_MS = 10_000;
/** Nothing runs, or is about to. In any other state a machine may run and its log say why the agent is not well. */
const stillStatuses: AgentStatus[] = ['offline', 'deleting'];

/** The job that reads the log: one that is about to read as much, or a new one. */
const findOrCreate = async (trx: Transaction, { keys }: Deps, { caller, params, query }: Call<'agents.logs'>) => {
  const agent = await getOwnAgentForUpdate(trx, caller.userId, params.id);
  if (agent.hostMachineId === null) throw new ApiError('agent_not_provisioned', 'The agent has no machine.');
  if (stillStatuses.includes(agent.status)) throw new ApiError('agent_not_online', `The agent is ${agent.status}.`);
  const kind = 'agent.logs';
  const asked = { tail: query.tail ?? DEFAULT_TAIL };
  const [same] = await findUnfinished(trx, agent.id, kind, asked);
  if (same) return { job: same, isNew: false };
  return {
    job: await createCall(trx, keys, { kind, agent, requestedBy: asRequester(caller), params: asked }),
    isNew: true,
  };
};

const shown = async ({ db, keys }: Deps, job: Job) => {
  const answer = job.status === 'succeeded' ? await openAnswer(db, keys, job.id) : undefined;
  if (!answer) return { ok: false, lines: [], truncated: false, job: presentJob(job) };
  // Written by the activity as these.
  return { ok: true, ...(answer as { lines: LogLine[] }), truncated: job.result?.['truncated'] === true };
};

/** Waits a little: most logs are here within a second. */
export const logs: Operation<'agents.logs'> = async (deps, call) => {
  const { job, isNew } = await deps.db.transaction((trx) => findOrCreate(trx, deps, call));
  if (isNew) deps.jobs.start(job);
  const last = await deps.jobs.watch.untilFinished(job.id, call.waitMs || WAIT_MS, call.signal);
  if (!last?.isFinished) return { status: 202, view: 'okJob', ids: { jobId: job.id }, hasWaited: true };
  return { status: 200, body: await shown(deps, last), hasWaited: true };
};
