import test from 'ava';
import { methodAndPath } from '../../src/contract/endpoint.js';
import { endpoints } from '../../src/contract/index.js';
import { newId } from '../../src/models/new-id.js';
import type { Reply } from '../support/a-caller.js';
import { isProblem } from '../support/a-problem.js';
import { rawRequest } from '../support/a-raw-request.js';
import { withStack } from '../support/a-stack.js';
import { type Named, type Row, rows } from '../support/the-table.js';

const stack = withStack(test, { workers: false });

const ask = (row: Row, path: string, token: string | undefined) =>
  rawRequest(stack().url, {
    method: row.method,
    path,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    ...(row.body === undefined ? {} : { body: JSON.stringify(row.body) }),
  });

/** All that two answers may differ in is what names the request. */
const anonymous = ({ status, headers, body }: Reply) => {
  const { instance: _instance, requestId: _requestId, ...rest } = body;
  const named = Object.fromEntries(headers);
  for (const name of ['date', 'x-request-id', 'content-length']) delete named[name];
  return { status, named, rest };
};

const named = rows.filter(({ names }) => names !== 'nothing');

for (const row of named)
  test(`${row.endpoint.id} answers another user's ${row.names} like one that does not exist`, async (t) => {
    const [ada, eve] = [await stack().user(), await stack().user()];
    const agent = await ada.anAgent();
    const { body } = await ada.call('agents.provision', { id: agent.id });
    const look = () =>
      Promise.all([
        stack().db('agents').where({ id: agent.id }),
        stack().db('jobs').where({ agentId: agent.id }).select('id', 'kind', 'status', 'cancelRequestedAt'),
        stack().db('token_families').where({ userId: agent.userId }).select('revokedAt'),
      ]);
    if (row.names === 'nothing') return;
    const token = { name: 'a token', scopes: ['read'], expiresInDays: 1 };
    const session = (await ada.call('auth.tokens.create', {}, { body: token })).body.session.id;
    const before = await look();
    const foreign = await ask(row, row.path({ agent: agent.id, job: body.job.id, session }[row.names]), eve.token);
    const absent = await ask(row, row.path(newId(row.names)), eve.token);
    // Who is no operator is not told whether there is such a thing either.
    isProblem(t, foreign, row.endpoint.auth === 'operator' ? 'operator_required' : 'not_found');
    t.deepEqual(anonymous(foreign), anonymous(absent));
    t.deepEqual(await look(), before, 'and nothing happened to it');
  });

const malformed = (kind: Named): string[] => {
  const good = newId(kind);
  return [
    'x',
    good.slice(0, -1),
    `${good}0`,
    good.toUpperCase(),
    good.replace(/.$/, 'u'),
    newId(kind === 'agent' ? 'job' : 'agent'),
    newId('user'),
    `${good}%00`,
    `${good}%0a`,
    `%20${good}`,
    `${good}%27%20or%201=1--`,
    '%E0%A4%A',
    '%',
    '%ff%fe',
    '..%2f..%2fetc%2fpasswd',
    '%2e%2e',
    'a'.repeat(4_000),
  ];
};

for (const row of named)
  test(`${row.endpoint.id} answers 404 to an id that cannot exist`, async (t) => {
    const { token } = await stack().user(undefined, row.endpoint.auth === 'operator' ? { role: 'operator' } : {});
    if (row.names === 'nothing') return;
    for (const id of malformed(row.names))
      isProblem(t, await ask(row, row.path(id), token), 'not_found', id.slice(0, 60));
  });

const methods = new Map<string, string[]>();
for (const [method, path] of endpoints.map(methodAndPath)) methods.set(path, [...(methods.get(path) ?? []), method]);

for (const [pattern, documented] of methods)
  test(`${pattern} refuses every method but ${documented.join(' and ')}, and says so`, async (t) => {
    const { token } = await stack().user();
    const path = rows.find(({ endpoint }) => endpoint.http.endsWith(` ${pattern}`))?.path() ?? pattern;
    const others = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'].filter(
      (method) => !documented.includes(method),
    );
    for (const method of others)
      for (const authorization of ['', `Bearer ${token}`]) {
        const reply = await rawRequest(stack().url, { method, path, headers: { authorization } });
        isProblem(t, reply, 'method_not_allowed', method);
        t.deepEqual(reply.headers.get('allow')?.split(', ').toSorted(), documented.toSorted(), method);
      }
  });
