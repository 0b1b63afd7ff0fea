import { setTimeout as sleep } from 'node:timers/promises';
import { type AProcess, type Program, startProcess } from '../support/a-process.js';

/** A worker lives this long at least, or many seeds at once would keep it from ever working. */
const LEAST_LIFE_MS = 4_000;
const START_TRIES = 3;

/** A worker process and its supervisor: killed, it comes back by itself. */
export class SupervisedWorker {
  readonly #start: () => Promise<AProcess>;
  #process: AProcess | undefined;
  #since = 0;
  #up: Promise<void>;
  kills = 0;

  constructor(program: Program, env: Record<string, string>) {
    this.#start = () => startProcess(program, env);
    this.#up = this.#revive();
  }

  /** Resolves when it works; throws when it did not come up. */
  ready(): Promise<void> {
    return this.#up;
  }

  /** kill -9, one after the other, each when the worker is up and has worked a while. Resolves as soon as it is dead. */
  kill(): Promise<void> {
    const dead = this.#up.then(() => this.#kill());
    this.#up = dead.then(() => this.#revive());
    this.#up.catch(() => undefined); // who waits for it hears of it
    return dead;
  }

  async close(): Promise<void> {
    await this.#up.catch(() => undefined);
    await this.#process?.kill();
  }

  async #kill(): Promise<void> {
    await sleep(Math.max(0, this.#since + LEAST_LIFE_MS - Date.now()));
    await this.#process?.kill();
    this.kills += 1;
  }

  async #revive(): Promise<void> {
    for (let tries = 1; ; tries++)
      try {
        this.#process = await this.#start();
        this.#since = Date.now();
        return;
      } catch (error) {
        if (tries === START_TRIES) throw error; // a busy computer may need more than one try
      }
  }
}
