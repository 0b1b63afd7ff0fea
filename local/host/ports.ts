import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below the ports the system hands to outgoing connections, which could take one meanwhile. */
const LOWEST = 20_000;
const HIGHEST = 32_000;
const REUSE_AFTER_MS = 5_000;

const recent = new Set<number>();

/** A loopback port nobody listens on, not given out twice within five seconds. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 200; tries += 1) {
    const port = randomInt(LOWEST, HIGHEST);
    if (recent.has(port) || !(await isFree(port))) continue;
    recent.add(port);
    setTimeout(() => recent.delete(port), REUSE_AFTER_MS).unref();
    return port;
  }
  throw new Error(`no free port between ${LOWEST} and ${HIGHEST}`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
