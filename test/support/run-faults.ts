import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/** `npm run test:faults [-- --share 0.1] [file …]`: the long fault and scale tests, a file at a time so that each has the machine to itself. */
const wrong = (what: string): never => {
  console.error(`test: ${what}; usage: npm run test:faults [-- --share 0.1] [file …]`);
  process.exit(2);
};
const read = () => {
  try {
    return parseArgs({ options: { share: { type: 'string', default: '1' } }, allowPositionals: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return wrong(error.message.split(/[.\n]/, 1)[0] ?? ''); // the rest of it is advice for commands with other options
  }
};
const { values, positionals } = read();
const share = Number(values.share);
if (!(share > 0 && share <= 1)) wrong('--share is a number above 0, 1 at most');
const folder = fileURLToPath(new URL('../faults/long/', import.meta.url));
const files = readdirSync(folder).filter((name) => name.endsWith('.test.js'));
process.env['TEST_FAULTS_SHARE'] = String(share);
const chosen = positionals.length > 0 ? positionals : files.map((name) => join(folder, name));
process.argv.splice(2, process.argv.length, '--concurrency', '1', ...chosen);
await import('./run.js');
