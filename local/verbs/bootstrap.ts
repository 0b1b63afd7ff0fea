import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import pg from 'pg';
import { Failure } from '../process/failure.js';
import { worldDir } from '../start/folder.js';
import { readWorld } from '../world-file.js';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const base62 = (value: bigint, length: number): string => {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n) text = DIGITS.charAt(Number(rest % 62n)) + text;
  return text;
};

/** A token of the form that the control plane's own have: 256 bits, and a checksum. */
const newBootstrapToken = (): string => {
  const text = `acp_boot_${base62(BigInt(`0x${randomBytes(32).toString('hex')}`), 43)}`;
  return text + base62(BigInt(crc32(text)), 6);
};

/**
 * Prints the agent's runtimeId and a fresh bootstrap token, as a start of its machine would have made it, for people who build
 * runtimes. @throws Failure when the agent has no runtime
 */
export async function bootstrapVerb(agentId: string): Promise<void> {
  const { databaseUrl } = await readWorld(join(worldDir(), 'world.json'));
  const db = new pg.Client({ connectionString: databaseUrl });
  await db.connect().catch(() => {
    throw new Failure('The database does not answer: is the world running (npm start)?');
  });
  try {
    const { rows } = await db.query<{ id: string }>(
      `select id from runtime_identities where agent_id = $1 and status <> 'revoked' order by generation desc limit 1`,
      [agentId],
    );
    const runtimeId = rows[0]?.id;
    if (runtimeId === undefined) throw new Failure(`${agentId} has no runtime: provision the agent first.`);
    const bootstrapToken = newBootstrapToken();
    const hash = createHash('sha256').update(bootstrapToken).digest();
    await db.query(`delete from bootstrap_tokens where runtime_id = $1 and family_id is null`, [runtimeId]);
    await db.query(
      `insert into bootstrap_tokens (hash, runtime_id, expires_at) values ($1, $2, now() + interval '15 minutes')`,
      [hash, runtimeId],
    );
    console.log(JSON.stringify({ runtimeId, bootstrapToken }));
  } finally {
    await db.end();
  }
}
