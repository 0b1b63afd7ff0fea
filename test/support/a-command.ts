import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import type { Agent } from '../../src/contract/shapes/agent.js';
import type { Job } from '../../src/contract/shapes/job.js';
import type { ACaller } from './a-caller.js';
import type { Stack } from './a-stack.js';
import { until } from './until.js';

/** Leaves one line on the volume each time it is run. */
const script = (seconds: number): string =>
  `echo ran >> "$ACP_STATE_DIR/ran"; sleep ${seconds}; echo over >> "$ACP_STATE_DIR/ran"`;
export const command = (by: ACaller, { id }: Agent, seconds: number, timeoutSeconds = 30) =>
  by.call('agents.run-command', { id }, { body: { command: ['sh', '-c', script(seconds)], timeoutSeconds } });
export const linesOf = async ({ hostFolder }: Stack, agent: Agent): Promise<string[]> => {
  const file = join(hostFolder, 'volumes', agent.hostVolumeId ?? '', 'acp', 'ran');
  return (await readFile(file, 'utf8').catch(() => '')).split('\n').slice(0, -1);
};
export const execs = ({ host }: Stack, { hostMachineId }: Agent): number =>
  host.effects().filter(({ action, id }) => action === 'exec' && id === hostMachineId).length;
export const hasBegun = (where: Stack, agent: Agent) =>
  until('it runs', async () => (await linesOf(where, agent)).length > 0);
const callsLeft = ({ db }: Stack, job: Job) =>
  db('machine_calls').where({ jobId: job.id }).first<{ sealedRequest: unknown; sealedAnswer: unknown }>();

/** It ended so, its agent is as it was, and nothing of it is left to be run again. */
export const assertUnknown = async (
  t: ExecutionContext,
  where: Stack,
  by: ACaller,
  agent: Agent,
  job: Job,
  context: string,
) => {
  t.like(job, { status: 'failed', result: null, cancelable: false }, `${context}: ${JSON.stringify(job)}`);
  t.like(job.error, { code: 'outcome_unknown', retryable: false, needsOperator: false }, context);
  t.deepEqual(
    job.steps.map(({ status }) => status),
    ['failed'],
    context,
  );
  t.like(
    await by.agent(agent.id),
    { status: 'online', activeJobId: null, lastError: null, updatedAt: agent.updatedAt },
    context,
  );
  t.like(await callsLeft(where, job), { sealedRequest: null, sealedAnswer: null }, context);
};
