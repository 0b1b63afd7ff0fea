import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { ParameterizedContext } from 'koa';
import type { JobEvent } from '../operations/operation.js';
import type { Log } from '../telemetry/log.js';
import type { RequestState } from './context.js';

const PING_MS = 15_000;

interface StreamOptions {
  log: Log;
  /** Asked with each ping: a stream does not outlive the token that opened it. */
  isStillAdmitted: () => Promise<boolean>;
}

/** Sends job events as Server-Sent Events; a `: ping` now and then keeps proxies from closing a quiet stream. */
export const sendEvents = (
  ctx: ParameterizedContext<RequestState>,
  events: AsyncIterable<JobEvent>,
  { log, isStillAdmitted }: StreamOptions,
): void => {
  const stream = new PassThrough();
  ctx.status = 200;
  ctx.set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' });
  ctx.body = stream;
  const ping = setInterval(() => {
    stream.write(': ping\n\n');
    void isStillAdmitted().then((admitted) => admitted || stream.end());
  }, PING_MS);
  const pump = async () => {
    for await (const { id, job } of events) {
      if (stream.writableEnded) return;
      const text = `id: ${id}\nevent: job\ndata: ${JSON.stringify(job)}\n\n`;
      if (!stream.write(text)) await Promise.race([once(stream, 'drain'), once(stream, 'close')]);
    }
  };
  pump()
    .catch((error: unknown) => log.warn({ requestId: ctx.state.requestId, err: String(error) }, 'event stream broke'))
    .finally(() => {
      clearInterval(ping);
      stream.end();
    });
};
