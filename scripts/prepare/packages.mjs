import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { read, root, runStep, sha256 } from './steps.mjs';

const stampFile = join(root, 'node_modules', '.acp-stamp');

/** Makes node_modules what the lock file says. True when there was something to do. */
export async function installPackages() {
  const lock = read(join(root, 'package-lock.json')) ?? '';
  const stamp = sha256(lock, process.platform, process.arch);
  if (read(stampFile) === stamp) return false;
  const installed = matches(lock);
  if (!installed) await runNpm();
  writeFileSync(stampFile, stamp);
  return !installed;
}

async function runNpm() {
  const npm = process.env.npm_execpath;
  const options = ['ci', '--no-progress', '--loglevel=error'];
  const [command, args] = npm?.endsWith('.js') ? [process.execPath, [npm, ...options]] : ['npm', options];
  await runStep('installing packages', command, args);
}

/** npm writes its own record at the end of an install; one that says the same as the lock file needs no second. */
function matches(lock) {
  const record = read(join(root, 'node_modules', '.package-lock.json'));
  if (!record) return false;
  const wanted = JSON.parse(lock).packages;
  const found = JSON.parse(record).packages;
  return Object.keys(wanted).every(
    (path) =>
      path === '' ||
      ((found[path] ? found[path].integrity === wanted[path].integrity : wanted[path].optional === true) &&
        (!found[path] || existsSync(join(root, path)))),
  );
}
