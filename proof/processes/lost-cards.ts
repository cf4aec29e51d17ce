import { type Merchant, type Simulator, simulatorAt, until } from '@vintem/testkit/service.ts';
import pg from 'pg';
import { findEmbedded } from '../../server/src/store/database/embedded.ts';
import { commandsWith } from '../chaos/processes.ts';

/**
 * Payments by card in a time that a database loses: pages are paid, released, refunded, and the acquirer pays out, and no delivery says any of it again.
 * Afterwards every approved payment is in the books once, what no request names any more waits for a person under its name, no refund is sent twice, and
 * the books of both connections are what their accounts hold.
 */
export interface LostCards {
  /** Out of the requests after the loss; `merchant` has a card connection from here on. */
  atLoss(): Promise<void>;
  /** Right after the comparison, before any request is repeated. */
  afterReconcile(): Promise<void>;
  /** Repeats every request, and compares books, acquirer and requests. */
  repeatAll(): Promise<{ cards: number; refunds: number }>;
  /** Of payments by card, what the account's balance has more. */
  balanceCents(): number;
}

export interface LostCardsParts {
  merchant: Merchant;
  simulator: Simulator;
  dataDir: string;
  env: Record<string, string>;
  must(holds: boolean, what: string): void;
}

const connection = 'cartoes';
const client = `vintem-${connection}`;
const amountCents = 10_000;
const feeCents = 39;
const refundCents = 2_500;

/** Each with the request that made it. */
interface Page {
  id: string;
  request: { amountCents: number; payerName: string; description: string; requestKey: string };
}

interface Refund {
  id: string;
  page: Page;
  request: { requestKey: string; amountCents: number };
}

const named = (id: string): string => id.replaceAll('-', '');

/** Before the loss: a payment that is held, one that is released, and a page that waits for its payer. */
export async function beginCards(parts: LostCardsParts): Promise<LostCards> {
  const { merchant, simulator, env, must } = parts;
  const run = commandsWith(env);
  const acquirer = simulatorAt(`${simulator.url}/stripe`);
  await run(['connection', 'create', '--name', connection, '--adapter', 'stripe-checkout', '--simulator']);
  await run(['connection', 'pays-out-to', connection, '--to', 'simulator']);
  const terms = ['--card-connection', connection, '--card-fee-cents', String(feeCents)];
  await run(['account', 'set', merchant.ownerId, ...terms, '--minimum-card-cents', '500']);

  const act = async (page: Page, action: string): Promise<void> => {
    const { status, body } = await simulator.control(
      'POST',
      `/control/cards/${named(page.id)}/${action}`,
      {},
    );
    must(status === 200, `${action} was answered ${status} ${JSON.stringify(body)}`);
  };
  const ask = (request: Page['request']) => merchant.call('POST', '/card/checkouts', request);
  const open = async (): Promise<Page> => {
    // A connection is used by the process a moment after it was made, and a refused key stays refused.
    for (;;) {
      const order = { amountCents, payerName: 'Maria', description: 'Pedido' };
      const request = { ...order, requestKey: crypto.randomUUID() };
      const { status, body } = await ask(request);
      if (body.code === 'card_not_enabled') continue;
      if (status !== 201) throw new Error(`a checkout was answered ${status} ${body.code}`);
      const page = { id: body.id, request };
      await until(async () => (await look(page)).status === 'pending');
      return page;
    }
  };
  const look = async (page: Page) => (await merchant.call('GET', `/payments/${page.id}`)).body;
  const refund = async (page: Page): Promise<Refund> => {
    const request = { requestKey: crypto.randomUUID(), amountCents: refundCents };
    const { status, body } = await merchant.call('POST', `/payments/${page.id}/refunds`, request);
    must(status === 201, `a refund was answered ${status} ${body?.code}`);
    return { id: body.id, page, request };
  };
  const isAvailable = async (page: Page): Promise<boolean> =>
    (await look(page)).cardSettlementStatus === 'available';

  const held = await open();
  const released = await open();
  const waiting = await open();
  await act(held, 'approve');
  await act(released, 'approve');
  await until(async () => (await look(released)).status === 'paid' && (await look(held)).status === 'paid');
  await act(released, 'release');
  await until(() => isAvailable(released));

  let asked: Page[] = [];
  let forgotten: Page | null = null;
  let refunds: Refund[] = [];

  const sql = async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> => {
    const database = new pg.Client({ connectionString: (await findEmbedded(parts.dataDir)) ?? '' });
    await database.connect();
    try {
      return (await database.query<Row>(text, values)).rows;
    } finally {
      await database.end();
    }
  };

  return {
    async atLoss() {
      const paid = await open();
      const late = await open();
      forgotten = await open();
      asked = [paid, late];
      // Each delivery is answered, so none of them comes again.
      for (const page of [waiting, paid, forgotten]) await act(page, 'approve');
      for (const page of [waiting, paid, forgotten])
        await until(async () => (await look(page)).status === 'paid');
      await act(held, 'release');
      await until(() => isAvailable(held));
      refunds = [await refund(held), await refund(released)];
      await until(async () => {
        const states = await Promise.all(
          refunds.map(async ({ id }) => (await merchant.call('GET', `/refunds/${id}`)).body.status),
        );
        return states.every((status) => status === 'completed');
      });
      const left = await acquirer.control('POST', `/control/card-cash/${client}/payout`, {
        amountCents: 5_000,
      });
      must(left.status === 200, `a payout was answered ${left.status}`);
      const arrived = await simulator.control('POST', '/control/static', {
        ...{ identifier: 'CAIXA00000001', amountCents: 5_000 },
      });
      must(
        arrived.status === 200,
        `its arrival was answered ${arrived.status} ${JSON.stringify(arrived.body)}`,
      );
    },

    async afterReconcile() {
      // The released one has no follow-up any more: its refund is in a list alone.
      for (const { page } of refunds) {
        const [row] = await sql<{ taken: object | null }>(
          `SELECT card -> 'taken' AS taken FROM payment WHERE id = $1`,
          [page.id],
        );
        must(row?.taken != null, `the refund of ${page.id} in the lost time is not in the books`);
      }
      const unread = await sql<{ reference: string; provider_id: string }>(
        `SELECT reference, provider_id FROM unread_item WHERE connection = $1`,
        [connection],
      );
      for (const page of [asked[0], forgotten])
        must(
          unread.some(({ provider_id: one }) => one === named(page?.id ?? '')),
          `what was paid on the lost page ${page?.id} waits for no person: ${JSON.stringify(unread)}`,
        );
    },

    async repeatAll() {
      for (const page of asked) {
        const { status, body } = await ask(page.request);
        must(
          status === 201 && body.id === page.id,
          `a repeat was answered ${status} ${body?.code} ${body?.id}`,
        );
      }
      const late = asked[1] as Page;
      await act(late, 'approve');
      for (const one of refunds) {
        const { status, body } = await merchant.call('POST', `/payments/${one.page.id}/refunds`, one.request);
        must(
          body?.code === 'refund_already_booked',
          `a refund's repeat was answered ${status} ${body?.code}`,
        );
      }
      const known = [held, released, waiting, ...asked];
      for (const page of known)
        await until(async () => (await look(page)).status === 'paid', 60_000).catch(() =>
          must(false, `${page.id} is approved and not paid`),
        );
      const { body: truth } = await acquirer.control('GET', '/control/state');
      for (const { id, timesReceived, refundedCents = 0 } of truth.cards as {
        id: string;
        timesReceived: number;
        refundedCents?: number;
      }[]) {
        const sent = refunds.filter(({ page }) => named(page.id) === id).length * refundCents;
        must(refundedCents === sent, `${id} was refunded ${refundedCents} of ${sent} (${timesReceived})`);
      }
      const pages = new Map<string, number>();
      for (const { id } of truth.cards) pages.set(id, (pages.get(id) ?? 0) + 1);
      for (const [id, count] of pages) must(count === 1, `${id} has ${count} pages`);
      await booksAgree();
      return { cards: known.length + 1, refunds: refunds.length };
    },

    balanceCents: () => 2 * (amountCents - feeCents) - refunds.length * refundCents,
  };

  /** The payment on the page that no request names again is a person's: it is in no books until then. */
  async function booksAgree(): Promise<void> {
    const sumOf = async (name: string): Promise<number> => {
      const [row] = await sql<{ sum: string }>(
        `SELECT coalesce(-sum(clearing), 0) AS sum FROM journal WHERE coalesce(connection, 'simulator') = $1`,
        [name],
      );
      return Number(row?.sum);
    };
    const { body: truth } = await acquirer.control('GET', '/control/state');
    const atAcquirer = (truth.cards as { paidCents?: number; refundedCents?: number }[]).reduce(
      (sum, { paidCents = 0, refundedCents = 0 }) => sum + paidCents - refundedCents,
      -5_000,
    );
    let found: [number, number] = [0, 0];
    await until(async () => {
      await sql(`UPDATE job SET due_at = 'epoch' WHERE what IN ('costs', 'statement')`);
      found = [await sumOf(connection), await transit()];
      return found[0] === atAcquirer - amountCents && found[1] === 0;
    }, 60_000).catch(() =>
      must(
        false,
        `the books have ${found[0]} at the acquirer, which has ${atAcquirer} (${amountCents} of it a person's), and ${found[1]} in transit`,
      ),
    );
  }

  /** Payouts that have not arrived, or are not known: 0 or 1. */
  async function transit(): Promise<number> {
    const rows = await sql<{ arrival: string | null }>('SELECT arrival FROM cash_transfer');
    return rows.length === 1 && rows[0]?.arrival !== null ? 0 : 1;
  }
}
