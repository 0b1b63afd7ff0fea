import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { VendorError } from '../../src/providers/vendor-error.js';
import { VendorHttp } from '../../src/providers/vendor-http.js';

/** As many as the host worker has activities under way (workers/host.ts). */
const AT_ONCE = 100;

const aVendor = async (t: ExecutionContext, answer: RequestListener): Promise<VendorHttp> => {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const http = new VendorHttp({ baseUrl: `http://127.0.0.1:${port}`, vendor: 'host', unreachable: 'host_unreachable' });
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
    await http.close();
  });
  return http;
};

/** A byte of whitespace every 100 ms, for ever: never silent, and never done. */
const drip: RequestListener = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  const timer = setInterval(() => response.write(' '), 100);
  response.once('close', () => clearInterval(timer));
};

for (const [who, signal] of [
  ['without a signal of the caller', undefined],
  ['with one that says nothing', new AbortController().signal],
] as const)
  test(`an answer that comes a byte at a time is waited for no longer than told, ${who}`, async (t) => {
    t.timeout(15_000);
    const http = await aVendor(t, drip);
    const began = performance.now();
    const error = await t.throwsAsync(http.call({ method: 'GET', path: '/', timeoutMs: 1_000, signal }), {
      instanceOf: VendorError,
    });
    const seconds = (performance.now() - began) / 1_000;
    t.log(`a limit of 1 s: given up after ${seconds.toFixed(2)} s`);
    t.like(error, { code: 'host_unreachable', retryable: true, isUnsent: false });
    t.true(seconds > 0.9 && seconds < 5);
  });

test('a vendor that says nothing is given up in time', async (t) => {
  const http = await aVendor(t, () => undefined);
  const error = await t.throwsAsync(http.call({ method: 'POST', path: '/', timeoutMs: 300 }), {
    instanceOf: VendorError,
  });
  t.like(error, { code: 'host_unreachable', retryable: true, isUnsent: false });
});

test('a call that its caller cancels throws the reason of that, in the middle of the answer too', async (t) => {
  let onAsked = () => {};
  const asked = new Promise<void>((resolve) => (onAsked = resolve));
  const http = await aVendor(t, (request, response) => {
    drip(request, response);
    onAsked();
  });
  const canceled = new AbortController();
  const reason = new Error('canceled');
  const call = http.call({ method: 'GET', path: '/', timeoutMs: 10_000, signal: canceled.signal });
  void asked.then(() => canceled.abort(reason));
  t.is(await t.throwsAsync(call), reason);
});

test('as many calls as the host worker makes at a time wait for no connection', async (t) => {
  const waiting: (() => void)[] = [];
  const http = await aVendor(t, (_, response) => {
    waiting.push(() => response.end('{}'));
    if (waiting.length === AT_ONCE) for (const answer of waiting) answer();
  });
  const call = () => http.call({ method: 'GET', path: '/', timeoutMs: 10_000 });
  const answers = await Promise.all(Array.from({ length: AT_ONCE }, call));
  t.is(answers.length, AT_ONCE);
});
