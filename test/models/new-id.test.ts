import test from 'ava';
import { Id, type IdKind, idPrefixes } from '../../src/contract/common.js';
import { newId } from '../../src/models/new-id.js';

const kinds = Object.keys(idPrefixes) as IdKind[]; // its keys are its type

for (const kind of kinds)
  test(`the id of kind ${kind} tells its kind and sorts by time`, (t) => {
    const ids = Array.from({ length: 500 }, () => newId(kind));
    t.deepEqual(ids, ids.toSorted(), 'also within a millisecond');
    t.is(new Set(ids).size, ids.length);
    t.true(ids.every((id) => Id(kind).safeParse(id).success));
    for (const other of kinds.filter((one) => idPrefixes[one] !== idPrefixes[kind]))
      t.false(Id(other).safeParse(ids[0]).success, other);
  });

test('an id has no other spelling', (t) => {
  const id = newId('agent');
  for (const text of [
    id.toUpperCase(),
    ` ${id}`,
    `${id}\n`,
    id.slice(4),
    id.replace('_', '-'),
    id.replace(/.$/, 'l'),
    id.replace('agt_0', 'agt_8'),
  ])
    t.false(Id('agent').safeParse(text).success, JSON.stringify(text));
});
