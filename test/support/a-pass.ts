import { Client, Connection } from '@temporalio/client';
import type { ReapReport, ReconcileReport } from '../../activities/reconcile.js';
import { newId } from '../../src/models/new-id.js';
import type { Stack } from './a-stack.js';

type Report = ReconcileReport & { reaping?: ReapReport };

/** One pass of the reconciler, as its schedule would start it. */
export const aPass = async ({ env }: Stack): Promise<Report> => {
  const connection = await Connection.connect({ address: env['TEMPORAL_ADDRESS'] ?? '' });
  try {
    const prefix = env['TEMPORAL_QUEUE_PREFIX'] ?? '';
    const workflow = { workflowId: `${prefix}${newId('job')}`, taskQueue: `${prefix}control` };
    return (await new Client({ connection }).workflow.execute('reconcileHost', workflow)) as Report; // what the workflow returns
  } finally {
    await connection.close();
  }
};

/** A pass that compares the whole list. */
export const aSweep = async (stack: Stack): Promise<Report> => {
  await stack.db('host_watermarks').update({ sweptAt: null });
  return aPass(stack);
};

/** Passes until there is something to see; throws when 20 passes did not bring it. */
export const passesUntil = async (stack: Stack, look: () => Promise<boolean>): Promise<void> => {
  for (let tries = 0; tries < 20; tries++) {
    await aPass(stack);
    if (await look()) return;
  }
  throw new Error('20 passes did not see it');
};
