import { readFileSync } from 'node:fs';
import test from 'ava';
import { isErrorCode } from '../../src/contract/errors.js';
import { callKinds, movingKinds } from '../../src/contract/shapes/job.js';
import { adviceForOperator, ownerMessage } from '../../src/rules/job-advice.js';

/** The codes in the first column of the tables below this heading of docs/lifecycle.md. */
const documented = (heading: string): string[] => {
  const text = readFileSync('docs/lifecycle.md', 'utf8');
  const part = text.slice(text.indexOf(`\n## ${heading}`)).split('\n## ')[1] ?? '';
  const cells = part.split('\n').flatMap((line) => /^\| ([^|]*) \|/.exec(line)?.[1] ?? []);
  return [...new Set(cells.flatMap((cell) => [...cell.matchAll(/`([a-z_]+)`/g)].map(([, code = '']) => code)))];
};

const raw = 'host POST: answered 422';
const told = (code: string, needsOperator = false) => ({ code, message: raw, needsOperator });

test('every code with which a job fails is told to the owner as what happened and a way out', (t) => {
  const codes = documented('What waits for an operator').filter(isErrorCode);
  t.true(codes.length >= 10, codes.join());
  for (const code of codes)
    for (const kind of movingKinds) {
      const message = ownerMessage(kind, told(code));
      t.false(message.includes(raw), `${kind} ${code}`);
      t.regex(message, /^[A-Z][^]*\. (Provision|Start|Stop|Delete) the agent again/);
      t.regex(ownerMessage(kind, told(code, true)), /operators see it/);
    }
  t.log(`${codes.length} codes: ${codes.join(', ')}`);
});

test('every end of a command or log that the documentation names is told in words', (t) => {
  const part = readFileSync('docs/lifecycle.md', 'utf8').split('\n## Commands and logs')[1]?.split('\n## ')[0] ?? '';
  const codes = part
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .flatMap((line) => [...(line.split('|')[2] ?? '').matchAll(/`([a-z_]+)`/g)].map(([, code = '']) => code))
    .filter((code) => isErrorCode(code) && code !== 'canceled');
  t.true(codes.length >= 8, codes.join());
  for (const code of codes)
    for (const kind of callKinds) t.notRegex(ownerMessage(kind, told(code)), /answered 422|…/, code);
  t.regex(ownerMessage('agent.command', told('host_unreachable')), /has not run/);
  t.regex(ownerMessage('agent.logs', told('host_unreachable')), /was not read/);
  t.notRegex(ownerMessage('agent.command', told('outcome_unknown')), /has not run/);
});

test('what is no failure, or is not known, keeps its message', (t) => {
  for (const kind of [...movingKinds, ...callKinds])
    for (const code of ['canceled', 'superseded', 'a_code_of_another_release'])
      t.is(ownerMessage(kind, told(code)), raw);
});

test('an operator is told what docs/lifecycle.md says to do', (t) => {
  const text = readFileSync('docs/lifecycle.md', 'utf8').replaceAll('`', '');
  for (const code of ['vendor_misconfigured', 'internal', 'deadline_exceeded', 'conflict', 'upstream_failed']) {
    const advice = adviceForOperator('agent.start', code).replaceAll('`', '');
    const row = text
      .split('\n')
      .find((line) => line.startsWith(`| ${code} | when`) || line.startsWith(`| ${code} | always`));
    const norm = (words: string): string =>
      words
        .toLowerCase()
        .replaceAll(/[^a-z0-9_/ ]|\bthen\b/g, '')
        .replaceAll(/ +/g, ' ')
        .trim();
    t.is(norm(row?.split('|')[4] ?? ''), norm(advice), code);
  }
  t.regex(adviceForOperator('agent.start', 'host_unreachable'), /retry; or delete the app at the host/);
  t.regex(adviceForOperator('agent.delete', 'host_unreachable'), /Look at the app at the host/);
});
