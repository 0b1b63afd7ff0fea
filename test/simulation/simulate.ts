import type { SimulatedMode } from './host-calls.js';
import { judge } from './oracle.js';
import { runSeed, type Verdict } from './one-seed.js';
import { startWorld, type World } from './world.js';

export interface SimulationOptions {
  from: number;
  seeds: number;
  /** Seeds under way at a time. */
  concurrency: number;
  /** Hears of each seed as it ends. */
  onVerdict(verdict: Verdict): void;
  interrupted?: AbortSignal;
}

export interface Result {
  verdicts: Verdict[];
  /** What is wrong with the run as a whole. */
  wrong: string[];
  byMode: Partial<Record<SimulatedMode, number>>;
  kills: number;
}

/** From so many seeds on every mode must have been injected, and workers killed. */
const ENOUGH_SEEDS = 40;
const allModes = [
  'error-before',
  'error-after',
  'reset-after',
  'timeout-after',
  'delay',
  'rate-limit',
  'malformed',
  'twice',
  'capacity',
] as const satisfies SimulatedMode[];

/** Runs the seeds against one world, several at a time. */
export const simulate = async (options: SimulationOptions): Promise<Result> => {
  const { from, seeds, concurrency, onVerdict, interrupted } = options;
  const world = await startWorld();
  try {
    const verdicts: Verdict[] = [];
    let next = from;
    const interruption = new Promise<undefined>((resolve) =>
      interrupted?.addEventListener('abort', () => resolve(undefined)),
    );
    const isOver = (): boolean => next >= from + seeds || interrupted?.aborted === true;
    const lane = async (): Promise<void> => {
      while (!isOver()) {
        const verdict = await Promise.race([runSeed(world, next++), interruption]);
        if (!verdict) return; // what is under way is given up
        verdicts.push(verdict);
        onVerdict(verdict);
      }
    };
    await Promise.all(Array.from({ length: Math.min(concurrency, seeds) }, lane));
    const byMode = sumModes(verdicts);
    const isWhole = interrupted?.aborted !== true;
    const wrong = isWhole ? [...(await leftAtTheEnd(world, verdicts)), ...notInjected(verdicts, byMode)] : [];
    return { verdicts, wrong, byMode, kills: world.kills() };
  } finally {
    await world.close();
  }
};

const sumModes = (verdicts: readonly Verdict[]): Result['byMode'] => {
  const sum: Result['byMode'] = {};
  for (const mode of allModes) sum[mode] = verdicts.reduce((total, { byMode }) => total + (byMode[mode] ?? 0), 0);
  return sum;
};

const notInjected = (verdicts: readonly Verdict[], byMode: Result['byMode']): string[] => {
  if (verdicts.length < ENOUGH_SEEDS) return [];
  const missing: string[] = allModes.filter((mode) => !byMode[mode]);
  if (verdicts.every(({ kills }) => kills === 0)) missing.push('a kill of a worker');
  return missing.map((what) => `${what} was never injected`);
};

/** When all seeds are over, the host holds nothing, and nothing came late. */
const leftAtTheEnd = async ({ stack }: World, verdicts: readonly Verdict[]): Promise<string[]> => {
  const url = `${stack.env['HOST_API_URL']}/apps?org_slug=${stack.env['HOST_ORG']}`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${stack.env['HOST_API_TOKEN']}` } });
  const { apps } = (await answer.json()) as { apps: { name: string }[] }; // the stand-in's list
  const effects = stack.host.effects();
  const { rows } = await stack.db.raw<{ rows: { id: string; deletedAt: Date | null }[] }>(
    'select id, deleted_at as "deletedAt" from agents',
  );
  const deletedAt = new Map(rows.map((row) => [row.id, row.deletedAt?.getTime()]));
  const late = verdicts.flatMap(({ seed, wrong, agentIds }) =>
    wrong.length > 0
      ? [] // has been said
      : agentIds.flatMap((agentId) =>
          judge(effects, { agentId, deletedAt: deletedAt.get(agentId), volumeTwice: true }).map(
            (what) => `seed ${seed}, later: ${what}`,
          ),
        ),
  );
  return [...apps.map(({ name }) => `orphan: the app ${name} is left at the host`), ...late];
};
