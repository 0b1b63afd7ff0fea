import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { root, say } from './steps.mjs';

const lockFile = join(root, 'dist', '.prepare.lock');

/** Does the work while no other prepare of this checkout does; a lock whose holder is gone is taken over. */
export async function alone(work) {
  await takeLock();
  const release = () => rmSync(lockFile, { force: true });
  process.once('exit', release);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
  return work().finally(release);
}

async function takeLock() {
  mkdirSync(join(root, 'dist'), { recursive: true });
  for (let told = false; !tryLock(); await sleep(200)) {
    const holder = Number(readHolder());
    if (holder && !isAlive(holder)) dropLockOf(holder);
    else if (!told) say(`waiting for the one that is under way already (process ${holder || 'unknown'})`);
    told = true;
  }
}

function tryLock() {
  try {
    writeFileSync(lockFile, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  }
}

/** Two may find the same dead holder: who moves the file away looks again at what it moved. */
function dropLockOf(dead) {
  const aside = `${lockFile}.${process.pid}`;
  try {
    renameSync(lockFile, aside);
    if (Number(readFileSync(aside, 'utf8')) !== dead) renameSync(aside, lockFile);
  } catch {
    // the other one was faster
  }
  rmSync(aside, { force: true });
}

function readHolder() {
  try {
    return readFileSync(lockFile, 'utf8');
  } catch {
    return '';
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
