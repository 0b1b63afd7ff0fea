/** ISO 8601 UTC with milliseconds (spec.md 2). */
export const toTimestamp = (at: Date): string => at.toISOString();
export const toTimestampOrNull = (at: Date | null): string | null => at?.toISOString() ?? null;
