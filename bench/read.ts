import { Pool } from 'undici';
import { freePort } from '../local/process/ports.js';
import { type Child, cpuMicros, startChild } from './child.js';
import { report } from './figures.js';
import type { Ground } from './ground.js';

const ROUNDS = 8;
const REQUESTS = 5_000;
const CONNECTIONS = 8;
const LIMIT = 1.5;

const drive = async (origin: string, path: string, token: string, requests: number): Promise<void> => {
  const pool = new Pool(origin, { connections: CONNECTIONS });
  let left = requests;
  const one = async () => {
    while (left-- > 0) {
      const { statusCode, body } = await pool.request({
        method: 'GET',
        path,
        headers: { authorization: `Bearer ${token}` },
      });
      await body.dump();
      if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
  await pool.close();
};

/** CPU of the serving process for one request, in microseconds. */
const cost = async (child: Child, origin: string, path: string, token: string): Promise<number> => {
  const before = cpuMicros(child.pid);
  await drive(origin, path, token, REQUESTS);
  return (cpuMicros(child.pid) - before) / REQUESTS;
};

/** GET /api/agents/:id against a bare Koa route with the same one query: CPU of the process, rounds interleaved; the quietest round of each counts. */
export const benchRead = async (ground: Ground, token: string, userId: string, agentId: string): Promise<boolean> => {
  const ours = ground.env['PUBLIC_URL'] ?? '';
  const port = await freePort();
  const bare = `http://127.0.0.1:${port}`;
  const path = `/api/agents/${agentId}`;
  const api = await startChild('src/server.js', ground.env, `${ours}/healthz`);
  const bareEnv = { DATABASE_URL: ground.databaseUrl, BENCH_USER: userId, PORT: String(port) };
  const koa = await startChild('bench/bare-read.js', bareEnv, bare);
  try {
    await drive(ours, path, token, 3_000);
    await drive(bare, path, token, 3_000);
    const [a, b]: [number[], number[]] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      a.push(await cost(api, ours, path, token));
      b.push(await cost(koa, bare, path, token));
    }
    return report('GET /api/agents/:id, CPU a request', Math.min(...a), Math.min(...b), 'us', LIMIT);
  } finally {
    await Promise.all([api.stop(), koa.stop()]);
  }
};
