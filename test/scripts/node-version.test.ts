import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import test from 'ava';

const script = pathToFileURL(resolve('scripts/prepare/node-version.mjs')).href;
// plain JavaScript, for it runs before anything is compiled
const { satisfies } = (await import(script)) as { satisfies: (version: string, range: string) => boolean };
const ours = '^20.19.0 || ^22.12.0 || >=24.0.0';

for (const version of ['20.19.0', '20.20.2', '22.12.0', '22.21.1', '24.0.0', '25.1.0', '31.0.0'])
  test(`Node ${version} is accepted`, (t) => t.true(satisfies(version, ours)));

for (const version of ['18.20.8', '20.18.3', '21.7.3', '22.11.0', '23.11.1'])
  test(`Node ${version} is refused`, (t) => t.false(satisfies(version, ours)));
