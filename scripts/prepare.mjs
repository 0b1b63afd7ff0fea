// Runs before `npm start`, `npm test`, `npm run check` and `npm run world`, on a fresh clone before anything is
// installed: so it needs nothing but Node. Installs packages when they are missing or the lock file changed, builds what
// is stale, and says what it is doing. `--force` builds anyway, `--packages` only installs, `--quiet` speaks only of work
// that takes time.
import { requireNode } from './prepare/node-version.mjs';

requireNode(); // first: what is imported below is written for Nodes that pass

const { alone } = await import('./prepare/alone.mjs');
const { installPackages } = await import('./prepare/packages.mjs');
const { build } = await import('./prepare/build.mjs');
const { say, StepFailed } = await import('./prepare/steps.mjs');

const force = process.argv.includes('--force');
const packagesOnly = process.argv.includes('--packages');
const quiet = process.argv.includes('--quiet');
const began = Date.now();

try {
  const worked = await alone(async () => {
    const installed = await installPackages();
    const built = !packagesOnly && (await build({ force }));
    return installed || built;
  });
  if (worked) say(`ready after ${((Date.now() - began) / 1000).toFixed(1)} s`);
  else if (!quiet) say(packagesOnly ? 'everything is installed' : 'everything is installed and built');
} catch (error) {
  if (!(error instanceof StepFailed)) throw error;
  console.error(`prepare: ${error.message}`);
  process.exitCode = 1;
}
