import { pino, type Logger } from 'pino';

export type Log = Logger;

/** Names under which a secret could reach a log line; their values are never written. */
const secretNames = [
  'authorization',
  'accessToken',
  'refreshToken',
  'bootstrapToken',
  'gatewayToken',
  'botToken',
  'password',
  'token',
  'cookie',
];

const BUFFER_BYTES = 8 * 1024;
const FLUSH_MS = 100;

const options = (name: string, level: string) => ({
  level,
  base: { name },
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (label: string) => ({ level: label }) },
});

/** One JSON line an event on standard output. */
export const makeLog = (name: string, level: string): Log =>
  pino({
    ...options(name, level),
    redact: { paths: secretNames.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]), censor: '[secret]' },
  });

/**
 * The log of requests: fixed fields that hold no secret, so nothing is searched for one; lines are written together, at most 100 ms
 * late. A process that is killed loses those, which is the price of one write less for each request.
 */
export const makeRequestLog = (name: string, level: string): Log =>
  pino(
    options(name, level),
    pino.destination({ fd: 1, sync: false, minLength: BUFFER_BYTES, periodicFlush: FLUSH_MS }),
  );
