import { z } from 'zod';
import { Timestamp } from '../common.js';
import { Job } from './job.js';

const MAX_ITEM_BYTES = 8 * 1024;
const MAX_COMMAND_BYTES = 32 * 1024;
const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

const Word = z
  .string()
  // oxlint-disable-next-line no-control-regex -- NUL is what it refuses
  .regex(/^[^\u0000]*$/, 'must not hold NUL')
  .refine((word) => bytesOf(word) <= MAX_ITEM_BYTES, `must not be longer than ${MAX_ITEM_BYTES} bytes`);

export const NewCommand = z.strictObject({
  command: z
    .array(Word)
    .min(1)
    .max(64)
    .refine(([program]) => program !== '', 'must begin with the name of a program')
    .refine(
      (words) => words.reduce((sum, word) => sum + bytesOf(word), 0) <= MAX_COMMAND_BYTES,
      `must not be longer than ${MAX_COMMAND_BYTES} bytes in all`,
    )
    .describe('The program and its arguments, as they are: no shell reads them unless the program is one'),
  timeoutSeconds: z.number().int().min(1).max(60).optional().describe('The machine gives it so long; 30 unless told'),
});
export type NewCommand = z.infer<typeof NewCommand>;

export const LogLine = z.strictObject({
  at: Timestamp.nullable().describe('null where the runtime wrote no time and none came before'),
  text: z.string(),
});
export type LogLine = z.infer<typeof LogLine>;

export const AgentLogs = z.strictObject({
  ok: z.boolean().describe('False when the log could not be read: `job.error` says why'),
  lines: z.array(LogLine).describe('Oldest first'),
  truncated: z.boolean().describe('Lines were left out or cut short to stay within 256 KiB'),
  job: Job.optional().describe('Only when it failed'),
});
