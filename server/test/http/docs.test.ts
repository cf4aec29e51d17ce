import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { AxeBuilder } from '@axe-core/playwright';
import { openBrowser } from '@vintem/testkit/browser.ts';
import { base, type Edge, openEdge } from '@vintem/testkit/edge.ts';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** The reference page: from its package, under a policy that lets nothing else in. */

let edge: Edge;
let address: string;
let browser: Browser;

const run = promisify(execFile);
const root = new URL('../../../', import.meta.url);

beforeAll(async () => {
  await run(process.execPath, [fileURLToPath(new URL('site/build.js', root))]);
  edge = await openEdge();
  address = await edge.app.listen({ port: 0, host: '127.0.0.1' });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await edge?.close();
});

test('the page needs no key, runs no inline script and names no outside address', async () => {
  for (const url of [
    '/docs',
    '/docs/',
    '/docs/merchants/guide',
    '/docs/site.js',
    '/docs/frame.css',
    '/docs/minisearch.js',
    '/docs/search.json',
    '/docs/reference',
    '/docs/reference.js',
    '/docs/swagger-ui-bundle.js',
    '/docs/swagger-ui.css',
  ]) {
    const answer = await edge.app.inject({ url });
    expect([url, answer.statusCode]).toEqual([url, 200]);
    const policy = String(answer.headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
  }
  const page = (await edge.app.inject({ url: '/docs/reference' })).body;
  expect(page).not.toMatch(/https?:\/\//);
  expect(page).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\son\w+=/);
  const bundle = await edge.app.inject({ url: '/docs/swagger-ui-bundle.js' });
  expect(bundle.headers['cache-control']).toBe('public, max-age=3600');
  const script = (await edge.app.inject({ url: '/docs/reference.js' })).body;
  expect(script).not.toMatch(/https?:\/\//);
});

test('a browser shows every call and event, sends no request to another host, and breaks no rule of the policy', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const asked: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.goto(`${address}/docs/reference`);
  await page.waitForSelector('.opblock-summary-path');
  const background = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
  const dark = await background();
  await page.emulateMedia({ colorScheme: 'light' });
  await page.waitForSelector('html:not(.dark-mode)');
  expect(await background()).not.toBe(dark);
  const shown = await page.$$eval('[data-path]', (found) =>
    found.map((one) => one.getAttribute('data-path')),
  );
  const { paths, webhooks } = (await edge.app.inject({ url: `${base}/openapi.json` })).json();
  for (const path of Object.keys(paths)) expect(shown).toContain(path);
  const text = await page.innerText('body');
  for (const type of Object.keys(webhooks)) expect(text).toContain(type);
  await page.click('[data-path="/pix/transfers"]');
  await page.click('#operations-Payments-getPayments [data-path]');
  await page.waitForSelector('#operations-Payments-getPayments .responses-wrapper');
  await page.waitForSelector('#operations-Transfers-postPixTransfers .responses-wrapper');
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.waitForSelector(colorScheme === 'dark' ? 'html.dark-mode' : 'html:not(.dark-mode)');
    // A colour on its way to another one is none to judge.
    const moving = "document.getAnimations().filter(({ playState }) => playState === 'running').length";
    await expect.poll(() => page.evaluate(moving), { timeout: 60_000 }).toBe(0);
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect([colorScheme, violations.map(({ id, nodes }) => [id, nodes[0]?.html])]).toEqual([colorScheme, []]);
  }
  expect(await page.$('.try-out')).toBeNull();
  // Nothing is sent from here, so no key is asked for.
  expect(await page.$('.authorize, .authorization__btn')).toBeNull();
  expect(asked.filter((url) => !url.startsWith(address) && !url.startsWith('data:'))).toEqual([]);
  expect(complaints).toEqual([]);
  await context.close();
});

test('the pages of the site are found by words, show their tabs, and have no fault that axe knows, in both schemes', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  for (const [path, colorScheme] of [
    ['/docs/merchants/guide', 'dark'],
    ['/docs', 'light'],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await page.goto(address + path);
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect([path, violations.map(({ id }) => id)]).toEqual([path, []]);
  }
  await page.fill('#search', 'test clock');
  await page.waitForSelector('#found a[href*="the-test-clock"]');
  await page.click('label:has-text("PHP")');
  expect(await page.isVisible('text=curl_setopt_array')).toBe(true);
  expect(complaints).toEqual([]);
  await context.close();
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
