import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { refuse } from '../ground/errors.ts';
import { keptText, takesBrotli, variesByEncoding } from './compress.ts';

/**
 * The documentation: the site that `site/build.js` makes of `docs/`, with the reference. Nothing of it comes from another address, and the
 * policy lets nothing else run: no inline script or style, no other origin. The reference shows and does not call. No page that is sent has a
 * key: a cache could show it to others, and the service knows a key by its hash alone. A reader may paste a test key, which stays in the tab.
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
  '.md': 'text/markdown; charset=utf-8',
  '.png': 'image/png',
  '.tgz': 'application/gzip',
};

interface SiteFiles {
  /** The names of all files by their addresses below `/docs/`. */
  byAddress: ReadonlyMap<string, string>;
  /** Those that the build has compressed as well. */
  compressed: ReadonlySet<string>;
}

/** None where the site was not built. A name that is not among them reaches no disk. */
async function siteFiles(): Promise<SiteFiles> {
  const found = await readdir(site, { recursive: true }).catch(() => []);
  const names = found.map((name) => name.replaceAll('\\', '/'));
  return {
    byAddress: new Map(
      names
        .filter((name) => extname(name) in types)
        .map((name) => [name.replace(/(^|\/)index\.html$/, '').replace(/\.html$/, ''), name]),
    ),
    compressed: new Set(names.filter((name) => name.endsWith('.br')).map((name) => name.slice(0, -3))),
  };
}

/** Pages name these with a hash of what is in them. */
const isNamedByContent = (url: string): boolean => /\?v=[0-9a-f]+$/.test(url);

export function docsRoutes(app: FastifyInstance, publicUrl: string): void {
  app.register(async (docs) => {
    docs.addHook('onSend', (_request, reply, payload, done) => {
      reply.header('content-security-policy', policy);
      reply.header('x-content-type-options', 'nosniff');
      reply.header('referrer-policy', 'no-referrer');
      done(null, payload);
    });
    let listing: Promise<SiteFiles> | undefined;
    const written = pagesWithAddress(publicUrl);
    const serve = async (request: FastifyRequest, reply: FastifyReply) => {
      const [path = ''] = request.url.split('?', 1);
      const address = path.replace(/^\/docs\/?/, '').replace(/\/$/, '');
      listing ??= siteFiles();
      const listed = await listing;
      const name = listed.byAddress.get(address);
      if (name === undefined) throw refuse('route_not_found');
      if (isNamedByContent(request.url)) reply.header('cache-control', 'public, max-age=31536000, immutable');
      reply.type(types[extname(name)] ?? 'text/plain');
      // Of the page, whatever language its reader asks for.
      if (/\.(?:html|md)$/.test(name)) reply.header('content-language', isPortuguese(name) ? 'pt-BR' : 'en');
      const page = await written(name);
      if (page) return reply.send(await page(request, reply));
      if (!listed.compressed.has(name)) return reply.send(await readFile(site + name));
      variesByEncoding(reply);
      if (!takesBrotli(request)) return reply.send(await readFile(site + name));
      return reply.header('content-encoding', 'br').send(await readFile(`${site}${name}.br`));
    };
    docs.get('/docs', serve);
    docs.get('/docs/*', serve);
    let pages: ReturnType<typeof keptText> | undefined;
    docs.get('/llms.txt', async (request, reply) => {
      pages ??= keptText(await pagesOf(publicUrl));
      reply.type('text/plain; charset=utf-8');
      return reply.send(await pages(request, reply));
    });
  });
}

/**
 * Pages that name the service: they are sent with its own address, so that a block works as it is copied, out of the Markdown as well. Rejected: a script of
 * the page alone, which moves what stands below a line that became longer.
 * @returns by the name of a file; undefined for one that names no service
 */
function pagesWithAddress(publicUrl: string) {
  const kept = new Map<string, Promise<ReturnType<typeof keptText> | undefined>>();
  const read = async (name: string) => {
    const text = await readFile(site + name, 'utf8');
    const own = text
      .replaceAll(/https:\/\/(?:YOUR|SEU)-HOST/g, publicUrl)
      .replaceAll('VINTEM_URL=http://127.0.0.1:3000', `VINTEM_URL=${publicUrl}`);
    return own === text ? undefined : keptText(own);
  };
  return async (name: string) => {
    if (!/\.(?:html|md)$/.test(name)) return undefined;
    const known = kept.get(name);
    if (known) return known;
    const page = read(name);
    kept.set(name, page);
    // Read again by the next visitor.
    page.catch(() => kept.delete(name));
    return page;
  };
}

/** `pt.html`, `merchants/pt/guide.md` */
const isPortuguese = (name: string): boolean => /(?:^|\/)pt[./]/.test(name);

/** The list of all pages (llmstxt.org), with whole addresses: what reads it may have got it from another place. */
async function pagesOf(publicUrl: string): Promise<string> {
  const text = await readFile(`${site}llms.txt`, 'utf8').catch(() => null);
  if (text === null) throw refuse('route_not_found');
  return text.replaceAll(/(?<=[( ])\/(?=docs\/|api\/)/g, `${publicUrl}/`);
}
