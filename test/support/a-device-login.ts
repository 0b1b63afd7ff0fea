import { ACaller, type Reply } from './a-caller.js';
import type { Stack } from './a-stack.js';

export interface StartedLogin {
  deviceCode: string;
  userCode: string;
}

/** What a device does to be let in. Throws when it is refused. */
export const startLogin = async (at: ACaller, body: Record<string, unknown> = {}): Promise<StartedLogin> => {
  const reply = await at.call('auth.device.start', {}, { body });
  if (reply.status !== 200) throw new Error(`the start answered ${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body as StartedLogin;
};

export const poll = (at: ACaller, { deviceCode }: StartedLogin): Promise<Reply> =>
  at.call('auth.device.poll', {}, { body: { deviceCode } });

export const approve = (
  by: ACaller,
  { userCode }: StartedLogin,
  fields: Record<string, unknown> = {},
): Promise<Reply> => by.call('auth.device.approve', {}, { body: { userCode, ...fields } });

export interface SignedIn {
  /** Calls with the access token. */
  device: ACaller;
  accessToken: string;
  refreshToken: string;
  userId: string;
}

/** A device that a person has let in; its access token has not been used yet. */
export const signIn = async (
  { url, nobody }: Pick<Stack, 'url' | 'nobody'>,
  person: ACaller,
  fields: Record<string, unknown> = {},
): Promise<SignedIn> => {
  const login = await startLogin(nobody(), fields);
  const approved = await approve(person, login);
  const { body } = await poll(nobody(), login);
  if (body.status !== 'authorized') throw new Error(`not let in: ${JSON.stringify([approved.body, body])}`);
  const { accessToken, refreshToken, userId } = body as SignedIn;
  return { device: new ACaller(url, accessToken), accessToken, refreshToken, userId };
};

/** A named token of the person. Throws when it is refused. */
export const aNamedToken = async (
  { url }: Pick<Stack, 'url'>,
  person: ACaller,
  scopes: string[] = ['*'],
): Promise<{ caller: ACaller; token: string; sessionId: string }> => {
  const body = { name: 'a token', scopes, expiresInDays: 1 };
  const reply = await person.call('auth.tokens.create', {}, { body });
  if (reply.status !== 201) throw new Error(`no token: ${reply.status} ${JSON.stringify(reply.body)}`);
  const { token, session } = reply.body as { token: string; session: { id: string } };
  return { caller: new ACaller(url, token), token, sessionId: session.id };
};

export const refresh = (at: ACaller, refreshToken: string): Promise<Reply> =>
  at.call('auth.refresh', {}, { body: { refreshToken } });
