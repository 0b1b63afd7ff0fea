import { ApiError } from '../../contract/errors.js';
import type { KeyRing } from '../../models/key-ring.js';
import { type Sealed, seal } from '../../models/sealed.js';

type Channels = Record<string, unknown>;

/** Keys that the service owns: a client that sends back what it read changes nothing by it. */
const serverOwned = ['connected', 'connectedAt', 'hasBotToken'];

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const mergeByKey = (old: Record<string, unknown>, changes: Record<string, unknown>): Record<string, unknown> => {
  const merged = new Map(Object.entries(old));
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) merged.delete(key);
    else {
      const before = merged.get(key);
      merged.set(key, isRecord(value) ? mergeByKey(isRecord(before) ? before : {}, value) : value);
    }
  }
  return Object.fromEntries(merged);
};

/**
 * Takes what must not be stored as it came out of the channels a client sent: server-owned keys are dropped, the messengerA
 * bot token is sealed for its own column. `undefined` = no token was sent, `null` = it is to be removed.
 */
export const takeBotToken = (
  keys: KeyRing,
  agentId: string,
  sent: Channels,
): { channels: Channels; sealedBotToken: Sealed | null | undefined } => {
  const channels = Object.fromEntries(
    Object.entries(sent).map(([channel, settings]) => [
      channel,
      isRecord(settings)
        ? Object.fromEntries(Object.entries(settings).filter(([key]) => !serverOwned.includes(key)))
        : settings,
    ]),
  );
  if (channels['messengerA'] === null) return { channels, sealedBotToken: null };
  const messengerA = channels['messengerA'];
  if (!isRecord(messengerA) || !('botToken' in messengerA)) return { channels, sealedBotToken: undefined };
  const { botToken, ...rest } = messengerA;
  channels['messengerA'] = rest;
  if (botToken === null) return { channels, sealedBotToken: null };
  if (typeof botToken !== 'string' || botToken === '' || botToken.length > 256)
    throw new ApiError('invalid_request', 'The bot token is not valid.', {
      errors: [{ pointer: '/channels/messengerA/botToken', message: 'must be a string of 1 to 256 characters' }],
    });
  return { channels, sealedBotToken: seal(keys, `agents.sealed_bot_token:${agentId}`, botToken) };
};
