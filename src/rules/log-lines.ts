import type { LogLine } from '../contract/shapes/machine-call.js';

/** `2026-01-31T12:00:00.000Z text`: how a runtime writes a line (docs/runtime.md). */
const dated = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z) (.*)$/s;

/** Whatever looks like a token of ours. A runtime should not write one; its log is read by more eyes than its disk. */
const tokens = /acp_[a-z]+_[0-9A-Za-z]{16,}/g;

const toTimestamp = (text: string): string | null => {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
};

const sizeOf = (text: string): number => new TextEncoder().encode(text).length;

export interface LogTail {
  lines: LogLine[];
  truncated: boolean;
}

/**
 * The last `count` lines of the end of a log, as many of them as fit into `maxBytes`. A line without a time goes on from the one
 * before it and has its time. `isCut`: the text does not begin at the beginning of a line.
 */
export const logTail = (text: string, count: number, maxBytes: number, isCut: boolean): LogTail => {
  const raw = text.split('\n').slice(isCut ? 1 : 0);
  if (raw.at(-1) === '') raw.pop();
  let at: string | null = null;
  const lines = raw.map((line): LogLine => {
    const [, time, rest] = dated.exec(line) ?? [];
    const isDated = time !== undefined && toTimestamp(time) !== null;
    if (isDated) at = toTimestamp(time);
    return { at, text: ((isDated ? rest : line) ?? '').replaceAll(tokens, 'acp_…') };
  });
  const wanted = lines.slice(-count);
  let left = maxBytes;
  const first = wanted.findLastIndex((line) => (left -= sizeOf(line.text)) < 0) + 1;
  return { lines: wanted.slice(first), truncated: first > 0 || (isCut && lines.length < count) };
};
