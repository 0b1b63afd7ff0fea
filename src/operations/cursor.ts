/** The last id of a page, opaque to callers; ids sort by time, so a page never shifts when rows are added. */
export const toCursor = (id: string): string => Buffer.from(id).toString('base64url');
export const fromCursor = (cursor: string | undefined): string | undefined =>
  cursor === undefined ? undefined : Buffer.from(cursor, 'base64url').toString('utf8').replaceAll('\u0000', '');

/** Cuts the one row too many that tells whether there is a next page. */
export const toPage = <Row extends { id: string }>(
  rows: Row[],
  limit: number,
): { rows: Row[]; nextCursor: string | null } => {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { rows: page, nextCursor: rows.length > limit && last ? toCursor(last.id) : null };
};

export const DEFAULT_LIMIT = 50;
