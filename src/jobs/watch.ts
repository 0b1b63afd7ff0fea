import { setMaxListeners } from 'node:events';
import pg from 'pg';
import type { Db } from '../db/knex.js';
import { Job } from '../models/job.js';
import type { Log } from '../telemetry/log.js';

type Listener = (job: Job) => void;

const POLL_MS = 2_000;
const RECONNECT_MS = 500;

/**
 * Tells watchers of job changes: one LISTEN connection a process however many watch, a poll behind it for
 * notifications that got lost, and no pool connection held while anyone waits.
 */
export class JobWatch {
  readonly #db: Db;
  readonly #url: string;
  readonly #log: Log;
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #changed = new Set<string>();
  #client: pg.Client | undefined;
  #poll: NodeJS.Timeout | undefined;
  #reading = false;
  readonly #leaving = new AbortController();
  #closed = false;

  constructor(db: Db, url: string, log: Log) {
    setMaxListeners(0, this.#leaving.signal); // one for each who waits
    this.#db = db;
    this.#url = url;
    this.#log = log;
  }

  start(): void {
    void this.#connect();
    this.#poll = setInterval(() => {
      for (const id of this.#listeners.keys()) this.#changed.add(id);
      void this.#read();
    }, POLL_MS);
  }

  /** Calls back with the row now and after each change, until the returned function is called. */
  watch(jobId: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(jobId) ?? new Set();
    this.#listeners.set(jobId, listeners.add(listener));
    this.#changed.add(jobId);
    void this.#read();
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(jobId);
    };
  }

  /** The job as soon as it has ended; as it stands after `ms` otherwise, or when the signal aborts. */
  async untilFinished(jobId: string, ms: number, signal?: AbortSignal): Promise<Job | undefined> {
    return new Promise((resolve) => {
      let last: Job | undefined;
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        this.leaving.removeEventListener('abort', done);
        unwatch();
        resolve(last);
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', done);
      this.leaving.addEventListener('abort', done);
      const unwatch = this.watch(jobId, (job) => {
        last = job;
        if (job.isFinished) done();
      });
      if (signal?.aborted === true || this.leaving.aborted) done();
    });
  }

  /** Aborts when the process is about to stop: nobody should be kept waiting by it. */
  get leaving(): AbortSignal {
    return this.#leaving.signal;
  }

  /** Lets everyone who waits go. */
  release(): void {
    this.#leaving.abort();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#poll);
    await this.#client?.end().catch(() => undefined);
  }

  async #connect(): Promise<void> {
    if (this.#closed) return;
    const client = new pg.Client({ connectionString: this.#url, application_name: 'acp-watch', keepAlive: true });
    let lost = false;
    const again = () => {
      if (lost || this.#closed) return;
      lost = true;
      setTimeout(() => void this.#connect(), RECONNECT_MS).unref();
    };
    client.on('error', (error) => this.#log.warn({ err: error.message }, 'lost the LISTEN connection'));
    client.on('end', again);
    client.on('notification', ({ payload = '' }) => {
      if (!this.#listeners.has(payload)) return;
      this.#changed.add(payload);
      void this.#read();
    });
    this.#client = client;
    try {
      await client.connect();
      await client.query('listen jobs');
    } catch (error) {
      this.#log.debug({ err: String(error) }, 'no LISTEN connection yet');
      void client.end().catch(() => undefined);
      again();
    }
  }

  /** Reads what changed in one query and hands each row to all its watchers; changes that arrive meanwhile go into the next round. */
  async #read(): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    try {
      while (this.#changed.size > 0 && !this.#closed) {
        const ids = [...this.#changed];
        this.#changed.clear();
        const jobs = await Job.query(this.#db).findByIds(ids);
        for (const job of jobs) for (const listener of this.#listeners.get(job.id) ?? []) listener(job);
      }
    } catch (error) {
      this.#log.debug({ err: String(error) }, 'could not read changed jobs; the poll tries again');
    } finally {
      this.#reading = false;
    }
  }
}
