import test from 'ava';
import type { AgentStatus, DesiredStatus } from '../../src/contract/shapes/agent.js';
import { type MovingKind, movingKinds } from '../../src/contract/shapes/job.js';
import { onAccepted, onEnded } from '../../src/rules/agent-status.js';

interface Expected {
  accepted: AgentStatus;
  desired: DesiredStatus | undefined;
  succeeded: AgentStatus;
}

/** The table of contract.md, section Agents. A deleted agent is shown no more; what its row says is of no matter. */
const expected: Record<MovingKind, Expected> = {
  'agent.provision': { accepted: 'provisioning', desired: 'online', succeeded: 'online' },
  'agent.start': { accepted: 'starting', desired: 'online', succeeded: 'online' },
  'agent.stop': { accepted: 'stopping', desired: 'offline', succeeded: 'offline' },
  'agent.delete': { accepted: 'deleting', desired: 'deleted', succeeded: 'deleting' },
  'agent.rotate-gateway-token': { accepted: 'updating', desired: undefined, succeeded: 'online' },
};

for (const kind of movingKinds) {
  const { accepted, desired, succeeded } = expected[kind];

  test(`${kind} makes its agent ${accepted} when it is accepted`, (t) => {
    t.is(onAccepted[kind].status, accepted);
    t.is(onAccepted[kind].desiredStatus, desired, desired ? 'and says where it is to go' : 'and changes no wish');
  });

  test(`${kind} leaves its agent ${succeeded} when it succeeds`, (t) => {
    t.deepEqual(onEnded(kind, 'succeeded'), { status: succeeded });
  });

  test(`${kind} leaves its agent in error, with its wish, when it fails`, (t) => {
    t.deepEqual(onEnded(kind, 'failed', 'host_unreachable'), { status: 'error' });
  });

  test(`${kind} leaves its agent offline, wishing no more, when it is canceled`, (t) => {
    t.deepEqual(onEnded(kind, 'canceled', 'canceled'), { status: 'offline', desiredStatus: 'offline' });
  });

  test(`${kind} that was canceled and could not be undone leaves its agent in error, wishing no more`, (t) => {
    for (const code of ['canceled', 'superseded'] as const)
      t.deepEqual(onEnded(kind, 'failed', code), { status: 'error', desiredStatus: 'offline' });
  });
}
