import { setTimeout as sleep } from 'node:timers/promises';
import { boot } from './boot.js';
import { watchChecks, type CheckResult } from './checks.js';
import { exitOf, machineEvent, type Happening } from './machine-events.js';
import type { Exit, MachineProcess } from './machine-process.js';
import type { AppRecord, MachineRecord, MachineState } from './records.js';
import { restartDelayMs } from './restart-policy.js';
import type { Store } from './store.js';

export interface MachineParts {
  store: Store;
  runtimeEntry: string;
  pace: Pace;
  log: (message: string) => void;
}

/** How long transitions show, in milliseconds: short, but long enough to be seen by a client. */
export interface Pace {
  bootMs: number;
  swapMs: number;
  destroyedShowsMs: number;
}

/** How the next stop asks, how long it waits before it insists, and whether a user wanted it. */
export interface StopWith {
  signal: NodeJS.Signals;
  timeoutMs: number;
  isRequested: boolean;
}

/** The exit code by which a runtime says that its port was taken meanwhile. */
const EXIT_PORT_IN_USE = 98;
const PORT_TRIES = 5;
const CLOSE_MS = 5_000;
const STABLE_MS = 60_000;

/**
 * A machine: its record, its process, and the one loop that brings the process in line with
 * what the record desires. Whoever changes the record calls `settle`; changes that come while
 * the loop works are seen on its next round, so no two transitions ever overlap.
 */
export class Machine {
  readonly app: AppRecord;
  readonly record: MachineRecord;
  stopWith: StopWith = { signal: 'SIGINT', timeoutMs: 5_000, isRequested: true };
  readonly #parts: MachineParts;
  readonly #watchers = new Set<() => void>();
  readonly #unattended = new WeakSet<MachineProcess>();
  #process: (MachineProcess & { version: string }) | undefined;
  #checks: ReturnType<typeof watchChecks> | undefined;
  #settling: Promise<void> | undefined;
  #isDirty = false;
  #isClosing = false;
  #failures = 0;
  #restart: NodeJS.Timeout | undefined;
  /** Cuts the watch over a boot short: a stop need not wait for it. */
  #wake: () => void = () => undefined;

  constructor(app: AppRecord, record: MachineRecord, parts: MachineParts) {
    this.app = app;
    this.record = record;
    this.#parts = parts;
  }

  /** Where the machine's process listens, while the machine is started. */
  get port(): number | undefined {
    return this.record.state === 'started' ? this.#process?.port : undefined;
  }

  get isReachable(): boolean {
    return this.record.isUnreachable !== true;
  }

  /** What the configured checks last said, while the machine runs. */
  get checks(): CheckResult[] {
    return this.#checks?.results() ?? [];
  }

  become(state: MachineState, happening: Happening = { type: 'state' }): void {
    const { record } = this;
    record.state = state;
    record.updatedAt = new Date().toISOString();
    if (state === 'destroyed') record.destroyedAt = record.updatedAt;
    record.events.unshift(machineEvent(state, happening));
    record.events.splice(50);
    for (const look of this.#watchers) look();
    this.#save();
  }

  /** Starts the loop if it is not running; resolves when the machine is as desired, or failed. */
  settle(): Promise<void> {
    this.#isDirty = true;
    this.#wake();
    clearTimeout(this.#restart);
    this.#settling ??= this.#converge();
    return this.#settling;
  }

  /** Ends the process at once, whatever the loop is waiting for; the restart policy may answer. */
  async cutPower(): Promise<void> {
    await this.#process?.stop('SIGKILL', 0);
  }

  /** Has the loop replace the process even though the version stays. */
  renew(): void {
    if (this.#process !== undefined) this.#process.version = '';
  }

  /** Calls back at each change of state until the returned function is called. */
  watch(look: () => void): () => void {
    this.#watchers.add(look);
    return () => void this.#watchers.delete(look);
  }

  /** Ends the process but leaves the record as it is: the next life of the stand-in boots it again. */
  async close(): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#restart);
    if (this.#process !== undefined) await this.#end(this.#process, 'SIGTERM', CLOSE_MS);
    await this.#settling;
  }

  async #converge(): Promise<void> {
    try {
      while (this.#isDirty && !this.#isClosing) {
        this.#isDirty = false;
        const { desired } = this.record;
        if (desired === 'started') await this.#run();
        else await this.#rest(desired);
      }
    } finally {
      this.#settling = undefined; // in the same tick as the last look at #isDirty
    }
  }

  async #rest(desired: Exclude<MachineRecord['desired'], 'started'>): Promise<void> {
    const running = this.#process;
    if (this.record.state === 'replacing') await sleep(this.#parts.pace.swapMs);
    let exit: Exit | undefined;
    if (running !== undefined) {
      if (desired === 'destroyed') exit = await this.#end(running, 'SIGKILL', 0);
      else exit = await this.#end(running, this.stopWith.signal, this.stopWith.timeoutMs);
    }
    if (this.#isDirty || this.record.state === desired) return;
    const { isRequested } = this.stopWith;
    this.become(desired, exit && exitOf(exit, { isRequested, restarting: false }));
  }

  async #run(): Promise<void> {
    const { record } = this;
    if (this.#process !== undefined && this.#process.version !== record.version) {
      await this.#end(this.#process, this.stopWith.signal, this.stopWith.timeoutMs);
      await sleep(this.#parts.pace.swapMs);
    }
    if (this.#isDirty || this.#isClosing) return;
    if (this.#process === undefined && !(await this.#boot())) return;
    if (this.#isDirty || this.#process === undefined || record.state === 'started') return;
    this.become('started', { type: 'start' });
  }

  /** Boots and watches for `bootMs`; false when it did not come up (and the record says so). */
  async #boot(): Promise<boolean> {
    const { version, config } = this.record;
    let booted: MachineProcess;
    try {
      if (config.image.includes('broken')) throw new Error('the image cannot be booted');
      booted = await boot(this.app, this.record, this.#parts);
    } catch (error) {
      this.#parts.log(`machine ${this.record.id} failed: ${String(error)}`);
      this.record.desired = 'failed';
      this.become('failed');
      return false;
    }
    const running = { ...booted, version };
    this.#process = running;
    this.#checks = watchChecks(config, running.port);
    this.record.process = { pid: booted.pid, port: booted.port };
    this.#save();
    const bootedAt = Date.now();
    void booted.exited.then((exit) => this.#ended(running, exit, Date.now() - bootedAt));
    if (this.#isClosing) await this.#end(running, 'SIGKILL', 0);
    const woken = new Promise<void>((resolve) => (this.#wake = resolve));
    if (!this.#isDirty) await Promise.race([booted.exited, sleep(this.#parts.pace.bootMs), woken]);
    return this.#process === running;
  }

  async #end(running: MachineProcess, signal: NodeJS.Signals, timeoutMs: number): Promise<Exit> {
    this.#unattended.add(running);
    return running.stop(signal, timeoutMs);
  }

  /** A process is gone: as asked, or by itself, and then the restart policy decides. */
  #ended(running: MachineProcess, exit: Exit, livedMs: number): void {
    if (this.#process === running) {
      this.#process = undefined;
      this.#checks?.stop();
      this.#checks = undefined;
    }
    delete this.record.process;
    if (this.#unattended.has(running) || this.record.desired !== 'started') return;
    if (livedMs >= STABLE_MS) this.#failures = 0;
    const isPortTaken = exit.code === EXIT_PORT_IN_USE && this.#failures < PORT_TRIES;
    const delayMs = isPortTaken ? 0 : restartDelayMs(this.record.config.restart, exit, this.#failures);
    if (delayMs === undefined) {
      this.#failures = 0;
      this.record.desired = 'stopped';
      this.become('stopped', exitOf(exit, { isRequested: false, restarting: false }));
      return;
    }
    this.#failures += 1;
    this.become('restarting', exitOf(exit, { isRequested: false, restarting: true }));
    this.#restart = setTimeout(() => void this.settle(), delayMs);
  }

  #save(): void {
    this.#parts.store.save(this.app).catch((error: unknown) => {
      this.#parts.log(`app ${this.app.name} was not saved: ${String(error)}`);
    });
  }
}
