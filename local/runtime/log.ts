/** Writes one JSON line. Callers pass ids and codes only: no token ever reaches a field. */
export type Log = (event: string, fields?: Record<string, string | number | boolean>) => void;

export const log: Log = (event, fields = {}) => {
  process.stdout.write(`${JSON.stringify({ level: 'info', time: new Date().toISOString(), msg: event, ...fields })}\n`);
};
