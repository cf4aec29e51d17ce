import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { axeFaultsOf, openBrowser, screenshots } from '@vintem/testkit/browser.ts';
import { base, type Edge, openEdge } from '@vintem/testkit/edge.ts';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** The documentation and its reference, as people see them. */

let edge: Edge;
let address: string;
/** The service's own address, which pages name. */
let ours: string;
let browser: Browser;

beforeAll(async () => {
  const build = new URL('../../../site/build.js', import.meta.url);
  await promisify(execFile)(process.execPath, [fileURLToPath(build)]);
  edge = await openEdge();
  ours = edge.parts.config.publicUrl;
  address = await edge.app.listen({ port: 0, host: '127.0.0.1' });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await edge?.close();
});

test('a browser shows every call and event, sends no request to another host, and breaks no rule of the policy [9.2]', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const asked: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  const { paths, webhooks } = (await edge.app.inject({ url: `${base}/openapi.json` })).json();
  for (const start of ['/docs/reference', '/docs/pt/reference']) {
    await page.goto(address + start);
    const text = await page.innerText('main');
    for (const path of Object.keys(paths)) expect(text).toContain(path);
    for (const type of Object.keys(webhooks)) expect(text).toContain(type);
  }
  // As the page before linked to a call.
  await page.goto(`${address}/docs/reference#/Transfers/postPixTransfers`);
  await page.locator('[id="/Transfers/postPixTransfers"] + a').click();
  await page.waitForURL(/\/docs\/reference\/transfers#/);
  const block = page.locator('.tabs', { hasText: 'POST /pix/transfers' }).first();
  for (const [language, code] of [
    ['TypeScript', 'vintem.transfers.create({'],
    ['curl', '/api/v1/public/pix/transfers"'],
    ['Python', 'call("POST", "/pix/transfers", {'],
    ['PHP', "call('POST', '/pix/transfers', ["],
  ] as const) {
    await block.locator('label', { hasText: language }).click();
    await block.locator('pre:visible', { hasText: code }).waitFor();
  }
  await block.locator('pre:visible').getByRole('button', { name: 'Copy' }).waitFor();
  for (const path of ['reference', 'reference/charges', 'pt/reference/webhooks'])
    for (const [colorScheme, width] of [
      ['dark', 390],
      ['light', 1440],
    ] as const) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      await page.goto(`${address}/docs/${path}`);
      expect(await axeFaultsOf(page), path).toEqual([]);
      expect(
        await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth'),
      ).toBeLessThanOrEqual(0);
      await mkdir(screenshots, { recursive: true });
      await page.screenshot({
        path: `${screenshots}docs-${path.replaceAll('/', '-')}-${colorScheme}-${width}.png`,
      });
    }
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
    ['/docs/merchants/quickstart', 'light'],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await page.goto(address + path);
    expect(await axeFaultsOf(page), path).toEqual([]);
  }
  await page.goto(`${address}/docs/merchants/quickstart`);
  await page.fill('#search', 'test clock');
  await page.waitForSelector('#found a[href*="the-test-clock"]');
  await page.click('label:has-text("PHP")');
  expect(await page.isVisible('text=curl_setopt_array')).toBe(true);
  expect(complaints).toEqual([]);
  await context.close();
});

test.each([
  ['/docs', ['Integrate', 'Use the panel', 'Operate'], 'Pages'],
  ['/docs/pt', ['Integrar', 'Usar o painel', 'Operar'], 'Páginas'],
] as const)(
  '%s has three doors; on a telephone the pages stand behind one link and show those of their readers',
  async (path, doors, pages) => {
    const context = await browser.newContext({ viewport: { width: 390, height: 740 } });
    const page = await context.newPage();
    await page.goto(address + path);
    const titles = await page.locator('main h2').allInnerTexts();
    expect(titles.map((title) => title.split(':')[0])).toEqual(doors);
    const nav = page.getByRole('navigation');
    expect(await nav.isVisible()).toBe(false);
    await page.getByRole('link', { name: pages, exact: true }).click();
    await nav.waitFor();
    expect((await nav.boundingBox())?.y).toBeLessThan(740);
    expect(await nav.getByRole('link', { name: /runbook|ASVS|Architecture/i }).count()).toBe(0);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await axeFaultsOf(page)).toEqual([]);
      await mkdir(screenshots, { recursive: true });
      await page.screenshot({ path: `${screenshots}docs-${doors[0]}-${colorScheme}-390.png` });
    }
    const beyond = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    expect(beyond).toBeLessThanOrEqual(0);
    await context.close();
  },
);

test('A block of code names this service and is copied by a press', async () => {
  const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
  const page = await context.newPage();
  await page.goto(`${address}/docs/merchants/guide`);
  const block = page.locator('pre:visible', { hasText: ours }).first();
  await block.waitFor();
  await block.getByRole('button', { name: 'Copy' }).click();
  await block.getByRole('button', { name: 'Copied' }).waitFor();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(await block.locator('code').innerText());
  const codes = await page.locator('main code').allInnerTexts();
  expect(codes.filter((code) => code.includes('YOUR-HOST'))).toEqual([]);
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(`${address}/docs`);
  await page.screenshot({ path: `${screenshots}docs-start-1440.png` });
  await context.close();
});

test('a test key fills the code of every page in its tab, in each language; it is sent nowhere, and a live key is not kept', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const sent: string[] = [];
  page.on('request', (request) =>
    sent.push([request.url(), request.postData(), JSON.stringify(request.headers())].join(' ')),
  );
  const codes = async (of = page) => (await of.locator('pre code').allTextContents()).join('\n');
  const key = `vtm_test_${'a1B2c3D4e5F6'}_${'x'.repeat(49)}`;
  await page.goto(`${address}/docs/merchants/quickstart`);
  const field = page.getByLabel('Test key');
  const before = await codes();
  expect(before).toContain(`VINTEM_URL=${ours} VINTEM_KEY=vtm_test_…`);
  for (const wrong of [key.replace('test', 'live'), key.slice(0, -1), 'password']) {
    await field.fill(wrong);
    await field.press('Enter');
    await page.getByText('This is no whole test key').waitFor();
    expect([await field.inputValue(), await codes()]).toEqual(['', before]);
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
  }
  await field.fill(key);
  await field.press('Enter');
  await page.getByText('The code on every page has your key.').waitFor();
  const after = await codes();
  for (const filled of [
    `export VINTEM_URL=${ours} VINTEM_KEY=${key}`,
    `new Vintem({ apiKey: '${key}', baseUrl: '${ours}' })`,
    `-H "Authorization: Bearer ${key}"`,
    `"Bearer " + "${key}"`,
    `'Authorization: Bearer ' . '${key}'`,
    `curl -X POST "${ours}/api/v1/public/pix/charges"`,
  ])
    expect(after).toContain(filled);
  expect(after).not.toMatch(/\$VINTEM_|env\.VINTEM_|getenv\('VINTEM_|environ\["VINTEM_|vtm_test_…/);
  await page.goto(`${address}/docs/pt/reference/charges`);
  expect(await page.getByLabel('Chave de teste').inputValue()).toBe(key);
  expect(await codes()).toContain(`-H "Authorization: Bearer ${key}"`);
  const other = await context.newPage();
  await other.goto(`${address}/docs/merchants/quickstart`);
  expect(await codes(other)).toBe(before);
  expect([await page.evaluate('JSON.stringify(localStorage)'), await context.cookies()]).toEqual(['{}', []]);
  expect(sent.filter((request) => request.includes(key))).toEqual([]);
  await page.getByLabel('Chave de teste').fill('');
  await page.getByLabel('Chave de teste').press('Enter');
  expect(await codes()).not.toContain(key);
  expect(await page.evaluate('sessionStorage.length')).toBe(0);
  await context.close();
});
