import { isIPv6 } from 'node:net';

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
