import { commandOf, isAlive, parentOf } from './identity.js';

interface Ending {
  /** The first wish to end: stop in order. */
  end: (why: string) => void;
  /** The person asks again: stop at once. */
  hurry: () => void;
}

/**
 * Hears every way a person, the system or npm asks this process to end: Ctrl-C, SIGTERM, a closed terminal, and npm gone
 * without a word (it was killed, or did not pass a signal on).
 */
export function hearEnding({ end, hurry }: Ending): void {
  let askedAt: number | undefined;
  const hear = (why: string): void => {
    if (askedAt === undefined) {
      askedAt = Date.now();
      end(why);
    } else if (Date.now() - askedAt > 1_000) hurry(); // sooner is npm passing the same Ctrl-C on
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => hear(signal));
  if (process.env['npm_lifecycle_event']) void hearNpmGone(hear);
}

/** npm starts a shell that starts us: when npm is killed, neither of them tells. */
async function hearNpmGone(hear: (why: string) => void): Promise<void> {
  const parent = process.ppid;
  const above = [parent, await parentOf(parent)];
  const commands = await Promise.all(above.map(commandOf));
  const npm = above.find((_, index) => commands[index]?.includes('npm')) ?? parent;
  const timer = setInterval(() => {
    if (process.ppid === parent && isAlive(npm)) return;
    clearInterval(timer);
    hear('npm is gone');
  }, 500);
  timer.unref();
}
