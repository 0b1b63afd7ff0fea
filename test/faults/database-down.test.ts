import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { isProblem } from '../support/a-problem.js';
import { aCrashingPostgres } from '../support/a-crashing-postgres.js';
import { startProcess } from '../support/a-process.js';
import { type Stack, startStack } from '../support/a-stack.js';
import { aTcpProxy } from '../support/a-tcp-proxy.js';
import { anEventStream } from '../support/an-event-stream.js';
import { appNameOf, assertOneOfEach } from '../support/host-side.js';
import { until } from '../support/until.js';

/** For a call to be refused. In silence a statement is given up after 15 s, a connection after 4. */
const PROMPT_MS = 5_000;
const PROMPT_IN_SILENCE_MS = 17_000;
const RECOVERED_WITHIN_MS = 5_000;
/** Longer than the heartbeat's time-out: what was under way is given up and tried again. */
const OUTAGE_MS = 9_000;

interface Outage {
  stack: Stack;
  /** How the product's processes reach the database. */
  databaseUrl: string;
  promptMs: number;
  begin(): Promise<void>;
  end(): Promise<void>;
}

const behindAProxy = async (t: ExecutionContext, how: 'refuse' | 'hush'): Promise<Outage> => {
  const stack = await startStack({ api: false, workers: false });
  t.teardown(() => stack.close());
  const url = new URL(stack.env['DATABASE_URL'] ?? '');
  const proxy = await aTcpProxy(url.host);
  t.teardown(() => proxy.close());
  url.host = proxy.address;
  return {
    stack,
    databaseUrl: url.href,
    promptMs: how === 'hush' ? PROMPT_IN_SILENCE_MS : PROMPT_MS,
    begin: async () => proxy[how](),
    end: () => proxy.restore(),
  };
};

/** A server of the test's own that crashes and comes back after its recovery. */
const crashing = async (t: ExecutionContext): Promise<Outage> => {
  const server = await aCrashingPostgres();
  t.teardown(() => server.close());
  const stack = await startStack({ api: false, workers: false, databaseServer: server.url });
  t.teardown(() => stack.close());
  return {
    stack,
    databaseUrl: stack.env['DATABASE_URL'] ?? '',
    promptMs: PROMPT_MS,
    begin: () => server.crash(),
    end: () => server.recover(),
  };
};

for (const [title, prepare] of [
  ['gone', (t: ExecutionContext) => behindAProxy(t, 'refuse')],
  ['behind a network that swallows everything', (t: ExecutionContext) => behindAProxy(t, 'hush')],
  ['crashed', crashing],
] as const)
  test(`while the database is ${title}, calls are refused with 503 and nothing is acknowledged; all goes on by itself when it is back`, async (t) => {
    t.timeout(180_000);
    const { stack, databaseUrl, promptMs, begin, end } = await prepare(t);
    const settings = { ...stack.env, DATABASE_URL: databaseUrl, LOG_LEVEL: 'info' };
    const programs = ['src/server', 'workers/control', 'workers/host'] as const;
    const processes = await Promise.all(programs.map((program) => startProcess(program, settings)));
    t.teardown(() => Promise.all(processes.map((one) => one.kill())));
    const ada = await stack.user();
    const online = await ada.anOnlineAgent();
    const { id } = await ada.anAgent();

    // A provision is under way, two watch it, and the host is slow.
    const slow = { method: 'POST', path: `/${appNameOf(id)}/machines$/` };
    stack.host.fault({ match: slow, mode: 'delay', delayMs: 3_000, times: 1 });
    const { body } = await ada.call('agents.provision', { id });
    const stream = await anEventStream(ada, body.job.id);
    const waiting = ada.call('jobs.get', { id: body.job.id }, { headers: { prefer: 'wait=60' } });
    await until('the host is at it', () => stack.host.faults().some((fault) => fault.injected > 0));

    await begin();
    const began = Date.now();
    let slowest = 0;
    const refused = async (call: Parameters<typeof ada.call>): Promise<void> => {
      const asked = Date.now();
      const reply = await ada.call(...call);
      slowest = Math.max(slowest, Date.now() - asked);
      isProblem(t, reply, 'unavailable', call[0]);
      t.regex(reply.headers.get('retry-after') ?? '', /^\d+$/);
    };
    const calls: Parameters<typeof ada.call>[] = [
      ['agents.list'],
      ['agents.get', { id }],
      ['jobs.get', { id: body.job.id }],
      ['users.me'],
      ['agents.create', {}, { body: { name: 'never made' } }],
      ['agents.stop', { id: online.id }],
      ['agents.delete', { id: online.id }],
    ];
    await Promise.all(
      Array.from({ length: 4 }, () => calls)
        .flat()
        .map(refused),
    );
    t.true(slowest < promptMs, `${slowest} ms`);
    const probed = Date.now();
    const ready = await stack.nobody().request('GET', '/readyz');
    t.is(ready.status, 503);
    t.true(Date.now() - probed < PROMPT_MS, 'a probe is answered at once');
    t.like(ready.body, { ready: false, database: false });
    await sleep(Math.max(0, began + OUTAGE_MS - Date.now()));

    await end();
    const back = Date.now();
    await until(
      'the API answers',
      async () => (await ada.call('agents.list')).status === 200,
      RECOVERED_WITHIN_MS / 1_000,
    );
    const recoveredMs = Date.now() - back;
    const job = await ada.finished(body.job, 90);
    t.is(job.status, 'succeeded', JSON.stringify(job));
    assertOneOfEach(t, stack, await ada.agent(id), 'after the outage');
    const { agents } = (await ada.call('agents.list')).body;
    t.deepEqual(
      agents.map((agent: { name: string }) => agent.name).toSorted(),
      ['an agent', 'an agent'],
      'none was made',
    );
    t.like(await ada.agent(online.id), { status: 'online', desiredStatus: 'online', activeJobId: null });
    const jobs = await stack.db('jobs').whereNot({ kind: 'agent.provision' });
    t.deepEqual(jobs, [], 'no refused call has left a job');

    t.is((await waiting).body.status, 'succeeded', 'who waited is told');
    await stream.ended;
    t.is(stream.events.at(-1)?.job.status, 'succeeded', 'who watched has seen the end');
    for (const one of processes) t.true(one.isRunning(), one.output());
    const lines = processes.flatMap((one) => one.output().split('\n')).filter((line) => line !== '');
    t.is(
      lines.find((line) => !line.startsWith('{')),
      undefined,
      'every line printed is a log line',
    );
    t.log(`slowest refusal ${slowest} ms, answering again ${recoveredMs} ms after the database was back`);
  });
