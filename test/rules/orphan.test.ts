import test from 'ava';
import { areTooMany, holdBack, needsPerson, type OrphanFacts } from '../../src/rules/orphan.js';

const free: OrphanFacts = {
  isNameOurs: true,
  isDeletionKnown: true,
  hasVolumes: true,
  hasUnfinishedJob: false,
  isReaping: true,
};

test('what holds an orphan back, the most lasting reason first', (t) => {
  t.is(holdBack(free), undefined);
  t.is(holdBack({ ...free, isReaping: false }), 'reporting_only');
  t.is(holdBack({ ...free, isReaping: false, hasUnfinishedJob: true }), 'job_unfinished');
  t.is(holdBack({ ...free, hasUnfinishedJob: true, isDeletionKnown: false }), 'no_record');
  t.is(holdBack({ ...free, isDeletionKnown: false, hasVolumes: false }), undefined);
  t.is(holdBack({ ...free, isDeletionKnown: false, isNameOurs: false }), 'name_not_ours');
});

test('only what a person must decide is not counted', (t) => {
  t.is(needsPerson(free, null), undefined);
  t.is(needsPerson(free, 'too_many'), undefined);
  t.is(needsPerson(free, 'no_record'), undefined, 'there is a record by now');
  t.is(needsPerson(free, 'host_disagrees'), 'host_disagrees');
  t.is(needsPerson({ ...free, isDeletionKnown: false }, null), 'no_record');
  t.is(needsPerson({ ...free, isNameOurs: false }, 'too_many'), 'name_not_ours');
});

test('ten are never too many, nor is a tenth of the agents', (t) => {
  t.false(areTooMany(10, 0));
  t.true(areTooMany(11, 0));
  t.false(areTooMany(100, 1_000));
  t.true(areTooMany(101, 1_000));
});
