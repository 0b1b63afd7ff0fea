import type { Stack } from './a-stack.js';

/** A call to the host past the product, as its owner would make it. Throws unless it succeeds. */
export const atHost = async (
  { host, env }: Stack,
  method: string,
  path: string,
  body?: unknown,
  // what a test reads of an answer is what it asserts
  // oxlint-disable-next-line typescript/no-explicit-any
): Promise<any> => {
  const response = await fetch(`${host.url}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${env['HOST_API_TOKEN']}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return text === '' ? undefined : JSON.parse(text);
};
