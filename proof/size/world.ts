import { providerIdOf } from '../../server/src/money/payment.ts';
import type {
  ChargeReport,
  ListOutcome,
  ListWindow,
  PayoutReport,
  PixReturn,
  Provider,
  StatementLine,
} from '../../server/src/provider/provider.ts';
import { eventBody } from '../../server/src/store/events/event.ts';

/**
 * The stored rows, as a function of a payment's number: the seeds write it, and the provider of the rig lists the same, so neither keeps
 * millions of objects.
 */
export interface Sizes {
  /** Settled payments: every fifth a transfer, the others charges. */
  settled: number;
  /** Charges that wait for a payer. */
  open: number;
  /** Live operations, ten of each account. */
  operations: number;
}

/** The turn of a paid charge: a part was given back; its payer contests it, and the provider has not decided, has taken it, or has not. */
export type Turn = 'refunded' | 'disputed' | 'lost' | 'won';

export interface Seeded {
  turn: Turn | null;
  kind: 'deposit' | 'transfer';
  settled: boolean;
  /** Among the settled ones. */
  rank: number;
  createdAt: number;
  settledAt: number;
  amountCents: number;
  feeCents: number;
  endToEnd: string;
}

const hourMs = 3_600_000;
export const chargeCents = 1_000;
const transferCents = 500;
const transferFeeCents = 25;
export const refundCents = 300;

/** Of the settled payments every fifth is a transfer, whose rank ends with 4 or 9. Every 20th charge or so was refunded, one of a hundred contested. */
function turnOf(rank: number): Turn | null {
  if (rank % 40 === 0 || rank % 40 === 11) return 'refunded';
  if (rank % 400 === 2) return 'lost';
  if (rank % 400 === 7) return 'won';
  return rank % 4_000 === 6 ? 'disputed' : null;
}

/** The return by which the provider took a lost one back, under the only name that it gives it. */
export const takenAs = (seeded: Seeded): string => `D${seeded.endToEnd.slice(1)}`;

/** Payments of the last twenty hours, oldest first, open ones among the settled ones. */
export interface World {
  sizes: Sizes;
  count: number;
  /** Of payment `n`. */
  of(n: number): Seeded;
  id(n: number): string;
  setId(n: number, id: string): void;
  /** Of the refund of payment `n`. */
  refundId(n: number): string | undefined;
  setRefundId(n: number, id: string): void;
  /** Numbers of the payments created in a window, both ends included: from the first to before the second. */
  between(window: ListWindow): [number, number];
}

export function createWorld(sizes: Sizes, now: number): World {
  const count = sizes.settled + sizes.open;
  const start = now - 20 * hourMs;
  const stepMs = (19 * hourMs) / Math.max(1, count);
  const ids = Buffer.alloc(16 * count);
  const refundIds = new Map<number, string>();
  const createdAt = (n: number): number => Math.floor(start + n * stepMs);
  /** How many of the first `n` are settled: they are spread evenly. */
  const settledBefore = (n: number): number => Math.floor((n * sizes.settled) / Math.max(1, count));
  return {
    sizes,
    count,
    of: (n) => {
      const rank = settledBefore(n);
      const settled = settledBefore(n + 1) > rank;
      const kind = settled && rank % 5 === 4 ? 'transfer' : 'deposit';
      return {
        turn: settled && kind === 'deposit' ? turnOf(rank) : null,
        kind,
        settled,
        rank,
        createdAt: createdAt(n),
        settledAt: createdAt(n) + 1_000,
        amountCents: kind === 'transfer' ? transferCents : chargeCents,
        feeCents: kind === 'transfer' ? transferFeeCents : 0,
        endToEnd: `E${String(n).padStart(31, '0')}`,
      };
    },
    id: (n) => {
      const hex = ids.toString('hex', 16 * n, 16 * n + 16);
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
    },
    refundId: (n) => refundIds.get(n),
    setRefundId: (n, id) => void refundIds.set(n, id),
    setId: (n, id) => void ids.write(id.replaceAll('-', ''), 16 * n, 16, 'hex'),
    between: ({ fromMs, toMs }) => {
      const at = (ms: number): number => Math.max(0, Math.min(count, Math.ceil((ms - start) / stepMs)));
      return [at(fromMs), at(toMs + 1)];
    },
  };
}

export const eventOf = (id: string, paymentId: string, seeded: Seeded): { type: string; body: string } => {
  const type = seeded.kind === 'deposit' ? 'charge.paid' : 'transfer.completed';
  const change = { from: 'pending', to: seeded.kind === 'deposit' ? 'paid' : 'completed' };
  return {
    type,
    body: eventBody(id, { type, livemode: false, change, data: { id: paymentId }, at: seeded.settledAt }),
  };
};

/** Items that a listing shows at most: as many pages as an adapter reads. */
const listedMost = 10_000;

/** The simulator's provider, which lists what was seeded as well. */
export function withSeeded(provider: Provider, world: World): Provider {
  const listed = <Report>(
    window: ListWindow,
    own: () => Promise<ListOutcome<Report>>,
    read: (n: number) => Report[],
  ): Promise<ListOutcome<Report>> => {
    const [from, to] = world.between(window);
    const parts = Math.ceil((to - from) / listedMost);
    if (parts > 1 && window.wholeOnly)
      return Promise.resolve({ outcome: 'listed', reports: [], unread: [], complete: false, parts });
    const reports: Report[] = [];
    for (let n = from; n < Math.min(to, from + listedMost); n++) reports.push(...read(n));
    if (parts > 1) return Promise.resolve({ outcome: 'listed', reports, unread: [], complete: false, parts });
    return own().then((outcome) =>
      outcome.outcome === 'listed' ? { ...outcome, reports: [...reports, ...outcome.reports] } : outcome,
    );
  };
  return {
    ...provider,
    listCharges: (window, requestedAts) =>
      listed<ChargeReport>(
        window,
        () => provider.listCharges(window, requestedAts),
        (n) => (world.of(n).kind === 'deposit' ? [chargeReport(world, n)] : []),
      ),
    listPayouts: (window) =>
      listed<PayoutReport>(
        window,
        () => provider.listPayouts(window),
        (n) => (world.of(n).kind === 'transfer' ? [payoutReport(world, n)] : []),
      ),
    statement: (window) =>
      listed<StatementLine>(
        window,
        () => provider.statement(window),
        (n) => (world.of(n).settled ? [line(world, n)] : []),
      ),
    queryCharge: async (txid, requestedAt) => {
      const [from, to] =
        requestedAt === undefined
          ? [0, 0]
          : world.between({ fromMs: requestedAt - 10, toMs: requestedAt + 10 });
      for (let n = from; n < to; n++)
        if (providerIdOf(world.id(n)) === txid) return { outcome: 'found', report: chargeReport(world, n) };
      return provider.queryCharge(txid, requestedAt);
    },
  };
}

function chargeReport(world: World, n: number): ChargeReport {
  const seeded = world.of(n);
  const { settled, createdAt, settledAt, amountCents, endToEnd } = seeded;
  const txid = providerIdOf(world.id(n));
  return {
    txid,
    amountCents,
    status: settled ? 'paid' : 'open',
    createdAt,
    expiresAt: createdAt + 48 * hourMs,
    copyPaste: 'seeded',
    received: settled
      ? [{ endToEnd, amountCents, paidAt: settledAt, txid, returns: returnsOf(world, n, seeded) }]
      : [],
  };
}

function returnsOf(world: World, n: number, seeded: Seeded): PixReturn[] {
  const { turn, settledAt: at } = seeded;
  const refundId = world.refundId(n);
  if (turn === 'refunded' && refundId !== undefined)
    return [{ id: providerIdOf(refundId), rtrId: null, amountCents: refundCents, at, status: 'settled' }];
  return turn === 'lost'
    ? [{ id: null, rtrId: takenAs(seeded), amountCents: seeded.amountCents, at, status: 'settled' }]
    : [];
}

function payoutReport(world: World, n: number): PayoutReport {
  const { settledAt, amountCents, feeCents, endToEnd } = world.of(n);
  return {
    providerId: providerIdOf(world.id(n)),
    amountCents: amountCents - feeCents,
    pixKey: null,
    status: 'completed',
    endToEnd,
    settledAt,
    reason: null,
    returns: [],
  };
}

function line(world: World, n: number): StatementLine {
  const { kind, settledAt, amountCents, feeCents, endToEnd } = world.of(n);
  return {
    id: endToEnd,
    at: settledAt,
    kind: kind === 'deposit' ? 'received' : 'sent',
    amountCents: amountCents - feeCents,
    endToEnd,
    providerId: providerIdOf(world.id(n)),
    rtrId: null,
  };
}
