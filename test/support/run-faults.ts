import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/** `npm run test:faults [-- --share 0.1] [file …]`: the long fault and scale tests, a file at a time so that each has the machine to itself. */
const { values, positionals } = parseArgs({
  options: { share: { type: 'string', default: '1' } },
  allowPositionals: true,
});
const share = Number(values.share);
if (!(share > 0 && share <= 1)) {
  console.error('test: --share is a number above 0, 1 at most');
  process.exit(1);
}
const folder = fileURLToPath(new URL('../faults/long/', import.meta.url));
const files = readdirSync(folder).filter((name) => name.endsWith('.test.js'));
process.env['TEST_FAULTS_SHARE'] = String(share);
const chosen = positionals.length > 0 ? positionals : files.map((name) => join(folder, name));
process.argv.splice(2, process.argv.length, '--concurrency', '1', ...chosen);
await import('./run.js');
