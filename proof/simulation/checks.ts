import { isTerminal, paymentIdOf } from '../../server/src/money/payment.ts';
import {
  type ChargeTruth,
  type Check,
  examine,
  type PayoutTruth,
  type World,
} from '../../server/src/operate/verify/invariants.ts';
import { verify } from '../../server/src/operate/verify/verify.ts';
import type { Sql } from '../../server/src/ports/sql.ts';
import { paymentIdFor } from '../../server/src/store/rows/idempotency.ts';
import type { Bank } from '../../simulator/src/bank.ts';
import { cardBalance } from '../../simulator/src/cards.ts';
import { type Acquirer, cardClient } from './acquirer.ts';
import type { Database } from './database.ts';
import type { Mirror } from './evidence.ts';
import type { Receiver } from './receiver.ts';

/** Something that must not be, under the invariant's number. */
export interface Finding {
  invariant: number;
  what: string;
}

/** How often each invariant was evaluated. */
export type Examined = Map<number, number>;

/** Stored rows, and the truth of the providers. */
interface Truths {
  db: Database;
  bank: Bank;
  acquirer: Pick<Acquirer, 'bank'>;
}

/** At both of them. */
function centsAt({ bank, acquirer }: Omit<Truths, 'db'>): number {
  const { availableCents, pendingCents } = cardBalance(acquirer.bank, cardClient);
  return bank.balanceCents + availableCents + pendingCents;
}

/** The laws after every step: each invariant that rows can show, compared with the bank's truth. */
export async function checkStep(
  { db, mirror, bank, acquirer }: Truths & { mirror: Mirror },
  now: number,
  examined: Examined,
  healed = false,
): Promise<Finding[]> {
  const { incidents, ...evidence } = mirror.evidence(
    { idOf: idOf(db), eventsSince: now - 89 * 86_400_000, providerBalanceCents: centsAt({ bank, acquirer }) },
    truthOf(bank),
  );
  const { checks } = await examine(evidence);
  return judge(checks, incidents, examined, healed);
}

/** The same by `vintem verify --full` itself, when everything is well again. */
export async function checkAtEnd(
  { db, bank, acquirer }: Truths,
  now: number,
  examined: Examined,
): Promise<Finding[]> {
  const { checks } = await verify(
    {
      sql: direct(db),
      clock: { now: () => now, machineMs: () => now, monotonicMs: () => now, sleep: () => Promise.resolve() },
    },
    {
      accountId: null,
      full: true,
      idOf: idOf(db),
      provider: { ...truthOf(bank), balanceCents: centsAt({ bank, acquirer }) },
    },
  );
  const incidents = db.run<{ payment: string | null; kind: string }>(
    'SELECT payment_id AS payment, kind FROM incident',
    [],
  );
  return judge(checks, incidents, examined, true);
}

const identities = new WeakMap<Database, Buffer>();

function idOf(db: Database): World['idOf'] {
  const [row] = identities.has(db)
    ? []
    : db.run<{ identity: Buffer }>('SELECT identity_secret AS identity FROM installation', []);
  if (row) identities.set(db, row.identity);
  const identity = identities.get(db);
  if (!identity) throw new Error('no installation');
  return (account, requestKey) => paymentIdFor(identity, account, requestKey);
}

const truthOf = (bank: Bank): { payouts: PayoutTruth[]; charges: ChargeTruth[] } => ({
  payouts: bank.payoutList.map(({ idEnvio, amountCents, pixKey, status, accepted, returns, removed }) => ({
    providerId: idEnvio,
    amountCents,
    pixKey,
    status: removed ? 'removed' : (status as 'pending'),
    timesAccepted: accepted ? 1 : 0,
    returns: returns.map((one) => one.amountCents),
  })),
  charges: bank.chargeList.map(({ txid, amountCents, status, payments }) => ({
    txid,
    amountCents,
    status,
    paid: payments.length > 0,
    received: payments.map((endToEnd) => ({
      endToEnd,
      // A refund that is pending or failed has moved nothing.
      returns: (bank.payments.get(endToEnd)?.returns ?? [])
        .filter(({ state }) => state === undefined)
        .map((one) => one.amountCents),
    })),
  })),
});

function judge(
  checks: readonly Check[],
  incidents: readonly { payment: string | null; kind: string }[],
  examined: Examined,
  healed: boolean,
): Finding[] {
  const findings: Finding[] = [];
  const waiting = new Set(incidents.map(({ payment }) => payment));
  const unposted = incidents.some(isUnposted);
  for (const check of checks) {
    // A decision that the provider has not reported yet is no fault before the end.
    if (!healed && onlyAtTheEnd.has(check.number)) continue;
    examined.set(check.number, (examined.get(check.number) ?? 0) + check.examined);
    for (const { fault, paymentId, operationId } of check.violations) {
      // A payment that a person has to look at is not decided before.
      if (onlyAtTheEnd.has(check.number) && (paymentId === null ? unposted : waiting.has(paymentId)))
        continue;
      findings.push({
        invariant: check.number,
        what: `${check.name}: ${fault} (${paymentId ?? operationId ?? '-'})`,
      });
    }
  }
  return findings;
}

/** 13, 46 and 51: the provider's decisions are known here; 24: its account holds what we say. */
const onlyAtTheEnd: ReadonlySet<number> = new Set([13, 24, 46, 51]);

/** Incidents of which nothing is in the journal until a person has looked. */
export const nothingPosted: ReadonlySet<string> = new Set([
  ...['report_mismatch', 'movement_mismatch', 'contradiction', 'undecided'],
  ...['refund_mismatch', 'refund_contradiction', 'refund_undecided'],
]);

export const isUnposted = ({ kind }: { kind: string }): boolean => nothingPosted.has(kind);

/** The session itself, without a process: for looking. */
const direct = (db: Database): Sql => {
  const run = <Row>({ text }: { text: string }, values: readonly unknown[] = []) =>
    Promise.resolve(db.run<Row>(text, values));
  return {
    run,
    begin: () => Promise.reject(new Error('only for looking')),
    tx: (work) => work({ run, commit: () => Promise.resolve(), rollback: () => Promise.resolve() }),
  };
};

export interface Rows {
  payments: PaymentRow[];
  refunds: { id: string; payment_id: string; status: string; reason: string; history: History }[];
  journals: {
    subject: string;
    template: string;
    reference: string;
    /** The received Pix that it books. */
    pix: string | null;
    connection: string | null;
    clearing: number;
    hash: Buffer;
  }[];
  balances: object[];
  intents: object[];
  incidents: { payment_id: string | null; kind: string; state: string }[];
  operations: { id: string; deleted_at: number | null }[];
  events: { type: string; payment_id: string | null }[];
}

interface PaymentRow {
  id: string;
  operation_id: string;
  kind: 'deposit' | 'transfer';
  status: 'unknown' | 'pending' | 'paid' | 'completed' | 'failed' | 'expired' | 'cancelled';
  returned_cents: number;
  card: object | null;
  history: History;
}

type History = { status: string; cause: { by: string } }[];

export function readRows(db: Database): Rows {
  const all = <Row>(text: string): Row[] => db.run<Row>(text, []);
  return {
    payments: all('SELECT * FROM payment ORDER BY account_id, id'),
    refunds: all('SELECT * FROM refund ORDER BY account_id, id'),
    journals: all('SELECT * FROM journal ORDER BY account_id, chain_id, seq'),
    balances: all('SELECT * FROM balance ORDER BY account_id, operation_id'),
    intents: all('SELECT * FROM intent ORDER BY account_id, payment_id'),
    incidents: all('SELECT * FROM incident ORDER BY account_id, id'),
    operations: all('SELECT * FROM operation ORDER BY account_id, created_at, id'),
    events: all('SELECT type, payment_id FROM event ORDER BY account_id, id'),
  };
}

/** Further laws once everything is well again and time enough has passed. */
export function checkEnd(rows: Rows, bank: Bank): Finding[] {
  const findings: Finding[] = [];
  const must = (holds: boolean, invariant: number, what: string) => {
    if (!holds) findings.push({ invariant, what });
  };
  const incidents = new Set(rows.incidents.map((one) => one.payment_id));
  for (const payment of rows.payments) {
    const providerId = payment.id.replaceAll('-', '');
    const waits = incidents.has(payment.id);
    if (payment.kind === 'transfer') {
      must(isTerminal(payment.status) || waits, 46, `a transfer is still ${payment.status}`);
      const payout = bank.payouts.get(providerId);
      if (payout?.removed) must(!isTerminal(payment.status), 14, `a removed payout is ${payment.status}`);
      const sent = payout?.status === 'completed' || payout?.status === 'returned';
      must(
        sent === (payment.status === 'completed') || waits,
        13,
        `${payment.status}, the provider says ${payout?.status}`,
      );
      const back = (payout?.returns ?? []).reduce((sum, one) => sum + one.amountCents, 0);
      must(back === payment.returned_cents || waits, 24, `returned ${payment.returned_cents} of ${back}`);
    } else {
      const charge = bank.charges.get(providerId);
      if (charge?.status === 'CONCLUIDA')
        must(payment.status === 'paid' || waits, 46, `a paid charge is ${payment.status}`);
      must(payment.status !== 'unknown' || waits, 46, 'a charge is still unknown');
    }
  }
  const byCard = new Set(rows.payments.filter(({ card }) => card !== null).map(({ id }) => id));
  for (const { id, payment_id, status } of rows.refunds) {
    // The acquirer has them (`cards.ts`).
    if (byCard.has(payment_id)) continue;
    const returns = [...bank.payments.values()].flatMap((one) => one.returns);
    const made = returns.find((one) => one.id === id.replaceAll('-', ''));
    const waits = incidents.has(payment_id);
    must(status === 'completed' || status === 'failed' || waits, 46, `a refund is still ${status}`);
    const gone = made !== undefined && made.state === undefined;
    must(
      gone === (status === 'completed') || waits,
      13,
      `a refund is ${status}, the provider says ${made?.state}`,
    );
  }
  const known = new Set(rows.journals.flatMap((one) => [one.reference, one.pix ?? '']));
  for (const { txid, endToEnd, amountCents } of bank.payments.values()) {
    const id = paymentIdOf(txid);
    const credited = rows.journals.some(
      (one) => one.subject === id && one.template === 'credit' && one.clearing === -amountCents,
    );
    const isOwn = [...known].some((one) => one.endsWith(`:${endToEnd}`));
    must(known.has(endToEnd) || credited || isOwn, 24, `${amountCents} cents that were received are nowhere`);
  }
  const clearing = -rows.journals
    .filter(({ connection }) => (connection ?? 'simulator') === 'simulator')
    .reduce((sum, one) => sum + one.clearing, 0);
  const odd = rows.incidents.some(isUnposted);
  must(
    clearing === bank.balanceCents || odd,
    13,
    `we say that the provider holds ${clearing}, it holds ${bank.balanceCents}`,
  );
  return findings;
}

/** 42: each event of the log reached the endpoint, or its attempts are all on record; the log has no gaps. */
export function checkEvents(db: Database, receiver: Receiver): Finding[] {
  const findings: Finding[] = [];
  const rows = db.run<{
    id: string;
    seq: number | null;
    status: string | null;
    made: number | null;
    attempts: unknown[] | null;
  }>(
    `SELECT e.id, l.seq, d.status, d.made, d.attempts FROM event e
      LEFT JOIN event_log l ON l.account_id = e.account_id AND l.event_id = e.id
      LEFT JOIN webhook_delivery d ON d.account_id = e.account_id AND d.event_id = e.id ORDER BY l.seq`,
    [],
  );
  for (const [at, { id, seq, status, made, attempts }] of rows.entries()) {
    if (seq !== at + 1)
      findings.push({ invariant: 42, what: `event ${id} is ${seq} in the log, not ${at + 1}` });
    if (status === 'delivered' && !receiver.accepted.has(id))
      findings.push({
        invariant: 42,
        what: `event ${id} counts as delivered, but the endpoint did not accept it`,
      });
    if (status !== 'delivered' && !(status === 'failed' && made === attempts?.length && made > 1))
      findings.push({ invariant: 42, what: `event ${id} is ${status} after ${made} attempts` });
  }
  const known = new Set(rows.map(({ id }) => id));
  for (const id of receiver.bodies.keys())
    if (!known.has(id))
      findings.push({ invariant: 42, what: `event ${id} was delivered and is not on record` });
  return findings;
}
