import { endLeftover } from './leftovers.js';
import { Machine, type MachineParts } from './machine.js';
import type { AppRecord, MachineRecord } from './records.js';
import { Refusal } from './refusal.js';

/** All machines there are, by id. */
export interface Fleet {
  add(app: AppRecord, record: MachineRecord): Machine;
  /** @throws Refusal 404 when the app has no such machine, or it was destroyed a moment ago. */
  get(app: AppRecord, id: string): Machine;
  /** The machine of a record that is known to be there. */
  of(record: MachineRecord): Machine;
  all(): Machine[];
  forget(app: AppRecord): void;
  close(): Promise<void>;
}

/** Takes over what an earlier life left: ends its processes, then boots what was started. */
export async function openFleet(parts: MachineParts): Promise<Fleet> {
  const machines = new Map<string, Machine>();
  let isClosing = false;
  const add = (app: AppRecord, record: MachineRecord): Machine => {
    const machine = new Machine(app, record, parts);
    machines.set(record.id, machine);
    if (isClosing) void machine.close(); // a call that was under way: the next life boots it
    return machine;
  };
  for (const app of parts.store.apps()) {
    for (const record of app.machines) {
      if (record.process !== undefined) await endLeftover(record.process.pid, record.id);
      delete record.process;
      const machine = add(app, record);
      if (record.desired === 'started') record.state = 'starting';
      if (record.state !== 'destroyed') void machine.settle();
    }
  }
  return {
    add,
    get(app, id) {
      const machine = machines.get(id);
      if (machine?.app !== app || isLongGone(machine.record, parts.pace.destroyedShowsMs)) {
        throw new Refusal(404, `machine ${id} not found`);
      }
      return machine;
    },
    of(record) {
      const machine = machines.get(record.id);
      if (machine === undefined) throw new Error(`machine ${record.id} has no process keeper`);
      return machine;
    },
    all: () => [...machines.values()],
    forget: (app) => app.machines.forEach(({ id }) => machines.delete(id)),
    async close() {
      isClosing = true;
      await Promise.all([...machines.values()].map((machine) => machine.close()));
    },
  };
}

/** A destroyed machine shows for a moment before it is a 404. */
function isLongGone(record: MachineRecord, showsMs: number): boolean {
  return record.destroyedAt !== undefined && Date.now() - Date.parse(record.destroyedAt) > showsMs;
}
