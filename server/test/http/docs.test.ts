import chromium from '@sparticuz/chromium';
import { base, type Edge, openEdge } from '@vintem/testkit/edge.ts';
import { chromium as browsers } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** The reference page: from its package, under a policy that lets nothing else in. */

let edge: Edge;
let address: string;

beforeAll(async () => {
  edge = await openEdge();
  address = await edge.app.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(() => edge.close());

test('the page needs no key, runs no inline script and names no outside address', async () => {
  for (const url of [
    '/docs',
    '/docs/',
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
  const page = (await edge.app.inject({ url: '/docs' })).body;
  expect(page).not.toMatch(/https?:\/\//);
  expect(page).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\son\w+=/);
  const script = (await edge.app.inject({ url: '/docs/reference.js' })).body;
  expect(script).not.toMatch(/https?:\/\//);
});

test('a browser shows every call and event, sends no request to another host, and breaks no rule of the policy', {
  timeout: 60_000,
}, async () => {
  const browser = await browsers.launch({
    args: chromium.args,
    executablePath: await chromium.executablePath(),
    headless: true,
  });
  try {
    const page = await browser.newPage();
    const asked: string[] = [];
    const complaints: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`${address}/docs`);
    await page.waitForSelector('.opblock-summary-path');
    const shown = await page.$$eval('[data-path]', (found) =>
      found.map((one) => one.getAttribute('data-path')),
    );
    const { paths, webhooks } = (await edge.app.inject({ url: `${base}/openapi.json` })).json();
    for (const path of Object.keys(paths)) expect(shown).toContain(path);
    const text = await page.innerText('body');
    for (const type of Object.keys(webhooks)) expect(text).toContain(type);
    await page.click('[data-path="/pix/transfers"]');
    await page.waitForSelector('.opblock-body .responses-wrapper');
    expect(await page.$('.try-out')).toBeNull();
    // Nothing is sent from here, so no key is asked for.
    expect(await page.$('.authorize, .authorization__btn')).toBeNull();
    expect(asked.filter((url) => !url.startsWith(address) && !url.startsWith('data:'))).toEqual([]);
    expect(complaints).toEqual([]);
  } finally {
    await browser.close();
  }
});
