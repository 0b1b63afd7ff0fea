import test, { type ExecutionContext } from 'ava';
import type { Job } from '../../src/contract/shapes/job.js';
import type { ACaller } from '../support/a-caller.js';
import { startProcess } from '../support/a-process.js';
import { startStack } from '../support/a-stack.js';
import { aTcpProxy } from '../support/a-tcp-proxy.js';
import { assertNothingLeft, assertOneOfEach } from '../support/host-side.js';
import { until } from '../support/until.js';

/** Longer than a start's own deadline of 500 ms, for a busy machine; far from anything that hangs. */
const PROMPT_MS = 2_500;

/** Everybody's way to Temporal leads over a proxy; the workers are processes, which must outlive the outage. */
const aStack = async (t: ExecutionContext) => {
  t.timeout(180_000);
  const temporal = await aTcpProxy(process.env['TEST_TEMPORAL_ADDRESS'] ?? '');
  t.teardown(() => temporal.close());
  const stack = await startStack({ workers: false, env: { TEMPORAL_ADDRESS: temporal.address } });
  t.teardown(() => stack.close());
  const start = async (queue: 'control' | 'host') => {
    const worker = await startProcess(`workers/${queue}`, stack.env);
    t.teardown(() => worker.kill());
    return worker;
  };
  return { stack, temporal, workers: await Promise.all([start('control'), start('host')]) };
};

const timed = async <T>(t: ExecutionContext, slowest: { ms: number }, work: Promise<T>): Promise<T> => {
  const began = Date.now();
  const result = await work;
  const ms = Date.now() - began;
  slowest.ms = Math.max(slowest.ms, ms);
  t.true(ms < PROMPT_MS, `${ms} ms`);
  return result;
};

for (const [how, title] of [
  ['refuse', 'gone'],
  ['hush', 'behind a network that swallows everything'],
] as const)
  test(`while Temporal is ${title}, reads answer and 20 writes are accepted, and all of it happens when it is back`, async (t) => {
    const { stack, temporal, workers } = await aStack(t);
    const [ada, grace, eve, kim] = await Promise.all([stack.user(), stack.user(), stack.user(), stack.user()]);
    const online = await Promise.all([
      ada.anOnlineAgent(),
      ada.anOnlineAgent(),
      ada.anOnlineAgent(),
      ada.anOnlineAgent(),
    ]);
    const fresh = await Promise.all(
      [grace, eve, kim].flatMap((user) =>
        Array.from({ length: 5 }, () => user.anAgent().then(({ id }) => ({ user, id }))),
      ),
    );
    const spare = await ada.anAgent();
    await temporal[how]();

    const reads = { ms: 0 };
    const ready = await timed(t, reads, stack.nobody().request('GET', '/readyz'));
    t.is(ready.status, 200);
    t.like(ready.body, { ready: true, database: true, temporal: false });
    const read = async () => {
      t.is((await timed(t, reads, ada.call('agents.list'))).status, 200);
      t.is((await timed(t, reads, ada.call('agents.status', { id: spare.id }))).status, 200);
      t.is((await timed(t, reads, ada.call('jobs.list'))).status, 200);
    };
    await read();

    const writes = { ms: 0 };
    const accepted: { user: ACaller; job: Job }[] = [];
    const write = async (user: ACaller, verb: 'provision' | 'stop' | 'delete', id: string) => {
      const reply = await timed(t, writes, user.call(`agents.${verb}`, { id }));
      t.is(reply.status, 202, JSON.stringify(reply.body));
      t.is(reply.body.job.status, 'queued');
      accepted.push({ user, job: reply.body.job as Job });
    };
    for (const { user, id } of fresh) await write(user, 'provision', id);
    for (const { id } of online.slice(0, 2)) await write(ada, 'stop', id);
    for (const { id } of online.slice(2)) await write(ada, 'delete', id);
    await write(ada, 'delete', spare.id);
    t.is(accepted.length, 20);
    await read();
    t.is((await stack.nobody().request('GET', '/readyz')).status, 200);

    await temporal.restore();
    const began = Date.now();
    for (const { user, job } of accepted) {
      const ended = await user.finished(job, 90);
      t.is(ended.status, 'succeeded', JSON.stringify(ended));
      if (job.kind === 'agent.delete') assertNothingLeft(t, stack, job.subject.id, job.id);
      else assertOneOfEach(t, stack, await user.agent(job.subject.id), job.kind);
    }
    t.log(
      `slowest read ${reads.ms} ms, slowest write ${writes.ms} ms, all done ${Date.now() - began} ms after Temporal was back`,
    );
    await until('ready again', async () => (await stack.nobody().request('GET', '/readyz')).body.temporal === true);
    for (const worker of workers) t.true(worker.isRunning(), worker.output());
  });
