import { makeCallActivities } from './call.js';
import { whileHeld } from '../attempt.js';
import { makeCreateActivities } from './create.js';
import type { HostDeps } from './deps.js';
import { makeLogActivities } from './log.js';
import { makeRemoveActivities } from './remove.js';
import { makeRunActivities } from './run.js';

export type { HostDeps } from './deps.js';

/** What the `host` queue does: one effect at the machine host each, safe to run again. */
export const makeHostActivities = (given: HostDeps) => {
  const deps = { ...given, host: whileHeld(given.host) };
  return {
    ...makeCreateActivities(deps),
    ...makeRunActivities(deps),
    ...makeRemoveActivities(deps),
    ...makeCallActivities(deps),
    ...makeLogActivities(deps),
  };
};

export type HostActivities = ReturnType<typeof makeHostActivities>;
