import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';

/** Where the build puts the workflow code; workers load it instead of bundling at start. */
export const workflowBundlePath = fileURLToPath(new URL('../workflow-bundle.js', import.meta.url));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { code } = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../workflows/index.js', import.meta.url)),
    logger: { ...console, trace: () => undefined, debug: () => undefined, info: () => undefined, log: () => undefined },
  });
  mkdirSync(dirname(workflowBundlePath), { recursive: true });
  writeFileSync(workflowBundlePath, code);
}
