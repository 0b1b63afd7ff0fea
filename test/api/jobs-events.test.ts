import test from 'ava';
import { Job } from '../../src/contract/shapes/job.js';
import { anEventStream, type SeenEvent } from '../support/an-event-stream.js';
import { withStack } from '../support/a-stack.js';
import { until } from '../support/until.js';

const stack = withStack(test);

const versions = (events: SeenEvent[]): number[] => events.map((event) => event.id);
const isRising = (numbers: number[]): boolean =>
  numbers.every((number, index) => index === 0 || number > (numbers[index - 1] ?? 0));

test('the events of a provision tell its whole story and end with it', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const { body } = await ada.call('agents.provision', { id });
  const stream = await anEventStream(ada, body.job.id);
  t.is(stream.status, 200);
  t.is(stream.headers.get('content-type'), 'text/event-stream');
  t.is(stream.headers.get('cache-control'), 'no-store');
  await stream.ended;
  const { events } = stream;
  t.true(events.length >= 3, `${events.length} events`);
  t.true(isRising(versions(events)));
  for (const event of events) t.true(Job.safeParse(event.job).success);
  t.deepEqual(
    events.filter(({ job }) => job.finishedAt !== null).map(({ job }) => job),
    [await ada.finished(body.job)],
    'the last one is the final state, and only the last',
  );
  t.is(events.at(-1)?.job.status, 'succeeded');
  const done = events.map(({ job }) => job.steps.filter((step) => step.status === 'done').length);
  t.true(
    done.every((count, index) => index === 0 || count >= (done[index - 1] ?? 0)),
    'steps are never undone',
  );
  t.true(
    events.some(({ job }) => job.steps.some((step) => step.status === 'running')),
    'steps are seen under way',
  );
});

test('whoever comes back goes on after the last event seen', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const { body } = await ada.call('agents.provision', { id });
  const whole = await anEventStream(ada, body.job.id);
  await whole.ended;
  const all = versions(whole.events);
  const last = all.at(-1) ?? 0;
  for (const seen of [0, all[1] ?? 0, last - 1]) {
    const again = await anEventStream(ada, body.job.id, seen);
    await again.ended;
    t.deepEqual(versions(again.events), [last], 'an ended job has one state left to tell');
  }
  const nothingNew = await anEventStream(ada, body.job.id, last);
  await nothingNew.ended;
  t.deepEqual(nothingNew.events, []);
});

test('whoever comes back during the run sees only what is newer', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const { body } = await ada.call('agents.provision', { id });
  const first = await anEventStream(ada, body.job.id);
  const seen = await until('an event', () => first.events.at(-1));
  first.leave();
  const second = await anEventStream(ada, body.job.id, seen.id);
  await second.ended;
  t.true(isRising([seen.id, ...versions(second.events)]));
  t.is(second.events.at(-1)?.job.status, 'succeeded');
});

test('what was no event id is no reason to miss anything', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const { body } = await ada.call('agents.provision', { id });
  await ada.finished(body.job);
  for (const lastEventId of ['abc', '-1', '', '1e', 'NaN']) {
    const reply = await ada.call('jobs.events', { id: body.job.id }, { headers: { 'last-event-id': lastEventId } });
    t.regex(reply.body, /^id: \d+\nevent: job\ndata: \{.*\}\n\n$/, lastEventId);
  }
});
