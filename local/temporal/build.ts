import { execFile } from 'node:child_process';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { everyFewSeconds } from '../process/progress.js';
import { engineVersion } from './version.js';

const run = promisify(execFile);

/** Builds the engine with Go and leaves it at `target`. False when there is no Go, or the build fails (then `note` says why). */
export async function buildEngine(target: string, note: (line: string) => void): Promise<boolean> {
  const hasGo = await run('go', ['version']).catch(() => undefined);
  if (!hasGo) return false;
  const draft = await mkdtemp(join(dirname(target), 'build-'));
  const what = 'building the Temporal engine with Go, once (about 4 minutes)';
  note(`${what} …`);
  const stopNoting = everyFewSeconds(note, what);
  try {
    const source = `github.com/temporalio/cli/cmd/temporal@v${engineVersion}`;
    const env = { ...process.env, GOBIN: draft, GOOS: '', GOARCH: '', CGO_ENABLED: '0' };
    const building = run('go', ['install', '-ldflags=-s -w', source], { env, maxBuffer: 64 * 1024 * 1024 });
    process.once('exit', () => building.child.kill()); // a Ctrl-C meanwhile ends it too
    await building;
    await rename(join(draft, 'temporal'), target);
    return true;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    note(`Go could not build the Temporal engine: ${reason.trim().split('\n').slice(-3).join(' ')}`);
    return false;
  } finally {
    stopNoting();
    await rm(draft, { recursive: true, force: true });
  }
}
