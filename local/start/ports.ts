import { z } from 'zod';
import { Failure } from '../process/failure.js';
import { readJson, writeJson } from '../process/files.js';
import { freePort, isFree } from '../process/ports.js';

/** The API's port. @throws Failure when PORT is no port, or somebody listens there */
export async function apiPort(text = '3000'): Promise<number> {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new Failure(`PORT is "${text}": give a number from 1 to 65535.`);
  if (await isFree(port)) return port;
  throw new Failure(
    `Port ${port} is in use by another program: stop that, or choose another port: PORT=${port + 1} npm start`,
  );
}

/** A port for each name, the same as at the last start where nobody else has taken it meanwhile. */
export async function keptPorts<Name extends string>(
  file: string,
  names: readonly Name[],
  taken: number,
  say: (line: string) => void,
): Promise<Record<Name, number>> {
  const kept: Record<string, number> = (await readJson(file, z.record(z.string(), z.number()))) ?? {};
  const ports = {} as Record<Name, number>; // filled for every name below
  for (const name of names) {
    const old = kept[name];
    const isOurs = old !== undefined && old !== taken && (await isFree(old));
    ports[name] = isOurs ? old : await freePort([taken, ...Object.values(kept), ...Object.values<number>(ports)]);
    if (old && !isOurs) say(`port ${old} is taken: ${name} moves to ${ports[name]}`);
  }
  await writeJson(file, { ...kept, ...ports });
  return ports;
}
