import type { ListedMachine } from './a-listing-host.js';
import type { Stack } from './a-stack.js';
import { appNameOf } from './host-side.js';

/** A started machine of the agent, as lists show it; those with a higher index changed later. */
export const machineOf = (agentId: string, index: number, region = 'ams'): ListedMachine => ({
  id: `m${index}`,
  app_name: appNameOf(agentId),
  name: appNameOf(agentId),
  state: 'started',
  region,
  updated_at: new Date(Date.UTC(2026, 0, 1) + index).toISOString(),
  config: { metadata: { acp_installation: 'test', acp_agent_id: agentId } },
});

/** Agents online, each with one of the machines, as a reconciler that has seen them all would have left them. */
export const insertAgents = async ({ db }: Stack, userId: string, machines: ListedMachine[]): Promise<void> => {
  const rows = machines.map(({ id, app_name: app, region, updated_at: updatedAt, config }) => ({
    id: config.metadata['acp_agent_id'],
    userId,
    name: 'one of many',
    plan: 'free',
    status: 'online',
    desiredStatus: 'online',
    gatewayReady: true,
    hostName: app,
    hostAppName: app,
    hostMachineId: id,
    hostVolumeId: `vol_${id}`,
    provisionedAt: new Date(),
    region,
    machine: { id, state: 'started', region, createdAt: null, checks: [] },
    machineUpdatedAt: updatedAt,
    machineSeenAt: new Date(),
  }));
  for (let done = 0; done < rows.length; done += 1_000) await db('agents').insert(rows.slice(done, done + 1_000));
};
