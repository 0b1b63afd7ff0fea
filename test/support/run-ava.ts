import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { stripVTControlCharacters } from 'node:util';
import { fileURLToPath } from 'node:url';

/**
 * Runs AVA with its own reporter, adds one plain line of counts and answers AVA's exit code. `args` are AVA's; a test
 * file may be given by its source name. `interrupted` ends the run.
 */
export async function runAva(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  interrupted: AbortSignal,
): Promise<number> {
  if (interrupted.aborted) return 130;
  const cli = fileURLToPath(new URL('cli.mjs', import.meta.resolve('ava'))); // beside its entry point
  const compiled = args.map((arg) => arg.replace(/^test\/(.*)\.ts$/, 'dist/test/$1.js'));
  const colors = process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}; // AVA itself writes to a pipe
  const child = spawn(process.execPath, [cli, ...compiled], {
    env: { ...colors, ...env },
    stdio: ['inherit', 'pipe', 'inherit'],
  });
  interrupted.addEventListener('abort', () => child.kill('SIGTERM'));
  child.stdout.pipe(process.stdout, { end: false });
  const counts = new Map<string, number>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [, number, word = ''] = /^\s*(\d+) tests? (passed|failed)/.exec(stripVTControlCharacters(line)) ?? [];
    if (number) counts.set(word, Number(number));
  });
  const code = await new Promise<number>((resolve) => child.once('close', (status) => resolve(status ?? 130)));
  const aborted = interrupted.aborted ? ', interrupted' : '';
  console.log(`${counts.get('passed') ?? 0} passed, ${counts.get('failed') ?? 0} failed${aborted}`);
  return code;
}
