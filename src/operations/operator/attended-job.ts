import type { Transaction } from 'objection';
import { ApiError } from '../../contract/errors.js';
import { attendTo } from '../../models/attention.js';
import { writeAudit } from '../../models/audit-event.js';
import { Job } from '../../models/job.js';
import { actorOf } from '../actor.js';
import type { UserCaller } from '../operation.js';

interface Attending {
  caller: UserCaller;
  requestId: string;
  params: { id: string };
  body: { reason: string };
}

export const getJob = async (trx: Transaction, id: string): Promise<Job> => {
  const job = await Job.query(trx).findById(id);
  if (!job) throw new ApiError('not_found', 'There is no such job.');
  return job;
};

/** The job that an operator attends to, taken off the list; what was done and why goes into the audit trail of its owner. */
export const takeAttended = async (trx: Transaction, call: Attending, action: string): Promise<Job> => {
  const job = await getJob(trx, call.params.id);
  if (!(await attendTo(trx, job.id))) throw new ApiError('conflict', 'This job does not wait for an operator.');
  await writeAudit(trx, {
    ...actorOf(call),
    userId: job.userId,
    action,
    subjectType: 'job',
    subjectId: job.id,
    before: { kind: job.kind, code: job.error?.code },
    reason: call.body.reason,
  });
  return job;
};
