import { counted, type Merchant } from './giving-back.ts';
import { type Answer, inTurns, sleep } from './processes.ts';

/**
 * Payments by card on bad days: merchants open pages at an acquirer and repeat what had no answer; payers pay, are refused first, or leave; the acquirer
 * releases, takes chargebacks and pays out; merchants and people at the acquirer give money back. At the end each payment, each refund, each payout
 * and the account are compared with what the acquirer itself holds true.
 */
export interface AcquirerTruth {
  cards: CardTruth[];
  cardCash: { id: string; kind: 'payout' | 'fee'; amountCents: number }[];
}

interface CardTruth {
  /** The payment's id without hyphens. */
  id: string;
  /** The acquirer's names of the page, and of the payment once a payer has tried. */
  ref: string;
  intent?: string;
  amountCents: number;
  status: string;
  paidCents?: number;
  feeCents?: number;
  released?: boolean;
  refundedCents?: number;
  dispute?: string;
  /** The acquirer took it for the dispute, with the cost, and has not given it back. */
  takenCents?: number;
}

/** The books, by payment, and what stands before a person. */
export interface CardBooks {
  /** How often an approval is booked, by payment. */
  approvals: ReadonlyMap<string, number>;
  /** The pages of payments, by the acquirer's names. */
  pages: ReadonlySet<string>;
  /** Payments with an incident, and the acquirer's names of money that is kept for a person. */
  inFrontOfPerson: ReadonlySet<string>;
  /** The acquirer's account by the books. */
  balanceCents: number;
  payouts: readonly { reference: string; arrived: boolean }[];
  /** Suspense of payouts that have left and not arrived. */
  transitCents: number;
}

interface Refund {
  body: { requestKey: string; amountCents: number };
  id: string | null;
  otherId: string | null;
  refused: string | null;
  status: string;
}

interface Checkout {
  merchant: Merchant;
  body: { requestKey: string; amountCents: number; payerName: string; description: string };
  id: string | null;
  /** The contradiction between a second answer and the first. */
  otherId: string | null;
  /** The service refused it: nothing was made. */
  refused: string | null;
  status: string;
  settlement: string | null;
  refunds: Refund[];
  /** A person at the acquirer gave `personCents` back; `maybe`: the call had no answer. */
  byPerson: 'no' | 'yes' | 'maybe';
  /** Of the page on which that was; null: not known, or nothing was. */
  personPage: string | null;
}

interface Surroundings {
  merchants: readonly Merchant[];
  call(merchant: Merchant, method: string, path: string, body?: unknown): Promise<Answer>;
  /** A call to the acquirer's own control. */
  control(method: string, path: string, body?: unknown): Promise<Answer>;
  /** The payout of an acquirer comes to the account for Pix. */
  arrives(amountCents: number): Promise<Answer>;
  /** The acquirer's name of the client; null: it pays nothing out. */
  client: string | null;
  /** A repeat of a request may make another page, as at an acquirer without keys: of several one is the payment's. */
  manyPages?: boolean;
  /** The end of a page is not read before its time is over, and a payment that went back whole is over without a release: as at Asaas. */
  isAsaas?: boolean;
  books(): Promise<CardBooks>;
  chance(): number;
  isRunning(): boolean;
  /** Counts an answer. */
  note(label: string): void;
}

const personCents = 137;

/** In turns of their own, beside those of the provider for Pix. */
const behaviours = [
  {},
  { checkout: 'lose-answer' },
  { webhook: 'drop' },
  { checkout: 'lose-request', webhook: 'duplicate' },
  { refund: 'lose-answer', webhook: 'reorder', delayMs: 1_500 },
  { approval: 'review' },
  { query: 'error-500' },
  { checkout: 'hang', webhook: 'delay', delayMs: 3_000 },
  { refund: 'lose-request' },
  { approval: 'other-amount' },
  { query: 'hang', webhook: 'drop' },
  { checkout: 'error-500', refund: 'error-500-after-accepting' },
  { checkout: 'refuse' },
  { refund: 'refuse-later', webhook: 'duplicate' },
  { refund: 'hang' },
  { refund: 'refuse-in-answer', lists: 'odd-item' },
  { refund: 'error-500' },
];

export const cardWeather = (turn: number): object => behaviours[turn % behaviours.length] ?? {};

export function createCardPayers(around: Surroundings) {
  const { merchants, call, control, chance, isRunning, note } = around;
  const checkouts: Checkout[] = [];
  const underWay: Promise<unknown>[] = [];
  const made = (): Checkout[] => checkouts.filter(({ id }) => id !== null);

  /** Asks once; a caller without an answer, or with 5xx, knows nothing and asks again with the same key. */
  async function ask(one: Checkout | Refund, merchant: Merchant, path: string): Promise<boolean> {
    const { status, body } = await call(merchant, 'POST', path, one.body);
    note(
      `${path.endsWith('refunds') ? 'card refund' : 'checkout'} ${status}${status >= 400 ? ` ${body?.code ?? ''}` : ''}`,
    );
    if (status === 201) {
      if (one.id !== null && one.id !== body.id) one.otherId = body.id;
      Object.assign(one, { id: body.id, refused: null, status: body.status });
    } else if (status >= 400 && status < 500 && status !== 429 && one.id === null)
      one.refused = body?.code ?? String(status);
    // A refund whose record was lost: its acquirer's word for it came before the repeat, which makes no other one, or nothing was paid in the books.
    else if (status >= 400 && status < 500 && status !== 429 && 'refunds' in one === false)
      one.status = body?.code === 'refund_already_booked' ? 'completed' : 'lost';
    return one.id !== null || one.refused !== null;
  }
  const askPage = (one: Checkout): Promise<boolean> => ask(one, one.merchant, '/card/checkouts');
  const askRefund = (of: Checkout, one: Refund): Promise<boolean> =>
    ask(one, of.merchant, `/payments/${of.id}/refunds`);

  /** Some are asked for twice at once, and what had no answer is asked for again. */
  async function insist(once: () => Promise<boolean>): Promise<void> {
    let known = (await Promise.all(chance() < 0.2 ? [once(), once()] : [once()])).some(Boolean);
    for (let tries = 0; !known && isRunning() && tries < 3; tries++) {
      await sleep(500 + chance() * 1_000);
      known = await once();
    }
  }

  const act = (one: Checkout, action: string, fields: object = {}): Promise<Answer> =>
    control('POST', `/control/cards/${plain(one.id as string)}/${action}`, fields);

  async function shop(merchant: Merchant): Promise<void> {
    while (isRunning()) {
      const amountCents = 1_000 + Math.floor(chance() * 20_000);
      const order = { amountCents, payerName: 'Maria', description: 'bad day' };
      const one: Checkout = {
        ...{ merchant, body: { ...order, requestKey: crypto.randomUUID() }, id: null, otherId: null },
        ...{
          refused: null,
          status: 'unknown',
          settlement: null,
          refunds: [],
          byPerson: 'no',
          personPage: null,
        },
      };
      checkouts.push(one);
      await insist(() => askPage(one));
      if (one.id !== null) underWay.push(payer(one));
      await sleep(1_000 + chance() * 1_500);
    }
  }

  /** Until the acquirer has carried it out, while the day lasts. */
  async function until(carryOut: () => Promise<Answer>): Promise<boolean> {
    for (let tries = 0; tries < 15 && isRunning(); tries++) {
      if ((await carryOut()).status === 200) return true;
      await sleep(1_000);
    }
    return false;
  }

  async function payer(one: Checkout): Promise<void> {
    const fate = chance();
    await sleep(chance() * 1_500);
    if (fate < 0.08) return void (await until(() => act(one, 'expire')));
    if (fate < 0.16) return;
    if (fate < 0.28) await until(() => act(one, 'refuse', { reason: 'do_not_honor' }));
    const fields = fate < 0.34 ? { amountCents: one.body.amountCents - 1 } : {};
    if (!(await until(() => act(one, 'approve', fields)))) return;
    // Where an attempt is looked at first, the second call approves; where it is approved, a second one is refused.
    if (chance() < 0.8) await act(one, 'approve', fields);
    await afterwards(one);
  }

  async function afterwards(one: Checkout): Promise<void> {
    const moves = [
      ...(chance() < 0.5 ? [() => act(one, 'release')] : []),
      ...(chance() < 0.45 ? [() => refunds(one)] : []),
      ...(chance() < 0.2 ? [() => contest(one)] : []),
      ...(chance() < 0.1 ? [() => byPerson(one)] : []),
    ].sort(() => chance() - 0.5);
    for (const move of moves) {
      await sleep(chance() * 2_500);
      if (isRunning()) await move();
    }
  }

  async function refunds(one: Checkout): Promise<void> {
    for (let tries = 0; tries < 15 && isRunning(); tries++, await sleep(1_000))
      if ((await call(one.merchant, 'GET', `/payments/${one.id}`)).body?.status === 'paid') break;
    const { amountCents: paid } = one.body;
    const half = Math.ceil(paid / 2);
    const parts = [[paid], [half], [half, half], [half, paid], [100, 300]][Math.floor(chance() * 5)] ?? [];
    const asked = parts.map((amountCents): Refund => {
      const body = { requestKey: crypto.randomUUID(), amountCents };
      return { body, id: null, otherId: null, refused: null, status: 'unknown' };
    });
    one.refunds.push(...asked);
    await Promise.all(asked.map((part) => insist(() => askRefund(one, part))));
  }

  async function contest(one: Checkout): Promise<void> {
    if ((await act(one, 'chargeback')).status !== 200 || chance() < 0.3) return;
    await sleep(chance() * 4_000);
    await act(one, chance() < 0.5 ? 'win' : 'lose');
  }

  /** Once of a payment. */
  async function byPerson(one: Checkout): Promise<void> {
    if (one.byPerson !== 'no') return;
    const { status, body } = await act(one, 'refund', { amountCents: personCents });
    if (status === 200) Object.assign(one, { byPerson: 'yes', personPage: body.ref });
    else if (status === 0) one.byPerson = 'maybe';
  }

  /** Each of an amount of its own, so that no arrival is taken for another one's. */
  async function cash(client: string): Promise<void> {
    for (let amountCents = 1_000; isRunning(); amountCents++) {
      await sleep(7_000);
      await control('POST', `/control/card-cash/${client}/payout`, { amountCents });
    }
  }

  const truth = async (): Promise<AcquirerTruth> => {
    const { status, body } = await control('GET', '/control/state');
    if (status !== 200) throw new Error(`the acquirer's own record was answered ${status}`);
    return body;
  };

  async function look(): Promise<void> {
    await inTurns(made(), async (one) => {
      const { status, body } = await call(one.merchant, 'GET', `/payments/${one.id}`);
      if (status === 200)
        Object.assign(one, { status: body.status, settlement: body.cardSettlementStatus ?? null });
      for (const part of one.refunds.filter(({ id }) => id !== null)) {
        const found = await call(one.merchant, 'GET', `/refunds/${part.id}`);
        if (found.status === 200) part.status = found.body.status;
      }
    });
  }

  /** Payments that do not say what the acquirer says; of an approval that is not what was asked for see `faults`. */
  const behind = ({ cards }: AcquirerTruth, books: CardBooks): { one: Checkout; why: string }[] =>
    made().flatMap((one) => {
      const why = disagreement(one, pageOf(one, cards, books), around.isAsaas ?? false);
      return why === null ? [] : [{ one, why: `the checkout ${one.id} ${why}` }];
    });

  return {
    isCard: (paymentId: string): boolean => checkouts.some(({ id }) => id === paymentId),
    begin: (): Promise<unknown>[] => [
      ...merchants.map(shop),
      ...(around.client === null ? [] : [cash(around.client)]),
    ],
    /** Resolves when all of it has ended. */
    ended: (): Promise<unknown> => Promise.all(underWay),

    /** Repeats unanswered requests for pages until they are answered; then all of them once more: the same payment must come back. */
    repeatPages: (share = 1): Promise<void> =>
      repeated(
        checkouts
          .filter(() => share === 1 || chance() < share)
          .map((one) => ({ one, again: () => askPage(one) })),
      ),

    /** How many payments the service does not know (any more). */
    async lost(): Promise<number> {
      const all = made().map((one) => call(one.merchant, 'GET', `/payments/${one.id}`));
      return (await Promise.all(all)).filter(({ status }) => status === 404).length;
    },

    /** The same of refunds. */
    repeatRefunds: (): Promise<void> =>
      repeated(made().flatMap((of) => of.refunds.map((one) => ({ one, again: () => askRefund(of, one) })))),

    /** Days go by: what was paid is released, refunded, charged back, and payers of open pages come after all. */
    async later(): Promise<void> {
      await Promise.all(
        made().map(async (one) => {
          if (one.status === 'pending' && chance() < 0.5) await act(one, 'approve');
          if (one.status !== 'paid') return;
          // On another page than the one that was paid, where there are two.
          if (chance() < 0.3) await act(one, 'approve');
          await afterwards(one);
        }),
      );
    },

    /** Each payout comes to the account for Pix, once. */
    async arrive(): Promise<void> {
      for (const { amountCents } of payoutsIn(await truth())) {
        const { status } = await around.arrives(amountCents);
        if (status !== 200) throw new Error(`the arrival of a payout was answered ${status}`);
      }
    },

    /**
     * The acquirer ends its disputes, and hours go by (`queries`: of payments and refunds, which are due otherwise on the days to come) until each payment
     * says what the acquirer says.
     */
    async settle(
      queries: (paymentIds: readonly string[]) => Promise<unknown>,
      { refunds = true } = {},
    ): Promise<void> {
      for (const by = performance.now() + 4 * 60_000; performance.now() < by; await sleep(2_000)) {
        const held = await truth();
        for (const { id, dispute } of held.cards)
          if (dispute === 'open')
            await control('POST', `/control/cards/${id}/${chance() < 0.5 ? 'win' : 'lose'}`);
        await look();
        const late = behind(held, await around.books()).map(({ one }) => one.id as string);
        // One whose record was lost is known once it was repeated.
        const refunding = (refunds ? made() : [])
          .filter(({ refunds: all }) => all.some(({ status, id }) => id !== null && isOpen(status)))
          .map(({ id }) => id as string);
        if (late.length + refunding.length === 0) return;
        await queries([...new Set([...late, ...refunding])]);
      }
    },
    look,
    truth,
    expectedCents: expectedIn,

    /** Where payments by card are not what the acquirer holds true. */
    faults(held: AcquirerTruth, books: CardBooks): string[] {
      const { cards } = held;
      const payouts = payoutsIn(held);
      const pages = new Map<string, number>();
      for (const { id } of cards) pages.set(id, (pages.get(id) ?? 0) + 1);
      const known = new Set(made().map(({ id }) => plain(id as string)));
      const expectedCents = expectedIn(held, books);
      return [
        ...behind(held, books).map(({ why }) => why),
        ...checkouts.flatMap((one) => faultsOfAnswers(one)),
        ...[...pages].flatMap(([id, count]) =>
          count > 1 && !around.manyPages ? [`${id} has ${count} pages that can be paid`] : [],
        ),
        ...cards.flatMap((card) => faultsOfBooking(card, books)),
        ...[...books.approvals.keys()].flatMap((id) =>
          cards.some((card) => card.id === id && card.paidCents !== undefined)
            ? []
            : [`${id} is booked, and its acquirer approved nothing`],
        ),
        ...[...pages.keys()].flatMap((id) => (known.has(id) ? [] : [`the page ${id} was never asked for`])),
        ...made().flatMap((one) => faultsOfRefunds(one, pageOf(one, cards, books))),
        ...(books.balanceCents === expectedCents
          ? []
          : [`the books have ${books.balanceCents} at the acquirer, which has ${expectedCents}`]),
        ...(books.payouts.length === payouts.length && books.payouts.every(({ arrived }) => arrived)
          ? []
          : [`${payouts.length} payouts, the books have ${JSON.stringify(books.payouts)}`]),
        ...(books.transitCents === 0 ? [] : [`${books.transitCents} are in transit, and all has arrived`]),
      ];
    },

    figures: ({ cards, cardCash }: AcquirerTruth, books: CardBooks) => ({
      asked: checkouts.length,
      states: counted(made(), ({ status, settlement }) => (settlement ? `${status} ${settlement}` : status)),
      refused: counted(
        checkouts.filter(({ refused }) => refused !== null),
        ({ refused }) => refused as string,
      ),
      refunds: counted(
        checkouts.flatMap(({ refunds: all }) => all),
        ({ id, status, refused }) => (id === null ? `refused ${refused}` : status),
      ),
      approved: cards.filter(({ paidCents }) => paidCents !== undefined).length,
      booked: books.approvals.size,
      inFrontOfPerson: books.inFrontOfPerson.size,
      chargebacks: counted(
        cards.filter(({ dispute }) => dispute !== undefined),
        ({ dispute }) => dispute as string,
      ),
      payouts: cardCash.length,
      balanceCents: books.balanceCents,
    }),
  };
}

/** Asks for what has no answer until it has one, and then for everything once more. */
async function repeated(
  all: readonly { one: Checkout | Refund; again(): Promise<boolean> }[],
): Promise<void> {
  const open = () => all.filter(({ one }) => one.id === null && one.refused === null);
  for (let tries = 0; tries < 30 && open().length > 0; tries++, await sleep(1_000))
    await inTurns(open(), ({ again }) => again());
  await inTurns(
    all.filter(({ one }) => one.id !== null),
    ({ again }) => again(),
  );
}

const plain = (id: string): string => id.replaceAll('-', '');

const isOpen = (status: string): boolean => status === 'unknown' || status === 'pending';

/** The acquirer's money of a page: what was paid, less its fee, what went back, and what a dispute took. */
const leftOf = ({ paidCents = 0, feeCents = 0, refundedCents = 0, takenCents = 0 }: CardTruth): number =>
  paidCents - feeCents - refundedCents - takenCents;

/** The page that a payment has in the books, or the newest one that was asked for. */
function pageOf({ id }: Checkout, cards: readonly CardTruth[], { pages }: CardBooks): CardTruth | undefined {
  const own = cards.filter((one) => one.id === plain(id as string));
  return own.find(({ ref }) => pages.has(ref)) ?? own.at(-1);
}

const isBooked = ({ id, ref }: CardTruth, { approvals, pages }: CardBooks): boolean =>
  approvals.has(id) && pages.has(ref);

const payoutsIn = ({ cardCash }: AcquirerTruth) => cardCash.filter(({ kind }) => kind === 'payout');

export const paidOutCents = (held: AcquirerTruth): number =>
  payoutsIn(held).reduce((cents, { amountCents }) => cents + amountCents, 0);

/** The acquirer's money of the pages that are booked, less what it paid out. */
const expectedIn = (held: AcquirerTruth, books: CardBooks): number =>
  held.cards.filter((one) => isBooked(one, books)).reduce((cents, one) => cents + leftOf(one), 0) -
  paidOutCents(held);

function disagreement(
  { status, settlement, body }: Checkout,
  page: CardTruth | undefined,
  isAsaas: boolean,
): string | null {
  const says = `is ${status} ${settlement ?? ''}, the acquirer says ${JSON.stringify(page ?? null)}`;
  if (page === undefined) return ['unknown', 'failed', 'expired'].includes(status) ? null : says;
  // Of another amount, or in instalments, which only a person can end: it need not be paid.
  if (status === 'paid') {
    const isRight = page.paidCents === body.amountCents && page.amountCents === body.amountCents;
    const isWholeBack = page.refundedCents === page.paidCents || page.dispute === 'lost';
    const isOver = page.released || (isAsaas && isWholeBack);
    return isRight && (settlement === 'available') === isOver ? null : says;
  }
  if (page.paidCents !== undefined) return page.paidCents === body.amountCents ? says : null;
  if (page.status === 'expired') return status === 'expired' || isAsaas ? null : says;
  return status === 'pending' ? null : says;
}

const faultsOfAnswers = ({ id, otherId, refused, refunds }: Checkout): string[] => [
  ...(otherId === null ? [] : [`one request key, two checkouts: ${id} and ${otherId}`]),
  ...(id === null && refused === null ? ['a checkout was never answered'] : []),
  ...refunds.flatMap((one) => [
    ...(one.otherId === null ? [] : [`one request key, two refunds: ${one.id} and ${one.otherId}`]),
    ...(one.id === null && one.refused === null ? [`a refund of ${id} was never answered`] : []),
  ]),
];

/** Each approval is in the books once, or in front of a person, and not both. */
function faultsOfBooking(page: CardTruth, books: CardBooks): string[] {
  const { id, ref, intent, paidCents, amountCents } = page;
  const booked = books.approvals.get(id) ?? 0;
  if (paidCents === undefined) return [];
  if (booked > 1) return [`the approval of ${id} is booked ${booked} times`];
  if (isBooked(page, books))
    return paidCents === amountCents ? [] : [`${id} is booked with another amount than was paid`];
  const names = [id, ref, ...(intent === undefined ? [] : [intent])];
  return names.some((name) => books.inFrontOfPerson.has(name))
    ? []
    : [`the approval of ${id} on the page ${ref} is in no books and before no person`];
}

/**
 * The acquirer gave back each refund that was asked for here, and the one of a person there. Undecided is at most one that the acquirer cannot carry out, since a
 * person gave back a part there first: its answer may be lost, a refusal of a repeat proves nothing, and a person decides after a day.
 */
function faultsOfRefunds(one: Checkout, page: CardTruth | undefined): string[] {
  const { id, refunds, personPage, status } = one;
  if (page?.refundedCents === undefined || status !== 'paid') return [];
  const byPerson = personPage !== null && personPage !== page.ref ? 'no' : one.byPerson;
  const asked = refunds
    .filter((one) => one.status === 'completed')
    .reduce((cents, { body }) => cents + body.amountCents, 0);
  const leftCents = (page.paidCents ?? 0) - page.refundedCents;
  const undecided = refunds.filter(
    (one) => one.id !== null && isOpen(one.status) && one.body.amountCents <= leftCents,
  ).length;
  const rest = page.refundedCents - asked;
  const isRight =
    byPerson === 'no' ? rest === 0 : rest === personCents || (byPerson === 'maybe' && rest === 0);
  return isRight && undecided === 0
    ? []
    : [
        `of ${id} ${page.refundedCents} went back, ${asked} were asked for (${byPerson} by a person, ${undecided} undecided)`,
      ];
}
