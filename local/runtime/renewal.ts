import type { ControlPlane, Reply } from './control-plane.js';
import { errorCode, type Log } from './log.js';
import type { Pause } from './pauses.js';
import { type RuntimeSession, type SessionFile, type StoredSession, stored } from './session-file.js';

/** Refreshed at this part of its life, or up to a tenth earlier, so that many machines do not come at once. */
const REFRESH_AT = 0.8;
const JITTER = 0.1;
/** A pair that looks expired on arrival means that this clock is wrong: then by the minute, not in a circle. */
const WRONG_CLOCK_MS = 60_000;

/** When the session is to be refreshed, in milliseconds since the epoch. */
export function refreshTime({ session, receivedAt }: StoredSession): number {
  const received = Date.parse(receivedAt);
  const lifeMs = Date.parse(session.accessTokenExpiresAt) - received;
  return received + (lifeMs > 0 ? lifeMs * REFRESH_AT * (1 - Math.random() * JITTER) : WRONG_CLOCK_MS);
}

/** The next session, or the code of the refusal that ended this one. */
export type Renewed = { next: StoredSession } | { endedBy: string };

interface Parts {
  controlPlane: ControlPlane;
  file: SessionFile;
  log: Log;
  pause: Pause;
  /** Hears of every try that must be repeated. */
  trying: (why: string) => void;
}

/**
 * Trades the refresh token for the next pair, trying as long as it takes. A lost answer, and a pair that could not be stored, are
 * asked for again with the same token: the control plane gives the same successor while nothing of it was used. So the new
 * tokens are used only once they are on the disk.
 */
export async function renew(old: StoredSession, { controlPlane, file, log, pause, trying }: Parts): Promise<Renewed> {
  for (let attempt = 0; ; attempt += 1) {
    const reply = await controlPlane.refresh(old.session.refreshToken, old.session.runtimeId);
    const kept = reply.kind === 'ok' ? await keep(file, stored(old.bootstrapSha256, reply.value)) : reply;
    if (kept.kind === 'ok') {
      log('session refreshed', { runtimeId: old.session.runtimeId });
      return { next: kept.value };
    }
    if (kept.kind === 'refused' && kept.status === 401) {
      log('session ended', { why: kept.code });
      return { endedBy: kept.code };
    }
    const why = kept.kind === 'refused' ? `status ${kept.status}` : kept.why;
    if (attempt % 10 === 0) log('refresh will be tried again', { why });
    trying(why);
    await pause(kept, attempt);
  }
}

async function keep(file: SessionFile, next: StoredSession): Promise<Reply<StoredSession>> {
  try {
    await file.write(next);
    return { kind: 'ok', value: next };
  } catch (error) {
    return { kind: 'retry', why: errorCode(error), afterMs: undefined };
  }
}

/** Uses the access token once, which tells whether it works and makes its predecessor's refresh token worthless. */
export async function isProven(session: RuntimeSession, parts: Omit<Parts, 'file' | 'trying'>): Promise<boolean> {
  const { controlPlane, log, pause } = parts;
  for (let attempt = 0; ; attempt += 1) {
    const reply = await controlPlane.status(session.accessToken);
    if (reply.kind === 'ok') {
      log('session proven', { runtimeId: session.runtimeId });
      return true;
    }
    if (reply.kind === 'refused') {
      log('session refused', { status: reply.status });
      return reply.status !== 401;
    }
    await pause(reply, attempt);
  }
}
