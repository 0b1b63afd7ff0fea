import { z } from 'zod';
import { type Auth, commonErrors, type EndpointRecord, methodAndPath } from './endpoint.js';
import { errorCodes } from './errors.js';
import { endpoints } from './index.js';
import { Problem } from './shapes/problem.js';

type Json = Record<string, unknown>;

const schemes: Record<Exclude<Auth, 'none'>, string> = {
  user: 'user',
  operator: 'user',
  runtime: 'runtime',
  gateway: 'gateway',
};

/** JSON Schema of a shape; the named shapes (Agent, Job, …) are referred to, not repeated. */
const schemaOf = (schema: z.ZodType, io: 'input' | 'output', components: Json): Json => {
  const { $schema: _, $defs = {}, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any', reused: 'inline' });
  for (const [name, definition] of Object.entries($defs)) components[name] ??= withComponentRefs(definition);
  return withComponentRefs(rest) as Json; // an object stays one
};

/** `#/$defs/X` → `#/components/schemas/X`. */
const withComponentRefs = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll('"#/$defs/', '"#/components/schemas/')) as unknown;

const parametersOf = (schema: z.ZodObject | undefined, where: 'path' | 'query', components: Json): Json[] =>
  Object.entries(schema?.shape ?? {}).map(([name, shape]) => {
    const { description, ...definition } = schemaOf(shape as z.ZodType, 'input', components);
    const isOptional = (shape as z.ZodType).safeParse(undefined).success;
    return { name, in: where, required: !isOptional, ...(description ? { description } : {}), schema: definition };
  });

/** Error answers of an endpoint, one a status, each with the codes it may carry. */
const problemsOf = (endpoint: EndpointRecord): Json => {
  const byStatus = new Map<number, string[]>();
  for (const code of new Set([...commonErrors(endpoint), ...endpoint.errors])) {
    const { status } = errorCodes[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      String(status),
      {
        description: `\`code\`: ${codes.join(', ')}`,
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    ]),
  );
};

const prefer = {
  name: 'Prefer',
  in: 'header',
  required: false,
  description: '`wait=N`: hold the answer until the job ends or N seconds (60 at most) have passed (RFC 7240).',
  schema: { type: 'string', examples: ['wait=30'] },
};

const describe = (endpoint: EndpointRecord, components: Json): Json => ({
  operationId: endpoint.id,
  summary: endpoint.title,
  description: endpoint.about,
  tags: [endpoint.id.split('.')[0]],
  security: endpoint.auth === 'none' ? [] : [{ [schemes[endpoint.auth]]: endpoint.scope ? [endpoint.scope] : [] }],
  parameters: [
    ...parametersOf(endpoint.input.params, 'path', components),
    ...parametersOf(endpoint.input.query, 'query', components),
    ...(endpoint.job !== undefined || endpoint.waits ? [prefer] : []),
  ],
  ...(endpoint.input.body
    ? {
        requestBody: {
          required: !endpoint.input.body.safeParse(undefined).success,
          content: { 'application/json': { schema: schemaOf(endpoint.input.body, 'input', components) } },
        },
      }
    : {}),
  responses: {
    ...Object.fromEntries(
      Object.entries(endpoint.output).map(([status, schema]) => [
        status,
        {
          description: status === '202' ? 'Accepted; the job does the rest.' : 'Done.',
          content: {
            [endpoint.events ? 'text/event-stream' : 'application/json']: {
              schema: schemaOf(schema, 'output', components),
            },
          },
        },
      ]),
    ),
    ...problemsOf(endpoint),
  },
  'x-effect': endpoint.effect,
  ...(endpoint.job === undefined ? {} : { 'x-job': endpoint.job }),
});

/** The OpenAPI 3.1 document of the table. */
export const openApi = (publicUrl: string): Json => {
  const components: Json = {};
  components['Problem'] = schemaOf(Problem, 'output', components);
  const paths: Record<string, Json> = {};
  for (const endpoint of endpoints) {
    const [method, path] = methodAndPath(endpoint);
    const template = path.replaceAll(/:(\w+)/g, '{$1}');
    (paths[template] ??= {})[method.toLowerCase()] = describe(endpoint, components);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Agent control plane',
      version: '1',
      description:
        'Hosted AI agents: a machine for each, started, stopped and governed. Long work answers 202 with a job; errors are problem+json (RFC 9457) with a stable `code`.',
    },
    servers: [{ url: publicUrl }],
    paths,
    components: {
      schemas: components,
      securitySchemes: {
        user: { type: 'http', scheme: 'bearer', description: 'Access token of the identity provider.' },
        runtime: { type: 'http', scheme: 'bearer', description: 'Access token of a runtime (bootstrap exchange).' },
        gateway: { type: 'apiKey', in: 'header', name: 'x-api-key', description: "An agent's gateway token." },
      },
    },
  };
};
