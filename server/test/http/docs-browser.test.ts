import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { AxeBuilder } from '@axe-core/playwright';
import { openBrowser } from '@vintem/testkit/browser.ts';
import { base, type Edge, openEdge } from '@vintem/testkit/edge.ts';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** The documentation and its reference, as people see them. */

let edge: Edge;
let address: string;
let browser: Browser;

beforeAll(async () => {
  const build = new URL('../../../site/build.js', import.meta.url);
  await promisify(execFile)(process.execPath, [fileURLToPath(build)]);
  edge = await openEdge();
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
