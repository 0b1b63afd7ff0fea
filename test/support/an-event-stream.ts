import type { Job } from '../../src/contract/shapes/job.js';
import type { ACaller } from './a-caller.js';

export interface SeenEvent {
  id: number;
  job: Job;
}

export interface EventStream {
  status: number;
  headers: Headers;
  /** What came so far; grows. */
  events: SeenEvent[];
  /** Resolves when the service has ended the stream. */
  ended: Promise<void>;
  leave(): void;
}

const parse = (block: string): SeenEvent[] => {
  const fields = new Map(
    block
      .split('\n')
      .map((line): [string, string] => [line.split(': ', 1)[0] ?? '', line.slice(line.indexOf(': ') + 2)]),
  );
  const data = fields.get('data');
  if (fields.get('event') !== 'job' || data === undefined) return []; // a ping
  return [{ id: Number(fields.get('id')), job: JSON.parse(data) as Job }]; // asserted by the tests
};

/** Watches a job as a browser's EventSource would. */
export const anEventStream = async (caller: ACaller, jobId: string, lastEventId?: number): Promise<EventStream> => {
  const gone = new AbortController();
  const response = await fetch(`${caller.url}/api/jobs/${jobId}/events`, {
    headers: {
      authorization: `Bearer ${caller.token}`,
      ...(lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }),
    },
    signal: gone.signal,
  });
  const events: SeenEvent[] = [];
  const read = async () => {
    let rest = '';
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const blocks = (rest + chunk).split('\n\n');
      rest = blocks.pop() ?? '';
      events.push(...blocks.flatMap(parse));
    }
  };
  const ended = read().catch((error: unknown) => {
    if (!gone.signal.aborted) throw error;
  });
  return { status: response.status, headers: response.headers, events, ended, leave: () => gone.abort() };
};
