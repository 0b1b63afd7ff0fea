import test from 'ava';
import { ApiError } from '../../src/contract/errors.js';
import {
  choosePlan,
  type Entitlement,
  requireProvisioning,
  requireRoomForAgent,
  requireStartStop,
} from '../../src/rules/entitlement.js';

const pro: Entitlement = { planCode: 'pro', rank: 2, maxAgents: 3, allowProvisioning: true, allowStartStop: true };
const ranks = { free: 0, starter: 1, pro: 2, team: 3 };

const codeOf = (decide: () => unknown): string | undefined => {
  try {
    decide();
    return undefined;
  } catch (error) {
    return error instanceof ApiError ? error.code : String(error);
  }
};

test('provisioning needs a plan that includes it', (t) => {
  t.is(
    codeOf(() => requireProvisioning(pro)),
    undefined,
  );
  t.is(
    codeOf(() => requireProvisioning({ ...pro, allowProvisioning: false })),
    'plan_required',
  );
  t.is(
    codeOf(() => requireProvisioning({ ...pro, allowStartStop: false })),
    undefined,
    'whatever else it lacks',
  );
});

test('starting and stopping need a plan that includes them', (t) => {
  t.is(
    codeOf(() => requireStartStop(pro)),
    undefined,
  );
  t.is(
    codeOf(() => requireStartStop({ ...pro, allowStartStop: false })),
    'plan_required',
  );
  t.is(
    codeOf(() => requireStartStop({ ...pro, allowProvisioning: false })),
    undefined,
    'whatever else it lacks',
  );
});

test('there is room for an agent below the number that the plan allows', (t) => {
  for (const agents of [0, 1, 2])
    t.is(
      codeOf(() => requireRoomForAgent(pro, agents)),
      undefined,
      `${agents}`,
    );
  for (const agents of [3, 4, 100])
    t.is(
      codeOf(() => requireRoomForAgent(pro, agents)),
      'limit_reached',
      `${agents}`,
    );
  t.is(
    codeOf(() => requireRoomForAgent({ ...pro, maxAgents: 0 }, 0)),
    'limit_reached',
  );
});

test('an agent is on its owner’s plan unless a lower one is asked for', (t) => {
  t.is(choosePlan(undefined, pro, ranks), 'pro');
  for (const plan of ['free', 'starter', 'pro']) t.is(choosePlan(plan, pro, ranks), plan);
});

test('a higher plan must be bought first, one that does not exist cannot be', (t) => {
  t.is(
    codeOf(() => choosePlan('team', pro, ranks)),
    'plan_required',
  );
  for (const plan of ['gold', '', 'Pro', 'toString', '__proto__'])
    t.is(
      codeOf(() => choosePlan(plan, pro, ranks)),
      'invalid_request',
      plan,
    );
});
