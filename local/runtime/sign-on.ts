import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane, Reply } from './control-plane.js';
import type { Log } from './log.js';
import { fingerprint, isUsable, type RuntimeSession, type SessionFile, type StoredSession } from './session-file.js';

export interface SignOn {
  readonly session: RuntimeSession | undefined;
  /** Why there is no session yet; undefined once there is one. */
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
  /** First and longest pause between tries, and the pause after a refusal, in milliseconds. */
  pauses?: { first: number; longest: number; refused: number };
}

const PAUSES = { first: 200, longest: 10_000, refused: 30_000 };

/**
 * Gets this runtime a session and keeps trying until it has one or the process stops.
 * A bootstrap token seen before means the stored session is still the right one; a new token
 * means the control plane issued a new life, so it is exchanged even if the old one would do.
 */
export function signOn(parts: Parts): SignOn {
  const state: { session: RuntimeSession | undefined; reason: string | undefined } = {
    session: undefined,
    reason: 'signing_on',
  };
  const pauses = parts.pauses ?? PAUSES;
  const bootstrapSha256 = fingerprint(parts.bootstrapToken);

  const hold = (session: RuntimeSession, event: string): void => {
    state.session = session;
    state.reason = undefined;
    parts.log(event, { runtimeId: session.runtimeId, agentId: session.agentId });
  };

  const exchangeOrKeep = async (stored: StoredSession | undefined): Promise<void> => {
    let hasLogged = false;
    for (let attempt = 0; ; attempt += 1) {
      const reply = await parts.controlPlane.exchange({
        runtimeId: parts.runtimeId,
        bootstrapToken: parts.bootstrapToken,
        runtimeVersion: parts.runtimeVersion,
      });
      if (reply.kind === 'ok') {
        await parts.file.write({ bootstrapSha256, session: reply.value });
        return hold(reply.value, 'session received');
      }
      if (reply.kind === 'refused') {
        if (stored !== undefined && isUsable(stored.session, Date.now())) {
          return hold(stored.session, 'bootstrap token refused, going on with the stored session');
        }
        state.reason = 'bootstrap_refused';
        if (!hasLogged) parts.log('bootstrap token refused', { status: reply.status });
        hasLogged = true;
      } else {
        state.reason = 'control_plane_unreachable';
        if (attempt % 10 === 0) parts.log('control plane not reachable', { why: reply.why });
      }
      await pause(reply, attempt);
    }
  };

  const pause = async (reply: Reply<unknown>, attempt: number): Promise<void> => {
    const growing = Math.min(pauses.first * 2 ** Math.min(attempt, 20), pauses.longest);
    const wanted = reply.kind === 'refused' ? pauses.refused : growing;
    const asked = reply.kind === 'retry' ? reply.afterMs : undefined;
    const jittered = wanted / 2 + Math.random() * (wanted / 2);
    await sleep(Math.max(jittered, asked ?? 0), undefined, { signal: parts.stopping });
  };

  /** Uses the access token once. Returns false when the control plane does not know it. */
  const isProven = async (session: RuntimeSession): Promise<boolean> => {
    for (let attempt = 0; ; attempt += 1) {
      const reply = await parts.controlPlane.status(session.accessToken);
      if (reply.kind === 'ok') {
        parts.log('session proven', { runtimeId: session.runtimeId });
        return true;
      }
      if (reply.kind === 'refused') {
        parts.log('session refused', { status: reply.status });
        return reply.status !== 401;
      }
      await pause(reply, attempt);
    }
  };

  const run = async (): Promise<void> => {
    let stored = await parts.file.read(parts.runtimeId);
    for (;;) {
      if (stored?.bootstrapSha256 === bootstrapSha256 && isUsable(stored.session, Date.now())) {
        hold(stored.session, 'stored session in use');
      } else {
        await exchangeOrKeep(stored);
      }
      if (state.session !== undefined && (await isProven(state.session))) return;
      state.session = undefined;
      state.reason = 'session_refused';
      await parts.file.forget();
      stored = undefined;
    }
  };

  const keepTrying = async (): Promise<void> => {
    while (!parts.stopping.aborted) {
      try {
        return await run();
      } catch (error) {
        if (parts.stopping.aborted) return;
        state.reason = 'sign_on_failed'; // a full or read-only disk, for instance
        parts.log('sign-on failed', { why: errorCode(error) });
        await pause({ kind: 'refused', status: 0 }, 0).catch(() => undefined);
      }
    }
  };
  void keepTrying();
  return state;
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}
