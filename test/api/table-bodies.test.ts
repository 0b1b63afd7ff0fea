import test from 'ava';
import { isProblem } from '../support/a-problem.js';
import { rawRequest } from '../support/a-raw-request.js';
import { aRuntime } from '../support/a-runtime.js';
import { withStack } from '../support/a-stack.js';
import { type Row, rows } from '../support/the-table.js';

const stack = withStack(test, { workers: false });

const notJson = ['{"name":', '{name: "x"}', "{'name': 'x'}", '{"name":"x"}}', 'NaN', 'undefined', '\u0000', '{"a":01}'];
const notAnObject = ['[]', '[{}]', '"text"', '7', 'null', 'true'];
const reachesAPrototype = [
  '{"__proto__":{"isOperator":true}}',
  '{"constructor":{"prototype":{"isOperator":true}}}',
  '{"channels":{"messengerA":{"__proto__":{"isOperator":true}}}}',
];
const unknownField = ['{"nobodyKnowsThisField":1}', '{"toString":"x"}', '{"":1}'];

/** Machines may be newer than the service: what they send beyond the shape is ignored. */
const isStrict = ({ endpoint }: Row): boolean => endpoint.auth === 'user' || endpoint.auth === 'operator';

const tokenFor = async ({ endpoint }: Row): Promise<string | undefined> => {
  if (endpoint.auth === 'none') return undefined;
  const user = await stack().user('ada', { role: 'operator' });
  if (endpoint.auth !== 'runtime') return user.token;
  const { body } = await user.call('agents.list');
  const agentId: string = body.agents[0]?.id ?? (await user.anAgent()).id;
  return (await aRuntime(stack(), agentId)).token;
};

const send = (row: Row, body: string, token: string | undefined) =>
  rawRequest(stack().url, {
    method: row.method,
    path: row.path(),
    headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
    body,
  });

for (const row of rows)
  test(`${row.endpoint.id} refuses a body that is not what it takes`, async (t) => {
    const token = await tokenFor(row);
    const bad = [...notJson, ...notAnObject, ...reachesAPrototype, ...(isStrict(row) ? unknownField : [])];
    for (const body of bad) isProblem(t, await send(row, body, token), 'invalid_request', body);
  });

for (const row of rows.filter(({ endpoint, body }) => endpoint.input.body && Object.keys(body ?? {}).length > 0))
  test(`${row.endpoint.id} names the field that is missing or of a wrong type`, async (t) => {
    const token = await tokenFor(row);
    // an object: its keys were just counted
    for (const [name, right] of Object.entries(row.body as object))
      for (const value of [undefined, null, 7, [], {}, true]) {
        if (typeof value === 'number' && typeof right === 'number') continue;
        const reply = await send(row, JSON.stringify({ ...(row.body as object), [name]: value }), token);
        isProblem(t, reply, 'invalid_request', `${name}: ${JSON.stringify(value)}`);
        t.true(
          reply.body.errors.some((error: { pointer: string }) => error.pointer === `/${name}`),
          name,
        );
      }
  });

test.after('what was refused left nothing behind', async (t) => {
  const { db } = stack();
  const agents = await db('agents').whereNot({ name: 'an agent' });
  t.deepEqual(agents, []);
  t.deepEqual(await db('jobs'), []);
  t.is((Object.prototype as Record<string, unknown>)['isOperator'], undefined);
});
