import { setTimeout as sleep } from 'node:timers/promises';
import { changeHeldAgent } from '../../src/models/agent.js';
import { adoptNextGatewayToken } from '../../src/models/gateway-token.js';
import { hasStatus, VendorError } from '../../src/providers/vendor-error.js';
import { isStill } from '../../src/rules/observe.js';
import { jobActivity, type StepInput } from '../job-activity.js';
import {
  appOf,
  explainingCapacity,
  findAgentMachine,
  type HostDeps,
  readBackOnConflict,
  seenOf,
  toAgent,
  toleratingAbsence,
} from './deps.js';

export interface AwaitInput extends StepInput {
  /** How long to wait before the job fails with machine_not_ready. */
  patienceSeconds: number;
}

const WAIT_SLICE_SECONDS = 5;
const POLL_MS = 500;
/** Looked at this often while the gateway is waited for: a machine that fell over will never be ready. */
const LOOK_EVERY = 6;
const startedStates = new Set(['started', 'starting']);
const deadStates = new Set(['failed', 'destroyed', 'destroying', 'launch_failed']);

/** A machine that was told to start and still lies stopped after so long will not start by itself. */
const STOPPED_MS = 10_000;

/** Times POLL_MS / 2: how long a start waits for a configuration to settle before the attempt is given up. */
const SETTLE_TRIES = 20;

const notReady = (why: string): VendorError =>
  new VendorError('machine_not_ready', `The machine did not become ready: ${why}.`, { retryable: false });

/** What moves a machine that exists, and waits for it. Waits ask the host in slices and heartbeat in between. */
export const makeRunActivities = (deps: HostDeps) => {
  const { db, host, gateway } = deps;

  return {
    startHostMachine: jobActivity(db, async (input: StepInput, { signal }): Promise<void> => {
      const agent = await toAgent(deps, input);
      const machine = await host.findMachine(appOf(agent), agent.hostMachineId ?? '', signal);
      if (!machine) throw new VendorError('not_found', 'host: the machine is gone', { retryable: false });
      if (startedStates.has(machine.state)) return;
      // Its new configuration may still be on the way in: the host says 412 until then.
      for (let tries = 0; ; tries++) {
        try {
          return await explainingCapacity(agent, host.startMachine(appOf(agent), machine.id, signal));
        } catch (error) {
          if (!hasStatus(error, 409, 412) || tries === SETTLE_TRIES)
            return await readBackOnConflict(Promise.reject(error));
          await sleep(POLL_MS / 2, undefined, { signal });
        }
      }
    }),

    /** A machine that lies stopped is asked to start, once. */
    awaitMachineStarted: jobActivity(db, async (input: AwaitInput, { signal, note }): Promise<void> => {
      const agent = await toAgent(deps, input);
      const app = appOf(agent);
      const until = Date.now() + input.patienceSeconds * 1_000;
      let moving = Date.now();
      let asked = false;
      for (;;) {
        const machine = await host.findMachine(app, agent.hostMachineId ?? '', signal);
        if (!machine) throw notReady('it is gone');
        note(`the host says ${machine.state}`);
        if (machine.state !== 'stopped') moving = Date.now();
        else if (Date.now() - moving > STOPPED_MS) throw notReady('it stopped again');
        else if (!asked) {
          asked = true;
          await host.startMachine(app, machine.id, signal).catch(toleratingConflict);
          continue;
        }
        if (machine.state === 'started') {
          await changeHeldAgent(db, input.jobId, agent.id, {
            ...seenOf(machine),
            provisionedAt: agent.provisionedAt ?? new Date(),
          });
          return;
        }
        if (deadStates.has(machine.state)) throw notReady(`the host says ${machine.state}`);
        if (Date.now() > until) throw notReady(`the host still says ${machine.state}`);
        const wait = { state: 'started', version: machine.version, timeoutSeconds: WAIT_SLICE_SECONDS } as const;
        await host.waitForMachine(app, machine.id, wait, signal).catch(toleratingConflict);
      }
    }),

    /** The last thing before `online`: the host says started and the gateway on the machine says ready. */
    awaitGatewayReady: jobActivity(db, async (input: AwaitInput, { signal, note }): Promise<void> => {
      const agent = await toAgent(deps, input);
      const app = appOf(agent);
      const until = Date.now() + input.patienceSeconds * 1_000;
      for (let round = 1; !(await gateway.isReady(agent.gatewayUrl ?? '', signal)); round++) {
        note(`asked the gateway ${round} times`);
        if (Date.now() > until) throw notReady('its gateway does not answer');
        if (round % LOOK_EVERY === 0) {
          const machine = await host.findMachine(app, agent.hostMachineId ?? '', signal);
          if (!machine || deadStates.has(machine.state) || machine.state === 'stopped')
            throw notReady(machine ? `the host says ${machine.state}` : 'it is gone');
        }
        await sleep(POLL_MS, undefined, { signal });
      }
      const machine = await host.findMachine(app, agent.hostMachineId ?? '', signal);
      await db.transaction(async (trx) => {
        await changeHeldAgent(trx, input.jobId, agent.id, {
          gatewayReady: true,
          gatewayCheckedAt: new Date(),
          ...(machine ? seenOf(machine) : {}),
        });
        await adoptNextGatewayToken(trx, agent.id);
      });
    }),

    /** Asks the host to stop the agent's machine, also one that it has moved. Already stopped or gone is success. */
    stopHostMachine: jobActivity(db, async (input: StepInput, { signal }): Promise<void> => {
      const agent = await toAgent(deps, input);
      const machine = await findAgentMachine(deps, agent, signal);
      if (!machine) return;
      if (machine.id !== agent.hostMachineId)
        await changeHeldAgent(db, input.jobId, agent.id, { hostMachineId: machine.id, ...seenOf(machine) });
      await readBackOnConflict(host.stopMachine(appOf(agent), machine.id, signal)).catch(toleratingAbsence);
    }),

    awaitMachineStopped: jobActivity(db, async (input: AwaitInput, { signal, note }): Promise<void> => {
      const agent = await toAgent(deps, input);
      const app = appOf(agent);
      const until = Date.now() + input.patienceSeconds * 1_000;
      for (;;) {
        const machine = await findAgentMachine(deps, agent, signal);
        if (!machine || isStill(machine.state)) {
          await changeHeldAgent(db, input.jobId, agent.id, {
            ...(machine ? seenOf(machine) : { machine: null }),
            gatewayReady: false,
            gatewayCheckedAt: new Date(),
          });
          return;
        }
        note(`the host says ${machine.state}`);
        if (Date.now() > until)
          throw new VendorError('deadline_exceeded', 'The machine did not stop in time.', { retryable: false });
        const wait = { state: 'stopped', version: machine.version, timeoutSeconds: WAIT_SLICE_SECONDS } as const;
        await host.waitForMachine(app, machine.id, wait, signal).catch(toleratingConflict);
      }
    }),
  };
};

/** The version waited for was replaced, or the machine vanished: the loop looks again. */
const toleratingConflict = async (error: unknown): Promise<void> => {
  if (!hasStatus(error, 400, 404, 409, 412)) throw error;
  await sleep(POLL_MS);
};
