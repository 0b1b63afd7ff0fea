import type { Db } from './knex.js';

const lines = async (db: Db, sql: string): Promise<string[]> => {
  const { rows } = await db.raw<{ rows: { line: string }[] }>(sql);
  return rows.map((row) => row.line);
};

/** The schema as text, the same for the same schema: what the committed schema.sql is compared with. Needs no pg_dump. */
export const dumpSchema = async (db: Db): Promise<string> => {
  const columns = await lines(
    db,
    `select format('%s.%s %s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
            case when a.attnotnull then ' not null' else '' end,
            coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')) as line
       from pg_class c
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname not like 'knex_%'
      order by c.relname, a.attnum`,
  );
  const constraints = await lines(
    db,
    `select format('%s: %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as line
       from pg_constraint
      where connamespace = 'public'::regnamespace and contype <> 'n' and conrelid::regclass::text not like 'knex_%'
      order by conrelid::regclass::text collate "C", conname`,
  );
  const indexes = await lines(
    db,
    `select indexdef as line from pg_indexes where schemaname = 'public' and tablename not like 'knex_%' order by indexname`,
  );
  const functions = await lines(
    db,
    `select pg_get_functiondef(oid) as line from pg_proc where pronamespace = 'public'::regnamespace order by proname`,
  );
  const triggers = await lines(
    db,
    `select pg_get_triggerdef(oid) as line from pg_trigger where not tgisinternal order by tgname`,
  );
  const part = (title: string, text: string[]) => [`-- ${title}`, ...text, ''];
  return [
    '-- What the migrations make of a database, for people to read and for test/db/schema.test.ts to compare.',
    '-- Generated: DATABASE_URL=<a migrated database> node dist/src/cli/main.js admin schema > src/db/schema.sql',
    '',
    ...part('columns', columns),
    ...part('constraints', constraints),
    ...part('indexes', indexes),
    ...part('functions', functions),
    ...part('triggers', triggers),
  ].join('\n');
};
