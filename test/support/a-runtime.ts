import { Agent } from '../../src/models/agent.js';
import { randomToken } from '../../src/models/opaque-token.js';
import { ensureRuntimeIdentity, putBootstrapToken } from '../../src/models/runtime-identity.js';
import { ACaller, type Reply } from './a-caller.js';
import type { Stack } from './a-stack.js';

export interface Bootstrap {
  runtimeId: string;
  bootstrapToken: string;
}

/** What a start puts on the agent's machine; the identity is that of the agent's present generation. */
export const aBootstrap = ({ db }: Stack, agentId: string): Promise<Bootstrap> =>
  db.transaction(async (trx) => {
    const agent = await Agent.query(trx).findById(agentId).throwIfNotFound();
    const { id: runtimeId } = await ensureRuntimeIdentity(trx, agent, '1.0.0');
    const bootstrapToken = randomToken('bootstrap');
    await putBootstrapToken(trx, runtimeId, bootstrapToken);
    return { runtimeId, bootstrapToken };
  });

export const exchange = (stack: Stack, bootstrap: Bootstrap, fields: Record<string, unknown> = {}): Promise<Reply> =>
  stack.nobody().call('runtime.bootstrap.exchange', {}, { body: { ...bootstrap, runtimeVersion: '1.0.0', ...fields } });

/** The runtime of an agent, holding a session whose access token nobody has used. */
export const aRuntime = async (stack: Stack, agentId: string): Promise<ACaller> => {
  const { status, body } = await exchange(stack, await aBootstrap(stack, agentId));
  if (status !== 200) throw new Error(`the exchange answered ${status}: ${JSON.stringify(body)}`);
  return new ACaller(stack.url, body.accessToken as string);
};
