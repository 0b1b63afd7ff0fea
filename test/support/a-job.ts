import type { Job as JobResource } from '../../src/contract/shapes/job.js';
import { Job } from '../../src/models/job.js';
import { newId } from '../../src/models/new-id.js';
import { type Outcome, settleJob } from '../../src/models/settle-job.js';
import type { Stack } from './a-stack.js';

/** A job row that nobody dispatches, for lists; ended unless told otherwise. */
export const aJob = async ({ db }: Pick<Stack, 'db'>, userId: string, fields: Partial<Job> = {}): Promise<string> => {
  const id = newId('job');
  const subjectId = fields.agentId ?? newId('agent');
  await Job.query(db).insert({
    id,
    kind: 'agent.start',
    userId,
    agentId: subjectId,
    subjectType: 'agent',
    subjectId,
    status: 'succeeded',
    finishedAt: new Date(),
    requestedByType: 'user',
    requestedById: userId,
    workflowId: `none:${id}`,
    ...fields,
  });
  return id;
};

/** Ends a job as its workflow would. */
export const endJob = ({ db }: Stack, job: Pick<JobResource, 'id'>, outcome: Outcome): Promise<boolean> =>
  db.transaction((trx) => settleJob(trx, job.id, outcome));

export const failure: Outcome = {
  status: 'failed',
  error: { code: 'host_capacity', message: 'No room at the host.', retryable: true, needsOperator: false },
};
