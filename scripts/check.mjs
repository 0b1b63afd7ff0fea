// `npm run check`: everything about the source that can be told without running it. All checks run, so that one look
// shows all there is to mend. The import rules are a test: test/architecture.test.ts.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { root } from './prepare/steps.mjs';

const bin = (...path) => join(root, 'node_modules', ...path);

const checks = [
  ['types', bin('typescript', 'bin', 'tsc'), ['-p', '.', '--noEmit']],
  ['lint', bin('oxlint', 'bin', 'oxlint'), ['--deny-warnings']],
  ['format', bin('oxfmt', 'bin', 'oxfmt'), ['--check']],
  ['unused code', bin('knip', 'bin', 'knip.js'), ['--no-progress']],
];

const failed = [];
for (const [title, program, args] of checks) {
  const began = Date.now();
  const { code, output } = await run(program, args);
  const seconds = ((Date.now() - began) / 1000).toFixed(1);
  console.log(`check: ${title} ${code === 0 ? 'ok' : 'FAILED'} (${seconds} s)`);
  if (code === 0) continue;
  failed.push(title);
  console.log(output.trimEnd());
}
console.log(failed.length === 0 ? 'check: all ok' : `check: ${failed.join(', ')} failed`);
process.exitCode = failed.length === 0 ? 0 : 1;

function run(program, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}
