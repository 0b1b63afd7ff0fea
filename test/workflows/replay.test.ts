import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from '@temporalio/worker';
import test from 'ava';
import * as workflows from '../../workflows/index.js';
import { workflowBundlePath } from '../../workers/bundle.js';
import { historiesFolder } from '../support/recorded.js';

const files = readdirSync(historiesFolder).filter((file) => file.endsWith('.json'));

for (const file of files)
  test(`the workflows of today replay ${file}`, async (t) => {
    const history: unknown = JSON.parse(readFileSync(join(historiesFolder, file), 'utf8'));
    // Also guards that protobufjs 8 is the copy at the root: with 7 there, no history can be read from JSON.
    await t.notThrowsAsync(Worker.runReplayHistory({ workflowBundle: { codePath: workflowBundlePath } }, history));
  });

test('every workflow has a recorded history', (t) => {
  const recorded = new Set(files.map((file) => file.split('.').at(-2)?.split('-')[0]));
  t.deepEqual(
    Object.keys(workflows).filter((name) => !recorded.has(name)),
    [],
  );
});
