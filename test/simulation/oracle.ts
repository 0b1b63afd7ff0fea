import type { Effect } from '../../local/host/effect-log.js';
import { appNameOf, volumeNameOf } from '../support/host-side.js';

export interface Case {
  agentId: string;
  /** When the deletion's job had ended, in milliseconds. */
  deletedAt?: number | undefined;
  /** The host was made to create a volume twice: for a while there may be two. */
  volumeTwice: boolean;
}

export const effectsOf = (effects: readonly Effect[], agentId: string): Effect[] => {
  const names = [appNameOf(agentId), volumeNameOf(agentId)];
  return effects.filter(({ key }) => names.includes(key));
};

const nouns = ['app', 'volume', 'machine'] as const;
type Noun = (typeof nouns)[number];
const verbsOfLife = ['create', 'start', 'update', 'set'];

/** What the host really did for an agent must never have been too much, nor too late. */
export const judge = (effects: readonly Effect[], { agentId, deletedAt, volumeTwice }: Case): string[] => {
  const wrong: string[] = [];
  const alive: Record<Noun, Set<string>> = { app: new Set(), volume: new Set(), machine: new Set() };
  for (const { action, id, at, seq } of effectsOf(effects, agentId)) {
    const [noun = '', verb = ''] = action.split('.');
    if (deletedAt !== undefined && Date.parse(at) > deletedAt && verbsOfLife.includes(verb))
      wrong.push(`resurrection: ${action} of ${agentId} after its deletion (effect ${seq})`);
    const kind = nouns.find((one) => one === noun);
    if (!kind) continue;
    if (verb === 'create') {
      alive[kind].add(id);
      const most = kind === 'volume' && volumeTwice ? 2 : 1;
      if (alive[kind].size > most)
        wrong.push(`duplicate: ${alive[kind].size} ${kind}s of ${agentId} at once (effect ${seq})`);
    }
    if (verb === 'delete') alive[kind].delete(id);
    if (action === 'app.delete') for (const set of [alive.volume, alive.machine]) set.clear();
  }
  if (deletedAt !== undefined)
    for (const noun of nouns)
      if (alive[noun].size > 0) wrong.push(`orphan: ${noun} ${[...alive[noun]].join(', ')} of ${agentId} is left`);
  return wrong;
};
