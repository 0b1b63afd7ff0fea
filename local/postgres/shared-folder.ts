import { chmod, lstat, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Failure } from '../process/failure.js';

/**
 * A folder under the system's temporary one that is ours and that other accounts can pass through.
 * @throws Failure when something of somebody else has its name: the temporary folder is everybody's
 */
export async function sharedFolder(): Promise<string> {
  const uid = process.getuid?.() ?? 0;
  const folder = join(tmpdir(), `agent-control-plane-${uid}`);
  await mkdir(folder, { mode: 0o711 }).catch(() => undefined);
  const found = await lstat(folder);
  if (!found.isDirectory() || found.uid !== uid)
    throw new Failure(`${folder} is not ours: remove it, set TMPDIR to another folder, or set DATABASE_URL.`);
  await chmod(folder, 0o711); // mkdir obeys the umask
  return folder;
}
