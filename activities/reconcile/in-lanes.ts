/**
 * Does the work for every item, so many at a time. The first failure ends it: nothing more is begun, and it is thrown when what was
 * under way has ended, so that nothing is done after the caller has given up.
 */
export const inLanes = async <T>(
  items: readonly T[],
  lanes: number,
  work: (item: T) => Promise<void>,
): Promise<void> => {
  const queue = items.values();
  const failures: unknown[] = [];
  const lane = async (): Promise<void> => {
    for (const item of queue) {
      try {
        await work(item);
      } catch (error) {
        failures.push(error);
      }
      if (failures.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(lanes, items.length) }, lane));
  if (failures.length > 0) throw failures[0];
};
