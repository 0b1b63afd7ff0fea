import { durationMs } from '../durations.js';
import { execIn } from '../exec.js';
import { invalid, object, optionalNumber, optionalText } from '../input.js';
import { checkLease, currentLease, grantLease } from '../leases.js';
import type { Machine } from '../machine.js';
import { getApp, type HostParts } from '../parts.js';
import { Refusal } from '../refusal.js';
import type { Answer, Call, Routes } from '../server.js';
import { awaitState } from '../wait.js';

const PATH = '/v1/apps/:app/machines/:id';

/** Waiting, commands, tags, events and leases of a machine. */
export function machineExtraRoutes(parts: HostParts): Routes {
  const { store, fleet, effects } = parts;
  const machineOf = ({ params }: Call): Machine => fleet.get(getApp(parts, params['app']), params['id'] ?? '');

  const exec = async (call: Call): Promise<Answer> => {
    const machine = machineOf(call);
    checkLease(machine.record, call.request);
    if (machine.record.state !== 'started') throw new Refusal(412, 'failed_precondition: the machine is not started');
    const command = call.body['command'] ?? call.body['cmd'];
    if (!isCommand(command)) throw invalid('command must be an array of strings');
    effects.append('exec', machine.record.name, machine.record.id);
    const outcome = await execIn(machine, store, {
      command,
      stdin: optionalText(call.body, 'stdin') ?? '',
      timeoutMs: durationMs(call.body['timeout'], 30_000),
    });
    return { body: outcome, headers: { 'content-type': 'text/plain; charset=utf-8' } }; // as the real one may
  };

  const patchMetadata = async (call: Call): Promise<Answer> => {
    const { app, record } = machineOf(call);
    checkLease(record, call.request);
    const version = optionalText(call.body, 'machine_version');
    if (version !== undefined && version !== record.version)
      throw new Refusal(412, 'failed_precondition: machine_version is stale');
    const metadata = { ...record.config.metadata };
    for (const [key, value] of Object.entries(object(call.body['metadata'], 'metadata'))) {
      if (value === null || value === '') delete metadata[key];
      else if (typeof value !== 'string') throw invalid(`metadata.${key} must be a string or null`);
      else metadata[key] = value;
    }
    record.config = { ...record.config, metadata };
    record.updatedAt = new Date().toISOString();
    effects.append('machine.update', record.name, record.id);
    await store.save(app);
    return { status: 204 };
  };

  const lease = async (call: Call): Promise<Answer> => {
    const { app, record } = machineOf(call);
    checkLease(record, call.request);
    const ttl = optionalNumber(call.body, 'ttl') ?? Number(call.query.get('ttl') ?? 60);
    if (!(ttl > 0)) throw invalid('ttl must be a number of seconds');
    grantLease(record, {
      ttlSeconds: ttl,
      description: optionalText(call.body, 'description') ?? '',
    });
    await store.save(app);
    return { status: 201, body: leaseBody(record) };
  };

  return {
    [`GET ${PATH}/wait`]: async (call) => ({ body: await awaitState(machineOf(call), call.query) }),
    [`POST ${PATH}/exec`]: exec,
    [`GET ${PATH}/metadata`]: (call) => ({ body: machineOf(call).record.config.metadata ?? {} }),
    [`PATCH ${PATH}/metadata`]: patchMetadata,
    [`GET ${PATH}/events`]: (call) => {
      const limit = Number(call.query.get('limit') ?? 20);
      return { body: machineOf(call).record.events.slice(0, limit) };
    },
    [`POST ${PATH}/lease`]: lease,
    [`GET ${PATH}/lease`]: (call) => ({ body: leaseBody(machineOf(call).record) }),
    [`DELETE ${PATH}/lease`]: async (call) => {
      const { app, record } = machineOf(call);
      leaseBody(record); // 404 when there is none
      checkLease(record, call.request);
      delete record.lease;
      await store.save(app);
      return { body: { status: 'success', data: { ok: true } } };
    },
  };
}

/** @throws Refusal 404 when nobody holds the machine. */
function leaseBody(record: Machine['record']): {
  status: 'success';
  data: Record<string, unknown>;
} {
  const lease = currentLease(record);
  if (lease === undefined) throw new Refusal(404, 'lease not found');
  return { status: 'success', data: { ...lease, version: record.version } };
}

function isCommand(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((part) => typeof part === 'string');
}
