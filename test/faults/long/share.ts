/** How much of the whole is run: 1 on demand, less where every change is checked (`npm run test:faults -- --share 0.1`). */
const share = Number(process.env['TEST_FAULTS_SHARE'] ?? 1);

/** That part of a count or a duration, whole and at least `least`. */
export const part = (whole: number, least: number): number => Math.max(least, Math.round(whole * share));

/** That part of a list, spread over the whole of it, at least `least` of its items. */
export const someOf = <T>(whole: readonly T[], least: number): T[] => {
  const count = Math.min(whole.length, part(whole.length, least));
  return Array.from({ length: count }, (_, index) => whole[Math.floor((index * whole.length) / count)] as T); // the index lies within
};
