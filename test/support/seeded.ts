/** Random numbers in [0, 1) that a seed repeats: a failing run can be run again (TEST_SEED). */
export const seeded = (seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000)) => {
  let state = seed;
  return {
    seed,
    next: (): number => {
      state = (state + 0x6d2b79f5) | 0; // mulberry32
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    },
  };
};
