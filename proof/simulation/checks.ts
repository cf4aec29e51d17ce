import { verify } from '../../server/src/ledger/verify.ts';
import { isTerminal, paymentIdOf } from '../../server/src/payments/payment.ts';
import type { Sql } from '../../server/src/ports/sql.ts';
import { paymentIdFor } from '../../server/src/request-keys/claim.ts';
import type { Bank } from '../../simulator/src/bank.ts';
import type { Database } from './database.ts';

/** Something that must not be, under the invariant's number. */
export interface Finding {
  invariant: number;
  what: string;
}

/** How often each invariant was evaluated. */
export type Examined = Map<number, number>;

/**
 * What must hold at every moment between two transactions: all that `vintem verify --full` examines, compared with what the
 * bank holds true.
 */
export async function checkSafety(
  db: Database,
  now: number,
  bank: Bank,
  examined: Examined,
  healed: boolean,
): Promise<Finding[]> {
  const identity = db.run<{ identity: Buffer }>('SELECT identity_secret AS identity FROM installation', [])[0]
    ?.identity;
  if (!identity) throw new Error('no installation');
  const { checks } = await verify(
    { sql: direct(db), clock: { now: () => now, monotonicMs: () => now, sleep: () => Promise.resolve() } },
    {
      accountId: null,
      full: true,
      idOf: (account, requestKey) => paymentIdFor(identity, account, requestKey),
      provider: {
        payouts: bank.payoutList.map(({ idEnvio, amountCents, pixKey, status, accepted }) => ({
          providerId: idEnvio,
          amountCents,
          pixKey,
          status: status as 'pending',
          timesAccepted: accepted ? 1 : 0,
        })),
        charges: bank.chargeList.map(({ txid, amountCents, status, payments }) => ({
          txid,
          amountCents,
          status,
          paid: payments.length > 0,
        })),
        balanceCents: bank.balanceCents,
      },
    },
  );
  const findings: Finding[] = [];
  const incidents = db.run<{ payment: string | null; kind: string }>(
    'SELECT payment_id AS payment, kind FROM incident',
    [],
  );
  const waiting = new Set(incidents.map(({ payment }) => payment));
  const unposted = incidents.some(({ kind }) => nothingPosted.has(kind));
  for (const check of checks) {
    // What the provider has decided and not yet told is no fault before the end.
    if (!healed && onlyAtTheEnd.has(check.number)) continue;
    examined.set(check.number, (examined.get(check.number) ?? 0) + check.examined);
    for (const { fault, paymentId, operationId } of check.violations) {
      // What a person has to look at is not decided before.
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

/** 13 and 46: the provider's decisions are known here; 24: its account holds what we say. */
const onlyAtTheEnd: ReadonlySet<number> = new Set([13, 24, 46]);

/** Incidents of which nothing is in the journal until a person has looked. */
const nothingPosted: ReadonlySet<string> = new Set(['report_mismatch', 'contradiction', 'undecided']);

/** The session itself, without a process: for looking. */
const direct = (db: Database): Sql => {
  const run = <Row>({ text }: { text: string }, values: readonly unknown[] = []) =>
    Promise.resolve(db.run<Row>(text, values));
  return {
    run,
    begin: () => Promise.reject(new Error('only for looking')),
    tx: () => Promise.reject(new Error('only for looking')),
  };
};

export interface Rows {
  payments: PaymentRow[];
  journals: { subject: string; template: string; reference: string; clearing: number; hash: Buffer }[];
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
  history: { status: string; cause: { by: string } }[];
}

export function readRows(db: Database): Rows {
  const all = <Row>(text: string): Row[] => db.run<Row>(text, []);
  return {
    payments: all('SELECT * FROM payment ORDER BY account_id, id'),
    journals: all('SELECT * FROM journal ORDER BY account_id, chain_id, seq'),
    balances: all('SELECT * FROM balance ORDER BY account_id, operation_id'),
    intents: all('SELECT * FROM intent ORDER BY account_id, payment_id'),
    incidents: all('SELECT * FROM incident ORDER BY account_id, id'),
    operations: all('SELECT * FROM operation ORDER BY account_id, created_at, id'),
    events: all('SELECT type, payment_id FROM event ORDER BY account_id, id'),
  };
}

/** What must hold besides when everything is well again and time enough has passed. */
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
  const known = new Set(rows.journals.map((one) => one.reference));
  for (const { txid, endToEnd, amountCents } of bank.payments.values()) {
    const id = paymentIdOf(txid);
    const credited = rows.journals.some(
      (one) => one.subject === id && one.template === 'credit' && one.clearing === -amountCents,
    );
    must(known.has(endToEnd) || credited, 24, `${amountCents} cents that were received are nowhere`);
  }
  const clearing = -rows.journals.reduce((sum, one) => sum + one.clearing, 0);
  const odd = rows.incidents.some(({ kind }) => nothingPosted.has(kind));
  must(
    clearing === bank.balanceCents || odd,
    13,
    `we say that the provider holds ${clearing}, it holds ${bank.balanceCents}`,
  );
  return findings;
}
