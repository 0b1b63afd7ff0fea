import type { Result } from './simulate.js';
import type { Verdict } from './one-seed.js';

/** One line a seed; what went wrong, the trace and how to see it again follow a failed one. */
export const linesOf = (verdict: Verdict, withTrace: boolean): string[] => {
  const { seed, actions, planned, injected, kills, jobs, seconds, wrong, trace } = verdict;
  const line = `seed ${seed}: ${actions} actions, ${jobs} jobs, ${injected} of ${planned} faults, ${kills} kills, ${seconds.toFixed(1)} s: ${wrong.length === 0 ? 'passed' : 'FAILED'}`;
  if (wrong.length === 0) return withTrace ? [line, ...trace.map(indented)] : [line];
  return [
    line,
    ...wrong.map((what) => indented(`VIOLATION ${what}`)),
    ...trace.map(indented),
    indented(`again: npm run -s simulate -- --from ${seed} --seeds 1`),
  ];
};

const indented = (line: string): string => `    ${line}`;

export const summaryOf = ({ verdicts, byMode, kills, wrong }: Result): string[] => {
  const sum = (count: (verdict: Verdict) => number): number =>
    verdicts.reduce((total, verdict) => total + count(verdict), 0);
  const modes = Object.entries(byMode).map(([mode, count]) => `${count} ${mode}`);
  return [
    `${sum(({ actions }) => actions)} actions, ${sum(({ jobs }) => jobs)} jobs, ${sum(({ injected }) => injected)} of ${sum(({ planned }) => planned)} faults: ${modes.join(', ')}; ${kills} workers killed`,
    ...wrong.map((what) => `VIOLATION ${what}`),
  ];
};
