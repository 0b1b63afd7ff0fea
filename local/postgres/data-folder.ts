import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Failure } from '../process/failure.js';
import { canReach, type Account } from './account.js';
import type { Binaries } from './binaries.js';
import { sharedFolder } from './shared-folder.js';

export interface DataFolder {
  data: string;
  password: string;
}

/**
 * Opens the database's folder and fills it on first use. `note` hears where the data went when the database's account
 * cannot reach `dir`.
 * @throws Failure when the folder holds something else, or data of another major version
 */
export async function openDataFolder(
  dir: string,
  binaries: Binaries,
  account: Account | undefined,
  note: (line: string) => void,
): Promise<DataFolder> {
  const home = await reachableHome(resolve(dir), account, note);
  const data = join(home, 'data');
  const passwordFile = join(home, 'password');
  const version = await readFile(join(data, 'PG_VERSION'), 'utf8').catch(() => undefined);
  if (version === undefined) await create(data, passwordFile, binaries, account);
  else if (version.trim() !== binaries.major)
    throw new Failure(
      `${data} belongs to PostgreSQL ${version.trim()}, not ${binaries.major}: move it away or choose another LOCAL_DIR.`,
    );
  return { data, password: await readPassword(passwordFile) };
}

async function reachableHome(dir: string, account: Account | undefined, note: (line: string) => void): Promise<string> {
  await mkdir(dir, { recursive: true });
  if (!account) return dir;
  await chmod(dir, 0o711); // mkdir obeys the umask
  if (await canReach(account, dir)) return dir;
  const home = join(await sharedFolder(), createHash('sha256').update(dir).digest('hex').slice(0, 12));
  await mkdir(home, { recursive: true });
  await chmod(home, 0o711);
  note(`the account "postgres" cannot reach ${dir}: the database is kept in ${home}`);
  return home;
}

async function create(
  data: string,
  passwordFile: string,
  { initdb }: Binaries,
  account: Account | undefined,
): Promise<void> {
  const draft = `${data}.draft`; // an interrupted initdb must not look like a data folder
  const handOver = `${draft}.password`;
  const password = randomBytes(24).toString('base64url');
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  await writeFile(handOver, password, { mode: 0o600 });
  if (account) for (const path of [draft, handOver]) await chown(path, account.uid, account.gid);
  const options = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${handOver}`];
  const text = ['--encoding=UTF8', '--locale-provider=builtin', '--locale=C.UTF-8']; // alike on every system
  try {
    const env = { ...process.env, LC_ALL: 'C' };
    await promisify(execFile)(initdb, [`--pgdata=${draft}`, ...options, ...text, '--no-sync'], { env, ...account });
    await writeFile(passwordFile, password, { mode: 0o600 });
    await rename(draft, data);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Failure(`The database could not be created in ${data}: ${reason.trim()}`);
  } finally {
    await rm(handOver, { force: true });
  }
}

async function readPassword(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch {
    throw new Failure(`${file} cannot be read: move the folder it is in away or choose another LOCAL_DIR.`);
  }
}
