import { AsyncLocalStorage } from 'node:async_hooks';
import { ApplicationFailure } from '@temporalio/activity';

const TICK_MS = 500;
/** Without a heartbeat the server gives an attempt up after 8 s (workflows/activities.ts), counted from one that may be 2 s old. */
const STOOD_STILL_MS = 6_000;
/** What waited in the process's sockets while it stood still comes up within this time. */
const BACKLOG_MS = 3_000;

let tickAt = Date.now();
let wokeAt = 0;

/** Whether the process stood still (stopped, suspended, starved) and came back after this moment. */
const stoodStillSince = (moment: number): boolean => {
  const now = Date.now();
  if (now - tickAt > STOOD_STILL_MS) wokeAt = now;
  tickAt = now;
  return wokeAt > moment;
};

setInterval(() => stoodStillSince(0), TICK_MS).unref();

/** For each attempt of an activity: the moment after which the process must not have stood still. */
const attempts = new AsyncLocalStorage<number>();

/** Runs an attempt so that `whileHeld` can tell whether it still counts. */
export const asAttempt = <T>(run: () => Promise<T>): Promise<T> => attempts.run(Date.now() - BACKLOG_MS, run);

/**
 * The same, but asks for nothing more in an attempt whose process stood still: the server has given it up, what it saw is old by now,
 * and what it would create on the strength of that another attempt may have created. So with attempts that were handed to the process
 * while it stood. Where nobody has taken over, the attempt is made again.
 */
export const whileHeld = <Outside extends object>(outside: Outside): Outside =>
  new Proxy(outside, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]): unknown => {
        if (stoodStillSince(attempts.getStore() ?? Infinity))
          throw ApplicationFailure.retryable(
            'the process stood still: another attempt may be under way',
            'unavailable',
          );
        return Reflect.apply(member, target, args);
      };
    },
  });
