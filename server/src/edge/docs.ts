import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { refuse } from '../ground/errors.ts';

/**
 * The documentation: the site that `site/build.js` makes of `docs/`, with the reference. Nothing of it comes from another address, and the
 * policy lets nothing else run: no inline script or style, no other origin. The reference shows and does not call: a key has no place in a
 * browser.
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

const site = fileURLToPath(new URL('../../../site/dist/', import.meta.url));

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.tgz': 'application/gzip',
};

/** Every file of the site by its address below `/docs/`; none where it was not built. A name that is not in it reaches no disk. */
async function siteFiles(): Promise<Map<string, string>> {
  const names = await readdir(site, { recursive: true }).catch(() => []);
  return new Map(
    names
      .map((name) => name.replaceAll('\\', '/'))
      .filter((name) => extname(name) in types)
      .map((name) => [name.replace(/(^|\/)index\.html$/, '').replace(/\.html$/, ''), name]),
  );
}

/** Large, of a package, and the same until the next update. */
const isOfPackage = (name: string): boolean => name.startsWith('swagger-ui') || name === 'minisearch.js';

export function docsRoutes(app: FastifyInstance): void {
  app.register(
    async (docs) => {
      docs.addHook('onSend', (_request, reply, payload, done) => {
        reply.header('content-security-policy', policy);
        reply.header('x-content-type-options', 'nosniff');
        reply.header('referrer-policy', 'no-referrer');
        done(null, payload);
      });
      let listing: Promise<Map<string, string>> | undefined;
      const serve = async (request: FastifyRequest, reply: FastifyReply) => {
        const [path = ''] = request.url.split('?', 1);
        const address = path.replace(/^\/docs\/?/, '').replace(/\/$/, '');
        listing ??= siteFiles();
        const name = (await listing).get(address);
        if (name === undefined) throw refuse('route_not_found');
        if (isOfPackage(name)) reply.header('cache-control', 'public, max-age=3600');
        return reply.type(types[extname(name)] ?? 'text/plain').send(await readFile(site + name));
      };
      docs.get('/', serve);
      docs.get('/*', serve);
    },
    { prefix: '/docs' },
  );
}
