import { makeControlActivities } from '../activities/control.js';
import { readConfig } from '../src/config.js';
import { workflowBundlePath } from './bundle.js';
import { runWorker } from './run.js';

/** The queue `control`: all workflows, and short database work. */
await runWorker(
  'control',
  () => readConfig('control'),
  (_config, db) => ({
    queue: 'control',
    options: { workflowBundle: { codePath: workflowBundlePath }, activities: makeControlActivities({ db }) },
  }),
);
