/** What the stand-in can be told to be like, beside the faults of single calls. */
export interface Knobs {
  /** Regions that have no room: creating a volume or a machine there is refused. */
  fullRegions: string[];
  /** Regions that organisation-wide lists leave out and name in `error_regions`. */
  errorRegions: string[];
  /** How far organisation-wide lists lag behind, in milliseconds. */
  listLagMs: number;
  /** How long an app's new secrets are unknown to what makes and changes machines, in milliseconds. */
  secretsLagMs: number;
  /** Refuses with 429 what exceeds the real host's limits (1/s a verb and machine, burst 3; reads 5/s, burst 10). */
  rateLimits: boolean;
}

export const calm: Knobs = { fullRegions: [], errorRegions: [], listLagMs: 0, secretsLagMs: 0, rateLimits: false };
