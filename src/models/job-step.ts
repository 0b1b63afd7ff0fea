import type { JobStep } from '../contract/shapes/job.js';
import type { Db } from '../db/knex.js';
import { Job } from './job.js';

const change = async (db: Db, jobId: string, edit: (steps: JobStep[]) => JobStep[], step?: string): Promise<void> =>
  db.transaction(async (trx) => {
    const job = await Job.query(trx).findById(jobId).select('steps').whereNull('finishedAt').forUpdate();
    if (!job) return; // ended meanwhile: its steps are closed
    await trx('jobs')
      .update({ steps: JSON.stringify(edit(job.steps)), ...(step === undefined ? {} : { step }) })
      .where({ id: jobId });
  });

export const pendingStep = (name: string): JobStep => ({
  name,
  status: 'pending',
  attempts: 0,
  startedAt: null,
  finishedAt: null,
});

/** Marks a step as under way in its n-th attempt; a step that was not announced (an undoing) is added. */
export const beginStep = (db: Db, jobId: string, name: string, attempt: number): Promise<void> =>
  change(
    db,
    jobId,
    (steps) => {
      const known = steps.some((step) => step.name === name) ? steps : [...steps, pendingStep(name)];
      const startedAt = new Date().toISOString();
      return known.map((step) =>
        step.name === name
          ? { ...step, status: 'running', attempts: attempt, startedAt: step.startedAt ?? startedAt, finishedAt: null }
          : step,
      );
    },
    name,
  );

export const endStep = (db: Db, jobId: string, name: string): Promise<void> =>
  change(db, jobId, (steps) => {
    const finishedAt = new Date().toISOString();
    return steps.map((step) => (step.name === name ? { ...step, status: 'done', finishedAt } : step));
  });
