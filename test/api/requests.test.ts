import { randomToken } from '../../src/models/opaque-token.js';
import test from 'ava';
import type { ErrorCode } from '../../src/contract/errors.js';
import { isPlain, isProblem } from '../support/a-problem.js';
import { rawBytes, rawRequest } from '../support/a-raw-request.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });

test('numbers in a query are refused beyond their range, never clamped', async (t) => {
  const ada = await stack().user();
  for (const id of ['agents.list', 'jobs.list'] as const) {
    for (const limit of ['0', '101', 'abc', '-1', '1.5', '', '1e1', ' 5', '0x10', '99999999999999999999'])
      isProblem(t, await ada.call(id, {}, { query: { limit } }), 'invalid_request', `limit=${limit}`);
    for (const limit of ['1', '100']) t.is((await ada.call(id, {}, { query: { limit } })).status, 200);
  }
});

test('a repeated query parameter is refused, an unknown one ignored', async (t) => {
  const ada = await stack().user();
  for (const query of ['limit=5&limit=5', 'x=1&x=2', 'limit=5&limit%3d=5&x&x', '__proto__=1&__proto__=2'])
    isProblem(t, await ada.request('GET', `/api/agents?${query}`), 'invalid_request', query);
  for (const query of ['colour=blue', '__proto__=1', '%', '%ff', '&&&', '=', '?'])
    t.is((await ada.request('GET', `/api/agents?${query}`)).status, 200, query);
});

test('what no page ended with is no cursor', async (t) => {
  const ada = await stack().user();
  for (const cursor of ['', '%', 'a b', 'a'.repeat(129), "'--"])
    isProblem(t, await ada.call('jobs.list', {}, { query: { cursor } }), 'invalid_request', cursor);
  for (const cursor of ['AAAA', '____', 'zzzzzzzz'])
    t.is((await ada.call('jobs.list', {}, { query: { cursor } })).status, 200, cursor);
});

test('unknown routes are a 404 that gives nothing away', async (t) => {
  const unknown = [
    '/',
    '/api',
    '/api/',
    '/api/nothing',
    '/api/agents/x/y/z',
    '/api//agents',
    '/healthz/x',
    '/api/docs/../../package.json',
    '/api/docs/%2e%2e/package.json',
    '/api/docs/package.json',
    '/%',
    '/%00',
    '/api/%E0%A4%A',
    `/${'a'.repeat(8_000)}`,
    '/.env',
    '//api/agents',
    '/api/openapi.yaml',
  ];
  for (const path of unknown)
    for (const method of ['GET', 'POST', 'DELETE'])
      isProblem(t, await rawRequest(stack().url, { method, path }), 'not_found', `${method} ${path.slice(0, 80)}`);
});

test('HEAD answers like GET, without a body', async (t) => {
  const ada = await stack().user();
  const ask = (method: string, path: string) =>
    rawRequest(stack().url, { method, path, headers: { authorization: `Bearer ${ada.token}` } });
  const compare = async (path: string, code?: ErrorCode) => {
    const [get, head] = [await ask('GET', path), await ask('HEAD', path)];
    t.is(head.status, get.status);
    t.is(head.body, '');
    for (const name of ['content-type', 'content-length', 'cache-control'])
      t.is(head.headers.get(name), get.headers.get(name), `${path} ${name}`);
    isPlain(t, head);
    if (code) t.is(get.body.code, code);
  };
  await compare('/api/users/me');
  await compare('/api/agents?limit=2');
  await compare('/api/agents?limit=0', 'invalid_request');
  await compare('/api/nothing', 'not_found');
  await compare('/api/openapi.json');
  t.is((await rawRequest(stack().url, { method: 'HEAD', path: '/api/agents' })).status, 401);
});

test('a sane request id comes back, any other is replaced', async (t) => {
  const ask = async (id: string) =>
    (
      await stack()
        .nobody()
        .request('GET', '/api/agents', { headers: { 'x-request-id': id } })
    ).headers.get('x-request-id');
  for (const id of ['12345678', 'a.b-c_D9', 'x'.repeat(128)]) t.is(await ask(id), id);
  // Names are written down: what looks like a token is none.
  for (const id of [randomToken('userRefresh'), 'acp_x', 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2ln'])
    t.regex((await ask(id)) ?? '', /^[0-9a-f-]{36}$/, id);
  for (const id of ['', 'x'.repeat(129), 'with space', 'quote"quote', '<script>alert(1)</script>', 'un\u00edcode'])
    t.regex((await ask(id)) ?? '', /^[0-9a-f-]{36}$/, id);
});

test('headers larger than 16 KiB, and what is no HTTP, are refused with a problem document', async (t) => {
  const sent: [string, number][] = [
    [`GET /api/agents HTTP/1.1\r\nHost: x\r\nX-Big: ${'a'.repeat(17 * 1024)}\r\n\r\n`, 431],
    [`GET /${'a'.repeat(17 * 1024)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    ['GARBAGE\r\n\r\n', 400],
    ['GET /api/agents HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400],
  ];
  for (const [bytes, status] of sent) {
    const text = await rawBytes(stack().url, bytes);
    const [head = '', body = ''] = text.split('\r\n\r\n');
    t.regex(head, new RegExp(`^HTTP/1.1 ${status} `), text);
    t.regex(head, /\r\ncontent-type: application\/problem\+json/i, text);
    const id = /\r\nx-request-id: (\S+)/i.exec(head)?.[1];
    t.truthy(id, text);
    t.like(JSON.parse(body), { status, code: 'invalid_request', requestId: id });
  }
  const fits = await stack()
    .nobody()
    .request('GET', '/healthz', { headers: { 'x-big': 'a'.repeat(15 * 1024) } });
  t.is(fits.status, 200);
});

test('answers tell browsers to keep their hands off', async (t) => {
  for (const path of ['/api/users/me', '/api/nothing', '/healthz']) {
    const { headers } = await stack().nobody().request('GET', path);
    t.is(headers.get('x-content-type-options'), 'nosniff');
    t.regex(headers.get('content-security-policy') ?? '', /default-src 'none'/);
    t.is(headers.get('x-powered-by'), null);
  }
  const { headers } = await (await stack().user()).call('users.me');
  t.is(headers.get('cache-control'), 'no-store');
});
