import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { appId } from '../ids.js';
import { invalid, object, optionalText, requiredText } from '../input.js';
import { destroyMachine } from '../lifecycle.js';
import { getApp, type HostParts } from '../parts.js';
import type { AppRecord } from '../records.js';
import { Refusal } from '../refusal.js';
import { renderApp } from '../render.js';
import type { Answer, Call, Routes } from '../server.js';

export function appRoutes(parts: HostParts): Routes {
  const { store, effects, org } = parts;

  const create = async ({ body }: Call): Promise<Answer> => {
    const name = optionalText(body, 'name') ?? requiredText(body, 'app_name');
    if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(name)) throw invalid('name must be letters, digits and dashes');
    if (requiredText(body, 'org_slug') !== org) throw new Refusal(404, 'organization not found');
    const idempotencyKey = optionalText(body, 'idempotency_key');
    const earlier = store.apps().find((app) => idempotencyKey && app.idempotencyKey === idempotencyKey);
    if (earlier !== undefined && earlier.name !== name) {
      throw new Refusal(422, 'idempotency_key was used with another name');
    }
    if (earlier !== undefined) return { status: 201, body: { id: earlier.id, created_at: earlier.createdAt } };
    if (store.find(name) !== undefined) {
      throw new Refusal(422, 'Validation failed: Name has already been taken', 'name_taken');
    }
    const app: AppRecord = {
      id: appId(),
      name,
      network: optionalText(body, 'network') ?? 'default',
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      createdAt: new Date().toISOString(),
      secretsVersion: 0,
      secrets: {},
      machines: [],
      volumes: [],
    };
    store.add(app);
    effects.append('app.create', name, app.id);
    await store.save(app);
    return { status: 201, body: { id: app.id, created_at: app.createdAt } };
  };

  const list = ({ query }: Call): Answer => {
    const apps = query.get('org_slug') === org ? store.apps() : [];
    return { body: { total_apps: apps.length, apps: apps.map((app) => renderApp(app, org)) } };
  };

  const setSecrets = async ({ params, body }: Call): Promise<Answer> => {
    const app = getApp(parts, params['app']);
    const now = new Date().toISOString();
    for (const [name, value] of Object.entries(object(body['values'], 'values'))) {
      if (value === null) delete app.secrets[name];
      else if (typeof value !== 'string') throw invalid(`values.${name} must be a string or null`);
      else app.secrets[name] = { value, digest: digest(value), createdAt: now, updatedAt: now };
    }
    app.secretsVersion += 1;
    app.secretsSetAt = now;
    effects.append('secrets.set', app.name, app.id);
    await store.save(app);
    return { body: { version: app.secretsVersion, secrets: renderSecrets(app) } };
  };

  return {
    'POST /v1/apps': create,
    'GET /v1/apps': list,
    'GET /v1/apps/:app': ({ params }) => ({ body: renderApp(getApp(parts, params['app']), org) }),
    'DELETE /v1/apps/:app': async ({ params }) => {
      await deleteApp(parts, getApp(parts, params['app']));
      return { status: 202 };
    },
    'POST /v1/apps/:app/secrets': setSecrets,
    'GET /v1/apps/:app/secrets': ({ params }) => ({
      body: { secrets: renderSecrets(getApp(parts, params['app'])) },
    }),
  };
}

/** Everything the app owns goes with it. */
async function deleteApp(parts: HostParts, app: AppRecord): Promise<void> {
  const { store, fleet, effects } = parts;
  store.remove(app); // at once, so that nothing can be created in it meanwhile
  effects.append('app.delete', app.name, app.id);
  const machines = fleet.all().filter((machine) => machine.app === app);
  await Promise.all(machines.map((machine) => destroyMachine(machine, { force: true }, effects)));
  for (const volume of app.volumes) {
    if (volume.state !== 'pending_destroy') effects.append('volume.delete', volume.name, volume.id);
    await rm(store.volumePath(volume.id), { recursive: true, force: true });
  }
  for (const { id } of app.machines) await rm(store.machinePath(id), { recursive: true, force: true });
  fleet.forget(app);
  await store.save(app);
}

function renderSecrets(app: AppRecord): Record<string, string>[] {
  return Object.entries(app.secrets).map(([name, secret]) => ({
    name,
    digest: secret.digest,
    created_at: secret.createdAt,
    updated_at: secret.updatedAt,
  }));
}

/** What the API shows of a secret instead of its value. */
function digest(value: string): string {
  return createHash('sha256').update(value).digest('hex').slice(0, 16);
}
