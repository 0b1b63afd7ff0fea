import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { read, root, runStep, sha256 } from './steps.mjs';

const dist = join(root, 'dist');
const rooms = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')).include;

/** Compiles and bundles what changed since the last time. True when there was something to do. */
export async function build({ force }) {
  const compiled = await compile(force);
  const bundled = await bundleWorkflows(force);
  return compiled || bundled;
}

async function compile(force) {
  const stampFile = join(dist, '.stamp');
  const sources = rooms.flatMap((room) => filesIn(join(root, room)));
  const stamp = stampOf([...sources, join(root, 'tsconfig.json'), join(root, 'package-lock.json')]);
  const outputs = sources.filter((file) => /(?<!\.d)\.ts$/.test(file)).map(outputOf);
  if (!force && read(stampFile) === stamp && outputs.every((file) => existsSync(file))) return false;
  rmSync(stampFile, { force: true });
  if (!outputs.every((file) => existsSync(file))) rmSync(join(dist, '.tsbuildinfo'), { force: true });
  await runStep('building', process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', '.']);
  removeStale(new Set(outputs));
  writeFileSync(stampFile, stamp);
  return true;
}

/** Workers load one bundle made ahead, so that each starts at once; made by the worker room's own program. */
async function bundleWorkflows(force) {
  const program = join(dist, 'workers', 'bundle.js');
  if (!existsSync(program)) return false;
  const bundle = join(dist, 'workflow-bundle.js');
  const stampFile = join(dist, '.bundle-stamp');
  const stamp = stampOf([program, join(root, 'package-lock.json'), ...reachedFrom(filesIn(join(dist, 'workflows')))]);
  if (!force && existsSync(bundle) && read(stampFile) === stamp) return false;
  await runStep('bundling the workflows', process.execPath, [program]);
  writeFileSync(stampFile, stamp);
  return true;
}

/** These files and, step by step, all files of ours that they import. */
function reachedFrom(entries) {
  const reached = new Set(entries.filter((file) => file.endsWith('.js')));
  for (const file of reached)
    for (const [, path] of read(file).matchAll(/from '(\.[^']+)'/g)) {
      const imported = join(dirname(file), path);
      if (existsSync(imported)) reached.add(imported);
    }
  return [...reached];
}

function removeStale(outputs) {
  for (const file of rooms.flatMap((room) => filesIn(join(dist, room))))
    if (!outputs.has(file.replace(/\.map$/, ''))) rmSync(file);
}

const outputOf = (source) => join(dist, relative(root, source)).replace(/\.ts$/, '.js');

const stampOf = (files) => sha256(...files.toSorted().flatMap((file) => [relative(root, file), readFileSync(file)]));

function filesIn(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}
