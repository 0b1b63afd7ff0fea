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

/** One JSON line an event on standard output. */
export const makeLog = (name: string, level: string): Log =>
  pino({
    name,
    level,
    base: { name },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: secretNames.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]), censor: '[secret]' },
  });
