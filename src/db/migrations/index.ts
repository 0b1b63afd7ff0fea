import type { Knex } from 'knex';
import * as firstSlice from './0001-first-slice.js';
import * as looksOwed from './0007-looks-owed.js';
import * as machineCalls from './0004-machine-calls.js';
import * as orphans from './0005-orphans.js';
import * as openedBy from './0006-opened-by.js';
import * as reconciler from './0003-reconciler.js';
import * as whoMayDoWhat from './0002-who-may-do-what.js';

export interface Migration {
  name: string;
  up: (db: Knex) => Promise<void>;
}

/** In order, never changed once released: expand first, contract in a later release. */
export const migrations: Migration[] = [
  { name: '0001-first-slice', up: firstSlice.up },
  { name: '0002-who-may-do-what', up: whoMayDoWhat.up },
  { name: '0003-reconciler', up: reconciler.up },
  { name: '0004-machine-calls', up: machineCalls.up },
  { name: '0005-orphans', up: orphans.up },
  { name: '0006-opened-by', up: openedBy.up },
  { name: '0007-looks-owed', up: looksOwed.up },
];
