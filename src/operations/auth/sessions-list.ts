import { listOwnSessions } from '../../models/session.js';
import { presentSession } from '../../presenters/session.js';
import { DEFAULT_LIMIT, fromCursor, toPage } from '../cursor.js';
import type { Operation } from '../operation.js';

export const sessionsList: Operation<'auth.sessions.list'> = async ({ db }, { caller, query }) => {
  const limit = query.limit ?? DEFAULT_LIMIT;
  const sessions = await listOwnSessions(db, caller.userId, limit + 1, fromCursor(query.cursor));
  const { rows, nextCursor } = toPage(sessions, limit);
  const shown = rows.map((family) => presentSession(family, caller.sessionId));
  return { status: 200, body: { sessions: shown, nextCursor } };
};
