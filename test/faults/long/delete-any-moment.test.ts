import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { ACaller } from '../../support/a-caller.js';
import { withStack } from '../../support/a-stack.js';
import { assertNothingLeft, hostSideOf } from '../../support/host-side.js';
import { type MachineSecrets, secretsOfMachine } from '../../support/machine-secrets.js';
import { seeded } from '../../support/seeded.js';
import { part } from './share.js';

const MOMENTS = part(30, 9);
const AT_ONCE = 3;
/** About what a provision or a start takes here, and then some: some deletions come when all is done. */
const WITHIN_MS = 1_800;
const wait = { headers: { prefer: 'wait=60' } };

const stack = withStack(test);
const random = seeded();
const stories = ['provision', 'start', 'clone'] as const;

/** Begins the story; returns the agents that it is about. */
const begin = async (user: ACaller, story: (typeof stories)[number]): Promise<string[]> => {
  if (story === 'provision') {
    const { id } = await user.anAgent();
    await user.call('agents.provision', { id });
    return [id];
  }
  const { id } = await user.anOnlineAgent();
  if (story === 'start') {
    await user.call('agents.stop', { id }, wait);
    await user.call('agents.start', { id });
    return [id];
  }
  const { body: clone } = await user.call('agents.clone', { id });
  await user.call('agents.provision', { id: clone.id });
  return [clone.id as string, id];
};

/** Each of them, tried at the API as its holder would; how many there were. */
const assertDead = async (t: ExecutionContext, secrets: MachineSecrets, context: string): Promise<number> => {
  const { runtimeId = 'rt_none', bootstrapToken, accessToken, refreshToken } = secrets;
  const nobody = stack().nobody();
  const tries: Promise<{ status: number }>[] = [];
  if (bootstrapToken !== undefined) {
    const body = { runtimeId, bootstrapToken, runtimeVersion: '1.0.0' };
    tries.push(nobody.call('runtime.bootstrap.exchange', {}, { body }));
  }
  if (refreshToken !== undefined)
    tries.push(nobody.call('runtime.auth.refresh', {}, { body: { runtimeId, refreshToken } }));
  if (accessToken !== undefined) tries.push(new ACaller(stack().url, accessToken).call('runtime.auth.status'));
  for (const { status } of await Promise.all(tries)) t.is(status, 401, context);
  return tries.length;
};

const deleteAt = async (t: ExecutionContext, story: (typeof stories)[number], ms: number) => {
  const { db } = stack();
  const user = await stack().user();
  const ids = await begin(user, story);
  await sleep(ms);
  const secrets = await Promise.all(ids.map((id) => secretsOfMachine(stack(), id)));
  const made = hostSideOf(stack(), ids[0] ?? '').effects.length;
  const replies = await Promise.all(ids.map((id) => user.call('agents.delete', { id })));
  const context = `${story}, deleted after ${ms} ms, ${made} effects at the host`;
  let tried = 0;
  for (const one of secrets) tried += await assertDead(t, one, `${context}: from the 202 on`);
  for (const { status, body } of replies) {
    t.is(status, 202, context);
    const job = await user.finished(body.job, 120);
    t.is(job.status, 'succeeded', `${context}: ${JSON.stringify(job)}`);
  }
  for (const id of ids) {
    t.is((await user.call('agents.get', { id })).status, 404, context);
    assertNothingLeft(t, stack(), id, context);
    const runtimes = db('runtime_identities').select('id').where({ agentId: id });
    t.deepEqual(await db('gateway_tokens').where({ agentId: id }).whereNot({ state: 'retired' }), [], context);
    t.deepEqual(await db('bootstrap_tokens').whereIn('runtimeId', runtimes.clone()), [], context);
    t.deepEqual(await db('token_families').whereIn('runtimeId', runtimes.clone()).whereNull('revokedAt'), [], context);
    t.deepEqual(await db('runtime_identities').where({ agentId: id }).whereNot({ status: 'revoked' }), [], context);
  }
  for (const one of secrets) await assertDead(t, one, `${context}: in the end`);
  return { story, ms, made, tried };
};

test('deleted at a random moment of a provision, a start or a clone: the host ends empty and every token is dead', async (t) => {
  t.timeout(600_000);
  const moments = Array.from({ length: MOMENTS }, (_, index) => ({
    story: stories[index % stories.length] ?? 'provision',
    ms: Math.floor(random.next() * WITHIN_MS),
  }));
  const seen: Awaited<ReturnType<typeof deleteAt>>[] = [];
  const work = async (): Promise<void> => {
    for (let next = moments.shift(); next; next = moments.shift()) seen.push(await deleteAt(t, next.story, next.ms));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  t.log(
    `TEST_SEED=${random.seed}: ${seen.length} deletions, ${seen.reduce((sum, { tried }) => sum + tried, 0)} tokens tried`,
  );
  for (const story of stories) {
    const of = seen.filter((one) => one.story === story).toSorted((a, b) => a.ms - b.ms);
    t.log(
      `${story}, milliseconds (effects at the host by then): ${of.map(({ ms, made }) => `${ms} (${made})`).join(', ')}`,
    );
  }
  t.true(new Set(seen.map(({ made }) => made)).size > 2, 'they fell into different steps');
});
