import type { Db } from '../../src/db/knex.js';

export interface CountedWrites {
  /** Rows written since the last time it was asked, by table. */
  take(): Promise<Record<string, number>>;
}

/** Has the database itself count every row that anybody inserts, updates or deletes, from now on. */
export const countWrites = async (db: Db): Promise<CountedWrites> => {
  await db.raw(`create table counted_writes (at_table text not null)`);
  await db.raw(`create function count_write() returns trigger language plpgsql as $$
    begin insert into counted_writes values (tg_table_name); return null; end $$`);
  const { rows } = await db.raw<{ rows: { name: string }[] }>(
    `select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'counted_writes'`,
  );
  for (const { name } of rows)
    await db.raw(
      `create trigger count_writes after insert or update or delete on ?? for each row execute function count_write()`,
      [name],
    );
  return {
    take: async () => {
      const { rows: counted } = await db.raw<{ rows: { name: string; count: number }[] }>(
        `with gone as (delete from counted_writes returning at_table)
         select at_table as name, count(*) as count from gone group by at_table order by at_table`,
      );
      return Object.fromEntries(counted.map(({ name, count }) => [name, count]));
    },
  };
};
