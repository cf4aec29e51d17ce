import { type Answer, inTurns, sleep } from './processes.ts';

/**
 * Money that goes back on bad days: merchants refund what was paid to them, in whole and in parts, and repeat what had no answer; payers contest
 * what they paid, and the provider decides; the provider takes money back by itself. At the end each refund, each dispute and each
 * merchant's money is compared with what the provider holds true.
 */
export interface Merchant {
  accountId: string;
  operationId: string;
  key: string;
}

/** The part of `GET /control/state` of the simulator that the rig reads. */
export interface Truth {
  charges: ChargeTruth[];
  payouts: {
    idEnvio: string;
    amountCents: number;
    pixKey: string;
    status?: string;
    timesReceived: number;
    timesAccepted: number;
    returnedCents?: number;
    returns?: { rtrId: string; amountCents: number }[];
  }[];
  /** Pix that came for no charge. */
  codes: CodePix[];
  balanceCents: number;
}

/** A Pix under the identifier of a static code, or under none, and the key that it was paid into. */
export interface CodePix extends Pick<ChargeTruth, 'refunds' | 'returns'> {
  identifier: string;
  key: string;
  endToEnd: string;
  amountCents: number;
  paidAt: string;
  feeCents?: number;
}

export interface ChargeTruth {
  txid: string;
  amountCents: number;
  status: string;
  paidAt?: string;
  endToEnd?: string;
  payments?: { amountCents: number; endToEnd: string }[];
  refunds?: RefundTruth[];
  returns?: { id: string; rtrId: string; amountCents: number }[];
  disputes?: { id: string; endToEnd: string; amountCents: number; status: string }[];
}

/** By the provider's name of each. */
export const chargesIn = ({ charges }: Truth): Map<string, ChargeTruth> =>
  new Map(charges.map((row) => [row.txid, row]));

interface RefundTruth {
  id: string;
  endToEnd: string;
  timesReceived: number;
  timesAccepted: number;
  amountCents?: number;
  status?: string;
}

interface Asked {
  merchant: Merchant;
  paymentId: string;
  body: { requestKey: string; amountCents?: number; description: string };
  id: string | null;
  /** The contradiction between a second answer and the first. */
  otherId: string | null;
  attempts: number;
  /** The service refused it: nothing was made. */
  refused: string | null;
  status: string;
  amountCents: number;
}

interface ShownDispute {
  id: string;
  paymentId: string;
  endToEnd: string;
  amountCents: number;
  status: string;
  heldCents: number;
  debitedCents: number;
}

export interface Surroundings {
  merchants: readonly Merchant[];
  /** A call of a merchant, to any of the processes: of the public API, or of test mode. */
  call(merchant: Merchant, method: string, path: string, body?: unknown): Promise<Answer>;
  test(merchant: Merchant, path: string, body: unknown): Promise<Answer>;
  /** A call to the simulator's own control. */
  control(method: string, path: string, body?: unknown): Promise<Answer>;
  chance(): number;
  isRunning(): boolean;
  /** Counts an answer. */
  note(label: string): void;
  untold: Untold;
  /** Whether a payment is none of a charge's: its disputes are another record's. */
  isCard(paymentId: string): boolean;
}

/** States that a protocol cannot report, so that nothing can be known of them. */
export interface Untold {
  /** That a charge was deleted: it is answered as one that never was, which proves nothing, and stays open. */
  deletedCharge: boolean;
  /** Which part of its Pix a dispute is about: the whole is held. */
  partOfDispute: boolean;
  /** That a refund was refused in the answer to it: no refusal is documented, so it proves nothing. */
  refusedRefund: boolean;
  /** That a receiver gave a payout back: the books lack it, and the daily close shows it. */
  returnedPayout: boolean;
  /** That a payout was refused in an answer that was lost: no query names it, and the refusal of a repeat releases nothing. */
  lostRefusal: boolean;
  /** Disputes. */
  disputes: boolean;
}

/** Under such a message the provider never accepts a refund: its reserve stays, until a person looks. */
const neverAccepted = /^(lose-request|error-500|refuse-unknown)@/;
const refusedInAnswer = /^refuse-in-answer@/;
const messages = [
  ...['complete', 'complete', 'complete-in-answer', 'stay-pending', 'refuse-in-answer', 'refuse-unknown'],
  ...['refuse-later', 'lose-answer', 'lose-request', 'error-500', 'error-500-after-accepting', 'hang'],
  'garbage',
];
/** The provider's words. */
const disputeStates: Readonly<Record<string, string>> = {
  ABERTA: 'open',
  EM_DEFESA: 'defending',
  ACEITA: 'accepted',
  REJEITADA: 'rejected',
  CANCELADA_EFI: 'cancelled',
};
const openRefund: ReadonlySet<string> = new Set(['unknown', 'pending']);
const openDispute: ReadonlySet<string> = new Set(['open', 'defending']);
const providerId = (id: string): string => id.replaceAll('-', '');

export function createGivingBack(around: Surroundings) {
  const { merchants, call, test, control, chance, isRunning, note } = around;
  const pick = <T>(of: readonly T[]): T => of[Math.floor(chance() * of.length)] as T;
  const asked: Asked[] = [];
  const underWay: Promise<unknown>[] = [];
  const acts = new Map<string, number>();
  const count = (act: string): void => void acts.set(act, (acts.get(act) ?? 0) + 1);

  /** Asks once; a caller without an answer, or with 5xx, knows nothing and asks again with the same key. */
  async function ask(one: Asked): Promise<boolean> {
    one.attempts++;
    const { status, body } = await call(one.merchant, 'POST', `/payments/${one.paymentId}/refunds`, one.body);
    note(`refund ${status}${status >= 400 ? ` ${body?.code ?? ''}` : ''}`);
    if (status === 201) {
      if (one.id !== null && one.id !== body.id) one.otherId = body.id;
      Object.assign(one, { id: body.id, refused: null, status: body.status, amountCents: body.amountCents });
    } else if (status >= 400 && status < 500 && one.id === null) one.refused = body?.code ?? String(status);
    return one.id !== null || one.refused !== null;
  }

  async function refund(merchant: Merchant, paymentId: string, amountCents?: number): Promise<void> {
    const description = chance() < 0.5 ? `${pick(messages)}@simulator.example` : 'bad day';
    const body = {
      requestKey: crypto.randomUUID(),
      description,
      ...(amountCents !== undefined && { amountCents }),
    };
    const one: Asked = {
      ...{ merchant, paymentId, body, id: null, otherId: null, attempts: 0, refused: null },
      ...{ status: 'unknown', amountCents: 0 },
    };
    asked.push(one);
    let known = (await Promise.all(chance() < 0.2 ? [ask(one), ask(one)] : [ask(one)])).some(Boolean);
    for (let tries = 0; !known && isRunning() && tries < 3; tries++) {
      await sleep(500 + chance() * 1_000);
      known = await ask(one);
    }
  }

  /** Whole, in parts one after the other or at once, or more than there is. */
  async function refunds(merchant: Merchant, paymentId: string, paidCents: number): Promise<void> {
    const half = Math.ceil(paidCents / 2);
    const parts = pick([
      [undefined],
      [half],
      [300, 300],
      [half, half, half],
      [paidCents + 1],
      [300, undefined],
    ]);
    if (chance() < 0.5) await Promise.all(parts.map((cents) => refund(merchant, paymentId, cents)));
    else for (const cents of parts) await refund(merchant, paymentId, cents);
  }

  /** Each takes three of the five queries a second that the service allows itself: with 846 of them the last were known after the rig had ended. */
  const disputesMost = 200;
  let disputed = 0;

  /** Opened, perhaps defended, and ended by the provider; what it accepted it takes, not always at once. */
  async function dispute(merchant: Merchant, paymentId: string, paidCents: number): Promise<void> {
    if (around.untold.disputes || ++disputed > disputesMost) return;
    const whole = chance() < 0.5 || around.untold.partOfDispute;
    const amountCents = whole ? paidCents : Math.ceil(paidCents / 3);
    const opened = await test(merchant, `/payments/${paymentId}/dispute`, { amountCents });
    if (opened.status === 200) count('disputed');
    for (let tries = 0; tries < 20 && isRunning(); tries++) {
      await sleep(1_000 + chance() * 4_000);
      const [known] = ((await shownOf(merchant)) ?? []).filter(
        (one) => one.paymentId === paymentId && openDispute.has(one.status),
      );
      if (known) return void (await decide(merchant, known));
    }
  }

  async function decide(merchant: Merchant, { id, status, amountCents, paymentId }: ShownDispute) {
    if (status === 'open' && chance() < 0.3) await test(merchant, `/disputes/${id}/defend`, {});
    const act = pick(['accept', 'accept', 'reject', 'cancel']);
    if ((await test(merchant, `/disputes/${id}/${act}`, {})).status === 200) count(act);
    if (act !== 'accept' || chance() >= 0.7) return;
    // Beside a refund of the same amount that never ends, a return without its id stays undecided until a person looks after a day.
    const isBesideEndless = asked.some(
      (one) => one.paymentId === paymentId && neverAccepted.test(one.body.description),
    );
    await takeBack(merchant, paymentId, isBesideEndless ? amountCents - 1 : amountCents);
  }

  async function takeBack(merchant: Merchant, paymentId: string, amountCents: number): Promise<void> {
    const taken = await test(merchant, `/payments/${paymentId}/return`, { amountCents });
    if (taken.status === 200) count('taken back');
  }

  /** How a charge ended that may have been paid. */
  async function afterwards(merchant: Merchant, paymentId: string): Promise<void> {
    const fate = chance();
    if (fate > 0.75) return;
    for (let tries = 0; tries < 15 && isRunning(); tries++) {
      const { status, body } = await call(merchant, 'GET', `/payments/${paymentId}`);
      if (status === 200 && body.status === 'paid') {
        const { amountCents } = body;
        await sleep(chance() * 3_000);
        if (fate < 0.45) return refunds(merchant, paymentId, amountCents);
        if (fate < 0.6) return dispute(merchant, paymentId, amountCents);
        if (fate < 0.7)
          return void (await Promise.all([
            refunds(merchant, paymentId, amountCents),
            dispute(merchant, paymentId, amountCents),
          ]));
        return takeBack(merchant, paymentId, Math.ceil(amountCents / 2));
      }
      await sleep(1_000);
    }
    // No answer has shown it as paid.
    if (isRunning() && fate < 0.3) await refund(merchant, paymentId);
  }

  /** Null: a page of it had no answer. A part of the list would say that the others are not known. */
  async function shownOf(merchant: Merchant): Promise<ShownDispute[] | null> {
    const shown: ShownDispute[] = [];
    for (let cursor = ''; ; ) {
      const path = `/disputes?limit=100${cursor && `&cursor=${cursor}`}`;
      const { status, body } = await call(merchant, 'GET', path);
      if (status !== 200) return null;
      shown.push(...body.disputes.filter(({ paymentId }: ShownDispute) => !around.isCard(paymentId)));
      if (!body.hasMore) return shown;
      cursor = encodeURIComponent(body.nextCursor);
    }
  }

  const made = (): Asked[] => asked.filter(({ id }) => id !== null);
  /** As each merchant last read them. */
  const shown = new Map<Merchant, ShownDispute[]>();
  const allShown = (): ShownDispute[] => [...shown.values()].flat();

  const openIn = (truth: Truth): number =>
    [...disputesIn(truth), ...allShown()].filter(({ status }) => openDispute.has(status)).length;

  return {
    asked,
    acts,
    /** Something may come of a charge. */
    of(merchant: Merchant, paymentId: string): void {
      underWay.push(afterwards(merchant, paymentId));
    },
    refund,
    /** Resolves when all of it has ended. */
    ended: (): Promise<unknown> => Promise.all(underWay),

    /** Repeats unanswered requests until they are answered; then everything once more: the same refund must come back. */
    async repeat(): Promise<void> {
      const unanswered = () => asked.filter(({ id, refused }) => id === null && refused === null);
      for (let tries = 0; tries < 30 && unanswered().length > 0; tries++) {
        await inTurns(unanswered(), ask);
        await sleep(1_000);
      }
      await inTurns(made(), ask);
    },

    /** The provider ends what it has not ended: pending refunds, and disputes; and takes what it may. */
    async settle(truth: Truth): Promise<void> {
      for (const { id, status } of truth.charges.flatMap(({ refunds: all = [] }) => all))
        if (status === 'pending')
          await control('POST', `/control/refunds/${id}/${pick(['complete', 'refuse'])}`);
      for (const merchant of merchants)
        await inTurns((await shownOf(merchant)) ?? [], async (one) => {
          if (openDispute.has(one.status)) await decide(merchant, one);
        });
    },

    /** Reads every refund and every dispute. */
    async look(): Promise<void> {
      await inTurns(made(), async (one) => {
        const { status, body } = await call(one.merchant, 'GET', `/refunds/${one.id}`);
        if (status === 200) Object.assign(one, { status: body.status, amountCents: body.amountCents });
      });
      for (const merchant of merchants) {
        let read = await shownOf(merchant);
        for (let tries = 0; read === null && tries < 10; tries++) {
          await sleep(1_000);
          read = await shownOf(merchant);
        }
        if (read !== null) shown.set(merchant, read);
      }
    },

    /** Refunds that the provider has decided or may still accept, and that the service does not show so. */
    undecided(truth: Truth): number {
      const held = refundsIn(truth);
      const refundsLeft = made().filter((one) => {
        if (!openRefund.has(one.status)) return false;
        const row = held.get(providerId(one.id as string));
        if ((row?.timesAccepted ?? 0) > 0) return true;
        if (around.untold.refusedRefund && refusedInAnswer.test(one.body.description)) return false;
        // Where the Pix has no room for it any more, the provider says no to every repeat, and a person decides.
        const charge = truth.charges.find(({ txid }) => txid === providerId(one.paymentId));
        return !neverAccepted.test(one.body.description) && one.amountCents <= leftOf(charge, row?.endToEnd);
      }).length;
      const known = new Set(linesOf(allShown()));
      return refundsLeft + linesOf(disputesIn(truth)).filter((one) => !known.has(one)).length + openIn(truth);
    },

    /** Where refunds and disputes are not what the provider holds true. `returnIds`: what went back without a merchant's word. */
    faults(truth: Truth, returnIds: ReadonlySet<string>): string[] {
      const held = refundsIn(truth);
      const known = new Map(made().map((one) => [providerId(one.id as string), one]));
      const [ours, theirs] = [linesOf(allShown()), linesOf(disputesIn(truth))];
      return [
        ...made().flatMap((one) => faultOf(one, held.get(providerId(one.id as string))) ?? []),
        ...[...held.keys()]
          .filter((id) => !known.has(id) && !returnIds.has(id))
          .map((id) => `the refund ${id} was sent and was never asked for`),
        ...asked
          .filter(({ id, refused }) => id === null && refused === null)
          .map(({ paymentId }) => `a refund of ${paymentId} was never answered`),
        ...theirs.filter((one) => !ours.includes(one)).map((one) => `a dispute is not known: ${one}`),
        ...ours.filter((one) => !theirs.includes(one)).map((one) => `no dispute of the provider: ${one}`),
        ...(ours.length === theirs.length
          ? []
          : [`${ours.length} disputes, the provider has ${theirs.length}`]),
        ...allShown()
          .filter(({ status, heldCents }) => ['rejected', 'cancelled'].includes(status) && heldCents > 0)
          .map(({ id, status, heldCents }) => `the dispute ${id} is ${status} and holds ${heldCents}`),
      ];
    },

    figures(truth: Truth) {
      const held = [...refundsIn(truth).values()];
      return {
        asked: asked.length,
        repeats: asked.reduce((sum, { attempts }) => sum + attempts - 1, 0),
        states: counted(made(), ({ status }) => status),
        refused: counted(
          asked.filter(({ refused }) => refused !== null),
          ({ refused }) => refused as string,
        ),
        sentTwice: held.filter(({ timesReceived }) => timesReceived > 1).length,
        carriedOutTwice:
          held.filter(({ timesAccepted }) => timesAccepted > 1).length +
          asked.filter(({ otherId }) => otherId !== null).length,
        disputes: counted(allShown(), ({ status }) => status),
        acts: Object.fromEntries(acts),
      };
    },
  };
}

export const counted = <T>(of: readonly T[], key: (one: T) => string): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const one of of) counts[key(one)] = (counts[key(one)] ?? 0) + 1;
  return counts;
};

function faultOf(one: Asked, row: RefundTruth | undefined): string | null {
  const { id, otherId, status, amountCents } = one;
  if (otherId !== null) return `one request key, two refunds: ${id} and ${otherId}`;
  if ((row?.timesAccepted ?? 0) > 1) return `the refund ${id} was accepted ${row?.timesAccepted} times`;
  if (row?.amountCents !== undefined && row.amountCents !== amountCents)
    return `the refund ${id} is ${amountCents}, the provider gave back ${row.amountCents}`;
  const expected = { completed: ['completed'], failed: ['failed'] }[row?.status ?? ''] ?? [
    ...openRefund,
    ...(row?.status === 'pending' ? [] : ['failed']),
  ];
  return expected.includes(status) ? null : `the refund ${id} is ${status}, the provider says ${row?.status}`;
}

/** The refunds that the provider was asked for, by their ids. */
const refundsIn = ({ charges }: Truth): Map<string, RefundTruth> =>
  new Map(charges.flatMap(({ refunds = [] }) => refunds.map((one) => [one.id, one] as const)));

/** Disputes as the service and the provider can be compared. */
const linesOf = (all: readonly { endToEnd: string; amountCents: number; status: string }[]): string[] =>
  all.map(({ endToEnd, amountCents, status }) => `${endToEnd} ${amountCents} ${status}`).sort();

const disputesIn = ({ charges }: Truth) =>
  charges.flatMap(({ disputes = [] }) =>
    disputes.map((one) => ({ ...one, status: disputeStates[one.status] ?? one.status })),
  );

const sum = (of: readonly { amountCents: number }[]): number =>
  of.reduce((cents, { amountCents }) => cents + amountCents, 0);

const receivedIn = ({ payments, paidAt, amountCents }: ChargeTruth): number =>
  payments ? sum(payments) : paidAt === undefined ? 0 : amountCents;

/** The rest that the provider could still give back of a Pix that a refund names. */
function leftOf(charge: ChargeTruth | undefined, endToEnd: string | undefined): number {
  if (!charge) return 0;
  const pix = charge.payments?.find((one) => one.endToEnd === (endToEnd ?? charge.endToEnd));
  return (pix?.amountCents ?? charge.amountCents) - sum(charge.returns ?? []);
}

/** The part of its truth that the provider can report: without the payouts that were given back, where it has no word for these. */
export function sayable(truth: Truth, { returnedPayout }: Pick<Untold, 'returnedPayout'>): Truth {
  if (!returnedPayout) return truth;
  const backCents = truth.payouts.reduce((cents, { returnedCents = 0 }) => cents + returnedCents, 0);
  const payouts = truth.payouts.map(({ returnedCents, returns, ...one }) => ({
    ...one,
    ...(one.status === 'returned' ? { status: 'completed' } : {}),
  }));
  return { ...truth, payouts, balanceCents: truth.balanceCents - backCents };
}

/** The provider's balance of each owner, from its own records alone; without an owner under `''`. */
export function heldByOwner(truth: Truth, ownerOf: (providerId: string) => string): Map<string, number> {
  const held = new Map<string, number>();
  const add = (id: string, cents: number): void => {
    const owner = ownerOf(id);
    held.set(owner, (held.get(owner) ?? 0) + cents);
  };
  for (const charge of truth.charges) add(charge.txid, receivedIn(charge) - sum(charge.returns ?? []));
  for (const { idEnvio, status, amountCents, returnedCents = 0 } of truth.payouts)
    if (status === 'completed' || status === 'returned') add(idEnvio, returnedCents - amountCents);
  return held;
}
