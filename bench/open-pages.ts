import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { freePort } from '@vintem/testkit/free-port.ts';
import { readConfig } from '../server/src/ground/config.ts';
import { createLog } from '../server/src/ground/log.ts';
import { startEmbedded } from '../server/src/store/database/embedded.ts';
import { cpuSecondsOf, memoryOf, startProgram, stopAll } from './processes.ts';
import { createMerchant, openWorld } from './world.ts';

/**
 * The memory of open pages: what `vintem start` holds more with so many payers' pages open, each with its event stream and from an address of its own, than
 * with none; what they cost while nothing changes; and how long a payment takes to reach all pages of its charge.
 *
 *   node bench/open-pages.ts [--pages 10000] [--charges 1000] [--idle 10]
 *
 * Needs as many open files as pages (`ulimit -n`). Exit code 1 above 200 MB, or when a page learns of its payment after more than two seconds.
 */
const { values } = parseArgs({
  options: {
    pages: { type: 'string', default: '10000' },
    charges: { type: 'string', default: '1000' },
    idle: { type: 'string', default: '10' },
  },
});
const pages = Number(values.pages);
const charges = Number(values.charges);
const idleMs = 1000 * Number(values.idle);
const atOnce = 32;
const limits = { megabytes: 200, ms: 2_000 };

const dataDir = mkdtempSync(join(tmpdir(), 'vintem-open-pages-'));
// As root the server of the database runs as another user, who has to pass through.
chmodSync(dataDir, 0o711);

const sleep = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

/** So many at a time, by their number. */
async function together(count: number, act: (at: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < count) await act(next++);
    }),
  );
}

/** Open streams; `told` is called with each version that one is sent behind its first. */
function opener(origin: string, told: (charge: number) => void) {
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });
  return {
    open: (path: string, at: number, charge: number): Promise<void> =>
      new Promise((resolve, reject) => {
        const headers = { 'x-forwarded-for': `10.${(at >> 16) & 255}.${(at >> 8) & 255}.${at & 255}` };
        const request = get(`${origin}${path}/events`, { agent, headers }, (answer) => {
          if (answer.statusCode !== 200) reject(new Error(`the stream was answered ${answer.statusCode}`));
          let versions = 0;
          answer.setEncoding('utf8').on('data', (text: string) => {
            for (const _ of text.matchAll(/^data:/gm)) if (versions++ > 0) told(charge);
            resolve();
          });
          answer.on('error', () => {});
        });
        request.on('error', reject);
      }),
    close: () => agent.destroy(),
  };
}

async function measure(): Promise<boolean> {
  const server = await startEmbedded({ dataDir, log: createLog('warn'), say: () => {} });
  const [port, simulatorPort] = [await freePort(), await freePort()];
  const settings = {
    HOST: '127.0.0.1',
    DATA_DIR: dataDir,
    DATABASE_URL: server.url,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'warn',
    TRUSTED_PROXIES: '127.0.0.1/32',
    PORT: `${port}`,
    SIMULATOR_PORT: `${simulatorPort}`,
  };
  const world = await openWorld(readConfig(settings), server.url);
  const { key } = await createMerchant(world, 'Pages', 1, 0, 0);
  await world.close();
  const service = await startProgram(['start'], settings, 'vintem ready');
  const origin = `http://127.0.0.1:${port}`;
  const made: { id: string; path: string }[] = [];
  await together(charges, async () => {
    const answer = await fetch(`${origin}/api/v1/public/pix/charges`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        amountCents: 2_500,
        payerName: 'Ana',
        description: '',
        requestKey: crypto.randomUUID(),
      }),
    });
    const body = (await answer.json()) as { id: string; payerUrl: string };
    made.push({ id: body.id, path: new URL(body.payerUrl).pathname });
  });
  // Until the work for the charges is over: their memory is not that of the pages.
  await sleep(idleMs);
  const before = memoryOf(service.pid);
  let reached = 0;
  const streams = opener(origin, (charge) => {
    if (charge === 0) reached++;
  });
  await together(pages, (at) => streams.open(made[at % charges]?.path ?? '', at, at % charges));
  await sleep(idleMs);
  const megabytes = (memoryOf(service.pid) - before) / 1e6;
  const cpuBefore = cpuSecondsOf(service.pid);
  await sleep(idleMs);
  const load = ((cpuSecondsOf(service.pid) - cpuBefore) / idleMs) * 1e5;
  const own = Math.ceil(pages / charges);
  const began = performance.now();
  await fetch(`http://127.0.0.1:${simulatorPort}/control/charges/${made[0]?.id.replaceAll('-', '')}/pay`, {
    method: 'POST',
  });
  while (reached < own && performance.now() - began < 20_000) await sleep(5);
  const ms = performance.now() - began;
  streams.close();
  await service.stop();
  await server.stop();
  console.log(
    `${pages} open pages of ${charges} charges: ${megabytes.toFixed(0)} MB more (limit ${limits.megabytes}), ${load.toFixed(1)} % of a core while nothing changes, ` +
      `${reached} of ${own} pages of a paid charge reached after ${ms.toFixed(0)} ms (limit ${limits.ms})`,
  );
  return megabytes <= limits.megabytes && reached >= own && ms <= limits.ms;
}

try {
  process.exitCode = (await measure()) ? 0 : 1;
} finally {
  await stopAll();
  rmSync(dataDir, { recursive: true, force: true });
}
