import { performance } from 'node:perf_hooks';
import { median, report } from './figures.js';

const ROUNDS = 200;
/** "No slower" with room for noise. */
const LIMIT = 1.2;

const time = async (url: string, token: string): Promise<number> => {
  const began = performance.now();
  const response = await fetch(`${url}/api/agents?limit=50`, { headers: { authorization: `Bearer ${token}` } });
  const { agents } = (await response.json()) as { agents: unknown[] };
  if (agents.length !== 50) throw new Error(`listed ${agents.length}`);
  return performance.now() - began;
};

/** A page of 50 for an owner of many agents against one for an owner of few. */
export const benchList = async (url: string, many: string, few: string): Promise<boolean> => {
  const [a, b]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    a.push(await time(url, many));
    b.push(await time(url, few));
  }
  return report('list of 50 out of 100 000 against out of 1 000', median(a), median(b), 'ms', LIMIT);
};
