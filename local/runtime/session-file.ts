import { mkdir, open, readFile, rename, unlink } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { join } from 'node:path';

/** The answer of the bootstrap exchange (spec.md 2.3). */
export interface RuntimeSession {
  tokenType: string;
  runtimeId: string;
  agentId: string;
  userId: string;
  runtimeVersion: string;
  accessToken: string;
  accessTokenExpiresAt: string;
  refreshToken: string;
  refreshTokenExpiresAt: string;
}

/** What `runtime.json` holds: a session, when it came, and from which bootstrap token it descends. */
export interface StoredSession {
  bootstrapSha256: string;
  receivedAt: string;
  session: RuntimeSession;
}

export interface SessionFile {
  /** The stored session of this runtime id, or undefined when there is none that can be read. */
  read(runtimeId: string): Promise<StoredSession | undefined>;
  /** Durable before it returns: a machine may die right after the exchange. */
  write(stored: StoredSession): Promise<void>;
  forget(): Promise<void>;
}

const NAME = 'runtime.json';

export function makeSessionFile(stateDir: string): SessionFile {
  const path = join(stateDir, NAME);
  return {
    async read(runtimeId) {
      const text = await readFile(path, 'utf8').catch(() => undefined);
      const stored = text === undefined ? undefined : parseStored(text);
      return stored?.session.runtimeId === runtimeId ? stored : undefined;
    },
    async write(stored) {
      await mkdir(stateDir, { recursive: true, mode: 0o700 });
      const temporary = `${path}.${process.pid}.tmp`;
      const file = await open(temporary, 'w', 0o600);
      try {
        await file.writeFile(JSON.stringify(stored));
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(temporary, path);
    },
    async forget() {
      await unlink(path).catch(() => undefined);
    },
  };
}

/** The fingerprint under which a bootstrap token is remembered; the token itself is never stored. */
export function fingerprint(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** A session as it is kept, received now. */
export function stored(bootstrapSha256: string, session: RuntimeSession): StoredSession {
  return { bootstrapSha256, receivedAt: new Date().toISOString(), session };
}

/** True while the refresh token may be worth a try. */
export function isRefreshable(session: RuntimeSession, now: number): boolean {
  return Date.parse(session.refreshTokenExpiresAt) > now;
}

/** True while the access token has at least `marginMs` of life left. */
export function isUsable(session: RuntimeSession, now: number, marginMs = 5_000): boolean {
  return Date.parse(session.accessTokenExpiresAt) - now > marginMs;
}

function parseStored(text: string): StoredSession | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return undefined;
    const { bootstrapSha256, receivedAt, session } = value as Partial<StoredSession>; // checked field by field below
    if (typeof bootstrapSha256 !== 'string' || !isSession(session)) return undefined;
    const isDate = typeof receivedAt === 'string' && !Number.isNaN(Date.parse(receivedAt));
    return { bootstrapSha256, receivedAt: isDate ? receivedAt : new Date(0).toISOString(), session };
  } catch {
    return undefined; // a torn or foreign file counts as no session
  }
}

/** True when the value has every field of 2.3 as a string. */
export function isSession(value: unknown): value is RuntimeSession {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Record<string, unknown>; // an object: any key may be asked for
  return [
    'tokenType',
    'runtimeId',
    'agentId',
    'userId',
    'runtimeVersion',
    'accessToken',
    'accessTokenExpiresAt',
    'refreshToken',
    'refreshTokenExpiresAt',
  ].every((name) => typeof fields[name] === 'string');
}
