import { z } from 'zod';
import { readJson, writeJson } from './files.js';
import { recordOf, stillRuns } from './identity.js';
import { until } from './wait.js';

const Records = z.record(
  z.string(),
  z.object({ pid: z.number(), startedAt: z.string(), stopSignal: z.custom<NodeJS.Signals>() }),
);
type Records = z.infer<typeof Records>;

/**
 * The list, kept in a file, of what a starter has running: when the starter itself is killed, the next one finds by it
 * what was left behind.
 */
export class RunningList {
  private records: Records = {};
  private writing: Promise<void> = Promise.resolve();
  private readonly file: string;

  constructor(file: string) {
    this.file = file;
  }

  async add(name: string, pid: number, stopSignal: NodeJS.Signals): Promise<void> {
    const record = await recordOf(pid);
    if (!record) return;
    this.records[name] = { ...record, stopSignal };
    await this.save();
  }

  async clear(): Promise<void> {
    this.records = {};
    await this.save();
  }

  /** Ends whatever of the stored list still runs and answers the names. */
  async endLeftovers(): Promise<string[]> {
    const left: [string, Records[string]][] = [];
    for (const entry of Object.entries((await readJson(this.file, Records)) ?? {}))
      if (await stillRuns(entry[1])) left.push(entry);
    await Promise.all(left.map(([, record]) => end(record)));
    return left.map(([name]) => name);
  }

  private save(): Promise<void> {
    this.writing = this.writing.then(() => writeJson(this.file, this.records)); // one write at a time
    return this.writing;
  }
}

async function end(record: Records[string]): Promise<void> {
  const gone = async (): Promise<boolean> => !(await stillRuns(record));
  send(record.pid, record.stopSignal);
  if (!(await until(gone, 10_000))) send(-record.pid, 'SIGKILL');
  await until(gone, 5_000);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // it has just ended by itself
  }
}
