import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliDecompressSync } from 'node:zlib';
import { base, type Edge, openEdge } from '@vintem/testkit/edge.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** The pages of the documentation and their reference: under a policy that lets nothing else in. */

let edge: Edge;
let address: string;

const run = promisify(execFile);
const root = new URL('../../../', import.meta.url);

beforeAll(async () => {
  await run(process.execPath, [fileURLToPath(new URL('site/build.js', root))]);
  edge = await openEdge();
  address = await edge.app.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(() => edge?.close());

test('the page needs no key, runs no inline script and names no outside address', async () => {
  for (const url of [
    '/docs',
    '/docs/',
    '/docs/merchants/guide',
    '/docs/site.js',
    '/docs/site.css',
    '/docs/minisearch.js',
    '/docs/search.json',
    '/docs/reference',
    '/docs/reference/charges',
    '/docs/pt/reference',
    '/docs/pt/reference/charges',
  ]) {
    const answer = await edge.app.inject({ url });
    expect([url, answer.statusCode]).toEqual([url, 200]);
    const policy = String(answer.headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
  }
  const page = (await edge.app.inject({ url: '/docs/reference/charges' })).body;
  expect(page).not.toMatch(/(?:href|src)="https?:/);
  expect(page).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\son\w+=/);
});

test('what a page names by its content is kept for a year, and each text is compressed for a browser that takes it', async () => {
  const page = await edge.app.inject({ url: '/docs/reference', headers: { 'accept-encoding': 'gzip, br' } });
  const html = brotliDecompressSync(page.rawPayload).toString();
  expect(html).toBe((await edge.app.inject({ url: '/docs/reference' })).body);
  expect(page.headers['cache-control']).toBe('no-store');
  const named = [...html.matchAll(/(?:href|src|data-search)="(\/docs\/[^"?]+\?v=[0-9a-f]{12})"/g)].map(
    ([, url = '']) => url,
  );
  expect(named.map((url) => url.split('?')[0])).toEqual([
    '/docs/site.css',
    '/docs/site.js',
    '/docs/minisearch.js',
  ]);
  for (const url of [...named, `${base}/openapi.json`]) {
    const plain = await edge.app.inject({ url });
    const small = await edge.app.inject({ url, headers: { 'accept-encoding': 'br' } });
    expect([url, plain.headers['content-encoding'], small.headers['content-encoding']]).toEqual([
      url,
      undefined,
      'br',
    ]);
    for (const { headers } of [plain, small]) expect(headers.vary).toBe('accept-encoding');
    expect(brotliDecompressSync(small.rawPayload).equals(plain.rawPayload)).toBe(true);
    if (url !== `${base}/openapi.json`)
      expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable');
  }
});

test('the Markdown of a page and the list of all pages are served as such, kept no longer than a page, and every address of the list answers', async () => {
  const page = await edge.app.inject({ url: '/docs/merchants/guide' });
  const markdown = await edge.app.inject({ url: '/docs/merchants/pt/guide.md' });
  expect(markdown.headers['content-type']).toBe('text/markdown; charset=utf-8');
  expect(markdown.body).toMatch(/^# Guia do lojista$/m);
  const list = await edge.app.inject({ url: '/llms.txt' });
  expect(list.headers['content-type']).toBe('text/plain; charset=utf-8');
  for (const { headers } of [markdown, list])
    for (const name of ['cache-control', 'content-security-policy', 'x-content-type-options', 'vary'])
      expect([name, headers[name]]).toEqual([name, page.headers[name]]);
  const { publicUrl } = edge.parts.config;
  const addresses = [...list.body.matchAll(/\]\(([^()]+)\)/g)].map(([, address = '']) => address);
  expect(addresses.length).toBeGreaterThan(60);
  for (const address of [...addresses, `${publicUrl}${base}/openapi.json`]) {
    expect(list.body).toContain(address);
    expect(address).toMatch(new RegExp(`^${publicUrl}/`));
    const answer = await edge.app.inject({ url: address.slice(publicUrl.length) });
    expect([address, answer.statusCode]).toEqual([address, 200]);
  }
});

test('a page that names the service has its address already, as a page for people, in each encoding, and as Markdown', async () => {
  const { publicUrl } = edge.parts.config;
  for (const url of [
    '/docs/merchants/guide',
    '/docs/merchants/pt/guide',
    '/docs/merchants/quickstart.md',
    '/docs/reference.md',
  ]) {
    const plain = await edge.app.inject({ url });
    const small = await edge.app.inject({ url, headers: { 'accept-encoding': 'br' } });
    expect([url, brotliDecompressSync(small.rawPayload).toString()]).toEqual([url, plain.body]);
    expect(plain.body).not.toMatch(/(?:YOUR|SEU)-HOST/);
    expect(plain.body).toContain(publicUrl);
  }
});

test.each([
  ['/docs', 'en'],
  ['/docs/merchants/guide', 'en'],
  ['/docs/pt', 'pt-BR'],
  ['/docs/merchants/pt/guide', 'pt-BR'],
  ['/docs/merchants/pt/guide.md', 'pt-BR'],
  ['/docs/pt/reference/charges', 'pt-BR'],
])('%s says that it is in %s, whatever language its reader asks for', async (url, language) => {
  for (const asked of ['pt-BR', 'en']) {
    const { headers } = await edge.app.inject({ url, headers: { 'accept-language': asked } });
    expect(headers['content-language']).toBe(language);
  }
});

test('a new project installs the SDK from beside the pages, as the quick start says', async () => {
  const page = await readFile(new URL('docs/merchants/quickstart.md', root), 'utf8');
  const [, path] = /^npm install "\$VINTEM_URL(\/docs\/\S+)"$/m.exec(page) ?? [];
  const project = await mkdtemp(join(tmpdir(), 'vintem-new-project-'));
  try {
    await run('npm', ['install', '--no-audit', '--no-fund', `${address}${path}`], { cwd: project });
    const program =
      "import { Vintem } from '@vintem/sdk'; console.log(typeof new Vintem({ apiKey: 'k', baseUrl: 'http://127.0.0.1' }).charges.create);";
    await writeFile(join(project, 'main.mjs'), program);
    expect((await run(process.execPath, ['main.mjs'], { cwd: project })).stdout).toBe('function\n');
  } finally {
    await rm(project, { recursive: true, force: true });
  }
  const { version } = JSON.parse(await readFile(new URL('cli/package.json', root), 'utf8'));
  expect(path).toBe(`/docs/vintem-sdk-${version}.tgz`);
  const cli = await edge.app.inject({ url: `/docs/vintem-cli-${version}.tgz` });
  expect([cli.statusCode, cli.headers['content-type']]).toEqual([200, 'application/gzip']);
});

test('a path below /docs reaches the pages of the site and no other file', async () => {
  for (const path of [
    '../package.json',
    '%2e%2e/package.json',
    '..%2fpackage.json',
    'build.js',
    '.built',
    'nothing',
  ])
    expect([path, (await edge.app.inject({ url: `/docs/${path}` })).statusCode]).toEqual([path, 404]);
});
