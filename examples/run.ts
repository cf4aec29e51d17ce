import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { cp, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { newFolder, part, sleep } from '../proof/chaos/processes.ts';
import { type Payment, Vintem } from '../sdk/src/index.ts';
import { signedWebhook } from '../sdk/src/testing.ts';
import { freePort } from '../testkit/src/free-port.ts';

/**
 * Runs the examples against the program that `npm start` runs: `node examples/run.ts [--only NAME] [--required]`. Each must take an
 * order, charge it once, notice the payment by webhook, ship once, and refuse a forged webhook. One whose language is not
 * installed is not run; with `--required` that is a failure.
 */
interface Example {
  name: string;
  folder: string;
  /** Fails when its language is not installed. */
  needs: string[];
  /** Run in a copy of the folder, before. */
  install?: string[][];
  start(port: number): string[];
  readyMs: number;
}

const here = fileURLToPath(new URL('./', import.meta.url));
const npmInstall = (tarball: string) => [
  'npm',
  'install',
  '--no-audit',
  '--no-fund',
  '--no-package-lock',
  tarball,
];
const examples = (tarball: string): Example[] => [
  {
    name: 'fastify',
    folder: 'node-fastify',
    needs: [process.execPath, '-e', 'import("node:sqlite")'],
    install: [npmInstall(tarball)],
    start: () => [process.execPath, 'shop.js'],
    readyMs: 30_000,
  },
  {
    name: 'nextjs',
    folder: 'nextjs',
    needs: [process.execPath, '-e', 'import("node:sqlite")'],
    install: [npmInstall(tarball), [process.execPath, 'node_modules/next/dist/bin/next', 'build']],
    start: (port) => [
      process.execPath,
      ...['node_modules/next/dist/bin/next', 'start', '--hostname', '127.0.0.1', '--port', `${port}`],
    ],
    readyMs: 60_000,
  },
  {
    name: 'python',
    folder: 'python',
    needs: ['python3', '-c', 'import sqlite3, sys; assert sys.version_info >= (3, 9)'],
    start: () => ['python3', 'shop.py'],
    readyMs: 30_000,
  },
  {
    name: 'php',
    folder: 'php',
    needs: ['php', '-r', 'exit(extension_loaded("curl") && extension_loaded("pdo_sqlite") ? 0 : 1);'],
    start: (port) => ['php', '-S', `127.0.0.1:${port}`, 'shop.php'],
    readyMs: 30_000,
  },
];

const { values: given } = parseArgs({ options: { only: { type: 'string' }, required: { type: 'boolean' } } });
const work = await newFolder('examples');
const [port, simulatorPort] = [await freePort(), await freePort()];
const program = part('start', {
  words: ['start'],
  env: {
    DATA_DIR: join(work, 'data'),
    PORT: `${port}`,
    SIMULATOR_PORT: `${simulatorPort}`,
    WEBHOOK_ALLOW_INSECURE_LOCAL: 'true',
    LOG_LEVEL: 'error',
  },
  ready: 'vintem ready ',
  logFile: join(work, 'log'),
});
let failed = 0;
try {
  await mkdir(join(work, 'data'));
  await program.start();
  const url = `http://127.0.0.1:${port}`;
  const apiKey = /vintem test key (vtm_test_\S+)/.exec(program.output())?.[1] ?? '';
  execFileSync('npm', ['pack', '--pack-destination', work], { cwd: join(here, '../sdk'), stdio: 'ignore' });
  const tarball = (await readdir(work)).find((name) => name.endsWith('.tgz')) ?? '';
  for (const example of examples(join(work, tarball))) {
    if (given.only !== undefined && example.name !== given.only) continue;
    const [language = '', ...probe] = example.needs;
    if (spawnSync(language, probe, { stdio: 'ignore' }).status !== 0) {
      console.log(`${example.name}: not run, ${language} is not installed or lacks something`);
      if (given.required) failed++;
      continue;
    }
    try {
      const began = performance.now();
      await tryOut(example, new Vintem({ apiKey, baseUrl: url }), { VINTEM_URL: url, VINTEM_KEY: apiKey });
      console.log(`${example.name}: works (${Math.round((performance.now() - began) / 1000)} s)`);
    } catch (error) {
      failed++;
      console.log(`${example.name}: FAILED: ${error instanceof Error ? error.message : error}`);
    }
  }
} finally {
  program.signal('SIGTERM');
  await program.exited();
  await rm(work, { recursive: true, force: true });
}
process.exitCode = failed > 0 ? 1 : 0;

async function tryOut(example: Example, vintem: Vintem, env: Record<string, string>): Promise<void> {
  const folder = join(work, example.folder);
  await cp(join(here, example.folder), folder, { recursive: true });
  for (const [command = '', ...words] of example.install ?? [])
    execFileSync(command, words, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  const shopPort = await freePort();
  const shop = `http://127.0.0.1:${shopPort}`;
  const { id: endpointId, secret = '' } = await vintem.webhooks.create({
    url: `${shop}/webhooks/vintem`,
    events: ['charge.paid'],
  });
  const [command = '', ...words] = example.start(shopPort);
  const child = spawn(command, words, {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env, WEBHOOK_SECRET: secret, PORT: `${shopPort}` },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-2_000);
  });
  try {
    await until(`${example.name} listens`, example.readyMs, async () => {
      if (child.exitCode !== null) throw new Error(`it ended: ${said}`);
      return fetch(`${shop}/orders/none`).then(
        ({ status }) => status === 404,
        () => false,
      );
    });
    await buy(vintem, shop, secret);
  } finally {
    await stop(child);
    await vintem.webhooks.delete(endpointId);
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((done) => child.once('exit', done));
  child.kill('SIGTERM');
  await Promise.race([ended, sleep(5_000)]);
  child.kill('SIGKILL');
}

interface Order {
  status: string;
  code: string;
  shipments: number;
}

async function buy(vintem: Vintem, shop: string, secret: string): Promise<void> {
  const id = crypto.randomUUID();
  const place = () =>
    post(`${shop}/orders`, JSON.stringify({ id, amountCents: 1990, payerName: 'Maria Silva' }));
  const orderOf = async () => (await (await fetch(`${shop}/orders/${id}`)).json()) as Order;
  const [first, again] = [await place(), await place()];
  const { code } = (await first.json()) as Order;
  is('an order', [first.status, code.slice(0, 6)], [201, '000201']);
  is('the same order again', ((await again.json()) as Order).code, code);

  const charges: Payment[] = [];
  for await (const payment of vintem.payments.list({ status: 'pending' }))
    if (payment.amountCents === 1990) charges.push(payment);
  is('charges of the order', charges.length, 1);
  const [charge] = charges;
  const paying = `http://127.0.0.1:${simulatorPort}/control/charges/${charge?.id.replaceAll('-', '')}/pay`;
  is('the payer', (await fetch(paying, { method: 'POST' })).status, 200);
  await until('the order is paid', 30_000, async () => (await orderOf()).status === 'paid');

  // The same event once more, as it may come, and a forged one.
  const { value: page } = await vintem.events.list({ type: 'charge.paid', limit: 1 }).pages().next();
  const event = page?.items[0];
  if (!event) throw new Error('there is no event');
  const repeated = signedWebhook(event, secret);
  const hook = `${shop}/webhooks/vintem`;
  is('the same event', (await post(hook, repeated.body, repeated.headers)).status, 204);
  const forged = signedWebhook('charge.paid', `whsec_${btoa('x'.repeat(32))}`);
  is('a forged event', (await post(hook, forged.body, forged.headers)).status, 400);
  const old = signedWebhook(event, secret, { at: new Date(Date.now() - 600_000) });
  is('an old event', (await post(hook, old.body, old.headers)).status, 400);
  is('shipments', (await orderOf()).shipments, 1);
}

function post(url: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body });
}

function is(what: string, actual: unknown, expected: unknown): void {
  const [is, should] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (is !== should) throw new Error(`${what}: ${is}, and should be ${should}`);
}

async function until(what: string, withinMs: number, holds: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + withinMs; !(await holds()); await sleep(100))
    if (Date.now() > deadline) throw new Error(`${what}: not within ${withinMs} ms`);
}
