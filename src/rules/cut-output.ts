export interface Output {
  stdout: string;
  stderr: string;
}

/** The first `maxBytes` of a text as UTF-8, whole characters only. */
const cutText = (text: string, maxBytes: number): string => {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--; // a byte that continues a character does not begin one
  return new TextDecoder().decode(bytes.subarray(0, end));
};

const sizeOf = (text: string): number => new TextEncoder().encode(text).length;

/** Both outputs within `maxBytes` in all: half for each, and what one leaves is the other's. The beginning is kept. */
export const cutOutput = ({ stdout, stderr }: Output, maxBytes: number): Output & { truncated: boolean } => {
  const [out, err] = [sizeOf(stdout), sizeOf(stderr)];
  if (out + err <= maxBytes) return { stdout, stderr, truncated: false };
  const half = Math.floor(maxBytes / 2);
  const forStderr = Math.min(err, Math.max(half, maxBytes - out));
  return { stdout: cutText(stdout, maxBytes - forStderr), stderr: cutText(stderr, forStderr), truncated: true };
};
