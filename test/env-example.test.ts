import { readFileSync } from 'node:fs';
import test from 'ava';
import { envExample } from '../src/env-example.js';

test('.env.example is what src/config.ts generates', (t) => {
  t.is(
    readFileSync('.env.example', 'utf8'),
    envExample(),
    'write it again: node dist/src/cli/main.js admin env-example > .env.example',
  );
});
