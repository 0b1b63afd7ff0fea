import test, { type ExecutionContext } from 'ava';
import type { Agent } from '../../src/contract/shapes/agent.js';
import type { Orphan } from '../../src/contract/shapes/orphan.js';
import { newId } from '../../src/models/new-id.js';
import { aJob } from '../support/a-job.js';
import { aSweep } from '../support/a-pass.js';
import { withStack } from '../support/a-stack.js';
import { appNameOf, assertNothingLeft, volumeNameOf } from '../support/host-side.js';

// One hour of grace: a test that wants it over makes the orphan older.
const stack = withStack(test, { env: { ORPHAN_GRACE_SECONDS: '3600' } });

const atHost = (method: string, path: string, body?: unknown): Promise<Response> =>
  fetch(`${stack().host.url}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${stack().env['HOST_API_TOKEN']}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

/** An agent that was deleted in the rows alone: its app, machine and volume are still there. */
const anOrphan = async (): Promise<Agent> => {
  const agent = await (await stack().user()).anOnlineAgent();
  await stack().db('agents').update({ deletedAt: new Date() }).where({ id: agent.id });
  return agent;
};

const age = (appName: string): Promise<unknown> =>
  stack()
    .db('host_orphans')
    .where({ appName })
    .update({ firstSeenAt: stack().db.raw(`now() - interval '61 minutes'`) });

const listed = async (appName: string): Promise<Orphan | undefined> => {
  const olivia = await stack().user(undefined, { role: 'operator' });
  const { body } = await olivia.call('operator.attention.list');
  return (body.orphans as Orphan[]).find((orphan) => orphan.appName === appName);
};

/** Seen twice and old enough: nothing but what the test is about keeps it. */
const ripen = async (appName: string): Promise<void> => {
  await aSweep(stack());
  await aSweep(stack());
  await age(appName);
};

const isThere = async (appName: string): Promise<boolean> => (await atHost('GET', `/apps/${appName}`)).status === 200;

/** Held back with this code, shown so, and still there. */
const assertHeld = async (t: ExecutionContext, appName: string, code: string): Promise<void> => {
  const orphan = await listed(appName);
  t.like(orphan, { reapAt: null, heldBack: { code } }, JSON.stringify(orphan));
  t.true(await isThere(appName));
};

test.afterEach.always(async () => {
  stack().host.clearFaults();
  stack().host.knobs.errorRegions = [];
  // Orphans of one test would be too many for the next.
  for (const { appName } of await stack().db('host_orphans').select('appName')) {
    await atHost('DELETE', `/apps/${appName}`);
    await stack().db('host_orphans').where({ appName }).delete();
  }
});

test.serial(
  'an orphan is shown first, and reaped with its volume when it was seen twice and its grace is over',
  async (t) => {
    const agent = await anOrphan();
    const appName = appNameOf(agent.id);
    t.is((await aSweep(stack())).orphans, 1);
    const first = await listed(appName);
    t.like(first, {
      agentId: agent.id,
      machineIds: [agent.hostMachineId],
      volumeIds: [agent.hostVolumeId],
      heldBack: null,
    });
    t.is(Date.parse(first?.reapAt ?? '') - Date.parse(first?.firstSeenAt ?? ''), 3_600_000);
    t.deepEqual((await aSweep(stack())).reaping, { known: 1, heldBack: 0, reaped: 0 }, 'within its grace');
    t.true(await isThere(appName));
    await age(appName);
    t.deepEqual((await aSweep(stack())).reaping, { known: 1, heldBack: 0, reaped: 1 });
    assertNothingLeft(t, stack(), agent.id, 'reaped');
    t.is(await listed(appName), undefined);
    const event = await stack().db('audit_events').where({ subjectId: appName }).first();
    t.like(event, { action: 'host_orphan.reaped', actorType: 'service', userId: agent.userId });
    t.like(event.before, { agentId: agent.id, volumeIds: [agent.hostVolumeId] });
    t.deepEqual((await aSweep(stack())).reaping, { known: 0, heldBack: 0, reaped: 0 }, 'once');
  },
);

test.serial('old enough but seen in one sweep only, an orphan stays', async (t) => {
  const appName = appNameOf((await anOrphan()).id);
  await aSweep(stack());
  await age(appName);
  await stack().db('host_orphans').update({ sweeps: 0 });
  t.is((await aSweep(stack())).reaping?.reaped, 0);
  t.true(await isThere(appName));
  t.is((await aSweep(stack())).reaping?.reaped, 1);
});

test.serial('an app with nothing but a volume is found by its volume, and reaped', async (t) => {
  const agent = await anOrphan();
  const appName = appNameOf(agent.id);
  await atHost('DELETE', `/apps/${appName}/machines/${agent.hostMachineId}?force=true`);
  await ripen(appName);
  t.like(await listed(appName), { machineIds: [], volumeIds: [agent.hostVolumeId] });
  t.is((await aSweep(stack())).reaping?.reaped, 1);
  assertNothingLeft(t, stack(), agent.id, 'reaped');
});

test.serial('nothing is counted or reaped while a region is silent', async (t) => {
  const appName = appNameOf((await anOrphan()).id);
  await ripen(appName);
  stack().host.knobs.errorRegions = ['syd'];
  const report = await aSweep(stack());
  t.is(report.reaping, undefined);
  t.is((await stack().db('host_orphans').where({ appName }).first()).sweeps, 2);
  t.true(await isThere(appName));
});

test.serial('an orphan that is an agent’s again is forgotten', async (t) => {
  const { id } = await anOrphan();
  await ripen(appNameOf(id));
  await stack().db('agents').update({ deletedAt: null }).where({ id });
  t.is((await aSweep(stack())).reaping?.reaped, 0);
  t.is(await listed(appNameOf(id)), undefined);
  t.true(await isThere(appNameOf(id)));
});

test.serial('an unfinished job holds it back', async (t) => {
  const { id, userId } = await anOrphan();
  await ripen(appNameOf(id));
  const kind = 'a.later.kind' as 'agent.delete'; // one that this release's dispatcher leaves alone
  const job = await aJob(stack(), userId, { kind, agentId: id, status: 'running', finishedAt: null });
  await aSweep(stack());
  await assertHeld(t, appNameOf(id), 'job_unfinished');
  await stack().db('jobs').where({ id: job }).delete();
  t.is((await aSweep(stack())).reaping?.reaped, 1);
});

for (const [title, appName] of [
  ['a name that is not of ours', 'somebody-elses'],
  ['the name of another agent’s app', appNameOf(newId('agent'))],
] as const)
  test.serial(`${title} holds it back, whatever its tags say`, async (t) => {
    const { id } = await anOrphan();
    const image = { image: 'reference-runtime', metadata: { acp_installation: 'test', acp_agent_id: id } };
    await atHost('POST', '/apps', { name: appName, org_slug: 'acme' });
    const machine = { name: 'a-copy', region: 'ams', config: image, skip_launch: true };
    await atHost('POST', `/apps/${appName}/machines`, machine);
    await ripen(appName);
    await aSweep(stack());
    await assertHeld(t, appName, 'name_not_ours');
  });

test.serial('a machine that any agent’s row names is not reaped, whatever its tags say', async (t) => {
  const { id, hostMachineId } = await anOrphan();
  await ripen(appNameOf(id));
  const other = await (await stack().user()).anAgent();
  await stack().db('agents').where({ id: other.id }).update({ hostMachineId });
  t.is((await aSweep(stack())).reaping?.reaped, 0);
  t.true(await isThere(appNameOf(id)));
  await stack().db('agents').where({ id: other.id }).update({ hostMachineId: null });
});

test.serial(
  'the volume of an agent that the database never knew is a person’s to remove; without a volume it is reaped',
  async (t) => {
    for (const hasVolume of [true, false]) {
      const id = newId('agent');
      const app = appNameOf(id);
      await atHost('POST', '/apps', { name: app, org_slug: 'acme' });
      if (hasVolume)
        await atHost('POST', `/apps/${app}/volumes`, { name: volumeNameOf(id), region: 'ams', size_gb: 1 });
      const metadata = { acp_installation: 'test', acp_agent_id: id };
      const machine = { name: app, region: 'ams', config: { image: 'reference-runtime', metadata }, skip_launch: true };
      t.is((await atHost('POST', `/apps/${app}/machines`, machine)).status, 200);
      await ripen(app);
      const { reaping } = await aSweep(stack());
      if (hasVolume) await assertHeld(t, app, 'no_record');
      else t.is(reaping?.reaped, 1);
    }
  },
);

test.serial('a machine in the app that is not tagged as ours holds it back, though no list showed it', async (t) => {
  const { id } = await anOrphan();
  const app = appNameOf(id);
  const machine = { name: 'another', region: 'ams', config: { image: 'reference-runtime' }, skip_launch: true };
  t.is((await atHost('POST', `/apps/${app}/machines`, machine)).status, 200);
  await ripen(app);
  await aSweep(stack());
  await assertHeld(t, app, 'host_disagrees');
});

test.serial('a removal whose reply is lost is told once, and counted once', async (t) => {
  const { id } = await anOrphan();
  const app = appNameOf(id);
  await ripen(app);
  stack().host.fault({ match: { method: 'DELETE', path: `//apps/${app}$/` }, mode: 'reset-after', times: 1 });
  t.is((await aSweep(stack())).reaping?.reaped, 0);
  t.false(await isThere(app));
  t.is((await aSweep(stack())).reaping?.reaped, 1);
  t.is((await stack().db('audit_events').where({ subjectId: app })).length, 1);
});
