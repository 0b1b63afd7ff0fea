import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import test from 'ava';

/** What a command of the test tree says, and how it ends; `onOutput` hears what it has said so far. */
const run = async (program: string, args: string[], onOutput?: (said: string, interrupt: () => void) => void) => {
  const path = fileURLToPath(new URL(`../${program}.js`, import.meta.url));
  const child = spawn(process.execPath, [path, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      onOutput?.(said, () => child.kill('SIGINT'));
    });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, said };
};

for (const args of [['--bogus'], ['--share'], ['--share', '2'], ['--share', 'x']])
  test(`test:faults ${args.join(' ')} is refused in one line`, async (t) => {
    const { code, said } = await run('support/run-faults', args);
    t.is(code, 2);
    t.deepEqual(
      said.split('\n').map((line) => line.slice(0, 6)),
      ['test: ', ''],
      said,
    );
    t.log(said.trim());
  });

test('a simulation that is interrupted says so', async (t) => {
  t.timeout(90_000);
  let isInterrupted = false;
  const { code, said } = await run('simulation/main', ['--seeds', '4', '--concurrency', '1'], (soFar, interrupt) => {
    if (isInterrupted || !soFar.includes('PostgreSQL')) return;
    isInterrupted = true;
    interrupt();
  });
  t.is(code, 130, said);
  t.regex(said, /interrupted/);
  t.notRegex(said, /failed\b.*itself|itself failed/);
});
