import { fileURLToPath } from 'node:url';
import chromium, { inflate } from '@sparticuz/chromium';
import { type Browser, type BrowserContext, chromium as driver, type Page } from 'playwright-core';

/** The browser that npm brought: nothing of the system's is needed, its libraries included. */
export async function openBrowser(): Promise<Browser> {
  const libraries = fileURLToPath(
    new URL('../bin/al2023.tar.br', import.meta.resolve('@sparticuz/chromium')),
  );
  const [executablePath, folder] = [await chromium.executablePath(), await inflate(libraries)];
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
    ],
    env: {
      ...(process.env as Record<string, string>),
      // Behind the system's own, which fit better where they are there.
      LD_LIBRARY_PATH: ['/usr/lib/x86_64-linux-gnu', `${folder}/lib`].join(':'),
    },
  });
}

export interface Window {
  context: BrowserContext;
  page: Page;
  /** What the page complained about: errors and warnings of its console, exceptions, refused styles and scripts. */
  complaints: string[];
}

export async function openWindow(browser: Browser, width = 1280): Promise<Window> {
  const context = await browser.newContext({
    viewport: { width, height: width < 500 ? 740 : 900 },
    locale: 'pt-BR',
    timezoneId: 'America/New_York',
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(20_000);
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
