import { readFileSync } from 'node:fs';
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
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => hear(signal));
  if (!ignoresHangup()) process.on('SIGHUP', () => hear('SIGHUP'));
  if (process.env['npm_lifecycle_event']) void hearNpmGone(hear);
}

/** Was this started by nohup? Listening would undo what it asked for. Where there is no /proc nobody can tell. */
function ignoresHangup(): boolean {
  try {
    const mask = /^SigIgn:\s*([0-9a-f]+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
    return (BigInt(`0x${mask}`) & 1n) === 1n;
  } catch {
    return false;
  }
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
