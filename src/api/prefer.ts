const MAX_WAIT_SECONDS = 60;

/** Seconds of `Prefer: wait=N` (RFC 7240), 60 at most; 0 = no such preference. */
export const waitSeconds = (prefer: string): number => {
  const match = /(?:^|[,;]) *wait *= *"?(\d{1,9})"? *(?:$|[,;])/i.exec(prefer);
  return match?.[1] === undefined ? 0 : Math.min(Number(match[1]), MAX_WAIT_SECONDS);
};
