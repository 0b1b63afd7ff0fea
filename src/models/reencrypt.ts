import type { Db } from '../db/knex.js';
import type { KeyRing } from './key-ring.js';
import { type Sealed, seal, unseal } from './sealed.js';

/** Where sealed columns are: table, column, and the place that each row is sealed for. */
const columns = [
  { table: 'gateway_tokens', column: 'sealed', key: 'id', batchSize: 200 },
  { table: 'agents', column: 'sealed_bot_token', key: 'id', batchSize: 200 },
  // They live for a day, the older key may go sooner. Large, so fewer at a time.
  { table: 'machine_calls', column: 'sealed_request', key: 'job_id', batchSize: 20 },
  { table: 'machine_calls', column: 'sealed_answer', key: 'job_id', batchSize: 20 },
] as const;

interface SealedRow {
  id: string;
  sealed: Sealed;
}

/** Seals everything that an older key sealed with the present one, a batch a transaction. Returns how many rows. Afterwards an older key is needed only for tokens that were derived from it. */
export const reencrypt = async (db: Db, keys: KeyRing): Promise<number> => {
  let done = 0;
  for (const { table, column, key, batchSize } of columns)
    for (let batch: number = batchSize; batch === batchSize; done += batch)
      batch = await db.transaction(async (trx) => {
        const { rows } = await trx.raw<{ rows: SealedRow[] }>(
          `select ${key} as id, ${column} as sealed from ${table}
            where ${column} is not null and ${column} ->> 'keyId' <> ? limit ${batchSize} for update`,
          [keys.currentId],
        );
        for (const { id, sealed } of rows) {
          const place = `${table}.${column}:${id}`;
          const again = JSON.stringify(seal(keys, place, unseal(keys, place, sealed)));
          await trx.raw(`update ${table} set ${column} = ? where ${key} = ?`, [again, id]);
        }
        return rows.length;
      });
  return done;
};
