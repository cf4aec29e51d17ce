import { feeOf } from '../../ground/money.ts';
import { newPayment, type Payment } from '../../money/payment.ts';
import { conditions } from '../../store/rows/conditions.sql.ts';
import { type StaticCode, staticCodeKey, staticCodes } from '../../store/rows/static-codes.sql.ts';
import { put, read, type View } from '../../store/till.ts';
import type { Birth } from '../kind.ts';

/** A Pix that came under the identifier of a static code. */
export interface CodePayment {
  accountId: string;
  operationId: string;
  codeId: string;
  connection: string;
  endToEnd: string;
  amountCents: number;
  /** Of the payment, as it follows from account and Pix; the same whatever reports it. */
  paymentId: string;
  requestKey: string;
  fingerprint: Buffer;
  /** The delivery or the list that reports it. */
  sourceId: string;
}

/**
 * The payment that a Pix of a static code makes: nothing was promised before, so it has the amount that came, whatever the code says, and is
 * paid in the command that makes it. The code's counters change with it. Pure.
 */
export function paymentOfCode(paid: CodePayment): Birth<Payment> {
  const codeKey = staticCodeKey(paid.accountId, paid.codeId);
  return {
    reads: [read(staticCodes, codeKey), read(conditions, paid.accountId)],
    row: (view, now, token) => bornOf(view, paid, codeKey, now, token),
    writes: (view, after) => {
      const code = view.get(staticCodes, codeKey);
      if (!code) throw new Error('a payment of a static code that is not there');
      return [
        put(staticCodes, {
          ...code,
          paidCount: code.paidCount + 1,
          paidCents: code.paidCents + after.amountCents,
          updatedAt: Math.max(code.updatedAt, after.createdAt),
        }),
      ];
    },
  };
}

function bornOf(view: View, paid: CodePayment, codeKey: string, now: number, token: string): Payment | null {
  const code = view.get(staticCodes, codeKey);
  const account = view.get(conditions, paid.accountId);
  if (!code || !account) return null;
  const { accountId, operationId, connection, amountCents, paymentId, requestKey, fingerprint } = paid;
  const feeCents = feeOf(amountCents, { fixedCents: account.depositFeeCents, bps: account.depositFeeBps });
  const row = newPayment(
    {
      accountId,
      id: paymentId,
      operationId,
      kind: 'deposit',
      amountCents,
      // The merchant could refuse no amount: a Pix below the fee pays the fee alone.
      feeCents: Math.min(feeCents, amountCents),
      requestKey,
      fingerprint,
      description: code.name,
      metadata: code.metadata,
      payerName: '',
      pixKey: null,
      pixKeyType: null,
      command: token,
      connection,
      staticCodeId: code.id,
    },
    'unknown',
    now,
    { by: 'webhook', id: paid.sourceId },
  );
  // It never was unknown: its first state is the one that the same command enters.
  return { ...row, notice: noticeOf(code, amountCents), history: [] };
}

function noticeOf({ status, amountCents: asked }: StaticCode, amountCents: number): Payment['notice'] {
  if (asked !== null && asked !== amountCents) return 'amount_differs_from_code';
  return status === 'retired' ? 'code_retired' : null;
}
