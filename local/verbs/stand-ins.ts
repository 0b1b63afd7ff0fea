import { join } from 'node:path';
import { z } from 'zod';
import { Failure } from '../process/failure.js';
import { worldDir } from '../start/folder.js';
import { readWorld } from '../world-file.js';

const providers = ['host'] as const;

/** Prints the provider's effect log, NDJSON. @throws Failure */
export async function effectsVerb(provider: string): Promise<void> {
  process.stdout.write(await ask(provider, 'GET', '/_/effects'));
}

/** Injects a fault into the provider. @throws Failure when it is no fault */
export async function faultVerb(provider: string, json?: string): Promise<void> {
  if (provider === 'host' && json === 'clear') return clearFaultsVerb();
  await ask(provider, 'POST', '/_/faults', parseFault(json));
}

/** Ends all faults of all providers. */
export async function clearFaultsVerb(): Promise<void> {
  for (const provider of providers) await ask(provider, 'DELETE', '/_/faults');
}

/** Kills the agent's machines as a power cut would and prints their ids. @throws Failure when it has none */
export async function killMachineVerb(agentId: string): Promise<void> {
  const answer = await ask('host', 'POST', `/_/machines/${encodeURIComponent(agentId)}/kill`);
  const { killed } = z.object({ killed: z.array(z.string()) }).parse(JSON.parse(answer));
  for (const id of killed) console.log(id);
}

function parseFault(json = ''): string {
  try {
    return JSON.stringify(JSON.parse(json));
  } catch {
    throw new Failure(`The fault is not JSON; for example: '{"mode":"error-after","match":{"path":"/volumes"}}'`);
  }
}

async function ask(provider: string, method: string, path: string, body?: string): Promise<string> {
  if (!providers.some((known) => known === provider))
    throw new Failure(`There is no stand-in "${provider}"; there is ${providers.join(', ')}.`);
  const { hostUrl, keys } = await readWorld(join(worldDir(), 'world.json'));
  if (!hostUrl) throw new Failure('This world uses a real host: there is no stand-in to ask.');
  const headers = { authorization: `Bearer ${keys.hostToken}`, 'content-type': 'application/json' };
  const init: RequestInit = { method, headers, ...(body === undefined ? {} : { body }) };
  const answer = await fetch(hostUrl + path, init).catch(() => undefined);
  if (!answer) throw new Failure(`The stand-in at ${hostUrl} does not answer: is the world running (npm start)?`);
  const text = await answer.text();
  if (!answer.ok) throw new Failure(`The stand-in refused: ${text}`);
  return text;
}
