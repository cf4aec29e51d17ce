import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { freePort } from '@vintem/testkit/free-port.ts';
import { postmasterOf } from '@vintem/testkit/processes.ts';
import { readConfig } from '../server/src/ground/config.ts';
import { createLog } from '../server/src/ground/log.ts';
import { startEmbedded } from '../server/src/store/database/embedded.ts';
import {
  allOf,
  type CpuEach,
  cpuSecondsOf,
  startProgram,
  stopAll,
  textOf,
  withoutAutovacuum,
} from './processes.ts';
import { median } from './report.ts';
import { forgetStatements, readStatements, startCounting, textOfStatements } from './statements.ts';
import { createMerchant, type Merchant, openWorld } from './world.ts';

/**
 * The cost of what a payer sets off: the CPU time (service and PostgreSQL) of a charge that is made on the page of a link (`links`) against one that is made
 * by the API (`charges`), in one `vintem start` with its simulator, in pairs whose order alternates; and of a Pix of a static code, from its delivery to the
 * balance (`static`), beside them. CPU time and not seconds, so that other work on the machine counts for little.
 *
 *   node bench/link-cost.ts [--pairs 7] [--accounts 20] [--statements]
 *
 * A turn is 20 calls for each account: a link has no more open charges, and an account makes no more than 300 a minute by links, whatever the settings say.
 * Each caller comes from a network of its own. `--statements` adds PostgreSQL's execution time of each statement for one of each; such a run gives no
 * ratio to quote. Exit code 1 when the median of `links` is above the limit.
 */
const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: '7' },
    accounts: { type: 'string', default: '20' },
    statements: { type: 'boolean', default: false },
  },
});
const pairs = Number(values.pairs);
const accounts = Number(values.accounts);
/** A link has no more open charges at a time. */
const callsOfAccount = 20;
const calls = accounts * callsOfAccount;
const atOnce = 32;
const limit = 1.2;
const kinds = ['charges', 'links', 'static'] as const;
type Kind = (typeof kinds)[number];

const dataDir = mkdtempSync(join(tmpdir(), 'vintem-link-cost-'));
// As root the server of the database runs as another user, who has to pass through.
chmodSync(dataDir, 0o711);

interface Reply {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: read by the bench alone
  body: any;
}

async function ask(url: string, body: object | null, headers: Record<string, string> = {}): Promise<Reply> {
  const answer = await fetch(url, {
    method: body === null ? 'GET' : 'POST',
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: await answer.json() };
}

/** Each of them once, so many at a time. */
async function together<One>(all: readonly One[], act: (one: One) => Promise<void>): Promise<void> {
  const left = all.values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const one of left) await act(one);
    }),
  );
}

let networks = 0;
/** A payer of his own network. */
const payer = (): Record<string, string> => {
  const at = ++networks;
  return { 'x-forwarded-for': `10.${(at >> 16) & 255}.${(at >> 8) & 255}.${at & 255}` };
};

function made({ status, body }: Reply): Record<string, string> {
  if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
}

async function measure(): Promise<boolean> {
  const start = values.statements ? startCounting : startEmbedded;
  const server = await start({ dataDir, log: createLog('warn'), say: () => {} });
  await withoutAutovacuum(server.url);
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
  const merchants = await Promise.all(
    Array.from({ length: accounts }, (_, at) => createMerchant(world, `Stall ${at}`, 1, 0, 0)),
  );
  const service = await startProgram(['start'], settings, 'vintem ready');
  const simulator = Number(
    readFileSync(`/proc/${service.pid}/task/${service.pid}/children`, 'utf8').split(' ')[0],
  );
  const origin = `http://127.0.0.1:${port}`;
  const api = ({ key }: Merchant, path: string, body: object | null): Promise<Reply> =>
    ask(`${origin}/api/v1/public${path}`, body, { authorization: `Bearer ${key}` });
  const ordered = (body: object): object => ({ ...body, requestKey: crypto.randomUUID() });

  const codes = await Promise.all(
    merchants.map(async (merchant) => ({
      merchant,
      ...made(await api(merchant, '/static-codes', ordered({ name: 'Banca' }))),
    })),
  );
  /** The preparation of a turn, and then its calls. */
  const turns: Record<Kind, () => Promise<() => Promise<void>>> = {
    charges: async () => {
      const all = merchants.flatMap((merchant) => Array.from({ length: callsOfAccount }, () => merchant));
      return () =>
        together(all, async (merchant) => {
          const body = ordered({ amountCents: 2_500, payerName: 'Ana', description: 'Pastel' });
          made(await api(merchant, '/pix/charges', body));
        });
    },
    links: async () => {
      const links = await Promise.all(
        merchants.map(async (merchant) =>
          made(await api(merchant, '/payment-links', ordered({ title: 'Pastel', amountCents: 2_500 }))),
        ),
      );
      const all = links.flatMap(({ url = '' }) =>
        Array.from({ length: callsOfAccount }, () => origin + new URL(url).pathname),
      );
      return () =>
        together(all, async (page) => {
          made(await ask(`${page}/charge`, { method: 'pix', payerName: 'Ana' }, payer()));
        });
    },
    static: async () => {
      const before = await paidOf(codes);
      const all = codes.flatMap((code) => Array.from({ length: callsOfAccount }, () => code));
      return async () => {
        await together(all, async (code) => {
          const body = { identifier: (code as Record<string, unknown>).identifier, amountCents: 2_500 };
          await ask(`http://127.0.0.1:${simulatorPort}/control/static`, body);
        });
        while ((await paidOf(codes)) < before + all.length) await new Promise((done) => setTimeout(done, 50));
      };
    },
  };
  const paidOf = async (of: typeof codes): Promise<number> => {
    const counts = await Promise.all(
      of.map(async (code) => {
        const { id } = code as unknown as { id: string };
        return Number((await api(code.merchant, `/static-codes/${id}`, null)).body.paidCount);
      }),
    );
    return counts.reduce((sum, one) => sum + one, 0);
  };
  const postgres = postmasterOf(dataDir);
  const turn = async (kind: Kind): Promise<CpuEach & { perSecond: number }> => {
    const act = await turns[kind]();
    const cpu = () => ({
      service: cpuSecondsOf(service.pid) - cpuSecondsOf(simulator),
      postgres: cpuSecondsOf(postgres),
    });
    if (values.statements) await forgetStatements(server.url);
    const [before, began] = [cpu(), performance.now()];
    await act();
    const [after, seconds] = [cpu(), (performance.now() - began) / 1000];
    if (values.statements)
      console.log(`${kind}\n${textOfStatements(await readStatements(server.url), calls)}`);
    const each = (part: keyof CpuEach): number => ((after[part] - before[part]) / calls) * 1e6;
    return { service: each('service'), postgres: each('postgres'), perSecond: calls / seconds };
  };

  // Until the code is compiled that is run most.
  for (const kind of kinds) for (let at = 0; at < 3; at++) await turn(kind);
  const seen: Record<Kind, (CpuEach & { perSecond: number })[]> = { charges: [], links: [], static: [] };
  const ratios: number[] = [];
  for (let pair = 0; pair < pairs; pair++) {
    for (const kind of pair % 2 === 0 ? kinds : kinds.toReversed()) seen[kind].push(await turn(kind));
    const [charge, link] = [seen.charges.at(-1), seen.links.at(-1)] as [CpuEach, CpuEach];
    ratios.push(allOf(link) / allOf(charge));
    console.log(
      `pair ${pair + 1}: a charge ${textOf(charge)}, by a link ${textOf(link)}: ${ratios.at(-1)?.toFixed(3)}`,
    );
  }
  await service.stop();
  await world.close();
  await server.stop();
  for (const kind of kinds) {
    const middle = (part: keyof (typeof seen)[Kind][number]): string =>
      median(seen[kind].map((one) => one[part])).toFixed(0);
    console.log(
      `${kind}: ${middle('perSecond')} /s, service ${middle('service')} µs, PostgreSQL ${middle('postgres')} µs`,
    );
  }
  console.log(
    `a charge by a link is ${median(ratios).toFixed(3)} of one by the API (limit ${limit}); pairs ${ratios.map((one) => one.toFixed(2)).join(', ')}`,
  );
  return median(ratios) <= limit;
}

try {
  process.exitCode = (await measure()) ? 0 : 1;
} finally {
  await stopAll();
  rmSync(dataDir, { recursive: true, force: true });
}
