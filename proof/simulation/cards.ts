import { stepConnectionMovements } from '../../server/src/flow/connection-movements.ts';
import { eventKinds } from '../../server/src/money/journal.ts';
import type { Bank } from '../../simulator/src/bank.ts';
import { payStatic } from '../../simulator/src/bank.ts';
import {
  type Attempt,
  approvalOf,
  type Card,
  type CardAction,
  type CardFields,
  cardBalance,
  failPayout,
  moveCard,
  payOut,
  refundedOf,
} from '../../simulator/src/cards.ts';
import { type Acquirer, cardClient, cards as connection } from './acquirer.ts';
import { type Answer, createAsking } from './asking.ts';
import { type Finding, nothingPosted } from './checks.ts';
import type { Database } from './database.ts';
import { pixKey } from './prelude.ts';
import type { Random } from './random.ts';
import type { Life } from './service.ts';
import type { World } from './world.ts';

/**
 * Payers pay by card at an acquirer, are refused, looked at, approved before the page is answered, of another amount or after its end; the acquirer releases,
 * takes chargebacks and gives them back, and pays out to the account for Pix; the merchant closes pages and gives money back.
 */
export interface Cards {
  /** Plans what happens during the storm. */
  plan(): void;
  /** Repeats unanswered requests. */
  again(): void;
  /** The acquirer ends what is open, and its lists are read; resolves when they are. */
  settle(): Promise<void>;
  /** After each step: nothing is paid, released, taken or arrived that the acquirer has not said or done. */
  look(): Finding[];
  /** The acquirer's word on each payment is on record, and its account is what the books say. */
  check(): Finding[];
}

/** As often as lists of payouts and costs are read, and a little more. */
const readEveryMs = 10 * 60_000 + 1_000;
/** Longer than a reading that died keeps the next one away. */
const lastReadings = 6;

const fates = 'approve approve early instant refuse review odd odd late late never'.split(' ');
/** How often each comes of an approval, beside what the merchant asks for. */
const movesAfter = [
  ['release', 0.4],
  ['chargeback', 0.4],
  ['refund', 0.25],
] as const;

export function createCards(parts: {
  world: World;
  db: Database;
  living(): Life;
  chance: Random;
  acquirer: Acquirer;
  /** Of the connection for Pix, where payouts arrive. */
  pix: Bank;
  bankWorld: { now(): number; letters(count: number): string };
  operations: readonly string[];
  short: boolean;
  requestKey(): string;
  call(method: string, path: string, body?: object, operationId?: string): Promise<Answer>;
  wake(): void;
  say(line: string): void;
  findings: Finding[];
}): Cards {
  const { world, db, living, chance, acquirer, pix, bankWorld, operations, short, call, say, findings } =
    parts;
  const { bank } = acquirer;
  const { submit, again } = createAsking({ world, chance, say, findings });
  const made = new Map<string, string>();
  let over = false;
  let lookedAt = '';
  const later = (within: number, act: () => void): void =>
    world.at(world.now() + chance.below(within), () => {
      if (!over) act();
    });

  const pay = (operationId: string, requestKey: string, amountCents: number): Promise<void> =>
    submit({
      what: 'checkout',
      run: () =>
        call(
          'POST',
          '/card/checkouts',
          { amountCents, payerName: 'Ana', description: 'x', requestKey },
          operationId,
        ),
      answered: ({ id = '' }) => {
        const first = made.get(requestKey);
        if (first !== undefined && first !== id)
          findings.push({ invariant: 10, what: `a request key reached the payments ${first} and ${id}` });
        made.set(requestKey, id);
      },
    });

  const close = (id: string, operationId: string): Promise<void> =>
    submit({
      what: 'card close',
      run: () =>
        chance.chance(0.5)
          ? call('POST', `/card/checkouts/${id}/expire`, {}, operationId)
          : call('POST', `/payments/${id}/cancel`, {}, operationId),
      answered: () => {},
    });

  function giveBack(id: string, operationId: string): Promise<void> {
    const body = {
      requestKey: parts.requestKey(),
      ...chance.pick([{}, { amountCents: 400 }, { amountCents: 400 }]),
    };
    return submit({
      what: 'card refund',
      run: () => call('POST', `/payments/${id}/refunds`, body, operationId),
      answered: () => {},
    });
  }

  /** An act of a payer, of his bank or of the acquirer; nothing where it cannot be as the card stands. */
  function act(card: Card, action: CardAction, fields: CardFields = {}): void {
    if (moveCard(bank, bankWorld, card, action, fields).answer !== 'done') return;
    say(`card ${card.id.slice(0, 8)}: ${action}`);
    world.count(`card ${action}`);
    acquirer.wake();
  }

  /** The life of a page from the moment in which it was made: the creation is not answered yet. */
  function live(card: Card): void {
    if (over) return;
    const within = short ? 60_000 : 1_200_000;
    const odd = chance.pick([
      { amountCents: card.amountCents - 1 },
      { currency: 'usd' },
      { installments: 2 },
    ]);
    const fate = chance.pick(fates);
    world.count(`card fate ${fate}`);
    const approves = (at: number, fields: CardFields = {}) => later(at, () => act(card, 'approve', fields));
    if (fate === 'early' || fate === 'instant') act(card, 'approve');
    // Before any report of the approval was read.
    if (fate === 'instant') act(card, chance.pick(['release', 'refund', 'chargeback']), { amountCents: 150 });
    if (fate === 'refuse') later(within / 4, () => act(card, 'refuse', { reason: 'do_not_honor' }));
    if (fate === 'review') later(within / 4, () => act(card, 'review'));
    if (fate === 'late') later(within / 4, () => act(card, 'expire'));
    if (fate === 'odd') approves(within / 2, odd);
    else if (fate !== 'never') approves(within / 2);
    for (const [action, often] of movesAfter)
      if (chance.chance(often))
        later(within, () => act(card, action, action === 'refund' ? { amountCents: 150 } : {}));
    if (chance.chance(0.4)) later(within, () => putOff(card));
    later(within, () => act(card, chance.pick(['win', 'lose'])));
  }

  function putOff(card: Card): void {
    const approval = approvalOf(card);
    if (!approval || approval.released) return;
    approval.releaseAt += 86_400_000;
    world.count('card release put off');
  }

  /** Half of what may be paid out leaves, and arrives at the account for Pix, or its bank refuses it. */
  function moveCash(): void {
    const { availableCents } = cardBalance(bank, cardClient);
    const amountCents = Math.floor(availableCents / 2);
    if (amountCents < 1) return;
    const { answer } = payOut(bank, bankWorld, { client: cardClient, kind: 'payout', amountCents });
    if (answer === 'wrong') return;
    world.count('card payout');
    say(`the acquirer pays ${amountCents} out`);
    if (chance.chance(0.5)) {
      world.at(world.now() + 60_000, () => {
        failPayout(bank, bankWorld, answer.id);
        world.count('card payout failed');
      });
      return;
    }
    world.at(world.now() + chance.below(600_000), () => {
      payStatic(pix, bankWorld, `CAIXA${bankWorld.letters(15)}`, amountCents, pixKey);
      parts.wake();
    });
  }

  async function read(): Promise<void> {
    const { process, home } = living();
    for (const name of [connection, 'simulator']) {
      const provider = home.providers.get(name);
      if (!process.alive || !provider) return;
      await stepConnectionMovements(home, provider).catch(() => world.count('movements not read'));
    }
  }

  return {
    plan() {
      acquirer.made = live;
      for (let one = 0; one < (short ? 1 : 3); one++)
        later(chance.pick([100, 20_000]), () => {
          const operationId = chance.pick(operations.slice(0, 2));
          const requestKey = parts.requestKey();
          const cents = chance.pick([1_000, 2_500]);
          void pay(operationId, requestKey, cents);
          if (chance.chance(0.2)) void pay(operationId, requestKey, cents);
          const asks = (within: number, ask: (id: string) => Promise<void>) =>
            later(within, () => {
              const id = made.get(requestKey);
              if (id !== undefined) void ask(id);
            });
          if (chance.chance(0.3)) asks(60_000, (id) => close(id, operationId));
          for (let part = chance.below(3); part > 0; part--)
            asks(short ? 100_000 : 1_500_000, (id) => giveBack(id, operationId));
        });
      if (!short && chance.chance(0.8)) later(1_800_000, moveCash);
      for (let at = readEveryMs; at < (short ? 1 : 9_000_000); at += readEveryMs)
        world.at(world.now() + at, () => {
          if (!over) void read();
        });
    },
    again,
    async settle() {
      over = true;
      for (const card of [...bank.cards.values()]) {
        act(card, chance.pick(['win', 'lose']));
        if (chance.chance(0.5)) act(card, 'release');
        if (!approvalOf(card)) act(card, 'expire');
      }
      acquirer.settleAll();
      acquirer.tellAgain();
      for (let reading = 0; reading < lastReadings; reading++) {
        let ended = false;
        void read().then(() => {
          ended = true;
        });
        await world.run(() => ended, world.now() + 60_000);
        await world.run(() => false, world.now() + readEveryMs);
      }
    },
    look() {
      const version = [db.version('payment'), db.version('cash_transfer')].join();
      if (version === lookedAt) return [];
      lookedAt = version;
      return [...notSaid(db, bank), ...notArrived(db, pix)];
    },
    check: () => [...wordsOf(db, bank), ...accountOf(db, bank), ...cashOf(db, bank)],
  };
}

interface PaymentRow {
  id: string;
  status: string;
  amount_cents: number;
  refunded_cents: number;
  card: { settlement: string | null };
  waits: boolean;
}

const isAsAsked = (card: Card, { amountCents, currency, installments }: Attempt): boolean =>
  amountCents === card.amountCents && currency === 'brl' && installments === 1;

/** Those that were asked for here: a person made the others at the acquirer. */
const ownOf = ({ refunds }: Attempt) => refunds.filter(({ idempotencyKey }) => idempotencyKey !== undefined);

/** 13, 46: paid where the acquirer approved what was asked for, and released where it released, unless a person has to look. */
function wordsOf(db: Database, bank: Bank): Finding[] {
  const rows = db.run<PaymentRow>(
    `SELECT id, status, amount_cents, refunded_cents, card, EXISTS (SELECT FROM incident i WHERE i.payment_id = p.id AND i.kind = ANY ($1)) AS waits
      FROM payment p WHERE card IS NOT NULL`,
    [[...nothingPosted]],
  );
  return rows.flatMap(({ id, status, refunded_cents: refunded, card: { settlement }, waits }) => {
    const pages = [...bank.cards.values()].filter((one) => one.id === id.replaceAll('-', ''));
    const approvals = pages.flatMap((page) => {
      const approval = approvalOf(page);
      return approval && isAsAsked(page, approval) ? [approval] : [];
    });
    const [approval] = approvals;
    const faults: [boolean, number, string][] = [
      [
        (status === 'paid') === (approval !== undefined),
        13,
        `${status}, and ${approvals.length} approvals are there`,
      ],
      [status !== 'unknown' && status !== 'pending', 46, `is still ${status}`],
      [
        status !== 'paid' || (settlement === 'available') === (approval?.released ?? false),
        71,
        `its settlement is ${settlement}`,
      ],
      [
        approval === undefined || refunded === refundedOf(ownOf(approval)),
        24,
        `refunded ${refunded} of ${approval ? refundedOf(ownOf(approval)) : 0}`,
      ],
    ];
    return waits
      ? []
      : faults.flatMap(([holds, invariant, what]) =>
          holds ? [] : [{ invariant, what: `the payment by card ${id}: ${what}` }],
        );
  });
}

interface KnownCard {
  id: string;
  status: string;
  card: {
    approval: string | null;
    settlement: string | null;
    taken?: Record<string, { outCents: number; backCents: number }>;
  };
}

/** 13, 71, 72: what a row says that its acquirer has not. What the acquirer did never is undone there, so that a late report of it is none either. */
function notSaid(db: Database, bank: Bank): Finding[] {
  const rows = db.run<KnownCard>('SELECT id, status, card FROM payment WHERE card IS NOT NULL', []);
  return rows.flatMap(({ id, status, card: { approval: name, settlement, taken = {} } }) => {
    const page = [...bank.cards.values()].find((one) => one.intent !== undefined && one.intent === name);
    const approval = page && approvalOf(page);
    const { dispute } = approval ?? {};
    const refunded = approval === undefined ? 0 : refundedOf(approval.refunds);
    const sums = Object.values(taken);
    const sum = (of: (one: { outCents: number; backCents: number }) => number): number =>
      sums.reduce((cents, one) => cents + of(one), 0);
    const faults: [boolean, number, string][] = [
      [
        status !== 'paid' ||
          (page !== undefined &&
            approval !== undefined &&
            isAsAsked(page, approval) &&
            page.id === id.replaceAll('-', '')),
        13,
        'is paid, and its acquirer has not approved what was asked for',
      ],
      [settlement !== 'available' || approval?.released === true, 71, 'is released here alone'],
      [
        sum(({ outCents, backCents }) => outCents - backCents) <= refunded + (dispute?.amountCents ?? 0),
        72,
        'has lost more than its acquirer took',
      ],
      [
        sum(({ backCents }) => backCents) === 0 || dispute?.status === 'won' || hasFailed(approval),
        72,
        'has back what its acquirer has not given back',
      ],
    ];
    return faults.flatMap(([holds, invariant, what]) =>
      holds ? [] : [{ invariant, what: `the payment by card ${id} ${what}` }],
    );
  });
}

const hasFailed = (approval: Attempt | undefined): boolean =>
  approval?.refunds.some(({ status }) => status === 'failed') ?? false;

/** 74: what has arrived here is money that the account for Pix received, each once. */
function notArrived(db: Database, pix: Bank): Finding[] {
  const arrived = db.run<{ arrival: string; amount: number }>(
    'SELECT arrival, amount_cents AS amount FROM cash_transfer WHERE arrival IS NOT NULL',
    [],
  );
  const received = [...pix.payments.values()].filter(({ txid }) => txid.startsWith('CAIXA'));
  const isRight = arrived.every(
    ({ arrival, amount }) =>
      received.some(({ endToEnd, amountCents }) => arrival.endsWith(endToEnd) && amountCents === amount) &&
      arrived.filter((one) => one.arrival === arrival).length === 1,
  );
  return isRight
    ? []
    : [{ invariant: 74, what: `cash has arrived that was not received: ${JSON.stringify(arrived)}` }];
}

/** 24: the acquirer's account holds what its clearing says, unless something waits for a person. */
function accountOf(db: Database, bank: Bank): Finding[] {
  const [row] = db.run<{ books: number; odd: boolean }>(
    `SELECT coalesce(-sum(clearing), 0) AS books,
        EXISTS (SELECT FROM incident i JOIN payment p ON p.id = i.payment_id WHERE p.card IS NOT NULL AND i.kind = ANY ($2)) AS odd
      FROM (${db.cells.map((cell) => `SELECT clearing, connection FROM ${cell}.journal`).join(' UNION ALL ')}) j
      WHERE connection = $1`,
    [connection, [...nothingPosted]],
  );
  const { availableCents, pendingCents } = cardBalance(bank, cardClient);
  const there = availableCents + pendingCents;
  if (!row || row.odd || row.books === there) return [];
  return [{ invariant: 24, what: `the acquirer has ${there}, and its books say ${row.books}` }];
}

/** 74: what it paid out is on its way, arrived or came back, and the suspense of the installation holds what is on its way. */
function cashOf(db: Database, bank: Bank): Finding[] {
  const [suspense] = db.run<{ cents: number }>(
    `SELECT coalesce(sum(suspense), 0) AS cents FROM ${db.cells[0]}.journal WHERE event IN ($1, $2)`,
    [eventKinds.cashTransfer, eventKinds.cashArrive],
  );
  const [transit] = db.run<{ cents: number }>(
    `SELECT coalesce(-sum(amount_cents), 0) AS cents FROM cash_transfer
      WHERE to_connection IS NOT NULL AND arrival IS NULL AND own_at IS NULL AND returned_at IS NULL`,
    [],
  );
  const known = db.run<{ reference: string; arrived: boolean; returned: boolean }>(
    `SELECT reference, arrival IS NOT NULL AS arrived, returned_at IS NOT NULL AS returned FROM cash_transfer`,
    [],
  );
  const findings = [...bank.cardCash.values()].flatMap(({ id, kind, failedAt }) => {
    if (kind !== 'payout') return [];
    const row = known.find(({ reference }) => reference === id);
    const isRight = row !== undefined && (failedAt === undefined ? row.arrived : row.returned);
    return isRight ? [] : [{ invariant: 74, what: `the payout ${id} is ${JSON.stringify(row)} here` }];
  });
  return suspense?.cents === transit?.cents
    ? findings
    : [
        ...findings,
        {
          invariant: 74,
          what: `${suspense?.cents} are in transit in the books, and ${transit?.cents} by the payouts`,
        },
      ];
}
