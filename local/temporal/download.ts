import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { chmod, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { everyFewSeconds } from '../process/progress.js';
import { engineVersion } from './version.js';

/**
 * Fetches the engine the way Temporal's SDKs do (`GET temporal.download/cli/<version>` names the archive and the file in
 * it) and leaves it at `target`. False when that is not possible here: without a network it gives up within seconds.
 */
export async function downloadEngine(target: string, note: (line: string) => void): Promise<boolean> {
  const draft = await mkdtemp(join(dirname(target), 'download-'));
  const what = 'downloading the Temporal engine (50 MB)';
  note(`${what} …`);
  const stopNoting = everyFewSeconds(note, what);
  try {
    const { archiveUrl, fileToExtract } = await describeArchive();
    const archive = join(draft, 'archive.tar.gz');
    const answer = await fetch(archiveUrl, { signal: AbortSignal.timeout(600_000) });
    if (!answer.ok || !answer.body) return false;
    await pipeline(Readable.fromWeb(answer.body), createWriteStream(archive));
    await promisify(execFile)('tar', ['-xzf', archive, '-C', draft, fileToExtract]);
    const engine = join(draft, fileToExtract);
    await chmod(engine, 0o755);
    await promisify(execFile)(engine, ['--version']);
    await rename(engine, target);
    return true;
  } catch {
    return false;
  } finally {
    stopNoting();
    await rm(draft, { recursive: true, force: true });
  }
}

async function describeArchive(): Promise<{ archiveUrl: string; fileToExtract: string }> {
  const query = new URLSearchParams({
    arch: process.arch === 'x64' ? 'amd64' : process.arch,
    platform: process.platform,
    format: 'tar.gz',
  });
  const url = `https://temporal.download/cli/v${engineVersion}?${query.toString()}`;
  const answer = await fetch(url, { signal: AbortSignal.timeout(5_000) });
  if (!answer.ok) throw new Error(`no archive: ${answer.status}`);
  return (await answer.json()) as { archiveUrl: string; fileToExtract: string }; // the SDKs trust the same two fields
}
