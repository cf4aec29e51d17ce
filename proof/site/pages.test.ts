import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { axeFaultsOf, openBrowser } from '@vintem/testkit/browser.ts';
import { type Edge, openEdge } from '@vintem/testkit/edge.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** Every page of the documentation as a reader has it: on a telephone and a desk, in light and dark, and by a screen reader's rules. */

const root = fileURLToPath(new URL('../../', import.meta.url));
let edge: Edge;
let address: string;
let browser: Browser;

beforeAll(async () => {
  await promisify(execFile)(process.execPath, [`${root}site/build.js`]);
  edge = await openEdge();
  address = await edge.app.listen({ port: 0, host: '127.0.0.1' });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await edge?.close();
});

const opened = async (): Promise<{ page: Page; complaints: string[] }> => {
  const page = await (await browser.newContext()).newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  return { page, complaints };
};

test('no page has a fault that axe knows, in both schemes, and none is wider than a telephone', async () => {
  const names = await readdir(`${root}site/dist`, { recursive: true });
  const pages = names.filter((name) => name.endsWith('.html'));
  expect(pages.length).toBeGreaterThan(90);
  const { page, complaints } = await opened();
  const faults: [string, string[]][] = [];
  for (const name of pages) {
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.emulateMedia({ colorScheme: 'light' });
    await page.goto(`${address}/docs/${name.replace(/(^|\/)index\.html$/, '').replace(/\.html$/, '')}`);
    const light = await axeFaultsOf(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    const dark = await axeFaultsOf(page, ['color-contrast', 'link-in-text-block']);
    await page.setViewportSize({ width: 390, height: 844 });
    const beyond = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    const wide = beyond > 0 ? [`${beyond} px too wide`] : [];
    const found = [...light, ...dark, ...wide];
    if (found.length > 0) faults.push([name, found]);
  }
  expect(faults).toEqual([]);
  expect(complaints).toEqual([]);
  // Two looks of axe at each of a hundred pages: some minutes of a free core, and of a shared one a multiple.
}, 1_800_000);

test('the search finds in the language of the page, and in English what is written in English alone', async () => {
  const { page, complaints } = await opened();
  const found = async (path: string, words: string): Promise<string[]> => {
    await page.goto(`${address}/docs/${path}`);
    await page.fill('#search', words);
    await page.waitForSelector('#found a');
    return page.$$eval('#found a', (links) => links.map((link) => link.getAttribute('href') ?? ''));
  };
  const english = await found('merchants/guide', 'webhook');
  expect(english.length).toBe(10);
  expect(english.filter((href) => href.includes('/pt/'))).toEqual([]);
  const portuguese = await found('merchants/pt/guide', 'webhook');
  expect(portuguese[0]).toContain('/pt/');
  // The following have no page in Portuguese.
  expect(portuguese.filter((href) => /\/docs\/merchants\/(?!pt\/)guide/.test(href))).toEqual([]);
  expect(await found('merchants/pt/guide', 'patroni')).toContainEqual(expect.stringContaining('/operators/'));
  expect(complaints).toEqual([]);
});
