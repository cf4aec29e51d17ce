import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { type Merchant, openService, type Service } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** The package that `npm pack` makes, installed in a project of its own. */

const run = promisify(execFile);
const sdk = fileURLToPath(new URL('../', import.meta.url));
const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url));
let project: string;
let installed: string;
let service: Service;
let merchant: Merchant;

beforeAll(async () => {
  service = await openService();
  merchant = await service.newMerchant();
  await merchant.receive(5000);
  project = await mkdtemp(join(tmpdir(), 'vintem-sdk-'));
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', project], { cwd: sdk });
  const file = (await readdir(project)).find((name) => name.endsWith('.tgz')) ?? stdout;
  await writeFile(join(project, 'package.json'), '{"type":"module","private":true}');
  await run('npm', ['install', '--offline', '--ignore-scripts', `./${file}`], { cwd: project });
  installed = join(project, 'node_modules/@vintem/sdk');
});
afterAll(async () => {
  await service?.close();
  await rm(project, { recursive: true, force: true });
});

const scripts = async () =>
  Promise.all(
    (await readdir(join(installed, 'dist')))
      .filter((name) => name.endsWith('.js'))
      .map(async (name) => ({ name, text: await readFile(join(installed, 'dist', name), 'utf8') })),
  );

test('the client has at most 12 KiB of JavaScript, compressed as it is', async () => {
  const client = (await scripts()).filter(({ name }) => !/^(samples|testing)\.js$/.test(name));
  expect(client.map(({ name }) => name)).toContain('vintem.js');
  expect(gzipSync(client.map(({ text }) => text).join('\n')).length).toBeLessThanOrEqual(12 * 1024);
});

test('it has no dependency, and uses nothing of Node', async () => {
  const described = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
  expect([described.dependencies, described.peerDependencies]).toEqual([undefined, undefined]);
  for (const { name, text } of await scripts())
    expect([name, /node:|require\(|\bprocess\.|\bBuffer\b|from '[^.]/.exec(text)?.[0]]).toEqual([
      name,
      undefined,
    ]);
});

test('a program finds both entries, and its types hold for a strict compiler without those of Node', async () => {
  const program = `
    import { Vintem, VintemError, verifyWebhook } from '@vintem/sdk';
    import { makeSecret, signedWebhook } from '@vintem/sdk/testing';
    const [apiKey = '', baseUrl = ''] = (globalThis as any).process.argv.slice(2);
    const vintem = new Vintem({ apiKey, baseUrl });
    const made = await vintem.transfers.create({ amountCents: 1000, pixKey: 'a@example.com', pixKeyType: 'EMAIL' });
    const secret = makeSecret();
    const { body, headers } = signedWebhook('charge.paid', secret);
    const event = verifyWebhook(body, headers, [secret]);
    const failed = await vintem.payments.get('nothing').catch((error) => error);
    if (event.type !== 'charge.paid' || !(failed instanceof VintemError)) throw new Error('not as it should be');
    console.log((await vintem.payments.waitFor(made.id)).status, made.requestKey.length, event.data.requestKey.length, failed.code);
  `;
  await writeFile(join(project, 'main.ts'), program);
  const { stdout } = await run(process.execPath, ['main.ts', merchant.key, service.url], { cwd: project });
  expect(stdout).toBe('completed 36 36 invalid_id\n');
  const words = ['--ignoreConfig', '--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2022,dom'];
  for (const module of [['nodenext'], ['esnext', '--moduleResolution', 'bundler']])
    await run(process.execPath, [tsc, ...words, '--module', ...module, 'main.ts'], { cwd: project });
  const wrong = program.replace("pixKeyType: 'EMAIL'", "pixKeyType: 'MAIL'");
  await writeFile(join(project, 'wrong.ts'), wrong);
  await expect(
    run(process.execPath, [tsc, ...words, '--module', 'nodenext', 'wrong.ts'], { cwd: project }),
  ).rejects.toThrow();
});
