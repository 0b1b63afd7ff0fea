import { randomBytes } from 'node:crypto';
import test from 'ava';
import { Agent } from '../../src/models/agent.js';
import { KeyRing } from '../../src/models/key-ring.js';
import { makeMachineCredentials } from '../../src/models/machine-credentials.js';
import { NotHolder } from '../../src/models/agent.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });
const aKey = (id: string): string => `${id}:${randomBytes(32).toString('base64')}`;

test('all attempts of one job hand over the same, also while keys are changed; another job makes its own', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const { body } = await ada.call('agents.provision', { id });
  const jobId = body.job.id as string;
  const { db } = stack();
  const agent = await Agent.query(db).findById(id).throwIfNotFound();
  const make = (keys: string, job = jobId) =>
    db.transaction((trx) =>
      makeMachineCredentials(trx, new KeyRing(keys), { jobId: job, agent, runtimeVersion: '1.0.0' }),
    );
  const [old, fresh] = [aKey('k1'), aKey('k2')];
  await t.throwsAsync(make(old), { instanceOf: NotHolder }, 'who does not hold the agent hands out nothing');
  await db('agents').update({ holderJobId: jobId }).where({ id });
  const first = await make(`${old},${fresh}`);
  t.deepEqual(await make(`${old},${fresh}`), first);
  t.deepEqual(await make(`${fresh},${old}`), first, 'with the new key in front');
  const minted = () => ada.call('audit.list', {}, { query: { action: 'runtime.bootstrap_minted' } });
  t.is((await minted()).body.events.length, 1, 'told once');

  await db('bootstrap_tokens').delete();
  const later = await make(`${fresh},${old}`);
  t.not(later.ACP_BOOTSTRAP_TOKEN, first.ACP_BOOTSTRAP_TOKEN);
  t.is(later.ACP_GATEWAY_TOKEN, first.ACP_GATEWAY_TOKEN);
});
