import { Refusal } from './refusal.js';

const UNIT_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/**
 * Milliseconds of a duration as the API takes it: `"5s"`, `"1m30s"`, or a number of seconds.
 * @throws Refusal 400 for anything else.
 */
export function durationMs(value: unknown, fallbackMs: number): number {
  if (value === undefined || value === null || value === '') return fallbackMs;
  if (typeof value === 'number' && value >= 0) return value * 1_000;
  if (typeof value === 'string' && /^\d+$/.test(value)) return Number(value) * 1_000;
  if (typeof value === 'string' && /^(\d+(\.\d+)?(ms|s|m|h))+$/.test(value)) {
    const parts = value.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g);
    return [...parts].reduce((sum, [, n, unit]) => sum + Number(n) * (UNIT_MS[unit ?? ''] ?? 0), 0);
  }
  throw new Refusal(400, 'invalid_argument: not a duration');
}
