import { fileURLToPath } from 'node:url';

/** Recorded histories, one a workflow and release; written by `RELEASE=<version> npm run record-histories`, never by hand. */
export const historiesFolder = fileURLToPath(new URL('../../../test/histories/', import.meta.url));
