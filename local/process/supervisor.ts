import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from './failure.js';
import { spawnDetached, tellEnd, untilReady, type Launch, type Running } from './launch.js';
import type { RunningList } from './leftovers.js';
import { everyFewSeconds } from './progress.js';

const steadyAfterMs = 30_000;
const longestPauseMs = 10_000;

/** Starts processes, starts those again that die, and stops all of them in order. */
export class Supervisor {
  private readonly members = new Map<string, Running>();
  private isStopping = false;
  private readonly list: RunningList;
  private readonly say: (line: string) => void;

  constructor(list: RunningList, say: (line: string) => void) {
    this.list = list;
    this.say = say;
  }

  /** Starts a process and waits until it is ready; from then on its death is repaired. @throws Failure */
  async start(launch: Launch): Promise<void> {
    const began = Date.now();
    const running = this.spawn(launch);
    const stopTelling = everyFewSeconds(this.say, `waiting for ${launch.name}`);
    await untilReady(launch, running).finally(stopTelling);
    this.say(`${launch.name} is ready (${secondsSince(began)})`);
    void this.keepAlive(launch, running);
  }

  /** Runs a program to its end. @throws Failure when it fails */
  async run(launch: Omit<Launch, 'ready'>): Promise<void> {
    const began = Date.now();
    const running = this.spawn(launch);
    const stopTelling = everyFewSeconds(this.say, `waiting for ${launch.name}`);
    const how = await running.exited.finally(stopTelling);
    this.members.delete(launch.name);
    if (how !== 'exit code 0') throw await tellEnd(launch, running, how);
    this.say(`${launch.name} is done (${secondsSince(began)})`);
  }

  /** Stops the named groups one after the other, everybody of a group at once, and then whoever is left. */
  async stopAll(order: readonly (readonly string[])[]): Promise<void> {
    this.isStopping = true;
    for (const group of [...order, [...this.members.keys()]])
      await Promise.all(group.map(async (name) => this.members.get(name)?.stop()));
    await this.list.clear();
  }

  /** Ends everybody at once. */
  killAll(): void {
    this.isStopping = true;
    for (const running of this.members.values()) running.kill();
  }

  private spawn(launch: Omit<Launch, 'ready'>): Running {
    if (this.isStopping) throw new Failure('The world is being stopped.');
    const running = spawnDetached(launch);
    this.members.set(launch.name, running);
    void this.list.add(launch.name, running.pid, launch.stopSignal ?? 'SIGTERM');
    return running;
  }

  private async keepAlive(launch: Launch, first: Running): Promise<void> {
    let running = first;
    for (let quickDeaths = 0, began = Date.now(); ; began = Date.now()) {
      const how = await running.exited;
      if (this.isStopping) return;
      quickDeaths = Date.now() - began > steadyAfterMs ? 0 : quickDeaths + 1;
      this.say(`${launch.name} ended with ${how}: starting it again`);
      await sleep(Math.min(100 * 2 ** quickDeaths, longestPauseMs));
      await launch.beforeRestart?.();
      if (this.isStopping) return;
      running = this.spawn(launch);
      await untilReady(launch, running).then(
        () => this.say(`${launch.name} is ready again`),
        () => undefined, // it has ended, or was stopped for being late: the loop goes on
      );
    }
  }
}

const secondsSince = (began: number): string => `${((Date.now() - began) / 1000).toFixed(1)} s`;
