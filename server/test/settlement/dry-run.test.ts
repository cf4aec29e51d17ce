import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finish } from '@vintem/testkit/command.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { keepMovements, movementsOfCosts, postMovements } from '../../src/flow/connection-movements.ts';
import { prepareLimits } from '../../src/flow/limit.ts';
import { bookUnmatched } from '../../src/flow/unmatched.ts';
import { readConfig } from '../../src/ground/config.ts';
import type { Command } from '../../src/main/cli/command.ts';
import { commands } from '../../src/main/cli/commands.ts';
import { findCommand, parseWords } from '../../src/main/cli/words.ts';
import { insertPayouts } from '../../src/store/rows/cash-transfers.sql.ts';

// Without a worker the commands alone post what the provider knows and the books lack.
let service: Service;
let merchant: Merchant;
let env: Record<string, string>;

beforeAll(async () => {
  const VINTEM_SECRET = randomBytes(32).toString('base64');
  service = await openService({ worker: false, env: { VINTEM_SECRET } });
  await prepareLimits(service.runtime.sql, 'simulator', null);
  merchant = await service.newMerchant();
  await merchant.receive(50_000);
  env = {
    ...{ DATABASE_URL: service.database.url, VINTEM_SECRET, LOG_LEVEL: 'silent' },
    ...{ SIMULATOR_URL: service.runtime.simulatorUrl, DATA_DIR: await mkdtemp(join(tmpdir(), 'vintem-')) },
  };
});
afterAll(async () => {
  await service?.close();
  if (env) await rm(env.DATA_DIR as string, { recursive: true });
});

afterEach(() => service.simulator.behave({}));

async function vintem(words: readonly string[], codes: readonly number[] = [0]) {
  const { code, stdout, stderr } = await finish([...words, '--json'], env);
  expect(codes, `${words.join(' ')}: ${stderr}`).toContain(code);
  return JSON.parse(stdout);
}

/** Each act that posts, with something to post. */
const acts: Record<string, () => Promise<{ words: string[]; movements: string[]; codes?: number[] }>> = {
  'hold place': async () => ({
    words: ['--operation', merchant.operationId, '--amount-cents', '500', '--reason', 'a court asks'],
    movements: ['hold'],
  }),
  'hold release': async () => {
    const words = ['--operation', merchant.operationId, '--amount-cents', '300', '--reason', 'a court asks'];
    return { words: [(await vintem(['hold', 'place', ...words])).id], movements: ['releaseHold'] };
  },
  'incident resolve': async () => {
    const { body } = await merchant.charge();
    await service.simulator.control('POST', `/control/charges/${body.id.replaceAll('-', '')}/pay`, {
      amountCents: 900,
    });
    await until(async () => (await openIncidents('amount_mismatch')).length > 0);
    const [incident] = await openIncidents('amount_mismatch');
    return {
      words: [incident?.id ?? '', '--action', 'credit', '--reason', 'the payer typed it'],
      movements: ['creditFromSuspense'],
    };
  },
  'incident own-money': async () => {
    const provider = service.runtime.providers.get('simulator');
    // As other programs that use the provider's account make them.
    const txid = `loja${crypto.randomUUID().replaceAll('-', '').slice(4)}`;
    await service.simulator.behave({ webhook: 'drop' });
    const amountCents = 1_250;
    await provider?.createCharge({
      ...{ txid, amountCents, payerName: 'Ana', description: 'x', expirySeconds: 3_600 },
    });
    await service.simulator.control('POST', `/control/charges/${txid}/pay`);
    let pix = '';
    await until(async () => {
      const known = await provider?.queryCharge(txid);
      pix = known?.outcome === 'found' ? (known.report.received[0]?.endToEnd ?? '') : '';
      return pix !== '';
    });
    const moved = { amountCents, at: Date.now() };
    await bookUnmatched(
      service.runtime,
      'simulator',
      [{ named: null, pix, moved, returns: [], sign: 1, isOwn: false }],
      true,
    );
    await service.simulator.behave({});
    return { words: ['--connection', 'simulator', '--reason', 'our own shop'], movements: ['writeOff'] };
  },
  reconcile: async () => {
    // Until the act has ended: the simulator looks at it when it would deliver, and not when the payer pays.
    await service.simulator.behave({ webhook: 'drop' });
    const { body } = await merchant.charge({ amountCents: 700 });
    await service.simulator.control('POST', `/control/charges/${body.id.replaceAll('-', '')}/pay`);
    return { words: ['--account', merchant.ownerId], movements: ['credit'] };
  },
  close: async () => {
    const costs = [{ reference: 'received:E-unposted', amountCents: 119, at: Date.now() }];
    await keepMovements(service.runtime, 'simulator', movementsOfCosts(costs, 'delivery'));
    return { words: [], movements: ['providerCost'], codes: [0, 3] };
  },
  'connection cost': async () => ({
    words: ['simulator', '--amount-cents', '990', '--request-key', 'november', '--reason', 'their invoice'],
    movements: ['providerCost'],
  }),
  'connection own-money': async () => ({
    words: ['simulator', '--amount-cents=-4000', '--request-key', 'sweep', '--reason', 'to our bank'],
    movements: ['ownMoney'],
  }),
  'payment returned': async () => {
    const { body } = await merchant.transfer({ pixKey: 'complete@simulator.example' });
    await until(async () => (await merchant.call('GET', `/payments/${body.id}`)).body.status === 'completed');
    const given = [
      '--return',
      `D${'3'.repeat(31)}`,
      '--amount-cents',
      '90',
      '--at',
      new Date().toISOString(),
    ];
    return { words: [body.id, ...given, '--reason', 'seen at the bank'], movements: ['return'] };
  },
  'connection payout-own': async () => {
    const acquirer = ['connection', 'create', '--name', 'cartoes', '--adapter', 'stripe-checkout'];
    await vintem([...acquirer, '--simulator']);
    await vintem(['connection', 'pays-out-to', 'cartoes', '--to', 'simulator']);
    const at = Date.now();
    const payout = { reference: 'po_1', amountCents: 5_005, at, dueAt: at, isReturn: false };
    await insertPayouts(service.runtime.sql, 'cartoes', [payout], at);
    await postMovements(service.runtime, 'cartoes');
    return {
      words: ['cartoes', '--payout', 'po_1', '--reason', 'paid to the other bank'],
      movements: ['cashArrive'],
    };
  },
};

test('Each act that has --dry-run is rehearsed here', () => {
  const rehearsed = commands.filter(({ options }) => options?.['dry-run'] !== undefined);
  expect(rehearsed.map(({ name }) => name).sort()).toEqual(Object.keys(acts).sort());
});

test.each(Object.entries(acts))(
  'A rehearsal of `%s` writes nothing and shows the postings that the act then writes',
  async (name, prepare) => {
    const { words, movements, codes } = await prepare();
    const command = [...name.split(' '), ...words];
    const before = await everything();
    const { postings, ...rest } = await vintem([...command, '--dry-run']);
    expect(rest).toEqual({ dryRun: true });
    expect(await everything()).toEqual(before);
    const last = await journals();
    await vintem(command, codes);
    const written = (await journals()).filter((one) => !last.some(({ id }) => id === one.id));
    expect(byChain(postings)).toEqual(byChain(written.map(({ id: _, ...posting }) => posting)));
    expect(postings.map(({ movement }: { movement: string }) => movement)).toEqual(movements);
    expect(await violationsOfBooks(service)).toEqual([]);
  },
);

test('An open incident shows the actions that it allows, each with its postings', async () => {
  const { words } = (await acts['incident resolve']?.()) ?? { words: [] };
  const before = await everythingAtRest();
  const { allowed } = await vintem(['incident', 'show', words[0] ?? '']);
  expect(await everything()).toEqual(before);
  expect(
    allowed.map(({ action, postings }: { action: string; postings: { lines: object }[] }) => ({
      ...{ action, lines: postings.map(({ lines }) => lines) },
    })),
  ).toEqual([
    { action: 'credit', lines: [{ available: 900, suspense: -900 }] },
    { action: 'writeoff', lines: [{ suspense: -900, adjustments: 900 }] },
    { action: 'return', lines: [{ reserved: 900, suspense: -900 }] },
    { action: 'none', lines: [] },
  ]);
});

test('At a terminal the end of an incident is shown with its postings, and written after a yes alone', async () => {
  const { words } = (await acts['incident resolve']?.()) ?? { words: [] };
  const said: string[] = [];
  const answers = [false, true];
  const { clock, ids, log } = service.runtime;
  const edge = {
    ...{ config: readConfig(env), clock, ids, log },
    say: (line: string) => void said.push(line),
    confirm: async () => answers.shift() === true,
  };
  const command = findCommand(['incident', 'resolve']) as Command;
  const resolve = () => command.run(edge, parseWords(command, words), new AbortController().signal);
  const before = await everythingAtRest();
  await expect(resolve()).rejects.toThrow('nothing was written');
  expect(await everything()).toEqual(before);
  expect(said.join('\n')).toMatch(/creditFromSuspense +available +credit +R\$ 9,00/);
  expect(await resolve()).toMatchObject({ json: { state: 'resolved' } });
  expect(said).toHaveLength(2);
});

test('A rehearsal that is refused is refused with the sentence of the act', async () => {
  const words = ['hold', 'release', '00000000-0000-7000-8000-000000000000', '--dry-run'];
  const { code, stderr } = await finish(words, env);
  expect([code, stderr]).toEqual([1, expect.stringContaining('no such hold')]);
});

const byChain = <Posting extends object>(postings: readonly Posting[]) =>
  postings.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));

const columns = {
  available: 'available',
  reserved: 'reserved',
  held: 'held',
  receivable: 'receivable',
  clearing: 'clearing',
  feeRevenue: 'fee_revenue',
  providerCost: 'provider_cost',
  suspense: 'suspense',
  adjustments: 'adjustments',
};

/** Of all cells, as the command shows them. */
async function journals() {
  const rows = await ofCells<Record<string, string | null>>('SELECT * FROM %.journal');
  return rows.map((row) => ({
    id: `${row.chain_id} ${row.seq}`,
    ...{ accountId: row.account_id, chainId: row.chain_id, movement: row.template },
    lines: Object.fromEntries(
      Object.entries(columns)
        .map(([name, column]) => [name, Number(row[column])] as const)
        .filter(([, cents]) => cents !== 0),
    ),
    connection: row.connection,
  }));
}

const openIncidents = (kind: string) =>
  ofCells<{ id: string }>(`SELECT id FROM %.incident WHERE kind = '${kind}' AND state = 'open'`);

async function ofCells<Row extends object>(text: string): Promise<Row[]> {
  const cells = service.runtime.cells.all().map(({ cell }) => cell);
  return (
    await Promise.all(cells.map((cell) => service.database.admin<Row>(text.replace('%', cell))))
  ).flat();
}

/**
 * Limits of calls to a provider are taken in truth, each command notes that its secret is in use, and the service writes of the requests and deliveries
 * before a moment later.
 */
const notes = [
  ...['query_slot', 'send_slot', 'connection', 'breaker', 'sealing_secret'],
  ...['inbound', 'request_log', 'storage_budget'],
];

/** Once no delivery of the provider is under way. */
async function everythingAtRest(): Promise<Record<string, string>> {
  let last = await everything();
  await until(async () => {
    const before = JSON.stringify(last);
    last = await everything();
    return JSON.stringify(last) === before;
  });
  return last;
}

/** Every row of every table of every cell. */
async function everything(): Promise<Record<string, string>> {
  const tables = await service.database.admin<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname ~ '^vintem' AND tablename <> ALL ($1::text[])`,
    [notes],
  );
  const texts = tables.map(
    ({ name }) =>
      `SELECT '${name}' AS name, md5(coalesce(string_agg(t::text, '' ORDER BY t::text), '')) AS rows FROM ${name} t`,
  );
  const rows = await service.database.admin<{ name: string; rows: string }>(texts.join(' UNION ALL '));
  return Object.fromEntries(rows.map((row) => [row.name, row.rows]));
}
