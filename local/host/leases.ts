import type { IncomingMessage } from 'node:http';
import { leaseNonce } from './ids.js';
import type { Lease, MachineRecord } from './records.js';
import { Refusal } from './refusal.js';

const DEFAULT_SECONDS = 60;

/** The lease in force, if any; its end is a look at the clock, nobody has to tidy. */
export function currentLease(record: MachineRecord): Lease | undefined {
  return record.lease !== undefined && record.lease.expires_at * 1_000 > Date.now() ? record.lease : undefined;
}

/** Grants a lease, or prolongs the one in force (whose nonce the caller has shown). */
export function grantLease(
  record: MachineRecord,
  wish: { ttlSeconds?: number | undefined; description: string },
): Lease {
  record.lease = {
    nonce: currentLease(record)?.nonce ?? leaseNonce(),
    expires_at: Math.ceil(Date.now() / 1_000) + (wish.ttlSeconds ?? DEFAULT_SECONDS),
    owner: 'control-plane@localhost',
    description: wish.description,
  };
  return record.lease;
}

/** @throws Refusal 409 when somebody else holds the machine. */
export function checkLease(record: MachineRecord, request: IncomingMessage): void {
  const lease = currentLease(record);
  if (lease === undefined || request.headers['fly-machine-lease-nonce'] === lease.nonce) return;
  throw new Refusal(409, `lease currently held by ${lease.owner}, expires at ${lease.expires_at}`);
}
