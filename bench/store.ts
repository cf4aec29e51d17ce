import { once } from 'node:events';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { accounts, type Balance, decide } from '../server/src/money/decide.ts';
import { canonicalVersion, eventKinds, hashOf, type Journal } from '../server/src/money/journal.ts';
import type { Payment } from '../server/src/money/payment.ts';
import { next } from '../server/src/money/state.ts';
import type { Posting } from '../server/src/store/till.ts';
import { benchPayment, credit, type Owner, type World } from './world.ts';

const grossCents = 1_000;
const feeCents = 25;
/** Older than events are kept, so that none belong to them; each a millisecond after the one before. */
const agoMs = 100 * 86_400_000;

/**
 * Writes completed transfers straight into the tables by COPY, some 15,000 a second. The state machine makes the payments, the ledger rule
 * makes their journals in chain order, and the balance row ends where the chain ends, so `verify` finds nothing. The cost of the transfers is
 * credited first, so the balance does not change. No other caller may use the operation meanwhile.
 * @returns the payment ids
 */
export async function storeTransfers(
  { runtime }: World,
  url: string,
  of: Owner,
  count: number,
): Promise<string[]> {
  await credit(runtime, of, count * grossCents);
  const { accountId, operationId } = of;
  const [toPayments, toJournals] = await Promise.all([connect(url), connect(url)]);
  const { rows } = await toJournals.query<Row>(
    `SELECT available, reserved, held, receivable, hold_wanted, card_held, seq, head FROM balance WHERE account_id = $1 AND operation_id = $2`,
    [accountId, operationId],
  );
  const row = rows[0] as Row;
  let balance: Balance = {
    available: Number(row.available),
    reserved: Number(row.reserved),
    held: Number(row.held),
    receivable: Number(row.receivable),
    holdWanted: Number(row.hold_wanted),
    cardHeld: Number(row.card_held),
  };
  let seq = Number(row.seq);
  let head = row.head;
  const ids: string[] = [];
  const began = runtime.clock.now() - agoMs;
  const sealed = runtime.secrets.seal('maria@loja.example', 'bench');

  await Promise.all([toPayments.query('BEGIN'), toJournals.query('BEGIN')]);
  const payments = toPayments.query(copyFrom(`COPY payment (${paymentColumns}) FROM STDIN`));
  const journals = toJournals.query(copyFrom(`COPY journal (${journalColumns}) FROM STDIN`));
  let [paymentText, journalText] = ['', ''];
  for (let at = 0; at < count; at++) {
    const now = began + at;
    const asked = benchPayment(
      runtime,
      of,
      { kind: 'transfer', amountCents: grossCents, feeCents },
      now,
      sealed,
    );
    const step = next(
      asked,
      {
        type: 'payoutCompleted',
        amountCents: grossCents - feeCents,
        pixKey: null,
        endToEnd: `E${asked.id.replaceAll('-', '').slice(0, 31)}`,
        settledAt: now,
      },
      {
        now,
        cause: { by: 'webhook', id: 'bench' },
        operationDeleted: false,
        incidentOpen: () => false,
        posted: () => false,
        bookedUnder: () => null,
        knowsReturn: () => false,
        isCreditedAndDisputed: () => false,
        isPixKey: () => true,
      },
    );
    if (step === null) throw new Error('a transfer could not be completed');
    ids.push(asked.id);
    paymentText += lineOf(step.payment);
    const reserve: Omit<Posting, 'chain' | 'subject'> = {
      event: eventKinds.reserve,
      reference: '',
      effectiveAt: now,
      movement: { kind: 'reserve', grossCents },
    };
    for (const { event, reference, effectiveAt, movement } of [reserve, ...step.postings]) {
      const decided = decide(balance, movement);
      if ('refused' in decided) throw new Error(`the ledger refused: ${decided.refused}`);
      const unsealed = {
        accountId,
        chainId: operationId,
        seq: ++seq,
        template: movement.kind,
        subject: asked.id,
        event,
        reference,
        lines: decided.lines,
        after: decided.balance,
        effectiveAt,
        postedAt: now,
        command: asked.command,
        connection: decided.lines.clearing === 0 ? null : 'simulator',
        version: canonicalVersion,
        previous: head,
      };
      head = hashOf(unsealed);
      balance = decided.balance;
      journalText += journalLineOf({ ...unsealed, hash: head, pix: null });
    }
    if (at % 500 === 499 || at === count - 1) {
      await Promise.all([written(payments, paymentText), written(journals, journalText)]);
      [paymentText, journalText] = ['', ''];
    }
  }
  await Promise.all([end(payments), end(journals)]);
  await toJournals.query(
    'UPDATE balance SET available = $3, reserved = $4, seq = $5, head = $6 WHERE account_id = $1 AND operation_id = $2',
    [accountId, operationId, balance.available, balance.reserved, seq, head],
  );
  await Promise.all([toPayments.query('COMMIT'), toJournals.query('COMMIT')]);
  await Promise.all([toPayments.end(), toJournals.end()]);
  return ids;
}

interface Row {
  available: string;
  reserved: string;
  held: string;
  receivable: string;
  hold_wanted: string;
  card_held: string;
  seq: string;
  head: Buffer;
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, options: '-c search_path=vintem' });
  await client.connect();
  return client;
}

async function written(stream: ReturnType<typeof copyFrom>, text: string): Promise<void> {
  if (!stream.write(text)) await once(stream, 'drain');
}

async function end(stream: ReturnType<typeof copyFrom>): Promise<void> {
  stream.end();
  await once(stream, 'finish');
}

const paymentColumns = `account_id, id, operation_id, kind, status, amount_cents, fee_cents, request_key, fingerprint, description, pix_key,
  pix_key_type, created_at, updated_at, settled_at, end_to_end, provider_fee_cents, net_amount_cents, returned_cents, history, command`;

const lineOf = (payment: Payment): string =>
  line([
    payment.accountId,
    payment.id,
    payment.operationId,
    payment.kind,
    payment.status,
    payment.amountCents,
    payment.feeCents,
    payment.requestKey,
    bytes(payment.fingerprint),
    payment.description,
    bytes(payment.pixKey as Buffer),
    payment.pixKeyType,
    time(payment.createdAt),
    time(payment.updatedAt),
    time(payment.settledAt as number),
    payment.endToEnd,
    payment.providerFeeCents,
    payment.netAmountCents,
    payment.returnedCents,
    JSON.stringify(payment.history),
    payment.command,
  ]);

const journalColumns = `account_id, chain_id, seq, template, subject, event, reference, available, reserved, held, receivable, clearing,
  fee_revenue, provider_cost, suspense, adjustments, available_after, reserved_after, held_after, receivable_after, effective_at,
  posted_at, command, version, previous, hash`;

const journalLineOf = (journal: Journal): string =>
  line([
    journal.accountId,
    journal.chainId,
    journal.seq,
    journal.template,
    journal.subject,
    journal.event,
    journal.reference,
    ...accounts.map((account) => journal.lines[account]),
    journal.after.available,
    journal.after.reserved,
    journal.after.held,
    journal.after.receivable,
    time(journal.effectiveAt),
    time(journal.postedAt),
    journal.command,
    journal.version,
    bytes(journal.previous),
    bytes(journal.hash),
  ]);

/** None of the values holds a tab, a line's end or a backslash but those that `bytes` puts in. */
const line = (values: readonly (string | number | null)[]): string =>
  `${values.map((value) => value ?? '\\N').join('\t')}\n`;
const bytes = (value: Buffer): string => `\\\\x${value.toString('hex')}`;
const time = (ms: number): string => new Date(ms).toISOString();
