/** The p-quantile (0..1) of the samples. */
export const quantile = (samples: number[], p: number): number =>
  samples.toSorted((a, b) => a - b)[Math.min(samples.length - 1, Math.floor(samples.length * p))] ?? Number.NaN;

export const median = (samples: number[]): number => quantile(samples, 0.5);

/** One line of the report: what ours costs in terms of the bare thing, and the limit it must stay under. */
export const report = (what: string, ours: number, bare: number, unit: string, limit: number): boolean => {
  const ratio = ours / bare;
  const good = ratio <= limit;
  console.log(
    `${good ? 'ok  ' : 'OVER'} ${what}: ${ratio.toFixed(2)}x (limit ${limit}x), ours ${ours.toFixed(2)} ${unit}, bare ${bare.toFixed(2)} ${unit}`,
  );
  return good;
};
