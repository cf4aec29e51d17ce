import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { AxeBuilder } from '@axe-core/playwright';
import chromium, { inflate } from '@sparticuz/chromium';
import { type Browser, type BrowserContext, chromium as driver, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { password } from './panel.ts';
import { lastingFolder } from './run.ts';

/**
 * The browser that npm brought: nothing of the system's is needed, its libraries included.
 * @param more words of its command line
 */
export async function openBrowser(more: readonly string[] = []): Promise<Browser> {
  const { executablePath, folder } = await unpacked();
  return driver.launch({
    executablePath,
    headless: true,
    // Not the package's own: they switch off what a page's origin is checked by.
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      ...more,
    ],
    env: {
      ...(process.env as Record<string, string>),
      // Behind the system's own, which fit better where they are there.
      LD_LIBRARY_PATH: ['/usr/lib/x86_64-linux-gnu', `${folder}/lib`].join(':'),
    },
  });
}

/**
 * Unpacks the browser once for all runs, and not into the folder of this one, which may lie in memory: it has 200 MB.
 */
async function unpacked(): Promise<{ executablePath: string; folder: string }> {
  const libraries = fileURLToPath(
    new URL('../bin/al2023.tar.br', import.meta.resolve('@sparticuz/chromium')),
  );
  const { TMPDIR } = process.env;
  process.env.TMPDIR = lastingFolder();
  // Both look where to unpack before they wait for anything.
  const unpacking = Promise.all([chromium.executablePath(), inflate(libraries)]);
  if (TMPDIR === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = TMPDIR;
  const [executablePath, folder] = await unpacking;
  return { executablePath, folder };
}

export interface Window {
  context: BrowserContext;
  page: Page;
  /** The complaints of the page: errors and warnings of its console, exceptions, refused styles and scripts. */
  complaints: string[];
}

export async function openWindow(browser: Browser, width = 1280): Promise<Window> {
  const context = await browser.newContext({
    viewport: { width, height: width < 500 ? 740 : 900 },
    locale: 'pt-BR',
    timezoneId: 'America/New_York',
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    // A refusal of the service is an answer; that browsers write it on the console is not ours to change.
    const refused = /the server responded with a status of 4\d\d/.test(message.text());
    if (['error', 'warning'].includes(message.type()) && !refused) {
      complaints.push(`${page.url()}: ${message.text()}`);
    }
  });
  page.on('pageerror', (error) => complaints.push(`${page.url()}: ${error.message}`));
  return { context, page, complaints };
}

/** For people to look at: every page at both widths. */
export const screenshots = fileURLToPath(new URL('../../panel/screenshots/', import.meta.url));

/**
 * The rules of axe that a page breaks, each with its places.
 * @param rules those that are tried; none named: all
 */
export async function axeFaultsOf(page: Page, rules: readonly string[] = []): Promise<string[]> {
  // Our pages have no frames, and of what is in order nothing is asked: 2 s for the longest page of the reference, 9 s without both.
  const axe = new AxeBuilder({ page }).setLegacyMode(true).options({ resultTypes: ['violations'] });
  const { violations } = await (rules.length > 0 ? axe.withRules([...rules]) : axe).analyze();
  return violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes.map(({ target, failureSummary }) => `${target} ${failureSummary ?? ''}`).join(' | ')}`,
  );
}

/** The texts of cells that stand over the cell beside them. */
export const overfullCells = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`[...document.querySelectorAll('td')]
    .filter((cell) => getComputedStyle(cell).overflowX === 'visible' && cell.scrollWidth > cell.clientWidth + 1)
    .map((cell) => cell.textContent)`);

/** A page as it stands, at both widths: nothing beyond the edge, no violation of axe; a picture for people to look at. */
export async function inspect(page: Page, name: string): Promise<void> {
  await mkdir(screenshots, { recursive: true });
  for (const width of [1440, 360]) {
    await page.setViewportSize({ width, height: width === 360 ? 740 : 900 });
    await page.screenshot({
      path: `${screenshots}${name}-${width}.png`,
      fullPage: true,
      animations: 'disabled',
    });
    const beyond = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    expect(beyond, `${name} at ${width}`).toBeLessThanOrEqual(0);
    expect(await axeFaultsOf(page), `${name} at ${width}`).toEqual([]);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}

/** Types address and password at the gate. */
export async function signInAt(page: Page, url: string, email: string): Promise<void> {
  await page.goto(`${url}/entrar`);
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Senha', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Entrar', exact: true }).click();
}
