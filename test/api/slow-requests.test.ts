import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'ava';
import Koa from 'koa';
import { serveHealth } from '../../src/api/health.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });

/** What the service says to somebody who sends this and then nothing more, and after how many seconds. */
const patience = async (text: string): Promise<{ status: string; seconds: number }> => {
  const socket = connect(Number(new URL(stack().url).port), '127.0.0.1');
  await once(socket, 'connect');
  const began = performance.now();
  socket.write(text);
  let answer = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
  await once(socket, 'close');
  return { status: answer.slice(9, 12), seconds: (performance.now() - began) / 1_000 };
};

test('headers have 10 s to arrive, a whole request 30 s', async (t) => {
  t.timeout(60_000);
  const [headers, body] = await Promise.all([
    patience('GET /api/agents HTTP/1.1\r\nHost: x\r\nX-Half:'),
    patience(
      'POST /api/auth/logout HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"re',
    ),
  ]);
  t.log(
    `half of the headers: ${headers.status} after ${headers.seconds.toFixed(1)} s; half of the body: ${body.status} after ${body.seconds.toFixed(1)} s`,
  );
  t.is(headers.status, '408');
  t.true(headers.seconds > 9 && headers.seconds < 14);
  t.is(body.status, '408');
  t.true(body.seconds > 28 && body.seconds < 35);
});

test('everybody who asks for readiness within a second shares one look', async (t) => {
  let looks = 0;
  const app = new Koa();
  app.use(
    serveHealth({
      askDatabase: () => {
        looks++;
        return Promise.resolve();
      },
      isTemporalReachable: () => Promise.resolve(true),
    }),
  );
  const server = app.listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const ask = () => fetch(`http://127.0.0.1:${port}/readyz`).then(({ status }) => status);
  t.deepEqual(new Set(await Promise.all(Array.from({ length: 50 }, ask))), new Set([200]));
  t.is(looks, 1);
});
