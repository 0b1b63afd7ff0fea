import type pg from 'pg';
import type { Db } from './knex.js';

/** A statement that the server parses and plans once a connection; for the few reads that are asked for all the time. */
export interface Prepared {
  name: string;
  text: string;
}

/** `a_b as "aB", …`: what a select says for these fields of a model. */
export const columns = (fields: readonly string[]): string =>
  fields
    .map((field) => `${field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)} as "${field}"`)
    .join(', ');

/** Runs it on a connection of the pool, past the query builder, which costs more than the query does. */
export const runPrepared = async <Row>(db: Db, { name, text }: Prepared, values: unknown[]): Promise<Row[]> => {
  const client = db.client as {
    acquireConnection(): Promise<pg.Client>;
    releaseConnection(connection: pg.Client): Promise<void>;
  }; // knex types it any
  const connection = await client.acquireConnection();
  try {
    const { rows } = await connection.query({ name, text, values });
    return rows as Row[]; // the statement's own columns
  } finally {
    await client.releaseConnection(connection);
  }
};
