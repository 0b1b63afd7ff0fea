import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Postgres, startPostgres } from '../../local/postgres/start.js';
import { freePort } from '../../local/process/ports.js';

export interface CrashingPostgres {
  /** Superuser's URL. */
  url: string;
  /** An immediate shutdown: as if all of its processes had been killed. */
  crash(): Promise<void>;
  /** Starts again, with the recovery of a crash first. */
  recover(): Promise<void>;
  close(): Promise<void>;
}

/**
 * A PostgreSQL of the test's own whose processes can crash. A commit is with the operating system before it is acknowledged, which
 * is all that a crash of processes asks for: `fsync` is off, or each recovery would first sync every file for seconds. What a
 * crash of the machine would lose cannot be tried here.
 */
export const aCrashingPostgres = async (): Promise<CrashingPostgres> => {
  const dir = await mkdtemp(join(tmpdir(), 'acp-crash-'));
  await chmod(dir, 0o711); // the database's account must get through when we are root
  const port = await freePort();
  const start = (): Promise<Postgres> =>
    startPostgres({
      dir: join(dir, 'postgres'),
      port,
      logFile: join(dir, 'postgres.log'),
      settings: { fsync: 'off' },
    });
  let server = await start();
  return {
    url: server.url,
    crash: async () => {
      process.kill(server.pid, 'SIGQUIT');
      await server.stop(); // which waits for the end
    },
    recover: async () => {
      server = await start();
    },
    close: async () => {
      await server.stop();
      await rm(dir, { recursive: true, force: true, maxRetries: 3 });
    },
  };
};
