import test from 'ava';
import { networkOf, originOf } from '../../src/api/network.js';
import { TokenBuckets } from '../../src/api/token-buckets.js';

test('a bucket holds so many tokens, and fills again evenly', (t) => {
  const buckets = new TokenBuckets(4, 60);
  const left = [0, 0, 0, 0].map(() => buckets.take('ada', 1_000).left);
  t.deepEqual(left, [3, 2, 1, 0]);
  t.like(buckets.take('ada', 1_000), { ok: false, left: 0, waitMs: 15_000 });
  t.like(buckets.take('ada', 15_999), { ok: false, waitMs: 1 }, 'refusals do not make it longer');
  t.like(buckets.take('ada', 16_000), { ok: true, left: 0 });
  t.like(buckets.take('ada', 16_000), { ok: false });
  t.like(buckets.take('ada', 46_000), { ok: true, left: 1 });
  t.like(buckets.look('ada', 1_000_000), { ok: true, left: 4, fullInMs: 0 }, 'and is never more than full');
});

test('over any minute nobody gets more than twice the size, and in the long run no more than the rate', (t) => {
  const buckets = new TokenBuckets(120, 60);
  const taken: number[] = [];
  for (let at = 0; at < 600_000; at += 50) if (buckets.take('eve', at).ok) taken.push(at);
  const inMinute = (from: number) => taken.filter((at) => at >= from && at < from + 60_000).length;
  const most = Math.max(...Array.from({ length: 540 }, (_, second) => inMinute(second * 1_000)));
  t.log(`12000 tries in ten minutes: ${taken.length} taken, at most ${most} in a minute`);
  t.true(most <= 240 && inMinute(60_000) <= 121);
  t.true(taken.length <= 120 + 1_200);
});

test('buckets are of one key each', (t) => {
  const buckets = new TokenBuckets(1, 60);
  t.true(buckets.take('ada', 0).ok);
  t.false(buckets.take('ada', 0).ok);
  t.true(buckets.take('eve', 0).ok);
});

test('an IPv6 network of 64 bits is one caller, an IPv4 address another', (t) => {
  const networks: Record<string, string> = {
    '198.51.100.7': '198.51.100.7',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
    '2001:0DB8:0001:2::1': '2001:db8:1:2::/64',
    '2001:db8::': '2001:db8:0:0::/64',
    '2001:db8::1': '2001:db8:0:0::/64',
    '::1': '0:0:0:0::/64',
    'fe80::1:2:3:4%eth0': 'fe80:0:0:0::/64',
    '64:ff9b::198.51.100.7': '64:ff9b:0:0::/64',
    'no address': 'no address',
  };
  for (const [address, network] of Object.entries(networks)) t.is(networkOf(address), network, address);
});

test('an address reads the same however it was written, and what is none counts as the connection', (t) => {
  const addresses: Record<string, string> = {
    '1.2.3.4': '1.2.3.4',
    '1.2.3.4:5555': '1.2.3.4',
    '::ffff:1.2.3.4': '1.2.3.4',
    '::ffff:102:304': '1.2.3.4',
    '[2001:DB8::1]:443': '2001:db8::1',
    '2001:db8:0:0::1': '2001:db8::1',
    '01.02.03.04': '9.9.9.9',
    [`x${'x'.repeat(5_000)}`]: '9.9.9.9',
    '': '9.9.9.9',
  };
  for (const [told, address] of Object.entries(addresses))
    t.is(originOf(told, '9.9.9.9').address, address, told.slice(0, 40));
});
