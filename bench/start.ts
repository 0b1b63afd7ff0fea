import { performance } from 'node:perf_hooks';
import { Client, Connection } from '@temporalio/client';
import { Pool } from 'undici';
import { newId } from '../src/models/new-id.js';
import { quantile, report } from './figures.js';
import type { Ground } from './ground.js';

const ROUNDS = 300;
const WARM_UP = 30;
const LIMIT = 1.5;

/** POST …/start accepted (202) against the least it can do: a two-row transaction and client.workflow.start. Interleaved; no worker runs. */
export const benchStart = async (ground: Ground, url: string, token: string, agentIds: string[]): Promise<boolean> => {
  const pool = new Pool(url, { connections: 1 });
  const connection = await Connection.connect({ address: ground.temporalAddress });
  const client = new Client({ connection });

  const ours = async (agentId: string): Promise<void> => {
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: `/api/agents/${agentId}/start`,
      headers: { authorization: `Bearer ${token}` },
    });
    await body.dump();
    if (statusCode !== 202) throw new Error(`start answered ${statusCode}`);
  };
  const bare = async (): Promise<void> => {
    const id = newId('job');
    await ground.db.transaction(async (trx) => {
      await trx.raw('insert into bench_rows (id) values (?)', [`${id}-a`]);
      await trx.raw('insert into bench_rows (id) values (?)', [`${id}-b`]);
    });
    await client.workflow.start('startAgent', { workflowId: id, taskQueue: 'bench', args: [{ id }] });
  };
  const timed = async (work: () => Promise<void>): Promise<number> => {
    const began = performance.now();
    await work();
    return performance.now() - began;
  };

  await ground.db.raw('create table bench_rows (id text primary key, at timestamptz default now())');
  const [a, b]: [number[], number[]] = [[], []];
  for (const [round, agentId] of agentIds.slice(0, ROUNDS + WARM_UP).entries()) {
    const [x, y] = [await timed(() => ours(agentId)), await timed(bare)];
    if (round < WARM_UP) continue;
    a.push(x);
    b.push(y);
  }
  await pool.close();
  await connection.close();
  const fine = [0.5, 0.95].map((p) =>
    report(`POST …/start accepted, p${p * 100}`, quantile(a, p), quantile(b, p), 'ms', LIMIT),
  );
  return fine.every(Boolean);
};
