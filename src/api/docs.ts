import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Next, ParameterizedContext } from 'koa';
import { openApi } from '../contract/openapi.js';

const assets: Record<string, string> = {
  'swagger-ui.css': 'text/css',
  'swagger-ui-bundle.js': 'text/javascript',
};

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Agent control plane: API</title>
    <link rel="stylesheet" href="/api/docs/swagger-ui.css">
  </head>
  <body>
    <div id="docs"></div>
    <script src="/api/docs/swagger-ui-bundle.js"></script>
    <script src="/api/docs/start.js"></script>
  </body>
</html>
`;

const start = `SwaggerUIBundle({ url: '/api/openapi.json', dom_id: '#docs', deepLinking: true, displayRequestDuration: true, validatorUrl: null });
`;

/** Everything from here; the browsable page brings inline styles and data images, nothing else. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** `/api/openapi.json`, and `/api/docs` to browse it; every asset is served by us. */
export const serveDocs = (publicUrl: string) => {
  const document = JSON.stringify(openApi(publicUrl));
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  const files = new Map<string, { type: string; body: string | Buffer }>([
    ['/api/openapi.json', { type: 'application/json', body: document }],
    ['/api/docs', { type: 'text/html', body: page }],
    ['/api/docs/start.js', { type: 'text/javascript', body: start }],
    ...Object.entries(assets).map(
      ([name, type]) => [`/api/docs/${name}`, { type, body: readFileSync(join(folder, name)) }] as const,
    ),
  ]);
  return (ctx: ParameterizedContext, next: Next): Promise<void> | void => {
    if (!ctx.path.startsWith('/api/docs') && ctx.path !== '/api/openapi.json') return next();
    const file = ctx.method === 'GET' || ctx.method === 'HEAD' ? files.get(ctx.path.replace(/\/$/, '')) : undefined;
    if (!file) return next();
    ctx.set('Content-Security-Policy', policy);
    ctx.set('Cache-Control', 'no-cache');
    ctx.type = file.type;
    ctx.body = file.body;
  };
};
