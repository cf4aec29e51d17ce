import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildDisputeReport } from '../flow/report-command.ts';
import { withHolds } from '../kinds/payment/hold-of-pix.ts';
import type { DisputeStatus } from '../provider/dispute-report.ts';
import type { OpenHolds } from '../store/rows/holds.sql.ts';
import type { Command, Decision, View } from '../store/till.ts';
import { accounts, type Balance, decide, emptyBalance, type Movement } from './decide.ts';
import { type Dispute, wantedCents } from './dispute.ts';
import { eventKinds } from './journal.ts';
import { newPayment, type Payment } from './payment.ts';
import type { KnownReturn } from './returns.ts';

/**
 * The disputes of one Pix among everything else that moves a balance, in any order: the builders of the service over rows in memory, with
 * the laws held after each step.
 */
const accountId = '00000000-0000-7000-8000-00000000000a';
const operationId = '00000000-0000-7000-8000-00000000000b';
const paymentId = '00000000-0000-7000-8000-00000000000c';
const chain = { accountId, chainId: operationId };
const pixCents = 1_000;
const endToEnd = 'E1';

class Books {
  balance: Balance = { ...emptyBalance };
  open: OpenHolds = { accountId, operationId, holds: [] };
  disputes: readonly Dispute[] = [];
  returns: KnownReturn[] = [];
  references = new Set<string>();
  events: string[] = [];
  made = 0;
  payment: Payment = {
    ...newPayment(
      {
        accountId,
        id: paymentId,
        operationId,
        kind: 'deposit',
        amountCents: pixCents,
        feeCents: 10,
        requestKey: paymentId,
        fingerprint: Buffer.alloc(33),
        description: '',
        payerName: 'Maria',
        pixKey: null,
        pixKeyType: null,
        connection: 'simulator',
        command: '',
      },
      'unknown',
      0,
      { by: 'api', id: '' },
    ),
    status: 'paid',
    endToEnd,
    providerFeeCents: 10,
    netAmountCents: pixCents - 10,
  };

  view: View = {
    balance: () => ({ ...this.balance, deletedAt: null }) as never,
    get: (table: { name: string }) => {
      const rows: Record<string, unknown> = {
        payment: this.payment,
        known_return: { accountId, payment: paymentId, returns: this.returns },
        dispute: { accountId, paymentId, disputes: this.disputes },
        hold_open: this.open,
      };
      return rows[table.name] as never;
    },
    posted: () => false,
    booked: () => undefined,
  };

  token(): string {
    return `00000000-0000-7000-8000-${(++this.made).toString(16).padStart(10, '0')}00`;
  }

  move(movement: Movement, reference: string = this.token()): void {
    if (this.references.has(reference)) throw new Error(`${reference} was posted twice`);
    this.references.add(reference);
    const outcome = decide(this.balance, movement);
    if ('refused' in outcome) return;
    expect(accounts.reduce((sum, account) => sum + outcome.lines[account], 0)).toBe(0);
    this.balance = outcome.balance;
  }

  apply({ postings = [], writes = [] }: Pick<Decision<unknown>, 'postings' | 'writes'>): void {
    for (const { subject, event, reference, movement } of postings)
      this.move(movement, `${subject}/${event}/${reference}`);
    for (const { table, put } of writes) {
      if (table.name === 'hold_open') this.open = put as OpenHolds;
      if (table.name === 'dispute') this.disputes = (put as { disputes: readonly Dispute[] }).disputes;
      if (table.name === 'event') this.events.push((put as { type: string }).type);
    }
  }

  submit<Answer>(command: Command<Answer>): void {
    this.apply(command.decide(this.view, ++this.made));
  }

  report(providerId: string, amountCents: number, status: DisputeStatus): void {
    this.submit(
      buildDisputeReport({
        accountId,
        paymentId,
        operationId,
        connection: 'simulator',
        livemode: false,
        report: { providerId, endToEnd, amountCents, status, reason: null, openedAt: 1, deadlineAt: null },
        token: this.token(),
        deadlineMs: 0,
      }),
    );
  }

  take(wanted: number): void {
    const amountCents = Math.min(wanted, this.left);
    if (amountCents < 1) return;
    const reference = `D${++this.made}`;
    const back = { id: null, rtrId: reference, reference, pix: endToEnd, amountCents, at: 1, posted: false };
    const movement: Movement = { kind: 'debit', amountCents };
    const posting = {
      chain,
      subject: paymentId,
      event: eventKinds.debit,
      reference,
      movement,
      effectiveAt: 0,
    };
    const known = this.returns;
    this.apply(
      withHolds(
        this.view,
        {
          chain,
          paymentId,
          token: this.token(),
          endToEnd: null,
          broughtBy: () => pixCents,
          postings: [posting],
          reported: [back],
          known,
        },
        ++this.made,
      ),
    );
    this.returns = [...known, { ...back, posted: true }];
  }

  hold(amountCents: number): void {
    this.move({ kind: 'hold', amountCents });
    this.open = {
      ...this.open,
      holds: [...this.open.holds, { id: this.token(), wantedCents: amountCents }],
    };
  }

  get left(): number {
    return this.returns.reduce((left, { amountCents }) => left - amountCents, pixCents);
  }

  /** The amount that the hold of the Pix wants. */
  get ofPix(): number {
    const ids = new Set(this.disputes.map(({ holdId }) => holdId));
    return this.open.holds
      .filter(({ id }) => ids.has(id))
      .reduce((sum, { wantedCents: cents }) => sum + cents, 0);
  }

  check(): void {
    expect(Math.min(...Object.values(this.balance))).toBeGreaterThanOrEqual(0);
    const wanted = this.open.holds.reduce((sum, { wantedCents: cents }) => sum + cents, 0);
    expect(this.balance.held + this.balance.holdWanted).toBe(wanted);
    expect(this.ofPix).toBe(wantedCents(this.disputes, this.left));
    expect(this.ofPix).toBeLessThanOrEqual(this.left);
    for (const { amountCents, debitedCents } of this.disputes)
      expect(debitedCents).toBeLessThanOrEqual(amountCents);
  }
}

const cents = fc.integer({ min: 1, max: 1_200 });
const statuses = ['open', 'defending', 'accepted', 'rejected', 'cancelled'] as const;

const step = fc.oneof(
  fc.record({
    do: fc.constant('report' as const),
    of: fc.constantFrom('1', '2', '3'),
    status: fc.constantFrom(...statuses),
    cents,
  }),
  fc.record({ do: fc.constantFrom('take' as const, 'credit', 'reserve', 'hold'), cents }),
);

describe('the disputes of a Pix', () => {
  it('hold what is disputed and never more than what is left of it, whatever happens besides, in any order', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const books = new Books();
        books.move({ kind: 'credit', amountCents: pixCents, feeCents: 10 });
        for (const one of steps) {
          if (one.do === 'report') books.report(one.of, one.cents, one.status);
          else if (one.do === 'take') books.take(one.cents);
          else if (one.do === 'hold') books.hold(one.cents);
          else if (one.do === 'credit') books.move({ kind: 'credit', amountCents: one.cents, feeCents: 0 });
          else books.move({ kind: 'reserve', grossCents: one.cents });
          books.check();
        }
      }),
      { numRuns: 400 },
    );
  });

  it('reach every state from every other by the provider’s word, each entered with one event', () => {
    for (const from of statuses)
      for (const to of statuses) {
        const books = new Books();
        books.move({ kind: 'credit', amountCents: pixCents, feeCents: 10 });
        for (const status of [from, from, to, to]) books.report('1', 400, status);
        const told = (status: string) => (status === 'open' ? 'dispute.opened' : `dispute.${status}`);
        expect(books.events).toEqual(from === to ? [told(from)] : [told(from), told(to)]);
        const isFree = to === 'rejected' || to === 'cancelled';
        expect([books.balance.available, books.balance.held]).toEqual(isFree ? [990, 0] : [590, 400]);
      }
  });

  it('leave a debit to the hold first, to the balance then, and the rest is a debt', () => {
    const books = new Books();
    books.move({ kind: 'credit', amountCents: pixCents, feeCents: 10 });
    books.report('1', 600, 'accepted');
    books.take(1_000);
    expect(books.balance).toEqual({
      available: 0,
      reserved: 0,
      held: 0,
      receivable: 10,
      holdWanted: 0,
      cardHeld: 0,
    });
    expect(books.disputes).toMatchObject([{ debitedCents: 600 }]);
  });
});
