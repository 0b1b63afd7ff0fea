import test from 'ava';
import type { Job } from '../../src/contract/shapes/job.js';
import type { ACaller } from '../support/a-caller.js';
import { aJob } from '../support/a-job.js';
import { isProblem } from '../support/a-problem.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });

const userIdOf = async (caller: ACaller): Promise<string> => (await caller.call('users.me')).body.id as string;

const list = async (caller: ACaller, query: Record<string, string | number> = {}) => {
  const { body } = await caller.call('jobs.list', {}, { query });
  return body as { jobs: Job[]; nextCursor: string | null };
};

/** All pages; `between` runs after each. */
const pages = async (
  caller: ACaller,
  query: Record<string, string | number>,
  between = async () => {},
): Promise<string[][]> => {
  const seen: string[][] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await list(caller, { ...query, ...(cursor === undefined ? {} : { cursor }) });
    seen.push(page.jobs.map((job) => job.id));
    cursor = page.nextCursor;
    await between();
  }
  return seen;
};

test('a list that is walked while jobs are added misses none and repeats none', async (t) => {
  const ada = await stack().user();
  const userId = await userIdOf(ada);
  const ids: string[] = [];
  for (let n = 0; n < 23; n++) ids.push(await aJob(stack(), userId));
  const seen = await pages(ada, { limit: 5 }, async () => {
    await aJob(stack(), userId);
    await aJob(stack(), userId);
  });
  t.deepEqual(
    seen.map((page) => page.length),
    [5, 5, 5, 5, 3],
  );
  t.deepEqual(seen.flat(), ids.toReversed(), 'newest first');
});

test('a page that holds the last row says so', async (t) => {
  const ada = await stack().user();
  const userId = await userIdOf(ada);
  t.deepEqual(await list(ada), { jobs: [], nextCursor: null });
  for (let n = 0; n < 4; n++) await aJob(stack(), userId);
  t.deepEqual(
    (await pages(ada, { limit: 2 })).map((page) => page.length),
    [2, 2],
  );
  t.is((await list(ada, { limit: 4 })).nextCursor, null);
});

test('fifty jobs are listed unless told otherwise, a hundred at most', async (t) => {
  const ada = await stack().user();
  const userId = await userIdOf(ada);
  for (let n = 0; n < 101; n++) await aJob(stack(), userId);
  t.is((await list(ada)).jobs.length, 50);
  t.is((await list(ada, { limit: 100 })).jobs.length, 100);
});

test('a list is narrowed by agent, kind and status, alone and together, page by page', async (t) => {
  const ada = await stack().user();
  const userId = await userIdOf(ada);
  const one = await ada.anAgent();
  const two = await ada.anAgent();
  const failed = { status: 'failed' as const };
  const wanted: string[] = [];
  for (const agentId of [one.id, two.id])
    for (const kind of ['agent.start', 'agent.stop'] as const)
      for (let n = 0; n < 3; n++) {
        await aJob(stack(), userId, { agentId, kind });
        const id = await aJob(stack(), userId, { agentId, kind, ...failed });
        if (agentId === two.id && kind === 'agent.stop') wanted.push(id);
      }
  t.is((await list(ada, { agentId: one.id })).jobs.length, 12);
  t.is((await list(ada, { kind: 'agent.stop' })).jobs.length, 12);
  t.is((await list(ada, { status: 'failed' })).jobs.length, 12);
  t.deepEqual((await list(ada, { status: 'running' })).jobs, []);
  const query = { agentId: two.id, kind: 'agent.stop', status: 'failed', limit: 2 };
  t.deepEqual((await pages(ada, query)).flat(), wanted.toReversed());
});

test('a filter that names nothing there could be is refused', async (t) => {
  const ada = await stack().user();
  const nonsense: Record<string, string>[] = [
    { agentId: 'x' },
    { agentId: 'job_01jd0000000000000000000000' },
    { kind: 'agent.fly' },
    { status: 'done' },
    { status: '' },
  ];
  for (const query of nonsense)
    isProblem(t, await ada.call('jobs.list', {}, { query }), 'invalid_request', JSON.stringify(query));
});

test("a list holds nobody else's jobs", async (t) => {
  const [ada, eve] = [await stack().user(), await stack().user()];
  const [adaId, eveId] = [await userIdOf(ada), await userIdOf(eve)];
  const mine = await aJob(stack(), adaId);
  await aJob(stack(), eveId);
  t.deepEqual(
    (await list(ada)).jobs.map((job) => job.id),
    [mine],
  );
});
