import type { Movement } from '../../money/decide.ts';
import type { FiscalDocument } from '../../money/fiscal-documents.ts';
import type { Metadata } from '../../money/metadata.ts';
import type { PaymentKind } from '../../money/payment.ts';
import type { PixKeyType, Receiver } from '../../provider/provider.ts';

/**
 * The rule of the statement: what a journal of an operation's chain shows to people.
 *
 * **A line stands where the balance changes.** The balance is what `GET /account` calls `balanceCents`: available less what is owed. So
 * every line has an amount other than zero, every running balance is one that `GET /account` answered at that moment, and the lines of a
 * stretch add up to the difference between its ends.
 *
 * **A transfer stands where its amount is set aside**, not where it is completed: that is when the money leaves the balance. A completed
 * transfer is therefore one line with its net and one with its fee, and its completion has none. A transfer that is cancelled gets the
 * opposite lines when the reserve goes back. Rejected: lines at the completion. A transfer under way would be in the balance and in no
 * line, and an older page would change when it ends.
 *
 * **Fees and captured holds are lines of their own**, beside the movement that they belong to: a paid charge of 100 with a fee of 1, of
 * which a hold takes 30, is +100, -1 and -30. What comes in and pays a debt needs no line: the debt was in the balance already.
 */
export interface Entry {
  seq: number;
  /** The movement's kind; a newer program may have written one that this program does not know. */
  template: string;
  postedAt: number;
  available: number;
  held: number;
  receivable: number;
  feeRevenue: number;
  availableAfter: number;
  receivableAfter: number;
  /** Null: the journal belongs to no payment of this operation. */
  payment: LinePayment | null;
  /** Of a hold that is placed or ends; `disputed`: a dispute of the payment placed it. */
  hold: { disputed: boolean; reason: string } | null;
}

export interface LinePayment {
  id: string;
  kind: PaymentKind;
  feeCents: number;
  description: string;
  payerName: string | null;
  /** Sealed; of a transfer. */
  pixKey: Buffer | null;
  pixKeyType: PixKeyType | null;
  /** The receiver of a transfer, as far as the provider reported it. */
  receiver: Receiver | null;
  endToEnd: string | null;
  requestKey: string;
  metadata: Metadata | null;
  fiscalDocuments: readonly FiscalDocument[] | null;
}

export const lineKinds = [
  'charge',
  'charge_fee',
  'charge_fee_back',
  'unexpected_payment',
  'transfer',
  'transfer_fee',
  'transfer_cancelled',
  'transfer_fee_cancelled',
  'transfer_returned',
  'refund',
  'refund_failed',
  'debit',
  'debit_returned',
  'debt_forgiven',
  'hold',
  'hold_released',
  'correction',
] as const;

export type LineKind = (typeof lineKinds)[number];

/** Why an amount is held or taken; null: for no reason beyond the kind of the line, or a hold took it of money that came in. */
export type LineCause = 'dispute' | 'operator' | null;

export interface Line {
  /** Unique in the operation and never changed: `17`, and `17-fee` and `17-hold` for what stands beside it. */
  id: string;
  /** Of the journal in the operation's chain; the lines of one journal share it. */
  seq: number;
  /** When it was posted, ms since 1970. */
  at: number;
  kind: LineKind;
  payment: LinePayment | null;
  cause: LineCause;
  /** The operator's words for a hold; null: there are none. */
  reason: string | null;
  amountCents: number;
  /** After this line. */
  balanceCents: number;
}

interface Shown {
  main: LineKind;
  fee?: LineKind;
  /** Of the payment: a reserve's journal does not split its gross. Default: what the journal posts as revenue. */
  feeOfPayment?: true;
  /** The journal's own line on `held` is the hold itself, and no capture beside it. */
  isHold?: true;
  /** The kind of the line for the change of `held`. Default: `hold`, what a hold captures. */
  hold?: LineKind;
}

const charge: Shown = { main: 'charge', fee: 'charge_fee' };
const transfer: Shown = { main: 'transfer', fee: 'transfer_fee' };
const cancelled: Shown = { main: 'transfer_cancelled', fee: 'transfer_fee_cancelled' };

/** Null: the movement leaves the balance as it is. */
const shownAs: Record<Movement['kind'], Shown | null> = {
  credit: charge,
  // A card payment stands where its acquirer releases it: until then it is in no balance.
  cardRelease: charge,
  cardApprove: null,
  // Out of what the acquirer holds, which is in no balance.
  cardRefundReserve: null,
  cardRefundRelease: null,
  cardSeize: { main: 'debit' },
  cardGiveBack: { main: 'debit_returned' },
  creditFromSuspense: charge,
  creditBesidePayment: { main: 'unexpected_payment', fee: 'charge_fee' },
  reserve: { ...transfer, feeOfPayment: true },
  debitLateCompletion: transfer,
  release: { ...cancelled, feeOfPayment: true },
  creditNeverLeft: cancelled,
  // Where its amount is set aside, as a transfer; its completion has the line of the fee that comes back, if one does.
  refundReserve: { main: 'refund' },
  refundComplete: { main: 'charge_fee_back' },
  refundRelease: { main: 'refund_failed' },
  suspenseReserve: null,
  suspenseRelease: null,
  return: { main: 'transfer_returned' },
  debit: { main: 'debit' },
  // The loss stands whole on its day: the hold lets go what it had captured, and the debit takes it. Rejected: one line with what the hold
  // did not cover. A lost dispute was in no line then, and its hold stayed one without an end.
  debitHeld: { main: 'debit', hold: 'hold_released' },
  waiveDebt: { main: 'debt_forgiven' },
  hold: { main: 'hold', isHold: true },
  releaseHold: { main: 'hold_released', isHold: true },
  debitToSuspense: { main: 'correction' },
  complete: null,
  bookToSuspense: null,
  writeOff: null,
  bookLoss: null,
  providerCost: null,
  ownMoney: null,
  cashTransfer: null,
  cashArrive: null,
};

const unknownMovement: Shown = { main: 'correction' };

/** The lines of a journal, in their order: the movement, its fee, what a hold captured of it. */
export function linesOf(entry: Entry): Line[] {
  // Both are credit-positive: a line on `receivable` is negative when the debt grows.
  const total = entry.available + entry.receivable;
  const known = (shownAs as Record<string, Shown | null | undefined>)[entry.template];
  if (known === null) return [];
  const shown = known ?? unknownMovement;
  const fee = feeOf(entry, shown);
  const captured = shown.isHold ? 0 : -entry.held;
  const main: Part = ['', shown.main, total - fee - captured];
  const ofHold: Part = ['-hold', shown.hold ?? 'hold', captured];
  const parts: Part[] =
    shown.hold === undefined
      ? [main, ['-fee', shown.fee ?? shown.main, fee], ofHold]
      : // The release stands in front of the debit that takes the same amount.
        [ofHold, main];
  const cause = causeOf(entry);
  let balanceCents = entry.availableAfter - entry.receivableAfter - total;
  const lines: Line[] = [];
  for (const [suffix, kind, amountCents] of parts) {
    if (amountCents === 0) continue;
    balanceCents += amountCents;
    const { seq, postedAt: at, payment, hold } = entry;
    const reason = hold?.disputed === false ? hold.reason : null;
    lines.push({ id: `${seq}${suffix}`, seq, at, kind, payment, cause, reason, amountCents, balanceCents });
  }
  return lines;
}

type Part = [suffix: string, kind: LineKind, amountCents: number];

function causeOf({ template, hold }: Entry): LineCause {
  if (template === 'debitHeld' || template === 'cardGiveBack') return 'dispute';
  return hold && (hold.disputed ? 'dispute' : 'operator');
}

function feeOf(entry: Entry, shown: Shown): number {
  if (shown.fee === undefined) return 0;
  if (!shown.feeOfPayment) return 0 - entry.feeRevenue;
  const fee = entry.payment?.feeCents ?? 0;
  return entry.template === 'reserve' ? 0 - fee : fee;
}

/** The sum of the journals of one kind and of the same signs. */
export type EntrySum = Pick<Entry, 'template' | 'available' | 'held' | 'receivable' | 'feeRevenue'>;
