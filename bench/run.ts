import { ACaller } from '../test/support/a-caller.js';
import { anIssuer } from '../test/support/an-issuer.js';
import { startChild } from './child.js';
import { prepareGround } from './ground.js';
import { benchList } from './list.js';
import { benchRead } from './read.js';
import { manyAgents } from './rows.js';
import { benchStart } from './start.js';

/** `npm run bench`: our costs as ratios to the bare thing, both measured in this run on this machine. */
const issuer = await anIssuer();
const ground = await prepareGround(issuer.url, issuer.audience);
const url = ground.env['PUBLIC_URL'] ?? '';
try {
  const api = await startChild('src/server.js', ground.env, `${url}/healthz`);
  const owner = async (name: string, agents: number) => {
    const token = await issuer.token(name);
    const { body } = await new ACaller(url, token).call('users.me');
    const { id: userId } = body as { id: string };
    return { token, userId, agentIds: await manyAgents(ground.db, userId, agents) };
  };
  const few = await owner('few', 1_000);
  const many = await owner('many', 100_000);
  const fine = [await benchStart(ground, url, few.token, few.agentIds), await benchList(url, many.token, few.token)];
  await api.stop();
  fine.push(await benchRead(ground, few.token, few.userId, few.agentIds[999] ?? ''));
  process.exitCode = fine.every(Boolean) ? 0 : 1;
} finally {
  await ground.close();
  await issuer.close();
}
