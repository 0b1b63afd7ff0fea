import type { Db } from '../db/knex.js';

/** How far the host's list has been read. */
export interface Watermark {
  /** ISO 8601 as the host wrote it; null = never looked. */
  updatedAfter: string | null;
  sweptAt: Date | null;
}

export const readWatermark = async (db: Db, org: string): Promise<Watermark> => {
  const row = await db('host_watermarks').where({ org }).first<{ updatedAfter: Date | null; sweptAt: Date | null }>();
  return { updatedAfter: row?.updatedAfter?.toISOString() ?? null, sweptAt: row?.sweptAt ?? null };
};

export const writeWatermark = async (
  db: Db,
  org: string,
  updatedAfter: string | null,
  swept: boolean,
): Promise<void> => {
  const sweptAt = swept ? { sweptAt: db.fn.now() } : {};
  await db('host_watermarks')
    .insert({ org, updatedAfter, ...sweptAt })
    .onConflict('org')
    .merge({ updatedAfter, ...sweptAt });
};
