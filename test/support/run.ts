import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { hearEnding } from '../../local/process/ending.js';
import { Failure } from '../../local/process/failure.js';
import { dropTemplate } from './a-database.js';
import { runAva } from './run-ava.js';
import { givenDatabase, startServers } from './servers.js';
import { uncalledEndpoints } from './uncalled-endpoints.js';

/** `npm test`: one PostgreSQL and one Temporal for the whole run, then AVA, then both are stopped. */

const say = (line: string): void => console.log(`test: ${line}`);
const stops: (() => Promise<unknown>)[] = [];
const interrupted = new AbortController();
hearEnding({ end: () => interrupted.abort(), hurry: () => undefined });

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  console.error(`test: ${error.message}`);
  process.exitCode = 1;
} finally {
  for (const stop of stops.toReversed()) await stop();
}

async function run(args: readonly string[]): Promise<number> {
  const { folder, databaseUrl, temporalAddress } = await startServers(stops, say);
  const testRun = randomBytes(4).toString('hex');
  const calledFile = join(folder, 'called');
  const env = {
    ...process.env,
    TEST_DATABASE_URL: databaseUrl,
    TEST_TEMPORAL_ADDRESS: temporalAddress,
    TEST_RUN: testRun,
    TEST_CALLED_FILE: calledFile,
  };
  const code = await runAva(args, env, interrupted.signal);
  if (givenDatabase() !== undefined) await dropTemplate(databaseUrl, testRun);
  if (code !== 0 || args.length > 0) return code; // some of the tests do not call everything
  const uncalled = await uncalledEndpoints(calledFile);
  if (uncalled.length === 0) return 0;
  console.error(`test: no test calls ${uncalled.join(', ')}: every endpoint of the table needs one that does`);
  return 1;
}
