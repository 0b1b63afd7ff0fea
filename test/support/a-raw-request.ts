import { request } from 'node:http';
import { connect } from 'node:net';
import type { Reply } from './a-caller.js';

export interface RawRequest {
  method: string;
  path: string;
  headers?: Record<string, string>;
  /** Sent as it is; a list goes chunk by chunk, without a content-length. */
  body?: string | Buffer | Buffer[];
}

/** A request as no well-behaved client would send it: a body with GET, a path that is not encoded, chunks. */
export const rawRequest = (url: string, { method, path, headers = {}, body }: RawRequest): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const whole = Array.isArray(body) ? undefined : body;
    const length = whole === undefined ? {} : { 'content-length': String(Buffer.byteLength(whole)) };
    const sending = request(
      { hostname, port, method, path, headers: { ...length, ...headers }, agent: false },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(parts).toString();
          const isJson = response.headers['content-type']?.includes('json') === true && text !== '';
          resolve({
            status: response.statusCode ?? 0,
            headers: new Headers(response.headers as Record<string, string>), // no answer of ours repeats a header
            body: isJson ? JSON.parse(text) : text,
          });
        });
      },
    );
    sending.on('error', reject);
    for (const chunk of Array.isArray(body) ? body : []) sending.write(chunk);
    sending.end(whole);
  });

/** Writes bytes to the API's socket and reads until it is closed: for what is not even HTTP. */
export const rawBytes = (url: string, bytes: string | Buffer): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    let text = '';
    socket.setEncoding('utf8').on('data', (part: string) => (text += part));
    socket.on('error', reject);
    socket.on('close', () => resolve(text));
  });
