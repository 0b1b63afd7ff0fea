import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { commandOf, isAlive } from '../process/identity.js';
import { until } from '../process/wait.js';

/**
 * Ends a server that still runs on this data folder because its starter was killed, and clears the pid file of one that
 * is gone: PostgreSQL would take any process that has its pid by now for itself.
 */
export async function endLeftover(data: string): Promise<void> {
  const file = join(data, 'postmaster.pid');
  const pid = Number.parseInt(await readFile(file, 'utf8').catch(() => ''), 10);
  if (!pid) return;
  if (isAlive(pid) && (await commandOf(pid)).includes(data)) {
    process.kill(pid, 'SIGINT');
    const gone = async () => !isAlive(pid);
    if (!(await until(gone, 10_000))) process.kill(pid, 'SIGKILL');
    await until(gone, 5_000);
  }
  await rm(file, { force: true });
}
