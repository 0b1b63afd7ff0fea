import { invalid } from './input.js';

const CURSOR_LIVES_MS = 30 * 60_000;

interface Cursor {
  after: string;
  until: number;
}

/**
 * One page of an app's list: all of it without `limit`. Filters are for the caller to apply to
 * the page, so a page may be empty while more remain, as at the real host.
 * @throws Refusal 400 for a cursor without limit, a stale or a foreign cursor.
 */
export function page<T extends { id: string }>(
  all: T[],
  query: URLSearchParams,
): { items: T[]; headers: Record<string, string> } {
  const limit = query.get('limit');
  const cursor = query.get('cursor');
  if (limit === null) {
    if (cursor !== null) throw invalid('cursor requires limit');
    return { items: all, headers: {} };
  }
  const { items, next } = slice(all, Number(limit), cursor);
  return { items, headers: next === null ? {} : { 'fly-next-cursor': next } };
}

/** The `limit` items after the cursor, and the cursor of the next ones. */
export function slice<T extends { id: string }>(
  all: T[],
  limit: number,
  cursor: string | null,
): { items: T[]; next: string | null } {
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) throw invalid('limit must be 1 to 1000');
  const start = cursor === null || cursor === '' ? 0 : all.findIndex(({ id }) => id === afterOf(cursor)) + 1;
  const items = all.slice(start, start + limit);
  const last = items.at(-1);
  const hasMore = last !== undefined && start + limit < all.length;
  return {
    items,
    next: hasMore ? encode({ after: last.id, until: Date.now() + CURSOR_LIVES_MS }) : null,
  };
}

function encode(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

function afterOf(text: string): string {
  let cursor: Partial<Cursor>;
  try {
    cursor = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Partial<Cursor>; // checked below
  } catch {
    throw invalid('malformed cursor');
  }
  if (typeof cursor.after !== 'string' || typeof cursor.until !== 'number') throw invalid('malformed cursor');
  if (cursor.until < Date.now()) throw invalid('the cursor has expired');
  return cursor.after;
}
