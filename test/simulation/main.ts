import { randomBytes } from 'node:crypto';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { hearEnding } from '../../local/process/ending.js';
import { Failure } from '../../local/process/failure.js';
import { dropTemplate } from '../support/a-database.js';
import { givenDatabase, startServers } from '../support/servers.js';
import { linesOf, summaryOf } from './report.js';
import { simulate } from './simulate.js';

/**
 * `npm run -s simulate`: seeds of trouble against the whole product. Exit code 0 = all passed, 1 = some did not, 2 = wrong arguments,
 * 130 = interrupted.
 */

interface Options {
  from: number;
  seeds: number;
  concurrency: number;
  trace: boolean;
}

const wholeNumber =
  (least: number, most: number) =>
  (text: string): number => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };

const command = new Command('simulate')
  .usage('[options]   (as: npm run -s simulate -- [options])')
  .description(
    'Random sequences of what users ask, over the real API, workflows and workers and a host that misbehaves, then a calm in which everything must converge. A seed decides all that is random.',
  )
  .option('--from <seed>', 'the first seed', wholeNumber(0, 2 ** 31), 1)
  .option('--seeds <n>', 'how many', wholeNumber(1, 100_000), 20)
  .option('--concurrency <n>', 'seeds under way at a time', wholeNumber(1, 64), 12)
  .option('--trace', 'tells what happened in seeds that passed, too', false)
  .allowExcessArguments(false)
  .exitOverride();

const stops: (() => Promise<unknown>)[] = [];
const interrupted = new AbortController();

try {
  command.parse();
  hearEnding({ end: () => interrupted.abort(), hurry: () => process.exit(130) });
  process.exitCode = await run(command.opts<Options>());
} catch (error) {
  if (interrupted.signal.aborted) {
    // Whatever went wrong, went wrong because all was being stopped.
    console.error('simulate: interrupted');
    process.exitCode = 130;
  } else if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2; // commander has spoken already
  else if (error instanceof Failure) {
    console.error(`simulate: ${error.message}`);
    process.exitCode = 1;
  } else throw error;
} finally {
  for (const stop of stops.toReversed()) await stop();
  if (interrupted.signal.aborted) process.exit(); // seeds that were given up still wait
}

async function run({ trace, ...options }: Options): Promise<number> {
  const say = (line: string): void => console.log(`simulate: ${line}`);
  const began = Date.now();
  const { databaseUrl, temporalAddress } = await startServers(stops, say);
  const isGiven = givenDatabase() !== undefined;
  process.env['TEST_DATABASE_URL'] = databaseUrl;
  process.env['TEST_TEMPORAL_ADDRESS'] = temporalAddress;
  process.env['TEST_RUN'] = randomBytes(4).toString('hex');
  const result = await simulate({
    ...options,
    interrupted: interrupted.signal,
    onVerdict: (verdict) => console.log(linesOf(verdict, trace).join('\n')),
  });
  if (isGiven) await dropTemplate(databaseUrl, process.env['TEST_RUN']);
  for (const line of summaryOf(result)) say(line);
  const failed = result.verdicts.filter(({ wrong }) => wrong.length > 0);
  if (failed.length > 0) say(`failed: ${failed.map(({ seed }) => seed).join(', ')}`);
  if (interrupted.signal.aborted) say(`interrupted after ${result.verdicts.length} of ${options.seeds} seeds`);
  const seconds = ((Date.now() - began) / 1_000).toFixed(0);
  say(`${seconds} s`);
  const isInterrupted = interrupted.signal.aborted;
  const isWhole = isInterrupted || result.wrong.length === 0; // what was cut short cannot be whole
  const remark = isInterrupted ? ', interrupted' : isWhole ? '' : ', the run itself failed';
  console.log(`${result.verdicts.length - failed.length} passed, ${failed.length} failed${remark}`);
  if (isInterrupted) return 130;
  return failed.length === 0 && isWhole ? 0 : 1;
}
