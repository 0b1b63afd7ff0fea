import test from 'ava';
import { rawBytes } from '../support/a-raw-request.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });

test('a target that is no URL is refused, and the process lives on', async (t) => {
  for (const target of [
    'http://[::/',
    '//[::/',
    'http://a b',
    'http://',
    '*',
    'http://[',
    '//',
    '/%',
    '/%00',
    '/\\..\\',
  ]) {
    const answer = await rawBytes(stack().url, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    t.regex(answer, /^HTTP\/1\.1 4\d\d /, target);
    t.regex(answer, /application\/problem\+json/i, target);
    t.notRegex(answer, /at .*\.js/, target);
  }
  t.is((await fetch(`${stack().url}/healthz`)).status, 200);
});

test('an expectation that nobody can meet is refused with a problem document', async (t) => {
  const request = 'GET /api/agents HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\nConnection: close\r\n\r\n';
  const answer = await rawBytes(stack().url, request);
  t.regex(answer, /^HTTP\/1\.1 417 /);
  t.regex(answer, /X-Request-Id/i);
});
