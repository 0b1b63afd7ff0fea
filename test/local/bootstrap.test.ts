import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import pg from 'pg';
import { World } from '../../local/world-file.js';
import { hashToken, isToken } from '../../src/models/opaque-token.js';
import { aDatabase } from '../support/a-database.js';
import { aFolder } from './a-host.js';

const run = promisify(execFile);

const worldOf = (databaseUrl: string): World => ({
  apiUrl: '',
  temporalAddress: '',
  temporalUiUrl: null,
  identityUrl: '',
  hostUrl: null,
  billerUrl: null,
  messengerAUrl: null,
  llmUrl: null,
  searchUrl: null,
  databaseUrl,
  users: [],
  keys: {
    hostToken: null,
    hostOrg: null,
    machineImage: null,
    billerKey: null,
    billerWebhookSecret: null,
    oidcClientId: null,
    oidcAudience: '',
    oidcRedirectUri: null,
    botTokens: [],
  },
});

test('`world bootstrap` mints a token of the form that the control plane knows, for the present runtime', async (t) => {
  const database = await aDatabase();
  const db = new pg.Client({ connectionString: database.url });
  await db.connect();
  t.teardown(async () => {
    await db.end();
    await database.drop();
  });
  await db.query(`
    insert into users (id, issuer, subject, email, name) values ('usr_1', 'i', 's', '', '');
    insert into agents (id, user_id, name, plan, host_name) values ('agt_1', 'usr_1', 'Scout', 'free', 'h');
    insert into runtime_identities (id, agent_id, generation, runtime_release_version, status)
      values ('rt_old', 'agt_1', 1, '1.0.0', 'revoked'), ('rt_new', 'agt_1', 2, '1.0.0', 'active')`);
  const LOCAL_DIR = await aFolder(t);
  await writeFile(join(LOCAL_DIR, 'world.json'), JSON.stringify(worldOf(database.url)));
  const bootstrap = (agentId: string) =>
    run(process.execPath, ['dist/local/world.js', 'bootstrap', agentId], { env: { LOCAL_DIR } });

  await bootstrap('agt_1');
  const { stdout } = await bootstrap('agt_1');
  const { runtimeId, bootstrapToken } = JSON.parse(stdout) as { runtimeId: string; bootstrapToken: string };
  t.is(runtimeId, 'rt_new');
  t.true(isToken('bootstrap', bootstrapToken));
  const { rows } = await db.query('select hash, runtime_id from bootstrap_tokens');
  t.deepEqual(rows, [{ hash: hashToken(bootstrapToken), runtime_id: 'rt_new' }], 'the earlier one is dead');

  const { stderr } = await t.throwsAsync<Error & { stderr: string }>(bootstrap('agt_none'));
  t.regex(stderr, /agt_none has no runtime/);
});
