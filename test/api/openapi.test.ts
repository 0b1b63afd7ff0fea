import test from 'ava';
import { commonErrors, methodAndPath } from '../../src/contract/endpoint.js';
import { type ErrorCode, errorCodes } from '../../src/contract/errors.js';
import { endpoints } from '../../src/contract/index.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });

interface Parameter {
  name: string;
  in: string;
  required: boolean;
  schema: object;
}
interface Media {
  schema: object;
}
interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security: Record<string, string[]>[];
  parameters: Parameter[];
  requestBody?: { required: boolean; content: Record<string, Media> };
  responses: Record<string, { description: string; content: Record<string, Media> }>;
}
interface Document {
  openapi: string;
  info: { title: string; version: string };
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object>; securitySchemes: Record<string, object> };
}

const read = async (): Promise<Document> => (await (await fetch(`${stack().url}/api/openapi.json`)).json()) as Document;

/** Every value below, with its key. */
const walk = function* (value: unknown): Generator<[string, unknown]> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, item] of Object.entries(value)) {
    yield [key, item];
    yield* walk(item);
  }
};

/** What a JSON pointer (RFC 6901) names; undefined when it names nothing. */
const resolve = (document: unknown, pointer: string): unknown =>
  pointer
    .slice(2)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>(
      (at, part) => (typeof at === 'object' && at !== null ? Reflect.get(at, part) : undefined),
      document,
    );

const operationsOf = ({ paths }: Document): [string, string, Operation][] =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, string, Operation] => [path, method, operation]),
  );

test('the document is OpenAPI 3.1 of this installation', async (t) => {
  const document = await read();
  t.regex(document.openapi, /^3\.1\.\d+$/);
  t.deepEqual(document.servers, [{ url: stack().env['PUBLIC_URL'] ?? '' }]);
  t.truthy(document.info.title);
  t.is(typeof document.info.version, 'string');
});

test('it describes every endpoint of the table, and nothing else', async (t) => {
  const operations = operationsOf(await read());
  t.deepEqual(
    operations.map(([, , operation]) => operation.operationId).toSorted(),
    endpoints.map(({ id }) => id as string).toSorted(),
  );
  for (const [path, method, { operationId, summary, description, tags, responses }] of operations) {
    const endpoint = endpoints.find(({ id }) => id === operationId);
    t.deepEqual(endpoint && methodAndPath(endpoint), [method.toUpperCase(), path.replaceAll(/\{(\w+)\}/g, ':$1')]);
    t.true(
      [summary, description, ...tags].every((text) => text !== ''),
      operationId,
    );
    t.true(
      Object.values(responses).every((response) => response.description !== ''),
      operationId,
    );
  }
});

test('every reference resolves, and every named shape is used', async (t) => {
  const document = await read();
  const references = new Set([...walk(document)].filter(([key]) => key === '$ref').map(([, value]) => String(value)));
  t.true(references.size > 0);
  for (const reference of references) {
    t.true(reference.startsWith('#/'), reference);
    t.is(typeof resolve(document, reference), 'object', reference);
  }
  for (const name of Object.keys(document.components.schemas))
    t.true(references.has(`#/components/schemas/${name}`), name);
  t.false([...walk(document)].some(([key]) => key === '$defs' || key === '$schema'));
});

test('path parameters are those of the path, each declared once and required', async (t) => {
  for (const [path, , { operationId, parameters }] of operationsOf(await read())) {
    const inPath = parameters.filter((parameter) => parameter.in === 'path');
    t.deepEqual(
      inPath.map(({ name }) => name),
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name),
      operationId,
    );
    t.true(
      inPath.every(({ required }) => required),
      operationId,
    );
    const keys = parameters.map((parameter) => `${parameter.in} ${parameter.name}`);
    t.is(new Set(keys).size, keys.length, operationId);
    t.true(
      parameters.every(({ schema }) => typeof schema === 'object'),
      operationId,
    );
  }
});

test('every security scheme that an endpoint asks for is described', async (t) => {
  const document = await read();
  const schemes = Object.keys(document.components.securitySchemes);
  for (const [, , { operationId, security }] of operationsOf(document)) {
    const asked = security.flatMap((one) => Object.keys(one));
    t.true(
      asked.every((name) => schemes.includes(name)),
      operationId,
    );
    t.is(asked.length === 0, endpoints.find(({ id }) => id === operationId)?.auth === 'none', operationId);
  }
});

test('every endpoint tells its answers, its errors and what it takes', async (t) => {
  for (const [, , operation] of operationsOf(await read())) {
    const endpoint = endpoints.find(({ id }) => id === operation.operationId);
    if (!endpoint) continue; // told by another test
    const codes: ErrorCode[] = [...commonErrors(endpoint), ...endpoint.errors];
    for (const status of Object.keys(endpoint.output)) {
      const media = 'events' in endpoint ? 'text/event-stream' : 'application/json';
      t.truthy(operation.responses[status]?.content[media]?.schema, `${endpoint.id} ${status}`);
    }
    for (const code of codes) {
      const response = operation.responses[String(errorCodes[code].status)];
      t.true(response?.description.includes(code), `${endpoint.id} ${code}`);
      t.truthy(response?.content['application/problem+json'], `${endpoint.id} ${code}`);
    }
    const body = 'body' in endpoint.input ? operation.requestBody?.content['application/json']?.schema : undefined;
    t.is(body !== undefined, 'body' in endpoint.input, endpoint.id);
  }
});

test('the page to browse it, and all it needs, comes from here', async (t) => {
  const page = await fetch(`${stack().url}/api/docs`);
  t.is(page.status, 200);
  t.regex(page.headers.get('content-type') ?? '', /^text\/html/);
  const html = await page.text();
  t.notRegex(html, /(?:https?:)?\/\/[a-z0-9]/i, 'no address of anyone else');
  const assets = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path);
  t.deepEqual(assets.map((path) => path.split('.').slice(-1).join()).toSorted(), ['css', 'js', 'js']);
  const types: Record<string, RegExp> = { css: /^text\/css/, js: /^(?:text|application)\/javascript/ };
  for (const path of assets) {
    const asset = await fetch(`${stack().url}${path}`);
    t.is(asset.status, 200, path);
    t.regex(asset.headers.get('content-type') ?? '', types[path.split('.').at(-1) ?? ''] ?? /never/, path);
    t.true((await asset.arrayBuffer()).byteLength > 50, path);
  }
});

test('the page may load nothing from elsewhere and run nothing that stands in it', async (t) => {
  const { headers } = await fetch(`${stack().url}/api/docs/`);
  const policy = headers.get('content-security-policy') ?? '';
  for (const part of ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"])
    t.true(policy.split('; ').includes(part), part);
  t.notRegex(policy, /unsafe-eval|script-src[^;]*unsafe-inline|https?:|\*/);
});
