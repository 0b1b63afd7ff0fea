import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { Failure } from '../process/failure.js';

const run = promisify(execFile);

export interface Account {
  uid: number;
  gid: number;
}

/** PostgreSQL refuses to run as root: then it gets the account `postgres`, made when missing. Else undefined. */
export async function databaseAccount(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  return (await lookUp()) ?? (await create());
}

async function lookUp(): Promise<Account | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', 'postgres']), run('id', ['-g', 'postgres'])]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined;
  }
}

async function create(): Promise<Account> {
  await run('useradd', ['--system', '--user-group', '--no-create-home', 'postgres']).catch(() => undefined);
  const account = await lookUp();
  if (account) return account;
  throw new Failure(
    'PostgreSQL does not run as root and the account "postgres" could not be made: create it, work as another user, or set DATABASE_URL.',
  );
}

/** Can this account reach what lies in the folder, through every folder above it? */
export async function canReach(account: Account, folder: string): Promise<boolean> {
  const { mode, uid, gid } = await stat(folder);
  const shift = uid === account.uid ? 6 : gid === account.gid ? 3 : 0;
  if (((mode >> shift) & 0o1) === 0) return false;
  const parent = dirname(folder);
  return parent === folder || canReach(account, parent);
}
