import type { ExecutionContext } from 'ava';
import type { Agent } from '../../src/contract/shapes/agent.js';
import type { Stack } from './a-stack.js';

export const appNameOf = (agentId: string): string => agentId.replace('agt_', 'acp-test-');
export const volumeNameOf = (agentId: string): string => agentId.replace('agt_', 'vol_');

/** What the host has of an agent, and how often it made it: by its own log, not by what it answered. */
export const hostSideOf = ({ host }: Stack, agentId: string) => {
  const names = new Set([appNameOf(agentId), volumeNameOf(agentId)]);
  const effects = host.effects().filter((effect) => names.has(effect.key));
  return {
    effects: effects.map((effect) => `${effect.action} ${effect.id}`),
    idsOf: (action: string) => effects.filter((effect) => effect.action === action).map((effect) => effect.id),
    count: (action: string) => effects.filter((effect) => effect.action === action).length,
    machines: host.machinesOf(agentId),
    volumes: host.volumes(appNameOf(agentId)),
  };
};

/** The host made exactly one app, volume and machine for the agent, they are there, and the agent knows them. */
export const assertOneOfEach = (t: ExecutionContext, stack: Stack, agent: Agent, context: string): void => {
  const side = hostSideOf(stack, agent.id);
  const seen = `${context}: ${JSON.stringify({ agent, effects: side.effects }, undefined, 1)}`;
  t.is(side.count('app.create'), 1, seen);
  t.is(side.count('app.delete'), 0, seen);
  t.deepEqual(side.idsOf('volume.create'), [agent.hostVolumeId], seen);
  t.deepEqual(
    side.volumes.map((volume) => volume['id']),
    [agent.hostVolumeId],
    seen,
  );
  t.deepEqual(side.idsOf('machine.create'), [agent.hostMachineId], seen);
  t.deepEqual(
    side.machines.map((machine) => machine.id),
    [agent.hostMachineId],
    seen,
  );
  t.is(agent.hostAppName, side.machines[0]?.app_name ?? null, seen);
};

/** Nothing of the agent is left at the host, however much was made and unmade. */
export const assertNothingLeft = (t: ExecutionContext, stack: Stack, agentId: string, context: string): void => {
  const side = hostSideOf(stack, agentId);
  const seen = `${context}: ${JSON.stringify(side.effects)}`;
  t.is(side.count('app.create'), side.count('app.delete'), seen);
  t.deepEqual(side.machines, [], seen);
  t.deepEqual(side.volumes, [], seen);
};
