import type { z } from 'zod';
import { settings } from './config.js';

/** Read by docker-compose.yml alone; the product itself never sees it. */
const composeOnly = `# --- docker compose only ---

# Password of the PostgreSQL that docker compose runs; letters and digits, it becomes part of an address
POSTGRES_PASSWORD=
`;

const head = `# Settings of the agent control plane. Generated from src/config.ts:
#   node dist/src/cli/main.js admin env-example > .env.example
# Copy this file to .env and fill in what you need. A setting without a value counts as not set. One behind a # is
# optional: what stands there is its default. \`npm start\` needs none of it: it runs a stand-in for what is not set.
`;

/** A default as it would be written in the environment. */
const written = (value: unknown): string => {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  return Array.isArray(value) ? value.join(',') : String(value);
};

const entry = (name: string, schema: z.ZodType): string => {
  const absent = schema.safeParse(undefined);
  const line = !absent.success ? `${name}=` : `#${name}=${absent.data === undefined ? '' : written(absent.data)}`;
  return `# ${schema.description ?? ''}\n${line}\n`;
};

/** The text of `.env.example`: every setting once, with what it is for. Those that must be set stand without a `#`. */
export const envExample = (): string => {
  const told = new Set<string>();
  const parts = Object.entries(settings).map(([group, schemas]) => {
    const fresh = Object.entries<z.ZodType>(schemas).filter(([name]) => !told.has(name));
    for (const [name] of fresh) told.add(name);
    const title = group === 'common' ? 'every process' : group;
    return [`# --- ${title} ---\n`, ...fresh.map(([name, schema]) => entry(name, schema))].join('\n');
  });
  return [head, ...parts, composeOnly].join('\n');
};
