import type { ControlPlane } from './control-plane.js';
import { errorCode, type Log } from './log.js';
import { makePause, sleepUntil } from './pauses.js';
import { isProven, refreshTime, renew, type Renewed } from './renewal.js';
import {
  fingerprint,
  isRefreshable,
  isUsable,
  type RuntimeSession,
  type SessionFile,
  stored,
  type StoredSession,
} from './session-file.js';

export interface SignOn {
  readonly session: RuntimeSession | undefined;
  /** Why there is no session; undefined while there is one. */
  readonly reason: string | undefined;
}

interface Parts {
  runtimeId: string;
  runtimeVersion: string;
  bootstrapToken: string;
  controlPlane: ControlPlane;
  file: SessionFile;
  log: Log;
  stopping: AbortSignal;
}

/**
 * Gets this runtime a session, keeping at it until it has one, and keeps it fresh until the process stops or the session is ended.
 * A bootstrap token seen before means the stored session is still the right one; a new token means the control plane issued a new
 * life, so it is exchanged even if the old one would do. An outage takes no session away: the gateway goes on being served.
 */
export function signOn(parts: Parts): SignOn {
  const { controlPlane, file, log, stopping } = parts;
  const state: { session: RuntimeSession | undefined; reason: string | undefined } = {
    session: undefined,
    reason: 'signing_on',
  };
  const pause = makePause(stopping);
  const bootstrapSha256 = fingerprint(parts.bootstrapToken);
  const trying = (): void => {
    if (state.session === undefined) state.reason = 'control_plane_unreachable';
  };

  const hold = ({ session }: StoredSession): void => {
    state.session = session;
    state.reason = undefined;
  };

  const drop = async (reason: string): Promise<void> => {
    state.session = undefined;
    state.reason = reason;
    await file.forget();
  };

  const renewed = async (old: StoredSession): Promise<Renewed> => {
    const tools = { controlPlane, file, log, pause, trying };
    const first = await renew(old, tools);
    if (!('next' in first)) return first;
    hold(first.next);
    return (await isProven(first.next.session, tools)) ? first : renew(first.next, tools);
  };

  /** Takes a stored session up where it was left: one whose last refresh got lost is refreshed again. */
  const resume = async (old: StoredSession): Promise<Renewed> => {
    if (!isUsable(old.session, Date.now())) return renewed(old);
    hold(old);
    log('stored session in use', { runtimeId: old.session.runtimeId });
    return (await isProven(old.session, { controlPlane, log, pause })) ? { next: old } : renewed(old);
  };

  /** Trades the bootstrap token, as often as it takes; when it is refused an earlier session may do. */
  const exchange = async (earlier: StoredSession | undefined): Promise<Renewed> => {
    let fallback = earlier;
    for (let attempt = 0, refusals = 0; ; attempt += 1) {
      const { runtimeId, bootstrapToken, runtimeVersion } = parts;
      const reply = await controlPlane.exchange({ runtimeId, bootstrapToken, runtimeVersion });
      if (reply.kind === 'ok') {
        const next = stored(bootstrapSha256, reply.value);
        await file.write(next);
        log('session received', { runtimeId });
        hold(next);
        return (await isProven(next.session, { controlPlane, log, pause })) ? { next } : renewed(next);
      }
      if (reply.kind === 'refused') {
        if (refusals === 0) log('bootstrap token refused', { status: reply.status });
        refusals += 1;
        const resumed = fallback && (await resume(fallback));
        if (resumed && 'next' in resumed) return resumed;
        fallback = undefined;
        state.session = undefined;
        state.reason = 'bootstrap_refused';
      } else {
        state.reason = 'control_plane_unreachable';
        if (attempt % 10 === 0) log('control plane not reachable', { why: reply.why });
      }
      await pause(reply, attempt);
    }
  };

  const obtain = async (): Promise<Renewed> => {
    const old = await file.read(parts.runtimeId);
    const earlier = old && isRefreshable(old.session, Date.now()) ? old : undefined;
    if (earlier?.bootstrapSha256 !== bootstrapSha256) return exchange(earlier);
    const resumed = await resume(earlier);
    if ('next' in resumed) return resumed;
    await drop(reasonOf(resumed.endedBy));
    return exchange(undefined);
  };

  const run = async (): Promise<void> => {
    let now = await obtain();
    while ('next' in now) {
      hold(now.next);
      await sleepUntil(refreshTime(now.next), stopping);
      now = await renewed(now.next);
    }
    // Its bootstrap token is spent: only the next start of the machine brings another.
    await drop(reasonOf(now.endedBy));
  };

  const keepTrying = async (): Promise<void> => {
    while (!stopping.aborted) {
      try {
        return await run();
      } catch (error) {
        if (stopping.aborted) return;
        state.session = undefined;
        state.reason = 'sign_on_failed'; // a full or read-only disk, for instance
        const why = errorCode(error);
        log('sign-on failed', { why });
        await pause({ kind: 'retry', why, afterMs: undefined }, 20).catch(() => undefined);
      }
    }
  };
  void keepTrying();
  return state;
}

const ENDINGS = new Set(['token_reused', 'token_expired']);

/** What `/readyz` says of a session that was ended. */
function reasonOf(code: string): string {
  return ENDINGS.has(code) ? code : 'session_refused';
}
