import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { Stack } from './a-stack.js';

/** Whatever looks like a token of ours. */
export const tokenPattern = /acp_[a-z]+_[0-9A-Za-z]{49}/g;

/** A secret and the ways in which it could be written down. */
const formsOf = (secret: string): string[] => {
  const bytes = Buffer.from(secret);
  const bare = secret.replace(/^acp_[a-z]+_/, '').replace(/^k\d:/, '');
  return [secret, bare, bytes.toString('base64'), bytes.toString('base64url'), bytes.toString('hex')];
};

/** The names of the secrets that stand in the text, in whatever form. */
export const secretsIn = (text: string, secrets: Map<string, string>): string[] =>
  [...secrets].filter(([, secret]) => formsOf(secret).some((form) => text.includes(form))).map(([name]) => name);

/** Every row of every table as text. */
export const databaseText = async ({ db }: Stack): Promise<{ tables: number; text: string }> => {
  const { rows: tables } = await db.raw<{ rows: { name: string }[] }>(
    `select tablename as name from pg_tables where schemaname = 'public'`,
  );
  const parts: string[] = [];
  for (const { name } of tables) {
    const { rows } = await db.raw<{ rows: { text: string }[] }>('select r::text as text from ?? as r', [name]);
    parts.push(...rows.map(({ text }) => text));
    // bytea is shown in hex: as text as well, should somebody have kept a token as its bytes
    for (const hex of rows.flatMap(({ text }) => text.match(/\\x[0-9a-f]{16,}/g) ?? []))
      parts.push(Buffer.from(hex.slice(2), 'hex').toString('latin1'));
  }
  return { tables: tables.length, text: parts.join('\n') };
};

/** Every string and every payload in a history. */
const stringsOf = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  if (value instanceof Uint8Array) return [Buffer.from(value).toString('utf8')];
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(stringsOf);
  return [];
};

/** The histories of all jobs' workflows as text. */
export const historiesText = async ({
  db,
  env,
}: Stack): Promise<{ histories: number; events: number; text: string }> => {
  const connection = await Connection.connect({ address: env['TEMPORAL_ADDRESS'] ?? '' });
  const client = new Client({ connection });
  try {
    const jobs = await db('jobs').select<{ workflowId: string }[]>('workflowId');
    const histories = await Promise.all(
      jobs.map(({ workflowId }) => client.workflow.getHandle(workflowId).fetchHistory()),
    );
    const events = histories.flatMap((history) => history.events ?? []);
    return { histories: histories.length, events: events.length, text: events.flatMap(stringsOf).join('\n') };
  } finally {
    await connection.close();
  }
};

/** All text below a folder. */
export const folderText = async (folder: string): Promise<string> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return (await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')))).join('\n');
};
