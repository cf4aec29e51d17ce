import { createLog } from '../../server/src/ground/log.ts';
import { findEmbedded } from '../../server/src/store/database/embedded.ts';
import { openPool } from '../../server/src/store/database/pool.ts';
import { cardBooksOf } from '../chaos/card-books.ts';
import { type AcquirerTruth, type CardBooks, createCardPayers } from '../chaos/card-payers.ts';
import type { Merchant } from '../chaos/giving-back.ts';
import { http } from '../chaos/processes.ts';
import { random } from '../simulation/random.ts';
import { pause } from './clients.ts';

/**
 * Payments by card at both acquirers, before a copy of the database is made and in the time that is lost with it: pages are made, paid, refused, refunded,
 * released and charged back, and one of the acquirers pays out. Once the copy has been compared with the acquirers, every request is repeated, and days go
 * by. Then each approval is in the books once or before a person, nothing was given back twice, and the books are what each account holds.
 */
export interface CardTrade {
  begin(): void;
  /** Ends what is under way; what has no answer is repeated later. */
  halt(): Promise<void>;
  /** Of the copy: what is asked for before the comparison. @returns how many payments the copy lacks */
  askEarly(): Promise<number>;
  /** After the comparison. */
  conclude(dataDir: string): Promise<CardFigures>;
}

export interface CardFigures {
  pages: number;
  approved: number;
  refunds: number;
  chargebacks: number;
  beforePerson: number;
  faults: string[];
}

interface Place {
  /** A command of the program, by its words. */
  run<T>(words: string[]): Promise<T>;
  url: string;
  simulatorUrl: string;
  seed: number;
}

const acquirers = [
  { dialect: 'stripe', connection: 'cartoes', paysOut: true },
  { dialect: 'asaas', connection: 'parcelas', paysOut: false },
] as const;
type Acquirer = (typeof acquirers)[number];
type Payers = ReturnType<typeof createCardPayers>;

/** Of each acquirer, at once. */
const shops = 5;

export async function openCardTrade(place: Place): Promise<CardTrade> {
  const { url, simulatorUrl, seed } = place;
  let running = false;
  let dataDir = '';
  const at = ({ dialect }: Acquirer, method: string, path: string, body?: unknown) =>
    http(method, `${simulatorUrl}/${dialect}${path}`, method === 'GET' ? undefined : (body ?? {}));
  // As the seed says, an acquirer has forgotten the keys of requests, or its payments say which request they are of.
  const behaviourOf = ({ dialect }: Acquirer, isRestored: boolean): object =>
    dialect === 'stripe'
      ? { fees: 'on', keys: isRestored && seed % 2 === 0 ? 'forgotten' : 'kept' }
      : { fees: 'on', pageFilter: seed % 4 < 2 ? 'inherited' : 'kept' };
  const trades: { acquirer: Acquirer; payers: Payers }[] = [];
  for (const acquirer of acquirers) {
    const merchant = await openShop(place, acquirer);
    await at(acquirer, 'PUT', '/control/behaviour', behaviourOf(acquirer, false));
    const own = random(seed + acquirer.connection.length);
    const payers = createCardPayers({
      merchants: Array.from({ length: shops }, () => merchant),
      call: ({ key }, method, path, body) =>
        http(method, `${url}/api/v1/public${path}`, body, { authorization: `Bearer ${key}` }),
      control: (method, path, body) => at(acquirer, method, path, body),
      arrives: (amountCents) =>
        http('POST', `${simulatorUrl}/control/static`, { identifier: 'CAIXA00000001', amountCents }),
      client: acquirer.paysOut ? `vintem-${acquirer.connection}` : null,
      manyPages: true,
      isAsaas: acquirer.dialect === 'asaas',
      books: () => booksIn(dataDir, acquirer),
      chance: () => own.next(),
      isRunning: () => running,
      note: () => {},
    });
    trades.push({ acquirer, payers });
  }
  const each = (work: (trade: (typeof trades)[number]) => Promise<unknown>): Promise<unknown> =>
    Promise.all(trades.map(work));
  let underWay: Promise<unknown>[] = [];
  const halt = async (): Promise<void> => {
    running = false;
    await Promise.all(underWay);
    await each(({ payers }) => payers.ended());
  };

  return {
    begin() {
      running = true;
      underWay = trades.flatMap(({ payers }) => payers.begin());
    },
    halt,
    async askEarly() {
      let lost = 0;
      await each(async ({ acquirer, payers }) => {
        await at(acquirer, 'PUT', '/control/behaviour', behaviourOf(acquirer, true));
        lost += await payers.lost();
        await payers.repeatPages(0.3);
      });
      return lost;
    },
    async conclude(restored) {
      dataDir = restored;
      const figures = { pages: 0, approved: 0, refunds: 0, chargebacks: 0, beforePerson: 0 };
      const faults: string[] = [];
      await each(({ payers }) => payers.repeatPages());
      await each(({ payers }) => payers.settle((ids) => queriesDue(dataDir, ids), { refunds: false }));
      await each(({ payers }) => payers.repeatRefunds());
      running = true;
      await each(({ payers }) => payers.later());
      await halt();
      await each(({ payers }) => payers.settle((ids) => queriesDue(dataDir, ids)));
      await each(({ payers }) => payers.arrive());
      await each(async ({ acquirer, payers }) => {
        const { held, books, found } = await agreed(payers, acquirer, dataDir);
        const [asked, paid] = [payers.figures(held, books), held.cards.filter(isPaid)];
        figures.pages += held.cards.length;
        figures.approved += paid.length;
        figures.refunds += asked.refunds.completed ?? 0;
        figures.chargebacks += paid.filter(({ dispute }) => dispute !== undefined).length;
        figures.beforePerson += books.inFrontOfPerson.size;
        faults.push(...found.map((fault) => `${acquirer.connection}: ${fault}`));
      });
      return { ...figures, faults };
    },
  };
}

const isPaid = ({ paidCents }: { paidCents?: number }): boolean => paidCents !== undefined;

/** Lists of an acquirer are read every ten minutes: now, until books and acquirer agree. */
async function agreed(
  payers: Payers,
  acquirer: Acquirer,
  dataDir: string,
): Promise<{ held: AcquirerTruth; books: CardBooks; found: string[] }> {
  for (const by = performance.now() + 90_000; ; await pause(2_000)) {
    await payers.look();
    const [held, books] = [await payers.truth(), await booksIn(dataDir, acquirer)];
    const found = payers.faults(held, books);
    if (found.length === 0 || performance.now() > by) return { held, books, found };
    await listsDue(dataDir);
  }
}

async function openShop({ run }: Place, { dialect, connection, paysOut }: Acquirer): Promise<Merchant> {
  await run([
    ...['connection', 'create', '--name', connection],
    ...['--adapter', `${dialect}-checkout`, '--simulator'],
  ]);
  if (paysOut) await run(['connection', 'pays-out-to', connection, '--to', 'simulator']);
  const { ownerId, operationId } = await run<{ ownerId: string; operationId: string }>([
    ...['account', 'create', '--name', `Loja ${connection}`, '--test'],
  ]);
  await run([
    ...['account', 'set', ownerId, '--card-connection', connection],
    ...['--card-fee-cents', '39', '--minimum-card-cents', '500'],
  ]);
  const { key } = await run<{ key: string }>([
    ...['key', 'create', '--account', ownerId, '--name', 'proof'],
    ...['--permissions', 'read,charges,refunds'],
  ]);
  return { accountId: ownerId, operationId, key };
}

/** Rows of the database of a program that runs on a folder. */
async function rowsIn<Row>(
  dataDir: string,
  name: string,
  text: string,
  given: unknown[] = [],
): Promise<Row[]> {
  const url = (await findEmbedded(dataDir)) ?? '';
  await using sql = disposed(openPool({ url, log: createLog('silent'), name: 'card trade', size: 1 }));
  return sql.run<Row>({ name, text }, given);
}

const disposed = <Pool extends { close(): Promise<unknown> }>(pool: Pool): Pool & AsyncDisposable =>
  Object.assign(pool, {
    [Symbol.asyncDispose]: async () => {
      await pool.close();
    },
  });

function booksIn(dataDir: string, { connection }: Acquirer): Promise<CardBooks> {
  const rows = <Row>(name: string, text: string) => rowsIn<Row>(dataDir, name, text);
  return cardBooksOf(connection, { cells: rows, shared: rows });
}

const queriesDue = (dataDir: string, paymentIds: readonly string[]): Promise<unknown> =>
  rowsIn(
    dataDir,
    'queries due',
    `UPDATE intent SET due_at = now() WHERE state = 'awaiting' AND due_at > now() AND payment_id IN (
      SELECT unnest($1::uuid[]) UNION SELECT id FROM refund WHERE payment_id = ANY ($1))`,
    [paymentIds],
  );

async function listsDue(dataDir: string): Promise<void> {
  await rowsIn(
    dataDir,
    'lists due',
    `UPDATE job SET due_at = 'epoch' WHERE what IN ('costs', 'statement', 'disputes') AND due_at > now()`,
  );
  await rowsIn(dataDir, 'items due', `UPDATE unread_item SET next_at = 'epoch' WHERE dismissed_at IS NULL`);
}
