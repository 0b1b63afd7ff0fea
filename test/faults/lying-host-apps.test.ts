import test from 'ava';
import { withStack } from '../support/a-stack.js';
import { assertOneOfEach } from '../support/host-side.js';

// A stack of its own: the name of an app is in the body of its creation, so a fault there meets whoever comes first.
const stack = withStack(test);

for (const mode of ['error-after', 'reset-after', 'malformed'] as const)
  for (const times of [1, 2])
    test.serial(
      `a provision survives ${mode} at the creation of the app, ${times} times, with no second app`,
      async (t) => {
        const ada = await stack().user();
        const { id } = await ada.anAgent();
        stack().host.fault({ match: { method: 'POST', path: '/apps$/' }, mode, times });
        const { body } = await ada.call('agents.provision', { id }, { headers: { prefer: 'wait=60' } });
        t.is(body.job.status, 'succeeded', JSON.stringify(body.job));
        t.true(
          stack()
            .host.faults()
            .every((fault) => fault.injected > 0),
        );
        stack().host.clearFaults();
        assertOneOfEach(t, stack(), await ada.agent(id), mode);
      },
    );
