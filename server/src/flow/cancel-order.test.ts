import fc from 'fast-check';
import { expect, test } from 'vitest';
import { admitCancel, cancelKeyOf } from '../kinds/cancel/admission.ts';
import { cancel } from '../kinds/cancel/cancel.ts';
import { chargeCancels } from '../kinds/cancel/cancels.sql.ts';
import { observedCancel } from '../kinds/cancel/outcome.ts';
import type { ChargeRequest } from '../kinds/charge-request/charge-request.ts';
import type { Observed } from '../kinds/kind.ts';
import { kindOf } from '../kinds/registry/kinds.ts';
import type { Intent } from '../money/intent.ts';
import { newPayment, type Payment, providerIdOf } from '../money/payment.ts';
import type { Capabilities, ChargeReport, SendOutcome } from '../provider/provider.ts';
import { always } from '../store/events/subscribed-types.ts';
import { intents } from '../store/rows/intents.sql.ts';
import { payments } from '../store/rows/payments.sql.ts';
import type { Command, View } from '../store/till.ts';
import { buildOutcome } from './outcome.ts';

/** A cancel against a payment, in every order of answers, queries and deliveries: what a provider may say, and how often. */

const accountId = '0190a000-0000-7000-8000-000000000001';
const operationId = '0190a000-0000-7000-8000-00000000000a';
const id = 'deadbeef-0123-8456-89ab-cdef01234567';
const cancelId = cancelKeyOf(id);
const start = Date.UTC(2026, 10, 20, 15);
const place = { accountId, paymentId: id, operationId, connection: 'bank', kind: 'deposit' } as const;
const pix = { endToEnd: 'E1', amountCents: 1_000, paidAt: start, txid: providerIdOf(id), returns: [] };
const report = (status: ChargeReport['status']): ChargeReport => ({
  ...{
    txid: providerIdOf(id),
    amountCents: 1_000,
    status,
    createdAt: start,
    expiresAt: null,
    copyPaste: null,
  },
  received: status === 'paid' ? [pix] : [],
});
const capabilities = { refusalIsFinal: true, repeatIsSafe: true, movesMoney: true } as Capabilities;

/** The rows of one charge, and the commands about it. */
function createBooks() {
  const rows = new Map<string, unknown>();
  const events: string[] = [];
  const credits: string[] = [];
  let now = start;
  const view = {
    balance: () => ({ accountId, chainId: operationId, deletedAt: null, frozen: false }),
    get: ({ name }: { name: string }, key: string) => rows.get(`${name} ${key}`),
    posted: ({ reference }: { reference: string }) => credits.includes(`suspense ${reference}`),
    booked: () => undefined,
  } as unknown as View;
  const stage = (writes: readonly { table: { name: string }; put?: unknown; remove?: string }[]): void => {
    for (const { table, put, remove } of writes) {
      if (remove !== undefined) rows.delete(`${table.name} ${remove}`);
      else if (table.name === 'event') events.push((put as { type: string }).type);
      else rows.set(`${table.name} ${(table as typeof payments).keyOf(put as never)}`, put);
    }
  };
  const submit = <Answer>(command: Command<Answer>): Answer => {
    const decision = command.decide(view, ++now);
    stage(decision.writes ?? []);
    for (const { reference, movement } of decision.postings ?? [])
      credits.push(movement.kind === 'credit' ? 'credit' : `suspense ${reference}`);
    return decision.answer;
  };
  const hear = (observed: Observed): void => {
    const answer = submit(
      buildOutcome(kindOf(observed.kind), {
        ...{
          observed,
          capabilities,
          subscribed: always,
          token: cancelId,
          jitter: 0,
          deadlineMs: 0,
        },
        secrets: { open: (sealed: Buffer) => sealed },
      }),
    );
    for (const other of answer.others) hear(other);
  };
  return { rows, events, credits, view, stage, hear, now: () => now };
}

const intentOf = (kind: Intent['kind'], of: string): Intent => ({
  ...{
    accountId,
    paymentId: of,
    operationId,
    connection: 'bank',
    kind,
    priority: 0,
    state: 'sending',
    fence: 'mine',
  },
  ...{ attempt: 1, leaseUntil: start + 1, dueAt: start, newsAt: start, attemptEndedAt: null, failures: 0 },
  ...{ absences: 0, absentAt: null, undecidedSince: null, answeredAt: null, known: false, refused: false },
  ...{ createdAt: start, providerRef: null, step: null, identity: 'ours' },
});

/** A pending charge whose cancel is being sent. */
function openedBooks() {
  const books = createBooks();
  const begun = {
    ...{
      accountId,
      id,
      operationId,
      kind: 'deposit' as const,
      amountCents: 1_000,
      feeCents: 25,
      requestKey: id,
    },
    ...{ fingerprint: Buffer.alloc(32), description: '', payerName: 'Maria', pixKey: null, pixKeyType: null },
    ...{ command: id, connection: 'bank' },
  } as const;
  const charge: Payment = {
    ...newPayment(begun, 'unknown', start, { by: 'api', id: 'r' }),
    status: 'pending',
  };
  books.rows.set(`${payments.name} ${accountId}${id}`, charge);
  const caller = { accountId, operationId, keyId: null, requestId: 'req' };
  const admission = {
    caller,
    order: { paymentId: id },
    id: cancelId,
    fingerprint: Buffer.alloc(32),
    token: cancelId,
  };
  const { row, writes } = admitCancel(books.view, admission as never, start + 1);
  books.stage(writes as never);
  books.rows.set(`${chargeCancels.name} ${accountId}${cancelId}`, row);
  books.rows.set(`${intents.name} ${accountId}${cancelId}`, intentOf('cancel', cancelId));
  return { books, row };
}

type Word = 'lost' | 'answer' | 'refusal' | 'absent' | 'cancel query' | 'charge query' | 'delivery' | 'open';

/** @param truth which of the two the provider carried out */
function say(
  books: ReturnType<typeof createBooks>,
  row: ChargeRequest,
  word: Word,
  truth: 'paid' | 'removed',
): void {
  const sent = (outcome: SendOutcome<ChargeReport>) =>
    books.hear(observedCancel(row, 'bank', { from: 'send', fence: 'mine', outcome }));
  const asked = (outcome: object, observed: object) =>
    books.hear({
      ...observed,
      observation: { from: 'query', id: 'q', startedAt: books.now(), outcome },
    } as Observed);
  const ofCancel = { ...place, paymentId: cancelId, kind: 'cancel', chargeId: id };
  switch (word) {
    case 'lost':
      sent({ outcome: 'unclear', cause: 'network', detail: '', retryAfterMs: null });
      break;
    case 'answer':
      sent(
        truth === 'removed'
          ? { outcome: 'accepted', report: report('removed') }
          : { outcome: 'refused', reason: 'provider_refused', detail: '' },
      );
      break;
    case 'refusal':
      sent({ outcome: 'refused', reason: 'provider_refused', detail: '' });
      break;
    case 'absent':
      asked({ outcome: 'notFound' }, ofCancel);
      break;
    case 'open':
      asked({ outcome: 'found', report: report('open') }, ofCancel);
      break;
    case 'cancel query':
      asked({ outcome: 'found', report: report(truth) }, ofCancel);
      break;
    case 'charge query':
      asked({ outcome: 'found', report: report(truth) }, place);
      break;
    case 'delivery':
      if (truth === 'paid')
        books.hear({
          ...place,
          observation: { from: 'webhook', id: 'w', received: [pix], payouts: [] },
        } as Observed);
  }
}

const harmless: Word[] = ['lost', 'refusal', 'absent', 'open'];
const words: Word[] = [...harmless, 'answer', 'cancel query', 'charge query', 'delivery'];
const stateOf = (books: ReturnType<typeof createBooks>) => ({
  charge: books.rows.get(`${payments.name} ${accountId}${id}`) as Payment,
  cancel: books.rows.get(`${chargeCancels.name} ${accountId}${cancelId}`) as ChargeRequest,
  intent: books.rows.get(`${intents.name} ${accountId}${cancelId}`) as Intent | undefined,
});

test('A cancel and a payment have one end in 1,000 orders of all news: paid and credited once, or failed and never credited', () => {
  fc.assert(
    fc.property(
      fc.constantFrom<'paid' | 'removed'>('paid', 'removed'),
      fc.array(fc.constantFrom(...words), { maxLength: 12 }),
      (truth, said) => {
        const { books, row } = openedBooks();
        for (const word of [...said, 'charge query' as const]) say(books, row, word, truth);
        const { charge, cancel: ended, intent } = stateOf(books);
        const isPaid = truth === 'paid';
        expect([charge.status, charge.reasonCode]).toEqual(
          isPaid ? ['paid', null] : ['failed', 'cancelled_by_merchant'],
        );
        expect(books.events.filter((type) => type !== 'charge.created')).toEqual([
          isPaid ? 'charge.paid' : 'charge.failed',
        ]);
        expect(books.credits).toEqual(isPaid ? ['credit'] : []);
        expect([ended.status, intent]).toEqual(['completed', undefined]);
      },
    ),
    { numRuns: 1_000 },
  );
});

test('No refusal, no lost answer and no query without the charge ends a charge that is to be cancelled', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...harmless), { maxLength: 12 }), (said) => {
      const { books, row } = openedBooks();
      for (const word of said) say(books, row, word, 'removed');
      const { charge, cancel: open, intent } = stateOf(books);
      expect([charge.status, open.status, books.events]).toEqual(['pending', 'unknown', []]);
      expect(intent).toBeDefined();
    }),
  );
});

test('A charge that is paid stays paid when its removal is reported as well, and has the event of its payment alone', () => {
  const { books, row } = openedBooks();
  say(books, row, 'charge query', 'paid');
  say(books, row, 'answer', 'removed');
  say(books, row, 'charge query', 'removed');
  const { charge } = stateOf(books);
  expect([charge.status, books.events, books.credits]).toEqual(['paid', ['charge.paid'], ['credit']]);
});

test('A cancel is not sent while the creation of its charge is unknown, nor over another connection than its charge is on', async () => {
  const { row, books } = openedBooks();
  const { charge } = stateOf(books);
  const prepared = (status: Payment['status'], connection: string) =>
    cancel.prepare({ sql: { run: async () => [{ ...charge, status }] } } as never, row, {
      connection,
      can: capabilities,
      repeat: false,
      second: null,
      traceparent: undefined,
    });
  expect(await prepared('unknown', 'bank')).toMatchObject({ outcome: 'notSent' });
  expect(await prepared('paid', 'bank')).toMatchObject({ outcome: 'notSent' });
  expect(await prepared('pending', 'other')).toMatchObject({ outcome: 'notSent' });
  expect(await prepared('pending', 'bank')).toBeTypeOf('function');
});
