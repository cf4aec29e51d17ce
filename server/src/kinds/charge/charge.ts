import { askedFiscalDocuments, type FiscalDocument } from '../../money/fiscal-documents.ts';
import { askedMetadata, type Metadata, metadataOf } from '../../money/metadata.ts';
import { type Begun, causeOfCall, newPayment, type Payment, providerIdOf } from '../../money/payment.ts';
import type { DuePayer } from '../../provider/due-terms.ts';
import type { ChargeReport, PayoutReport } from '../../provider/provider.ts';
import type { Conditions } from '../../store/rows/conditions.sql.ts';
import { openOrReport, unreadableKeyOf } from '../../store/rows/unreadable.ts';
import type { Admission, Admitted, Kind, PrepareDeps, Prepared, Sending } from '../kind.ts';
import type { PaymentNews } from '../payment/interpret-report.ts';
import { locatedPayment, sentPayment } from '../payment/sent-payment.ts';
import { receivedFee } from '../received-fee.ts';

declare module '../../money/sent-kinds.ts' {
  interface SentKinds {
    deposit: true;
  }
}

export interface ChargeOrder {
  amountCents: number;
  payerName: string;
  description: string;
  requestKey: string;
  expiresInMinutes?: number;
  metadata?: Metadata;
  /** As `fiscalDocumentsOf` gives them. */
  fiscalDocuments?: readonly FiscalDocument[];
}

/** A Pix charge is created at the provider, and its caller waits for the code. */
export const charge: Kind<Payment, ChargeOrder, ChargeReport | PayoutReport, PaymentNews> = {
  ...sentPayment,
  name: 'deposit',
  permission: 'charges',
  call: 'charge',
  isWithdrawal: false,
  isLimited: false,
  mayMove: true,
  isAwaited: true,
  createdEvent: 'charge.created',
  offers: (can) => can.charges,
  asked: ({ amountCents, payerName, description, expiresInMinutes, metadata, fiscalDocuments }) => ({
    amountCents,
    payerName,
    description,
    ...(expiresInMinutes !== undefined && { expiresInMinutes }),
    ...askedMetadata(metadataOf(metadata)),
    ...askedFiscalDocuments(fiscalDocuments ?? null),
  }),
  waitMs: ({ chargeWaitMs }) => chargeWaitMs,
  admit: admitCharge,
  prepare: prepareCharge,
  locate: locatedPayment((provider, txid, { createdAt }) => provider.queryCharge(txid, createdAt)),
};

async function prepareCharge(
  deps: PrepareDeps,
  payment: Payment,
  { traceparent }: Sending,
): Promise<Prepared<ChargeReport>> {
  const { id, amountCents, payerName, description, linkPayer, expiresInMinutes } = payment;
  const opened = linkPayer && (await openOrReport(deps, linkPayer, id, unreadableKeyOf(payment, 'send')));
  // Certainly not sent, and not the provider's fault: it is tried again when the payer can be opened.
  if (linkPayer && !opened) return { outcome: 'notSent', detail: 'its payer cannot be opened' };
  const instruction = {
    txid: providerIdOf(id),
    amountCents,
    payerName: payerName ?? '',
    ...(opened && { payerDocument: (JSON.parse(opened.toString()) as DuePayer).document }),
    description,
    expirySeconds: expiresInMinutes === null ? deps.settings.chargeExpirySeconds : expiresInMinutes * 60,
    traceparent,
  };
  return (provider) => provider.createCharge(instruction);
}

/** @throws ApiError `amount_out_of_limits`, `amount_below_fee` */
function admitCharge(_view: unknown, admission: Admission<ChargeOrder>, now: number): Admitted<Payment> {
  const { order, account } = admission;
  const feeCents = chargeFeeOf(account, order.amountCents);
  const { fiscalDocuments = null, expiresInMinutes = null } = order;
  return newCharge(admission, { feeCents, fiscalDocuments, expiresInMinutes }, now);
}

type Asked = Pick<ChargeOrder, 'amountCents' | 'payerName' | 'description' | 'requestKey' | 'metadata'>;

/** A charge as it was asked for. Nothing is posted before it is paid. */
export function newCharge(
  { caller, order, connection, id, fingerprint, token }: Admission<Asked>,
  own: Pick<Begun, 'feeCents' | 'fiscalDocuments' | 'expiresInMinutes' | 'card' | 'payer'>,
  now: number,
): Admitted<Payment> {
  const { accountId, operationId } = caller;
  const { amountCents, payerName, description, requestKey } = order;
  const asked: Begun = {
    accountId,
    id,
    operationId,
    kind: 'deposit',
    amountCents,
    requestKey,
    fingerprint,
    description,
    metadata: metadataOf(order.metadata),
    payerName,
    pixKey: null,
    pixKeyType: null,
    command: token,
    connection,
    ...own,
  };
  const row = newPayment(asked, 'unknown', now, causeOfCall('api', caller));
  return { row, refusedAs: null, postings: [], writes: [] };
}

/** @throws ApiError `amount_out_of_limits`, `amount_below_fee` */
export const chargeFeeOf = (account: Conditions, amountCents: number): number =>
  receivedFee(
    amountCents,
    { minimumCents: account.minimumDepositCents, maximumCents: account.maximumDepositCents },
    { fixedCents: account.depositFeeCents, bps: account.depositFeeBps },
  );
