import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { compressed, takesBrotli, variesByEncoding } from '../../edge/compress.ts';
import { refuse } from '../../ground/errors.ts';
import type { Ids } from '../../ports/ids.ts';

/**
 * The panel's pages. `npm ci` builds them into `panel/dist`; where that did not happen (scripts were not allowed to run, or a
 * source was edited since) the first visit builds them, while the API works already. Files with a hash in their name
 * stay for a year, the page itself is asked for anew.
 */
const folder = fileURLToPath(new URL('../../../../panel/', import.meta.url));
const dist = `${folder}dist/`;

interface Asset {
  type: string;
  plain: Buffer;
  brotli: Buffer | null;
}

/** Made by the build. */
interface Site {
  files: Map<string, Asset>;
  preloads: Preloads;
}

/** By what an address begins with, the first that fits: the files of its page beside the program. */
type Preloads = readonly (readonly [string, readonly string[]])[];

/** So that the browser reads them beside the program, and not when the program asks for them. */
const linksFor = (preloads: Preloads, pathname: string): string => {
  const [, files = []] = preloads.find(([beginning]) => pathname.startsWith(beginning)) ?? [];
  const links = files.map((file) =>
    file.endsWith('.css')
      ? `    <link rel="preload" as="style" crossorigin href="${file}" />\n`
      : `    <link rel="modulepreload" href="${file}" />\n`,
  );
  return links.join('');
};

/** Pages that ask for no session of an account. */
const withoutSession =
  /^\/(?:operator|entrar|senha|nova-senha|novo-email|cancelar-email|convite|mailbox)(?:\/|$)/;

/** The first call of every other page, so that the browser makes it beside the program. Without a session it would be refused. */
const sessionFor = ({ headers }: FastifyRequest, pathname: string): string =>
  /session_token=./.test(headers.cookie ?? '') && !withoutSession.test(pathname)
    ? '    <link rel="preload" as="fetch" crossorigin href="/panel/api/session" />\n'
    : '';

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webmanifest': 'application/manifest+json',
  '.txt': 'text/plain; charset=utf-8',
};

/** Everything that a page may load is ours; styles that a component makes at run time carry the page's nonce. */
const policyOf = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "font-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');

export function pageRoutes(app: FastifyInstance, deps: { ids: Ids }): void {
  let loading: Promise<Site> | undefined;
  const assets = (): Promise<Site> => {
    loading ??= build()
      .then(load)
      .catch((error: unknown) => {
        loading = undefined;
        throw error;
      });
    return loading;
  };
  app.get('/*', async (request, reply) => {
    // Not `new URL`: of `//` it makes an empty host and throws.
    const [pathname = '/'] = request.url.split('?', 1);
    if (/^\/(?:api|hooks|panel|pay)\//.test(pathname)) throw refuse('route_not_found');
    const { files, preloads } = await assets();
    const asset = files.get(pathname.slice(1));
    if (asset && pathname !== '/index.html')
      return send(request, reply, asset, pathname.startsWith('/assets/'));
    if (extname(pathname) !== '') throw refuse('route_not_found');
    const links = sessionFor(request, pathname) + linksFor(preloads, pathname);
    return sendPage(request, reply, files.get('index.html') as Asset, links);
  });

  function secure(reply: FastifyReply, policy: string): void {
    reply
      .header('content-security-policy', policy)
      .header('x-content-type-options', 'nosniff')
      .header('x-frame-options', 'DENY')
      .header('referrer-policy', 'same-origin')
      .header('cross-origin-opener-policy', 'same-origin')
      .header('cross-origin-resource-policy', 'same-origin')
      .header('permissions-policy', 'camera=(), geolocation=(), microphone=(), payment=()');
  }

  function sendPage(request: FastifyRequest, reply: FastifyReply, page: Asset, links: string): FastifyReply {
    const nonce = deps.ids.bytes(16).toString('base64');
    secure(reply, policyOf(nonce));
    const html = page.plain
      .toString()
      .replaceAll('{{nonce}}', nonce)
      .replace('  </head>', `${links}  </head>`);
    return reply.type(page.type).send(compressed(request, reply, html));
  }

  function send(request: FastifyRequest, reply: FastifyReply, asset: Asset, hashed: boolean): FastifyReply {
    secure(reply, policyOf('none'));
    reply.header('cache-control', hashed ? 'public, max-age=31536000, immutable' : 'no-cache');
    if (asset.brotli) variesByEncoding(reply);
    if (asset.brotli && takesBrotli(request))
      return reply.header('content-encoding', 'br').type(asset.type).send(asset.brotli);
    return reply.type(asset.type).send(asset.plain);
  }
}

/** Nothing where the sources are those that were built. In a process of its own: bundling takes a core for seconds. */
const build = (): Promise<void> =>
  new Promise((resolve, reject) => {
    const script = `${folder}build.js`;
    // An image holds the built pages alone.
    if (!existsSync(script)) return resolve();
    execFile(
      process.execPath,
      [script],
      { timeout: 120_000, maxBuffer: 16 * 1024 * 1024 },
      (error, _out, text) => {
        if (error) reject(new Error(`building the panel failed: ${text.slice(-2000)}`, { cause: error }));
        else resolve();
      },
    );
  });

async function load(): Promise<Site> {
  const entries = await readdir(dist, { recursive: true, withFileTypes: true });
  const files = new Map<string, Asset>();
  for (const entry of entries) {
    if (!entry.isFile() || entry.name.endsWith('.br') || entry.name.startsWith('.')) continue;
    const path = `${entry.parentPath}/${entry.name}`.replaceAll('//', '/');
    const brotli = await readFile(`${path}.br`).catch(() => null);
    const type = types[extname(entry.name)] ?? 'application/octet-stream';
    files.set(path.slice(dist.length), { type, plain: await readFile(path), brotli });
  }
  const preloads: Preloads = JSON.parse(await readFile(`${dist}.preloads.json`, 'utf8'));
  return { files, preloads };
}
