import type { IncomingMessage } from 'node:http';

const MAX_BODY_BYTES = 1024 * 1024;
const bodies = new WeakMap<IncomingMessage, Promise<Buffer | undefined>>();

/**
 * The body of a request, for as many readers as there are; undefined when it is larger than 1 MiB.
 * @throws Error when the request was cut off.
 */
export function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const known = bodies.get(request);
  if (known !== undefined) return known;
  const reading = read(request);
  bodies.set(request, reading);
  return reading;
}

async function read(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  return bytes > MAX_BODY_BYTES ? undefined : Buffer.concat(chunks);
}
