import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { freePort } from '../../local/host/ports.js';
import type { FakeControlPlane } from './a-control-plane.js';
import { aFolder, until } from './a-host.js';

const EXIT_PORT_IN_USE = 98;

export const entry = fileURLToPath(new URL('../../local/runtime/main.js', import.meta.url));
export interface RuntimeAtHand {
  url: string;
  child: ChildProcess;
  stateDir: string;
  output: () => string;
  ready: () => Promise<Response>;
}

interface Wish {
  controlPlane: FakeControlPlane;
  stateDir?: string;
  bootstrapToken?: string;
  args?: string[];
}

/** A runtime as a machine runs it, listening when this returns. */
export async function aRuntime(t: ExecutionContext, wish: Wish): Promise<RuntimeAtHand> {
  const stateDir = wish.stateDir ?? (await aFolder(t));
  const port = await freePort();
  const args = ['--listen', `127.0.0.1:${port}`, '--state-dir', stateDir, ...(wish.args ?? [])];
  const child = spawn(process.execPath, [entry, ...args], {
    env: {
      ACP_URL: `${wish.controlPlane.url}/`,
      ACP_AGENT_ID: 'agt_one',
      ACP_RUNTIME_ID: 'rt_one',
      ACP_RUNTIME_VERSION: '1.2.3',
      ACP_BOOTSTRAP_TOKEN: wish.bootstrapToken ?? 'secret-boot-1',
      ACP_GATEWAY_TOKEN: 'secret-gateway-1',
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  t.teardown(() => void child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk));
  const url = `http://127.0.0.1:${port}`;
  // Its own word, not that somebody answers: another test's runtime may have taken the port meanwhile.
  await until(
    () => output.includes('"listening"') || child.exitCode !== null,
    (isKnown) => isKnown,
  );
  if (child.exitCode === EXIT_PORT_IN_USE) return aRuntime(t, { ...wish, stateDir });
  return { url, child, stateDir, output: () => output, ready: () => fetch(`${url}/readyz`) };
}

export const isReady = (response: Response): boolean => response.status === 200;

export const stopped = async ({ child }: RuntimeAtHand): Promise<void> => {
  child.kill('SIGTERM');
  await once(child, 'exit');
};
