import { createServer } from 'node:net';

/** Can this port be listened on at 127.0.0.1 right now? */
export const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });

/**
 * A free port of 127.0.0.1 that is none of `taken`. Drawn below the range systems hand out for outgoing connections
 * (32768 and above), so that it is still free at the next start.
 */
export async function freePort(taken: readonly number[] = []): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (!taken.includes(port) && (await isFree(port))) return port;
  }
}
