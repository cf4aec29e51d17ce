import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';

/**
 * The reference as a page: Swagger UI over our own document, served from its package. Nothing of it comes from another address,
 * and the policy lets nothing else run: no inline script or style, no other origin. It shows and does not call: a key has no place
 * in a browser, so there is no "Authorize" either.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>vintem: API reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/reference.js"></script>
</body>
</html>
`;

const scriptOver = (documentPath: string): string => `SwaggerUIBundle({
  url: ${JSON.stringify(documentPath)},
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: false,
  filter: true,
  supportedSubmitMethods: [],
  plugins: [() => ({ wrapComponents: { authorizeBtn: () => () => null, authorizeOperationBtn: () => () => null } })],
  validatorUrl: null,
});
`;

/** What is taken of the package, as it was published: it never changes while we run. */
const files = { 'swagger-ui-bundle.js': 'text/javascript', 'swagger-ui.css': 'text/css' } as const;

export function docsRoutes(app: FastifyInstance, documentPath: string): void {
  const read = new Map<string, Promise<Buffer>>();
  const fileOf = (name: string): Promise<Buffer> => {
    const known = read.get(name);
    if (known) return known;
    const text = readFile(fileURLToPath(import.meta.resolve(`@fastify/swagger-ui/static/${name}`)));
    read.set(name, text);
    text.catch(() => read.delete(name));
    return text;
  };

  app.register(
    async (docs) => {
      docs.addHook('onSend', (_request, reply, payload, done) => {
        reply.header('content-security-policy', policy);
        reply.header('x-content-type-options', 'nosniff');
        reply.header('referrer-policy', 'no-referrer');
        done(null, payload);
      });
      docs.get('/', (_request, reply) => reply.type('text/html; charset=utf-8').send(page));
      docs.get('/reference.js', (_request, reply) =>
        reply.type('text/javascript; charset=utf-8').send(scriptOver(documentPath)),
      );
      for (const [name, type] of Object.entries(files)) {
        docs.get(`/${name}`, async (_request, reply) =>
          reply
            .type(`${type}; charset=utf-8`)
            .header('cache-control', 'public, max-age=3600')
            .send(await fileOf(name)),
        );
      }
    },
    { prefix: '/docs' },
  );
}
