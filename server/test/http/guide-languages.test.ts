import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Vintem } from '../../../sdk/src/index.ts';

/** The site's form of each request of the guide and the reference: whatever its language, it sends that request. */

/** Plain JavaScript, as `npm ci` runs it. */
interface Languages {
  inLanguages(text: string): { language: string; code: string }[];
  requestOf(text: string): {
    method: string;
    path: string;
    operation?: string;
    body?: object;
    file?: string;
    accept?: string;
  };
}
const languages = new URL('../../../site/languages.js', import.meta.url).href;
const { inLanguages, requestOf } = (await import(languages)) as Languages;
const reference = new URL('../../../site/reference.js', import.meta.url).href;
const { referencePages } = (await import(reference)) as {
  referencePages(document: object, language: string, address: string): { text: string }[];
};

const run = promisify(execFile);
const folder = new URL('../../../docs/merchants/', import.meta.url);

interface Seen {
  method: string | undefined;
  path: string | undefined;
  operation: unknown;
  key: string | undefined;
  body: unknown;
}
let server: Server;
let url: string;
let seen: Seen[] = [];
let requests: string[] = [];
let quickstart: string;
/** Where the code runs, with the file that it sends. */
let own: string;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const text = Buffer.concat(parts).toString();
    seen.push({
      method: request.method,
      path: request.url,
      operation: request.headers['x-service-operation'],
      key: request.headers.authorization,
      body: request.headers['content-type'] === 'application/pdf' ? text : JSON.parse(text || '{}'),
    });
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end('{"payments":[],"hasMore":false,"nextCursor":null}');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const guide = await readFile(new URL('guide.md', folder), 'utf8');
  const document = JSON.parse(await readFile(new URL('../../contract/openapi.json', folder), 'utf8'));
  const texts = [guide, ...referencePages(document, 'en', '').map(({ text }) => text)];
  requests = texts
    .flatMap((text) => [...text.matchAll(/^```http\n(.*?)^```$/gms)])
    .map(([, text = '']) => text)
    // It has no end.
    .filter((text) => requestOf(text).accept !== 'text/event-stream');
  own = await mkdtemp(join(tmpdir(), 'vintem-languages-'));
  await writeFile(join(own, 'recibo.pdf'), 'a receipt');
  quickstart = await readFile(new URL('quickstart.md', folder), 'utf8');
});
afterAll(async () => {
  server.close();
  await rm(own, { recursive: true, force: true });
});
beforeEach(() => {
  seen = [];
});

const env = () => ({ ...process.env, VINTEM_URL: url, VINTEM_KEY: 'vtm_test_key' });
const codeIn = (language: string): string[] =>
  requests.map((text) => inLanguages(text).find((one) => one.language === language)?.code ?? '');

function expectRequests(): void {
  expect(requests.length).toBeGreaterThan(60);
  expect(seen).toEqual(
    requests.map(requestOf).map(({ method, path, operation, body, file }) => ({
      method,
      path: `/api/v1/public${path}`,
      operation,
      key: 'Bearer vtm_test_key',
      body: file === undefined ? (body ?? {}) : 'a receipt',
    })),
  );
}

/** The program needs Node alone: a language that is not installed is not tried. */
const has = (program: string, ...words: string[]): boolean => spawnSync(program, words).status === 0;

test('TypeScript', async () => {
  const vintem = new Vintem({ apiKey: 'vtm_test_key', baseUrl: url, maxRetries: 0 });
  const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
  for (const code of codeIn('TypeScript')) {
    const sent = new AsyncFunction(
      'vintem',
      'process',
      'console',
      'readFile',
      code.replace(/^import .*$/m, ''),
    );
    // The answer is not that of the service: what counts is what was sent.
    await sent(vintem, { env: env() }, { log: () => {} }, (name: string) => readFile(join(own, name))).catch(
      () => {},
    );
  }
  expectRequests();
});

test.runIf(has('curl', '--version') && has('bash', '--version'))('curl', async () => {
  for (const code of codeIn('curl')) await run('bash', ['-c', code], { env: env(), cwd: own });
  expectRequests();
});

/** The quick start's file with the function `call`, which is the first of its language. */
const helper = (language: string): string =>
  new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(quickstart)?.[1] ?? '';

test.runIf(has('python3', '--version'))('Python', async () => {
  const script = [helper('python Python'), ...codeIn('Python')].join('\n');
  await run('python3', ['-c', script], { env: env(), cwd: own });
  expectRequests();
});

test.runIf(has('php', '-r', 'exit(extension_loaded("curl") ? 0 : 1);'))('PHP', async () => {
  const script = [helper('php PHP'), ...codeIn('PHP')].join('\n').replace('<?php', '');
  await run('php', ['-r', script], { env: env(), cwd: own });
  expectRequests();
});
