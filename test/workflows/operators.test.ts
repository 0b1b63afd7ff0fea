import { Client, Connection } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import test from 'ava';
import { searchAttributes } from '../../src/jobs/temporal.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test);

test('an operator sees what a workflow does, for whom, and can search by it', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const { body } = await ada.call('agents.provision', { id }, { headers: { prefer: 'wait=60' } });
  const connection = await Connection.connect({ address: stack().env['TEMPORAL_ADDRESS'] ?? '' });
  t.teardown(() => connection.close());
  const client = new Client({ connection });
  const description = await client.workflow.getHandle(body.job.workflowId).describe();
  t.is(description.workflowId, `agent.provision:${id}:${body.job.id}`);
  t.is(description.typedSearchAttributes.get(searchAttributes.agentId), id);
  t.is(description.typedSearchAttributes.get(searchAttributes.userId), body.agent.userId);
  t.is(description.typedSearchAttributes.get(searchAttributes.jobKind), 'agent.provision');
  t.is(await description.staticSummary(), `Provision the machine: ${id}`);
  t.regex((await description.staticDetails()) ?? '', new RegExp(body.job.id));
  const history = await client.workflow.getHandle(body.job.workflowId).fetchHistory();
  const summaries = (history.events ?? [])
    .filter((event) => event.activityTaskScheduledEventAttributes)
    .flatMap((event) => (event.userMetadata?.summary ? [event.userMetadata.summary] : []))
    .map((payload) => defaultPayloadConverter.fromPayload<string>(payload));
  t.deepEqual(
    summaries,
    body.job.steps.map((step: { name: string }) => step.name),
  );
  // Visibility is eventually consistent.
  for (let tries = 0; ; tries++) {
    const found = [];
    for await (const one of client.workflow.list({ query: `agentId = "${id}" and jobKind = "agent.provision"` }))
      found.push(one.workflowId);
    if (found.length === 1 || tries === 50) {
      t.deepEqual(found, [description.workflowId]);
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
});
