import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));

/** A step that cannot go on; the message is for the person at the terminal. */
export class StepFailed extends Error {}

/** `--quiet` keeps standard output clean for what the program after us prints. */
const print = process.argv.includes('--quiet') ? console.error : console.log;
export const say = (line) => print(`prepare: ${line}`);

/**
 * Runs a program in the project's folder, with a line when it begins and every 5 s. What it prints is held back and
 * shown only when it fails.
 */
export async function runStep(title, command, args, env = process.env) {
  const began = Date.now();
  const seconds = () => `${Math.round((Date.now() - began) / 1000)} s`;
  say(`${title} …`);
  const timer = setInterval(() => say(`${title} … ${seconds()}`), 5_000);
  const { code, output } = await collect(command, args, env).finally(() => clearInterval(timer));
  if (code !== 0) throw new StepFailed(`${title} failed after ${seconds()}:\n${excerpt(output)}`);
}

function collect(command, args, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    process.once('exit', () => child.kill()); // a Ctrl-C meanwhile ends it too
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    child.once('error', (error) => reject(new StepFailed(`${command} does not run: ${error.message}`)));
    child.once('close', (code) => resolve({ code, output }));
  });
}

/** npm tells first what is wrong, a compiler last. */
function excerpt(output) {
  const lines = output.trimEnd().split('\n');
  return (lines.length <= 60 ? lines : [...lines.slice(0, 20), '…', ...lines.slice(-40)]).join('\n');
}

export const sha256 = (...texts) => {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(text).update('\0');
  return hash.digest('hex');
};

export const read = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : undefined);
