/** Writes one JSON line. Callers pass ids and codes only: no token ever reaches a field. */
export type Log = (event: string, fields?: Record<string, string | number | boolean>) => void;

export const log: Log = (event, fields = {}) => {
  process.stdout.write(`${JSON.stringify({ level: 'info', time: new Date().toISOString(), msg: event, ...fields })}\n`);
};

/** The error's code, never its message: a message may quote what was written. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}
