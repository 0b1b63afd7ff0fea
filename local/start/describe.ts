import { readUsers, usersFile } from '../identity/users.js';
import type { World } from '../world-file.js';
import type { Settings } from './given.js';
import { identityClient, type Ground } from './stand-ins.js';

/** The world as world.json tells it: where everything is, who can sign in, and the keys that outsiders would hold. */
export async function describeWorld(ground: Ground, settings: Settings): Promise<World> {
  const { folder, given, ports, secrets, apiUrl } = ground;
  const hasIdentity = !given['OIDC_ISSUER'];
  const hasHost = !given['HOST_API_URL'];
  const client = identityClient(ground);
  const users = hasIdentity ? await readUsers(usersFile(folder.path('identity'))) : [];
  return {
    apiUrl,
    temporalAddress: settings['TEMPORAL_ADDRESS'] ?? '',
    temporalUiUrl: settings['TEMPORAL_UI_URL'] ?? null,
    identityUrl: settings['OIDC_ISSUER'] ?? '',
    hostUrl: hasHost ? `http://127.0.0.1:${ports.host}` : null,
    billerUrl: null,
    messengerAUrl: null,
    llmUrl: null,
    searchUrl: null,
    databaseUrl: settings['DATABASE_URL'] ?? '',
    users: users.map(({ email, password, role }) => ({ email, password, role })),
    keys: {
      hostToken: hasHost ? secrets.hostToken : null,
      hostOrg: settings['HOST_ORG'] ?? null,
      machineImage: settings['MACHINE_IMAGE'] ?? null,
      billerKey: null,
      billerWebhookSecret: null,
      oidcClientId: hasIdentity ? client.clientId : null,
      oidcAudience: settings['OIDC_AUDIENCE'] ?? '',
      oidcRedirectUri: hasIdentity ? client.redirectUri : null,
      botTokens: [],
    },
  };
}

/** The table a person sees at the end of a start. */
export function tableOf(world: World, logs: string): string {
  const rows: [string, string | null][] = [
    ['API', world.apiUrl],
    ['API documentation', `${world.apiUrl}/api/docs`],
    ['Temporal UI', world.temporalUiUrl],
    ['Identity provider', world.identityUrl],
    ['Host stand-in', world.hostUrl],
    ['Temporal', world.temporalAddress],
    ['Logs', logs],
  ];
  const places = rows.flatMap(([what, where]) => (where ? [`  ${what.padEnd(20)}${where}`] : []));
  const people = world.users.map(
    ({ email, password, role }) => `  ${email.padEnd(20)}${password}${role === 'operator' ? '  (operator)' : ''}`,
  );
  return ['', ...places, '', ...people, ''].join('\n');
}
