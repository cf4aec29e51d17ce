import { refuse } from '../../ground/errors.ts';
import { feeOf } from '../../ground/money.ts';
import { eventKinds } from '../../money/journal.ts';
import { askedMetadata, type Metadata, metadataOf } from '../../money/metadata.ts';
import { causeOfCall, newPayment, type Payment, providerIdOf } from '../../money/payment.ts';
import { isSamePixKey } from '../../money/same-pix-key.ts';
import type {
  ChargeReport,
  PayoutInstruction,
  PayoutReport,
  PixKeyType,
  Provider,
} from '../../provider/provider.ts';
import type { Conditions } from '../../store/rows/conditions.sql.ts';
import { openOrReport, unreadableKeyOf } from '../../store/rows/unreadable.ts';
import type { Admission, Admitted, Kind, PrepareDeps, Prepared, SecondStep, Sending } from '../kind.ts';
import type { PaymentNews } from '../payment/interpret-report.ts';
import { locatedPayment, sentPayment } from '../payment/sent-payment.ts';
import { existsInDict } from './pix-key.ts';

declare module '../../money/sent-kinds.ts' {
  interface SentKinds {
    transfer: true;
  }
}

export interface TransferOrder {
  amountCents: number;
  /** Normalised. */
  pixKey: string;
  pixKeyType: PixKeyType;
  description: string;
  requestKey: string;
  metadata?: Metadata;
}

/**
 * Reserves the gross and sends the net. The API key authorizes the movement: no code, no confirmation.
 *
 * A key that cannot exist in DICT (wrong check digits, an e-mail that is too long) is recorded as refused without calling the
 * provider: each key that is not found costs it twenty tokens of a bucket that all merchants share.
 */
export const transfer: Kind<Payment, TransferOrder, ChargeReport | PayoutReport, PaymentNews> = {
  ...sentPayment,
  name: 'transfer',
  permission: 'transfers',
  call: 'payout',
  isWithdrawal: true,
  isLimited: true,
  mayMove: false,
  isAwaited: true,
  createdEvent: 'transfer.created',
  offers: (can) => can.payouts,
  asked: ({ amountCents, pixKey, pixKeyType, description, metadata }) => ({
    amountCents,
    pixKey,
    pixKeyType,
    description,
    ...askedMetadata(metadataOf(metadata)),
  }),
  secretOf: ({ pixKey }) => pixKey,
  waitMs: ({ transferWaitMs }) => transferWaitMs,
  admit: admitTransfer,
  prepare: prepareTransfer,
  locate: locatedPayment((provider, id, { providerRef }) => provider.queryPayout(id, providerRef)),
};

/** @throws ApiError `amount_out_of_limits`, `amount_below_fee` */
function admitTransfer(_view: unknown, admission: Admission<TransferOrder>, now: number): Admitted<Payment> {
  const { caller, order, account, connection, id, fingerprint, sealed, token } = admission;
  const { accountId, operationId } = caller;
  const { amountCents, pixKey, pixKeyType, description, requestKey } = order;
  const row = newPayment(
    {
      accountId,
      id,
      operationId,
      kind: 'transfer',
      amountCents,
      feeCents: withdrawalFeeOf(account, amountCents),
      requestKey,
      fingerprint,
      description,
      metadata: metadataOf(order.metadata),
      payerName: null,
      pixKey: sealed,
      pixKeyType,
      command: token,
      connection,
    },
    'unknown',
    now,
    causeOfCall('api', caller),
  );
  return {
    row,
    refusedAs: existsInDict(pixKeyType, pixKey) ? null : 'pix_key_not_found',
    postings: [
      {
        chain: { accountId, chainId: operationId },
        subject: id,
        event: eventKinds.reserve,
        reference: '',
        effectiveAt: now,
        movement: { kind: 'reserve', grossCents: amountCents },
      },
    ],
    writes: [],
  };
}

/**
 * The fee of a withdrawal by an account's conditions.
 * @throws ApiError `amount_out_of_limits`, `amount_below_fee`
 */
export function withdrawalFeeOf(account: Conditions, amountCents: number): number {
  requireWithinLimits(account, amountCents);
  const feeCents = feeOf(amountCents, {
    fixedCents: account.withdrawalFeeCents,
    bps: account.withdrawalFeeBps,
  });
  if (feeCents >= amountCents) throw refuse('amount_below_fee');
  return feeCents;
}

/** @throws ApiError `amount_out_of_limits` */
export function requireWithinLimits(account: Conditions, amountCents: number): void {
  if (amountCents < account.minimumWithdrawalCents || amountCents > account.maximumWithdrawalCents) {
    throw refuse('amount_out_of_limits');
  }
}

async function prepareTransfer(
  deps: PrepareDeps,
  payment: Payment,
  { can, repeat, second, traceparent }: Sending,
): Promise<Prepared<PayoutReport>> {
  const { id, amountCents, feeCents, description, createdAt, pixKey: sealed, pixKeyType } = payment;
  // It was accepted before that, and waits: the connection may pay out again.
  if (!can.payouts) return { outcome: 'notSent', detail: 'the connection pays nothing out' };
  if (sealed === null || pixKeyType === null) throw new Error('a transfer without a key');
  const pixKey = await openOrReport(deps, sealed, id, unreadableKeyOf(payment, 'send'));
  // Certainly not sent, and not the provider's fault: it is tried again when the key can be opened.
  if (pixKey === null) return { outcome: 'notSent', detail: 'its key cannot be opened' };
  const instruction = {
    providerId: providerIdOf(id),
    amountCents: amountCents - feeCents,
    pixKey: pixKey.toString(),
    pixKeyType,
    description,
    ...(repeat ? { repeatOf: createdAt } : {}),
    traceparent,
  };
  const confirm =
    ({ providerRef }: SecondStep) =>
    (provider: Provider) => {
      const { providerId, amountCents } = instruction;
      return (provider.confirmPayout ?? noSecondStep)({ providerId, providerRef, amountCents, traceparent });
    };
  if (second) return confirm(second);
  const first = (provider: Provider) => provider.sendPayout(instruction);
  if (!can.confirmsPayouts) return first;
  return {
    first,
    second: (answered) => {
      if (answered.status !== 'prepared' || !isAsAsked(answered, instruction)) return null;
      const step = { providerRef: answered.providerRef ?? null };
      return { ...step, call: confirm(step) };
    },
  };
}

const noSecondStep = async () =>
  ({ outcome: 'notSent', detail: 'the connection has no second step' }) as const;

const isAsAsked = (report: PayoutReport, asked: PayoutInstruction): boolean =>
  report.providerId === asked.providerId &&
  report.amountCents === asked.amountCents &&
  (report.pixKey === null || isSamePixKey(asked.pixKeyType, asked.pixKey, report.pixKey));
