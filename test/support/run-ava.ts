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
  // Its summary names the passed only when none failed: so its lines are counted, one a test.
  const counts = { '✔': 0, '✘': 0 };
  createInterface({ input: child.stdout }).on('line', (line) => {
    const mark = /^\s+(✔|✘) /.exec(stripVTControlCharacters(line))?.[1];
    if (mark === '✔' || mark === '✘') counts[mark] += 1;
  });
  const code = await new Promise<number>((resolve) => child.once('close', (status) => resolve(status ?? 130)));
  const remark = interrupted.aborted
    ? ', interrupted'
    : code !== 0 && counts['✘'] === 0
      ? ', the run itself failed'
      : '';
  console.log(`${counts['✔']} passed, ${counts['✘']} failed${remark}`);
  return code;
}
