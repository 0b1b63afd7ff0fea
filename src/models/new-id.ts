import { monotonicFactory } from 'ulid';
import { type IdKind, idPrefixes } from '../contract/common.js';

const ulid = monotonicFactory();

/** A new id: its kind's prefix and a ULID in lower case, which sorts by time. */
export const newId = (kind: IdKind): string => `${idPrefixes[kind]}_${ulid().toLowerCase()}`;
