import type { ExecutionContext } from 'ava';
import { type ErrorCode, errorCodes } from '../../src/contract/errors.js';
import { Problem } from '../../src/contract/shapes/problem.js';
import type { Reply } from './a-caller.js';

/** A stack, a file of ours or a driver's words: none of them is for callers. */
const inside = /\n\s+at |node_modules|\.(?:js|ts):\d+|node:internal|knex|ECONN|select "/i;

/** The answer names itself and tells nothing of the inside. */
export const isPlain = (t: ExecutionContext, reply: Reply): void => {
  t.regex(reply.headers.get('x-request-id') ?? '', /^[A-Za-z0-9._-]{1,128}$/, 'every answer carries X-Request-Id');
  t.notRegex(JSON.stringify(reply.body), inside);
};

/** The answer is the problem document of this code, whole and well-formed. */
export const isProblem = (t: ExecutionContext, reply: Reply, code: ErrorCode, about = ''): void => {
  const { status, title } = errorCodes[code];
  const seen = `${about} answered ${reply.status} ${JSON.stringify(reply.body).slice(0, 500)}`;
  t.is(reply.status, status, seen);
  t.is(reply.headers.get('content-type'), 'application/problem+json', seen);
  const problem = Problem.safeParse(reply.body);
  t.true(problem.success, `${seen}: ${problem.error?.message}`);
  t.like(reply.body, { code, status, title, requestId: reply.headers.get('x-request-id') }, seen);
  if (status === 401) t.regex(reply.headers.get('www-authenticate') ?? '', /^Bearer/, seen);
  isPlain(t, reply);
};
