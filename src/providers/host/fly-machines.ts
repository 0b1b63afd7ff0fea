import type { z } from 'zod';
import { hasStatus, VendorError } from '../vendor-error.js';
import { type Meaning, type VendorCall, VendorHttp } from '../vendor-http.js';
import type { Host } from './host.js';
import {
  OrgMachinesAnswer,
  OrgVolumesAnswer,
  MachineAnswer,
  MachinesAnswer,
  OutcomeAnswer,
  RefusalAnswer,
  SecretsAnswer,
  VolumeAnswer,
  VolumesAnswer,
} from './wire.js';

export interface FlyMachinesOptions {
  /** e.g. `https://api.machines.dev/v1` */
  baseUrl: string;
  token: string;
  org: string;
}

/** A page holds 500 machines with their configuration and their last events. */
const LIST_ANSWER_BYTES = 32 * 1024 * 1024;

const STOP_SIGNAL = { signal: 'SIGTERM', timeout: '30s' };

/** New secrets reach the part of the host that makes machines a little late; it has no word of its own for that. */
const lagsBehind = (status: number, error: string | null | undefined): boolean =>
  [409, 412, 422].includes(status) && /secrets?[ _]version/i.test(error ?? '');

const meaningOf = (status: number, body: unknown): Meaning | undefined => {
  const refusal = RefusalAnswer.safeParse(body).data;
  if (refusal?.status?.endsWith('_capacity') === true) return { code: 'host_capacity' };
  return lagsBehind(status, refusal?.error) ? { code: 'upstream_failed', retryable: true } : undefined;
};

/** The Fly Machines API (docs: https://docs.machines.dev). */
export const makeFlyMachines = ({ baseUrl, token, org }: FlyMachinesOptions): Host & { close(): Promise<void> } => {
  const http = new VendorHttp({
    vendor: 'host',
    baseUrl: baseUrl.replace(/\/$/, ''),
    headers: { authorization: `Bearer ${token}` },
    meaningOf,
    unreachable: 'host_unreachable',
  });

  const call = async <Shape extends z.ZodType>(shape: Shape, request: VendorCall): Promise<z.output<Shape>> => {
    const parsed = shape.safeParse(await http.call(request));
    if (!parsed.success)
      throw new VendorError('upstream_failed', `host ${request.method}: the answer has an unknown shape`, {
        retryable: true,
      });
    return parsed.data;
  };

  /** Absence is undefined; everything else that is no success still throws. */
  const orAbsent = async <T>(answer: Promise<T>): Promise<T | undefined> => {
    try {
      return await answer;
    } catch (error) {
      if (hasStatus(error, 404)) return undefined;
      throw error;
    }
  };

  /**
   * A call that makes or starts something is not let go of half-way: whoever cancels goes on to undo, and would not find what
   * arrives at the host after that. It is waited for within its time-out, which holds for the whole of it; only one that has not
   * begun is given up.
   */
  const untilAnswered = (request: VendorCall): VendorCall => {
    const { signal, ...rest } = request;
    signal?.throwIfAborted();
    return rest;
  };

  const app = (name: string): string => `/apps/${encodeURIComponent(name)}`;
  const machine = (name: string, id: string): string => `${app(name)}/machines/${encodeURIComponent(id)}`;

  return {
    close: () => http.close(),

    async findApp(name, signal) {
      try {
        await http.call({ method: 'GET', path: app(name), signal });
        return 'ours';
      } catch (error) {
        if (hasStatus(error, 404)) return 'free';
        if (hasStatus(error, 403)) return 'taken';
        throw error;
      }
    },

    async createApp(name, signal) {
      const body = { name, app_name: name, org_slug: org };
      await http.call(untilAnswered({ method: 'POST', path: '/apps', body, signal }));
    },

    async deleteApp(name, signal) {
      await orAbsent(http.call({ method: 'DELETE', path: app(name), query: { force: 'true' }, signal }));
    },

    setSecrets: (name, values, signal) =>
      call(SecretsAnswer, { method: 'POST', path: `${app(name)}/secrets`, body: { values }, signal }),

    listVolumes: (name, signal) => call(VolumesAnswer, { method: 'GET', path: `${app(name)}/volumes`, signal }),

    createVolume: async (name, { name: volumeName, region, sizeGb }, signal) => {
      const body = { name: volumeName, region, size_gb: sizeGb };
      return call(VolumeAnswer, untilAnswered({ method: 'POST', path: `${app(name)}/volumes`, body, signal }));
    },

    async deleteVolume(name, id, signal) {
      const path = `${app(name)}/volumes/${encodeURIComponent(id)}`;
      await orAbsent(http.call({ method: 'DELETE', path, signal }));
    },

    listMachines: (name, signal) => call(MachinesAnswer, { method: 'GET', path: `${app(name)}/machines`, signal }),

    createMachine: async (name, { name: machineName, region, config, minSecretsVersion }, signal) => {
      const body = { name: machineName, region, config, min_secrets_version: minSecretsVersion };
      const path = `${app(name)}/machines`;
      return call(MachineAnswer, untilAnswered({ method: 'POST', path, body, signal, timeoutMs: 45_000 }));
    },

    findMachine: (name, id, signal) =>
      orAbsent(call(MachineAnswer, { method: 'GET', path: machine(name, id), signal })),

    updateMachine: (name, id, { config, currentVersion, minSecretsVersion }, signal) =>
      call(MachineAnswer, {
        method: 'POST',
        path: machine(name, id),
        body: { config, current_version: currentVersion, min_secrets_version: minSecretsVersion },
        signal,
        timeoutMs: 45_000,
      }),

    async startMachine(name, id, signal) {
      await http.call(untilAnswered({ method: 'POST', path: `${machine(name, id)}/start`, signal }));
    },

    async stopMachine(name, id, signal) {
      await http.call({ method: 'POST', path: `${machine(name, id)}/stop`, body: STOP_SIGNAL, signal });
    },

    exec: (name, id, { command, timeoutSeconds }, signal) =>
      call(OutcomeAnswer, {
        method: 'POST',
        path: `${machine(name, id)}/exec`,
        body: { command, timeout: timeoutSeconds },
        signal,
        timeoutMs: (timeoutSeconds + 10) * 1_000,
      }),

    async deleteMachine(name, id, signal) {
      await orAbsent(http.call({ method: 'DELETE', path: machine(name, id), query: { force: 'true' }, signal }));
    },

    listOrgMachines: ({ updatedAfter, cursor }, signal) =>
      call(OrgMachinesAnswer, {
        method: 'GET',
        path: `/orgs/${encodeURIComponent(org)}/machines`,
        query: { updated_after: updatedAfter, cursor, include_deleted: 'true', limit: 500 },
        signal,
        timeoutMs: 30_000,
        maxAnswerBytes: LIST_ANSWER_BYTES,
      }),

    listOrgVolumes: ({ cursor }, signal) =>
      call(OrgVolumesAnswer, {
        method: 'GET',
        path: `/orgs/${encodeURIComponent(org)}/volumes`,
        query: { cursor, limit: 500 },
        signal,
        timeoutMs: 30_000,
        maxAnswerBytes: LIST_ANSWER_BYTES,
      }),

    async waitForMachine(name, id, { state, version, timeoutSeconds }, signal) {
      try {
        await http.call({
          method: 'GET',
          path: `${machine(name, id)}/wait`,
          query: { state, timeout: timeoutSeconds, version, instance_id: version },
          signal,
          timeoutMs: (timeoutSeconds + 10) * 1_000,
        });
        return true;
      } catch (error) {
        if (hasStatus(error, 408)) return false;
        throw error;
      }
    },
  };
};
