import { isIP, isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';

export interface Origin {
  address: string;
  /** What of it counts as one caller where nobody is known. */
  network: string;
}

/** The same few addresses come again and again. */
const read = new LRUCache<string, Origin>({ max: 10_000 });

/**
 * Where a request came from, in one way of writing. `told` is the connection's address, or what our proxy says of it; some write a
 * port behind it. What is no address at all counts as the connection's own.
 */
const readAddress = (told: string, socketAddress: string): string => {
  const bare = told.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1');
  const address = isIP(bare) === 0 ? socketAddress : bare;
  return isIPv6(address) ? shorten(address) : address;
};

/** One way of writing for an IPv6 address; one that stands for an IPv4 address is that. */
const shorten = (address: string): string => {
  const [plain = ''] = address.split('%', 1);
  const short = new URL(`http://[${plain}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(short) ?? [];
  if (high === undefined || low === undefined) return short;
  const bits = (Number.parseInt(high, 16) << 16) | Number.parseInt(low, 16);
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 0xff).join('.');
};

/** The first four groups of an IPv6 address, as it is written. */
const firstGroups = (address: string): string => {
  const [head = '', tail] = address.split('::', 2);
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  // An IPv4 address at the end stands for two groups.
  const known = groups.length + after.length + (address.includes('.') ? 1 : 0);
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - known }, () => '0');
  return [...groups, ...zeros, ...after]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
};

/** What counts as one caller where nobody is known: an IPv4 address, or an IPv6 network of 64 bits, which is what one customer gets. */
export const networkOf = (address: string): string =>
  isIPv6(address) ? `${firstGroups(address.replace(/%.*$/, ''))}::/64` : address;

/** Address and network of a request . */
export const originOf = (told: string, socketAddress = ''): Origin => {
  const key = `${told} ${socketAddress}`;
  const known = read.get(key);
  if (known) return known;
  const address = readAddress(told, socketAddress);
  const origin = { address, network: networkOf(address) };
  if (key.length <= 128) read.set(key, origin);
  return origin;
};
