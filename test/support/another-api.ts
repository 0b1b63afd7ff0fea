import { freePort } from '../../local/process/ports.js';
import { ACaller } from './a-caller.js';
import { type AProcess, startProcess } from './a-process.js';
import type { Stack } from './a-stack.js';

export interface AnotherApi {
  url: string;
  process: AProcess;
  nobody(): ACaller;
  /** The same caller, there. */
  as(caller: Pick<ACaller, 'token'>): ACaller;
}

/** A second API on the stack's database, as a process of its own. `env` over the stack's. */
export const anotherApi = async (stack: Stack, env: Record<string, string> = {}): Promise<AnotherApi> => {
  const port = await freePort();
  const process = await startProcess('src/server', { ...stack.env, PORT: String(port), ...env });
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    process,
    nobody: () => new ACaller(url, undefined),
    as: ({ token }) => new ACaller(url, token),
  };
};
