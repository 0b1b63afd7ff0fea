import { readFile } from 'node:fs/promises';
import { endpoints } from '../../src/contract/index.js';

/** Endpoints of the table that are not in the file to which test/support/a-caller.ts writes what it calls, one a line. */
export const uncalledEndpoints = async (calledFile: string): Promise<string[]> => {
  const called = new Set((await readFile(calledFile, 'utf8').catch(() => '')).split('\n'));
  return endpoints.map(({ id }) => id as string).filter((id) => !called.has(id));
};
