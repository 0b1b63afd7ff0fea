import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { z } from 'zod';
import { Failure } from './failure.js';

/** Reads a file of ours and checks its shape; undefined when there is none. @throws Failure when it cannot be used */
export async function readJson<T>(file: string, shape: z.ZodType<T>): Promise<T | undefined> {
  try {
    return shape.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new Failure(`${file} cannot be used: correct it, or move it away and start again.`);
  }
}

/** Writes the file whole or not at all, readable by its owner only. */
export async function writeJson(file: string, value: unknown): Promise<void> {
  const draft = `${file}.${randomUUID().slice(0, 8)}`;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(draft, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  await rename(draft, file);
}
