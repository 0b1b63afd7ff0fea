import { gzipSync } from 'node:zlib';
import test from 'ava';
import { isProblem } from '../support/a-problem.js';
import { rawRequest, type RawRequest } from '../support/a-raw-request.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });

const MIB = 1024 * 1024;
const json = { 'content-type': 'application/json' };

/** A POST to agents.create by somebody who may. */
const post = async (body: RawRequest['body'], headers: Record<string, string> = json) => {
  const { token } = await stack().user();
  const all = { authorization: `Bearer ${token}`, ...headers };
  return rawRequest(stack().url, {
    method: 'POST',
    path: '/api/agents',
    headers: all,
    ...(body === undefined ? {} : { body }),
  });
};

const padded = (bytes: number): string => {
  const start = '{"name":"x","persona":"';
  return `${start}${'a'.repeat(bytes - start.length - 2)}"}`;
};

test('a body of 1 MiB is read, one byte more is refused', async (t) => {
  isProblem(t, await post(padded(MIB)), 'invalid_request', 'its persona is too long');
  isProblem(t, await post(padded(MIB + 1)), 'payload_too_large');
  isProblem(t, await post(padded(8 * MIB)), 'payload_too_large');
});

test('a body that does not say its length is refused at the same byte', async (t) => {
  const chunks = (bytes: number) => Array.from({ length: 64 }, () => Buffer.alloc(bytes / 64, ' '));
  isProblem(t, await post(chunks(MIB)), 'invalid_request', 'nothing but spaces');
  isProblem(t, await post([...chunks(MIB), Buffer.from(' ')]), 'payload_too_large');
  isProblem(t, await post(chunks(4 * MIB)), 'payload_too_large');
});

test('whoever sends too much learns so, also while still sending', async (t) => {
  const { token } = await stack().user();
  for (let tries = 0; tries < 10; tries++) {
    const reply = await fetch(`${stack().url}/api/agents`, {
      method: 'POST',
      headers: { ...json, authorization: `Bearer ${token}` },
      body: padded(3 * MIB),
    });
    t.is(reply.status, 413);
    t.is(((await reply.json()) as { code: string }).code, 'payload_too_large');
  }
});

test('only plain JSON is taken', async (t) => {
  const body = '{"name":"x"}';
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'application/json-patch+json',
    'text/json',
    '',
  ])
    isProblem(t, await post(body, type === '' ? {} : { 'content-type': type }), 'unsupported_media_type', type);
  for (const encoding of ['gzip', 'deflate', 'br', 'identity, gzip'])
    isProblem(
      t,
      await post(gzipSync(body), { ...json, 'content-encoding': encoding }),
      'unsupported_media_type',
      encoding,
    );
  t.is((await post(body, { 'content-type': 'Application/JSON; charset=utf-8' })).status, 201);
});

test('an empty body counts as absent, whatever its type', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const authorization = `Bearer ${ada.token}`;
  const path = `/api/agents/${id}/provision`;
  const sent: Record<string, string>[] = [
    {},
    json,
    { 'content-type': 'text/plain' },
    { 'transfer-encoding': 'chunked' },
  ];
  for (const headers of sent) {
    const reply = await rawRequest(stack().url, { method: 'POST', path, headers: { authorization, ...headers } });
    t.true(reply.status === 202 || reply.status === 200, JSON.stringify(headers));
  }
  isProblem(t, await post(undefined), 'invalid_request', 'a body is needed');
});

/** As many keys of three letters as fit into 1 MiB. */
const manyKeys = Object.fromEntries(
  Array.from({ length: 130_000 }, (_, n) => [
    Buffer.from([n >> 16, n >> 8, n])
      .toString('base64url')
      .slice(1),
    1,
  ]),
);

const nested = (depth: number, [open, close] = ['{"a":', '}']): string =>
  `${open.repeat(depth)}1${close.repeat(depth)}`;

test('depth and arrays have an end', async (t) => {
  const refused: Record<string, string> = {
    'an object 33 deep': nested(33),
    'an array 33 deep': nested(33, ['[', ']']),
    'an array a hundred thousand deep': nested(100_000, ['[', ']']),
    'an array of 1001': `{"name":"x","capabilities":{"list":[${Array.from({ length: 1_001 }).fill(0).join()}]}}`,
    'an object 9 deep': `{"name":"x","capabilities":${nested(9)}}`,
    'more than 16 KiB of capabilities': JSON.stringify({ name: 'x', capabilities: { text: 'a'.repeat(16 * 1024) } }),
    'more keys than a call can take arguments': JSON.stringify({
      name: 'x',
      capabilities: manyKeys,
    }),
  };
  for (const [what, body] of Object.entries(refused)) isProblem(t, await post(body), 'invalid_request', what);
  const list = Array.from({ length: 1_000 }).fill(0);
  t.is((await post(JSON.stringify({ name: 'x', capabilities: { list, deep: JSON.parse(nested(7)) } }))).status, 201);
});

test('bytes that are no UTF-8, and text that the database cannot keep, are refused', async (t) => {
  const name = (bytes: number[]) => Buffer.concat([Buffer.from('{"name":"'), Buffer.from(bytes), Buffer.from('"}')]);
  for (const bytes of [[0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf8, 0x88, 0x80, 0x80]])
    isProblem(t, await post(name(bytes)), 'invalid_request', bytes.toString());
  for (const text of ['\\u0000', '\\ud800', '\\udc00x'])
    for (const body of [
      `{"name":"${text}"}`,
      `{"name":"x","persona":"${text}"}`,
      `{"name":"x","channels":{"a":"${text}"}}`,
      `{"name":"x","capabilities":{"${text}":[1]}}`,
      `{"name":"x","plan":"${text}"}`,
    ])
      isProblem(t, await post(body), 'invalid_request', body);
});
