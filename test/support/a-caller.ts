import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { methodAndPath } from '../../src/contract/endpoint.js';
import { type EndpointId, endpoints } from '../../src/contract/index.js';
import type { Agent } from '../../src/contract/shapes/agent.js';
import type { Job } from '../../src/contract/shapes/job.js';

export interface Reply {
  status: number;
  headers: Headers;
  // what a test reads of an answer is what it asserts
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
}

export interface CallOptions {
  query?: Record<string, string | number>;
  body?: unknown;
  headers?: Record<string, string>;
}

const called = new Set<string>();

/** Remembered for the end of the run: an endpoint that no test calls fails it. */
const noteCalled = (id: EndpointId): void => {
  const file = process.env['TEST_CALLED_FILE'];
  if (called.has(id) || file === undefined) return;
  called.add(id);
  appendFileSync(file, `${id}\n`);
};

/** Somebody who calls the API over HTTP, by endpoint id. */
export class ACaller {
  readonly url: string;
  readonly token: string | undefined;

  constructor(url: string, token: string | undefined) {
    this.url = url;
    this.token = token;
  }

  async call(id: EndpointId, params: Record<string, string> = {}, options: CallOptions = {}): Promise<Reply> {
    noteCalled(id);
    const endpoint = endpoints.find((one) => one.id === id);
    if (!endpoint) throw new Error(`no endpoint ${id}`);
    const [method, pattern] = methodAndPath(endpoint);
    const path = pattern.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
    return this.request(method, path, options);
  }

  async request(method: string, path: string, { query, body, headers }: CallOptions = {}): Promise<Reply> {
    const search = new URLSearchParams(
      Object.entries(query ?? {}).map(([key, value]): [string, string] => [key, String(value)]),
    );
    const response = await fetch(`${this.url}${path}${search.size > 0 ? `?${search.toString()}` : ''}`, {
      method,
      headers: {
        ...(this.token === undefined ? {} : { authorization: `Bearer ${this.token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  }

  /** A new agent; throws when it is refused. */
  async anAgent(fields: Record<string, unknown> = {}): Promise<Agent> {
    const reply = await this.call('agents.create', {}, { body: { name: 'an agent', ...fields } });
    if (reply.status !== 201) throw new Error(`agents.create answered ${reply.status}: ${JSON.stringify(reply.body)}`);
    return reply.body as Agent;
  }

  /** An agent whose machine is online. */
  async anOnlineAgent(): Promise<Agent> {
    const { id } = await this.anAgent();
    const reply = await this.call('agents.provision', { id }, { headers: { prefer: 'wait=60' } });
    if (reply.body.agent?.status !== 'online')
      throw new Error(`the agent did not come online: ${JSON.stringify(reply.body)}`);
    return reply.body.agent as Agent;
  }

  async agent(id: string): Promise<Agent> {
    return (await this.call('agents.get', { id })).body as Agent;
  }

  /** The job when it has ended; throws when it has not within `seconds`. */
  async finished(job: { id: string }, seconds = 60): Promise<Job> {
    const until = Date.now() + seconds * 1_000;
    for (;;) {
      const reply = await this.call('jobs.get', { id: job.id }, { headers: { prefer: 'wait=5' } }).catch(
        () => undefined,
      );
      if (reply?.status === 200 && reply.body.finishedAt !== null) return reply.body as Job;
      if (Date.now() > until) throw new Error(`not finished in ${seconds} s: ${JSON.stringify(reply?.body)}`);
      if (reply?.status !== 200) await sleep(200);
    }
  }
}
