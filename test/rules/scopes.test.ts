import test from 'ava';
import type { Scope } from '../../src/contract/endpoint.js';
import { endpoints } from '../../src/contract/index.js';
import { type SessionScope, sessionScopes } from '../../src/contract/shapes/session.js';
import { allows, mayGrant } from '../../src/rules/scopes.js';

const areas: Scope[] = ['agents', 'billing', 'spend:approve', 'runtime'];
const effects = ['read', 'write', 'destroy', 'spend'] as const;
const all = { scope: '*', effect: 'write' } as const;

test('everything is allowed to a session with everything', (t) => {
  for (const scope of [...areas, '*', undefined] as const)
    for (const effect of effects) t.true(allows(['*'], { scope, effect, secretOutput: true }));
});

test('an area allows its own calls and no other', (t) => {
  for (const granted of areas.filter((area): area is SessionScope & Scope => sessionScopes.includes(area)))
    for (const scope of areas)
      for (const effect of effects)
        t.is(allows([granted], { scope, effect }), granted === scope, `${granted} ${scope} ${effect}`);
});

test('read allows reading in every area, but for secrets', (t) => {
  for (const scope of areas)
    for (const effect of effects) {
      t.is(allows(['read'], { scope, effect }), effect === 'read', `${scope} ${effect}`);
      t.false(allows(['read'], { scope, effect, secretOutput: true }));
    }
});

test('what needs everything is allowed to nothing less, nor to nothing at all', (t) => {
  const most = sessionScopes.filter((scope) => scope !== '*');
  for (const effect of effects) t.false(allows(most, { scope: '*', effect }));
  t.false(allows([], all));
  t.false(allows([], { scope: 'agents', effect: 'read' }));
  t.true(allows([], { scope: undefined, effect: 'read' }), 'any session may ask who it is');
});

test('nobody hands out what they do not have', (t) => {
  for (const own of sessionScopes)
    for (const asked of sessionScopes) t.is(mayGrant([own], [asked]), own === '*' || own === asked, `${own} ${asked}`);
  t.true(mayGrant(['read', 'agents'], ['agents', 'read']));
  t.false(mayGrant(['read', 'agents'], ['agents', '*']));
});

test('only the own profile is open to any session; who lets others in, or hands out tokens, needs everything', (t) => {
  const user = endpoints.filter((endpoint) => endpoint.auth === 'user') as {
    id: string;
    scope?: Scope;
    effect: string;
  }[];
  t.deepEqual(
    user.filter(({ scope }) => scope === undefined).map(({ id }) => id),
    ['users.me'],
  );
  for (const { id, scope } of user.filter((one) => one.id.startsWith('auth.'))) t.is(scope, '*', id);
});
