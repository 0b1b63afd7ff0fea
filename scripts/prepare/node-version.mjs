import { readFileSync } from 'node:fs';

/** Ends the process with one sentence when this Node is none of those that package.json names. */
export function requireNode() {
  const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  if (satisfies(process.versions.node, engines.node)) return;
  console.error(
    `This needs Node ${inWords(engines.node)}; here runs ${process.versions.node}. Install a newer one from https://nodejs.org (or: nvm install 24) and try again.`,
  );
  process.exit(1);
}

/** Understands what our engines field uses: `^a.b.c` and `>=a.b.c`, joined by `||`. */
export function satisfies(version, range) {
  const actual = parts(version);
  return range.split('||').some((one) => {
    const wanted = parts(one);
    if (compare(actual, wanted) < 0) return false;
    return one.includes('>=') || actual[0] === wanted[0];
  });
}

const inWords = (range) =>
  range
    .split('||')
    .map((one) => parts(one).join('.') + (one.includes('>=') ? ' or newer' : ''))
    .join(', ');

const parts = (version) =>
  version
    .replace(/[^\d.]/g, '')
    .split('.')
    .map(Number);

const compare = (a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
