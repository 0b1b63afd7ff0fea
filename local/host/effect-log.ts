import { appendFileSync, readFileSync, truncateSync } from 'node:fs';

/** One thing that really happened at a stand-in; `key` is its name, `id` the resource's. */
export interface Effect {
  seq: number;
  at: string;
  action: string;
  key: string;
  id: string;
}

export interface EffectLog {
  /** Written before it returns, so that no answer can overtake its effect. */
  append(action: string, key: string, id: string): void;
  all(): Effect[];
}

/** Opens the append-only NDJSON file; a last line torn by a crash is cut off. */
export function openEffectLog(path: string): EffectLog {
  const effects = readEffects(path);
  return {
    append(action, key, id) {
      const at = new Date().toISOString();
      const effect = { seq: (effects.at(-1)?.seq ?? 0) + 1, at, action, key, id };
      appendFileSync(path, `${JSON.stringify(effect)}\n`);
      effects.push(effect);
    },
    all: () => effects.map((effect) => ({ ...effect })),
  };
}

function readEffects(path: string): Effect[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  if (whole.length < text.length) truncateSync(path, Buffer.byteLength(whole));
  return whole
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Effect); // written by append above
}
