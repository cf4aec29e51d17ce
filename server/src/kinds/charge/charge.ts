import { askedFiscalDocuments, type FiscalDocument } from '../../money/fiscal-documents.ts';
import { askedMetadata, type Metadata, metadataOf } from '../../money/metadata.ts';
import { causeOfCall, newPayment, type Payment, providerIdOf } from '../../money/payment.ts';
import type { ChargeReport, PayoutReport } from '../../provider/provider.ts';
import type { Conditions } from '../../store/rows/conditions.sql.ts';
import type { Admission, Admitted, Kind } from '../kind.ts';
import type { PaymentNews } from '../payment/interpret-report.ts';
import { locatedPayment, sentPayment } from '../payment/sent-payment.ts';
import { receivedFee } from '../received-fee.ts';

export interface ChargeOrder {
  amountCents: number;
  payerName: string;
  description: string;
  requestKey: string;
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
  asked: ({ amountCents, payerName, description, metadata, fiscalDocuments }) => ({
    amountCents,
    payerName,
    description,
    ...askedMetadata(metadataOf(metadata)),
    ...askedFiscalDocuments(fiscalDocuments ?? null),
  }),
  waitMs: ({ chargeWaitMs }) => chargeWaitMs,
  admit: admitCharge,
  prepare: async ({ settings }, { id, amountCents, payerName, description }, { traceparent }) => {
    const instruction = {
      txid: providerIdOf(id),
      amountCents,
      payerName: payerName ?? '',
      description,
      expirySeconds: settings.chargeExpirySeconds,
      traceparent,
    };
    return (provider) => provider.createCharge(instruction);
  },
  locate: locatedPayment((provider, txid, { createdAt }) => provider.queryCharge(txid, createdAt)),
};

/** @throws ApiError `amount_out_of_limits`, `amount_below_fee` */
function admitCharge(_view: unknown, admission: Admission<ChargeOrder>, now: number): Admitted<Payment> {
  const { caller, order, account, connection, id, fingerprint, token } = admission;
  const { accountId, operationId } = caller;
  const { amountCents, payerName, description, requestKey } = order;
  const row = newPayment(
    {
      accountId,
      id,
      operationId,
      kind: 'deposit',
      amountCents,
      feeCents: chargeFeeOf(account, amountCents),
      requestKey,
      fingerprint,
      description,
      metadata: metadataOf(order.metadata),
      fiscalDocuments: order.fiscalDocuments ?? null,
      payerName,
      pixKey: null,
      pixKeyType: null,
      command: token,
      connection,
    },
    'unknown',
    now,
    causeOfCall('api', caller),
  );
  return { row, refusedAs: null, postings: [], writes: [] };
}

const chargeFeeOf = (account: Conditions, amountCents: number): number =>
  receivedFee(
    amountCents,
    { minimumCents: account.minimumDepositCents, maximumCents: account.maximumDepositCents },
    { fixedCents: account.depositFeeCents, bps: account.depositFeeBps },
  );
