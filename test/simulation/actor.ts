import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from '../../src/contract/shapes/job.js';
import type { ACaller, Reply } from '../support/a-caller.js';
import { faultAt, type PlannedFault } from './host-calls.js';
import { NEWEST, type Verb } from './plan.js';
import { type Armed, aSubject, disarm, type Subject } from './subject.js';
import { brokenRows, livingRows, livingTokens } from './invariants.js';
import type { World } from './world.js';

type AgentVerb = 'provision' | 'start' | 'stop' | 'delete';

/** Refusals that are right at some moment or other. */
const rightRefusals = ['operation_in_progress', 'agent_not_provisioned', 'limit_reached'];
const JOB_SECONDS = 180;

/** The user of a seed: calls the API, keeps what was acknowledged, and notes everything that must never be. */
export class Actor {
  readonly world: World;
  readonly caller: ACaller;
  readonly subjects: Subject[] = [];
  readonly armed: Armed[] = [];
  readonly trace: string[] = [];
  readonly wrong: string[] = [];
  readonly #began = Date.now();
  readonly #background: Promise<void>[] = [];
  actions = 0;

  constructor(world: World, caller: ACaller) {
    this.world = world;
    this.caller = caller;
  }

  get living(): Subject[] {
    return this.subjects.filter(({ isDeleted }) => !isDeleted);
  }

  note(line: string): void {
    this.trace.push(`${((Date.now() - this.#began) / 1_000).toFixed(2).padStart(6)} s  ${line}`);
  }

  /** Something that must never be. */
  violation(what: string): void {
    this.note(`VIOLATION ${what}`);
    this.wrong.push(what);
  }

  /** Now and then the one who is deleted is asked, too. */
  picked(pick: number): Subject | undefined {
    if (pick === NEWEST) return this.living.at(-1);
    const from = pick % 10 === 9 || this.living.length === 0 ? this.subjects : this.living;
    return from[pick % from.length];
  }

  arm(armed: Armed, subject: Subject): void {
    const { fault } = armed;
    disarm(armed);
    const times = fault.times - armed.before;
    if (times <= 0) return; // struck just now
    subject.capacityRefused ||= fault.mode === 'capacity';
    subject.volumeTwice ||= fault.mode === 'twice' && fault.call === 'volume.create';
    this.note(`fault ${nameOf(fault)} at ${subject.letter}`);
    const { host } = this.world.stack;
    armed.at = host.fault(faultAt({ ...fault, times }, subject.id));
    if (fault.also) armed.also = host.fault(faultAt(fault.also, subject.id));
  }

  async act(verb: Verb, subject: Subject | undefined): Promise<void> {
    this.actions += 1;
    if (verb === 'create') await this.create();
    else if (verb === 'reconcile') this.reconcileSoon();
    else if (!subject) return;
    else if (verb === 'clone') await this.#add('agents.clone', subject);
    else if (verb === 'cancel') await this.#cancel(subject);
    else if (verb === 'power-cut') await this.#cutPower(subject);
    else await this.ask(verb, subject);
    await this.checkRows();
  }

  create(): Promise<Subject | undefined> {
    return this.#add('agents.create');
  }

  async #add(id: 'agents.create' | 'agents.clone', source?: Subject): Promise<Subject | undefined> {
    const name = { name: 'simulated' };
    const reply = await this.caller.call(id, source ? { id: source.id } : {}, { body: name });
    const told = `${id}${source ? ` of ${source.letter}` : ''}`;
    if (reply.status !== 201) return this.#refused(told, reply, source);
    const subject = aSubject(reply.body.id as string, this.subjects.length);
    this.subjects.push(subject);
    this.note(`${told}: ${subject.letter} = ${subject.id}`);
    return subject;
  }

  /** Returns the job that was accepted or joined. */
  async ask(verb: AgentVerb, subject: Subject): Promise<Job | undefined> {
    const told = `${verb} ${subject.letter}`;
    const reply = await this.caller.call(`agents.${verb}`, { id: subject.id });
    const job = reply.body.job as Job | null | undefined;
    if (reply.status === 202 && job) {
      if (subject.jobIds.includes(job.id)) this.violation(`${told}: 202 with a job that was accepted before`);
      subject.jobIds.push(job.id);
      this.note(`${told}: accepted ${job.id}`);
      if (verb === 'delete') await this.#afterDelete(subject);
      return job;
    }
    if (reply.status === 200) {
      if (job && !subject.jobIds.includes(job.id)) this.violation(`${told}: joined a job nobody was told of`);
      this.note(`${told}: ${job ? `joined ${job.id}` : 'nothing to do'}`);
      return job ?? undefined;
    }
    return this.#refused(told, reply, subject);
  }

  /** From the acknowledgement on nothing of the agent's opens anything. */
  async #afterDelete(subject: Subject): Promise<void> {
    subject.isDeleted = true;
    for (const what of await livingTokens(this.world, subject.id))
      this.violation(`${subject.letter} is being deleted: ${what}`);
  }

  async #cancel(subject: Subject): Promise<void> {
    const id = subject.jobIds.at(-1);
    if (id === undefined) return;
    const reply = await this.caller.call('jobs.cancel', { id });
    this.note(`cancel ${subject.letter}, ${id}: ${reply.status}`);
    if (reply.status !== 202 && reply.status !== 409) this.violation(`jobs.cancel answered ${reply.status}`);
  }

  async #cutPower(subject: Subject): Promise<void> {
    const { host } = this.world.stack;
    if (host.machinesOf(subject.id).length === 0) return;
    // Before, for what a job sees of it; after, for a job that begins meanwhile.
    subject.powerCuts.push(Date.now());
    await host.killMachine(subject.id).catch(() => undefined); // gone meanwhile
    subject.powerCuts.push(Date.now());
    this.note(`power cut at ${subject.letter}`);
  }

  #refused(told: string, { status, body }: Reply, subject: Subject | undefined): undefined {
    const code = body.code as string | undefined;
    this.note(`${told}: ${status} ${code}`);
    if (rightRefusals.includes(code ?? '')) return;
    if (code === 'not_found' && subject?.isDeleted === true) return;
    this.violation(`${told} answered ${status} ${code}`);
  }

  /** A pass of the reconciler beside what follows. */
  reconcileSoon(): void {
    this.note('reconcile');
    this.#background.push(this.world.reconcile().catch((error: unknown) => this.note(`reconcile: ${String(error)}`)));
  }

  async kill(worker: Parameters<World['kill']>[0]): Promise<void> {
    this.#background.push(this.world.kill(worker).then(() => this.note(`killed the ${worker} worker`)));
    await sleep(0);
  }

  async backgroundDone(): Promise<void> {
    await Promise.all(this.#background.splice(0));
  }

  /** What must hold at every moment. */
  async checkRows(): Promise<void> {
    for (const { letter, id, isDeleted } of this.subjects)
      if (isDeleted)
        for (const what of await livingRows(this.world, id)) this.violation(`${letter} is being deleted: ${what}`);
    for (const what of await brokenRows(
      this.world,
      this.subjects.map(({ id }) => id),
    ))
      this.violation(what);
  }

  /** The jobs as they ended, oldest first. One that does not end is a violation, and left out. */
  async ended(subject: Subject): Promise<Job[]> {
    const jobs: Job[] = [];
    for (const id of subject.jobIds)
      try {
        jobs.push(await this.caller.finished({ id }, JOB_SECONDS));
      } catch (error) {
        this.violation(`${id} of ${subject.letter} does not end: ${String(error)}`);
      }
    const late = jobs.filter(({ finishedAt, deadlineAt }) => deadlineAt !== null && finishedAt! > deadlineAt);
    for (const { id } of late) this.violation(`${id} ended after its deadline`);
    return jobs;
  }

  /** Asks and waits for the end of what it brings. */
  async finish(verb: AgentVerb, subject: Subject): Promise<Job | undefined> {
    const job = await this.ask(verb, subject);
    if (!job) return undefined;
    try {
      return await this.caller.finished(job, JOB_SECONDS);
    } catch (error) {
      this.violation(`${verb} ${subject.letter} does not end: ${String(error)}`);
      return undefined;
    }
  }
}

const nameOf = ({ call, mode, times, also }: PlannedFault): string =>
  `${mode} ×${times} at ${call}${also ? `, with ${nameOf(also)}` : ''}`;
