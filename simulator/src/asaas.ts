import { createHash } from 'node:crypto';
import { copyPasteOf } from './api-pix.ts';
import type {
  Bank,
  Charge,
  ChargeRequest,
  Payment,
  Payout,
  PayoutRequest,
  PixReturn,
  StatementLine,
} from './bank.ts';
import { isRecord } from './money.ts';
import { json, type Reply } from './reply.ts';

/**
 * Asaas' API v3: how its requests are read and its answers and deliveries written. The forms are those of `contract/provider-bodies/asaas`. Amounts are
 * reais as JSON numbers, most times are days in São Paulo, and every error is a list of code and description.
 */

export const failure = (description: string, status = 400, code = 'invalid_action'): Reply =>
  json(status, { errors: [{ code, description }] });

export const notFound = (): Reply => ({ status: 404, type: 'application/json', body: '' });
export const serverError = (): Reply => failure('Erro interno', 500, 'internal_error');

export const realOf = (cents: number): number => cents / 100;

/** Reais as a JSON number with at most two decimals; undefined: it is none. */
export function centsIn(value: unknown): number | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  const cents = Math.round(value * 100);
  return cents > 0 && Math.abs(cents / 100 - value) < 1e-9 ? cents : undefined;
}

const brasiliaMs = 3 * 3_600_000;
/** `2026-11-27 10:45:03`, in São Paulo. */
export const timeText = (at: number): string =>
  new Date(at - brasiliaMs).toISOString().slice(0, 19).replace('T', ' ');
export const dayText = (at: number): string => timeText(at).slice(0, 10);

export const idOf = (kind: string, id: string): string =>
  createHash('sha256').update(`${kind}:${id}`).digest('hex');
export const uuidOf = (kind: string, id: string): string =>
  idOf(kind, id).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');

/** The charge's own payment, and one more for every Pix behind its first. */
export const paymentIdOf = (txid: string, nth = 0): string =>
  `pay_${idOf('payment', nth === 0 ? txid : `${txid}/${nth}`).slice(0, 16)}`;
export const transferIdOf = (idEnvio: string): string => uuidOf('transfer', idEnvio);
export const pixIdOf = (endToEnd: string): string => uuidOf('pix', endToEnd);

// --------------------------------------------------------------------------------------------- requests

const isDay = (value: unknown): value is string =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value));

/** Long after any deadline: a code of Asaas may be paid until a year after its due date. */
const lifeSeconds = 365 * 86_400;

/** Reads the body of POST /v3/payments. */
export function readPayment(
  key: string,
  body: unknown,
  today: string,
): { request: ChargeRequest } | { refusal: Reply } {
  const invalid = (code: string, text: string) => ({ refusal: failure(text, 400, code) });
  if (!isRecord(body)) return invalid('invalid_object', 'Corpo inválido');
  const { customer, billingType, value, dueDate, description = '', externalReference } = body;
  if (typeof customer !== 'string' || !/^cus_\w{1,40}$/.test(customer))
    return invalid('invalid_customer', 'Customer inválido ou não informado.');
  if (billingType !== 'PIX') return invalid('invalid_billingType', 'O simulador oferece apenas PIX.');
  const amountCents = centsIn(value);
  if (amountCents === undefined) return invalid('invalid_value', 'O valor informado é inválido.');
  if (!isDay(dueDate)) return invalid('invalid_dueDate', 'A data de vencimento é inválida.');
  if (dueDate < today)
    return invalid('invalid_dueDate', 'Não é permitido data de vencimento inferior a hoje.');
  if (typeof description !== 'string' || description.length > 500)
    return invalid('invalid_description', 'A descrição tem no máximo 500 caracteres.');
  if (externalReference !== undefined && typeof externalReference !== 'string')
    return invalid('invalid_externalReference', 'A referência é inválida.');
  const txid = externalReference ?? idOf('own', `${customer}${amountCents}${description}`).slice(0, 32);
  return {
    request: {
      txid,
      key,
      amountCents,
      lifeSeconds,
      details: {
        solicitacaoPagador: description,
        infoAdicionais: [
          { nome: 'customer', valor: customer },
          { nome: 'dueDate', valor: dueDate },
        ],
      },
    },
  };
}

const keyTypes = ['CPF', 'CNPJ', 'EMAIL', 'PHONE', 'EVP'];

/** Reads the body of POST /v3/transfers; only transfers to a Pix key are offered. */
export function readTransfer(
  payerKey: string,
  body: unknown,
): { request: PayoutRequest } | { refusal: Reply } {
  const invalid = (code: string, text: string) => ({ refusal: failure(text, 400, code) });
  if (!isRecord(body)) return invalid('invalid_object', 'Corpo inválido');
  const {
    value,
    operationType = 'PIX',
    pixAddressKey,
    pixAddressKeyType,
    description,
    externalReference = '',
  } = body;
  const amountCents = centsIn(value);
  if (amountCents === undefined) return invalid('invalid_value', 'O valor informado é inválido.');
  if (operationType !== 'PIX')
    return invalid('invalid_operationType', 'O simulador transfere apenas por Pix.');
  if (typeof pixAddressKey !== 'string' || pixAddressKey === '')
    return invalid('invalid_pixAddressKey', 'Informe a chave Pix.');
  if (!keyTypes.includes(String(pixAddressKeyType)))
    return invalid('invalid_pixAddressKeyType', 'O tipo da chave Pix é inválido.');
  if (typeof externalReference !== 'string')
    return invalid('invalid_externalReference', 'A referência é inválida.');
  if (description !== undefined && typeof description !== 'string')
    return invalid('invalid_description', 'A descrição é inválida.');
  return {
    request: {
      idEnvio: externalReference,
      amountCents,
      payerKey,
      pixKey: pixAddressKey,
      ...(description === undefined ? {} : { payerInfo: description }),
    },
  };
}

/** Our side's convention: the last word of the description, where it is the id of a refund. Asaas knows none. */
const refundName = /(?:^| )([0-9a-f]{32})$/;

/** Reads the body of POST /v3/payments/{id}/refund. Without a value the whole payment goes back. */
export function readRefund(
  body: unknown,
  wholeCents: number,
): { id: string | undefined; request: { amountCents: number; message: string } } | { refusal: Reply } {
  const given = isRecord(body) ? body : {};
  const amountCents = given.value === undefined ? wholeCents : centsIn(given.value);
  if (amountCents === undefined)
    return { refusal: failure('O valor informado é inválido.', 400, 'invalid_value') };
  const description = typeof given.description === 'string' ? given.description : '';
  const id = refundName.exec(description)?.[1];
  return { id, request: { amountCents, message: description.replace(refundName, '') } };
}

// ---------------------------------------------------------------------------------------------- answers

/** A payment, as a query, a list and a delivery show it: the charge itself, or what a later Pix for it became. */
export interface PaymentRow {
  charge: Charge;
  nth: number;
  pix: Payment | undefined;
}

/** The payments of a charge: itself, with its first Pix, and each later Pix. */
export const rowsOf = (bank: Bank, charge: Charge): PaymentRow[] => {
  const received = charge.payments.flatMap((id) => bank.payments.get(id) ?? []);
  const [first, ...later] = received;
  return [
    { charge, nth: 0, pix: first },
    ...later.map((pix, at): PaymentRow => ({ charge, nth: at + 1, pix })),
  ];
};

const infoOf = (charge: Charge, wanted: string): string =>
  charge.details.infoAdicionais?.find(({ nome }) => nome === wanted)?.valor ?? '';

function statusOf({ charge, pix }: PaymentRow, stale: boolean): string {
  if (stale || pix === undefined) return 'PENDING';
  const back = pix.returns.filter(({ state }) => state !== 'failed');
  const sum = back.reduce((cents, one) => cents + one.amountCents, 0);
  if (sum === 0) return 'RECEIVED';
  if (back.some(({ state }) => state === 'pending')) return 'REFUND_IN_PROGRESS';
  return sum === charge.amountCents ? 'REFUNDED' : 'RECEIVED';
}

export function paymentView(row: PaymentRow, stale = false) {
  const { charge, nth, pix: received } = row;
  const pix = stale ? undefined : received;
  const value = realOf(nth === 0 ? charge.amountCents : (pix?.amountCents ?? 0));
  const paidOn = pix === undefined ? null : dayText(pix.at);
  const id = paymentIdOf(charge.txid, nth);
  return {
    object: 'payment',
    id,
    dateCreated: dayText(nth === 0 ? charge.createdAt : (pix?.at ?? charge.createdAt)),
    customer: infoOf(charge, 'customer') || 'cus_000000000000',
    paymentLink: null,
    value,
    netValue: realOf(Math.round(value * 100) - (pix?.feeCents ?? 0)),
    originalValue: null,
    interestValue: null,
    description: nth === 0 ? (charge.details.solicitacaoPagador ?? '') : null,
    billingType: 'PIX',
    pixTransaction: pix === undefined ? null : pixIdOf(pix.endToEnd),
    pixQrCodeId: null,
    status: statusOf(row, stale),
    dueDate: infoOf(charge, 'dueDate') || dayText(charge.createdAt),
    originalDueDate: infoOf(charge, 'dueDate') || dayText(charge.createdAt),
    paymentDate: paidOn,
    clientPaymentDate: paidOn,
    installmentNumber: null,
    invoiceUrl: `https://sandbox.asaas.example/i/${id.slice(4)}`,
    invoiceNumber: String(charge.n + 1).padStart(8, '0'),
    externalReference: charge.txid,
    deleted: isDeleted(charge),
    anticipated: false,
    anticipable: false,
    creditDate: paidOn,
    estimatedCreditDate: paidOn,
    transactionReceiptUrl: null,
    nossoNumero: null,
    bankSlipUrl: null,
    discount: { value: 0, limitDate: null, dueDateLimitDays: 0, type: 'FIXED' },
    fine: { value: 0, type: 'FIXED' },
    interest: { value: 0, type: 'PERCENTAGE' },
    postalService: false,
    refunds: pix === undefined || pix.returns.length === 0 ? null : pix.returns.map(refundView),
  };
}

export const isDeleted = ({ status }: Charge): boolean =>
  status === 'REMOVIDA_PELO_USUARIO_RECEBEDOR' || status === 'REMOVIDA_PELO_PSP';

export const refundView = ({ id, rtrId, amountCents, at, requestedAt, state, message }: PixReturn) => ({
  dateCreated: timeText(requestedAt ?? at),
  status: state === 'pending' ? 'PENDING' : state === 'failed' ? 'CANCELLED' : 'DONE',
  value: realOf(amountCents),
  endToEndIdentifier: state === undefined ? rtrId : null,
  description: requestedAt === undefined ? null : [message, id].filter((one) => one !== '').join(' '),
  effectiveDate: state === undefined ? timeText(at) : null,
  transactionReceiptUrl: null,
  refundedSplits: [],
});

export const qrView = (charge: Charge, image: string) => ({
  encodedImage: image,
  payload: copyPasteOf(charge),
  expirationDate: `${dayText(charge.createdAt + charge.lifeSeconds * 1000)} 23:59:59`,
});

const transferStatusOf = (payout: Payout, stale: boolean): string => {
  if (payout.status === 'pending' || (stale && payout.accepted)) return 'PENDING';
  if (payout.status === 'refused') return payout.refusal?.code === cancelledCode ? 'CANCELLED' : 'FAILED';
  return 'DONE';
};

/** The refusal of a transfer that was not approved by the account's own address. */
export const cancelledCode = 'CANCELADA';

/** The words of the receiver's bank: Asaas gives no code. */
const reasonOf = ({ refusal }: Payout): string | null => refusal?.reason ?? null;

export function transferView(payout: Payout, stale = false) {
  const status = transferStatusOf(payout, stale);
  const isDone = status === 'DONE';
  return {
    object: 'transfer',
    id: transferIdOf(payout.idEnvio),
    type: 'BANK_ACCOUNT',
    dateCreated: dayText(payout.createdAt),
    value: realOf(payout.amountCents),
    netValue: realOf(payout.amountCents),
    status,
    transferFee: realOf(payout.feeCents ?? 0),
    effectiveDate: isDone ? timeText(payout.settledAt ?? payout.createdAt) : null,
    scheduleDate: dayText(payout.createdAt),
    endToEndIdentifier: isDone ? payout.endToEnd : null,
    authorized: payout.held === undefined,
    failReason: isDone || status === 'PENDING' ? null : reasonOf(payout),
    externalReference: referenceOf(payout) || null,
    transactionReceiptUrl: null,
    operationType: 'PIX',
    description: payout.payerInfo ?? null,
    recurring: null,
    bankAccount: {
      bank: { ispb: '99999999', code: '999', name: 'Banco Exemplo S.A.' },
      accountName: 'Fulano de Tal',
      ownerName: 'Fulano de Tal',
      cpfCnpj: '***.456.789-**',
      agency: '0001',
      agencyDigit: null,
      account: '123456',
      accountDigit: '7',
      pixAddressKey: payout.pixKey,
    },
  };
}

/** Before the name of a transfer that its client gave no reference. */
export const unnamed = 'sem-referencia-';

/** A reference may be used for many transfers: the rows behind the first have a number of their own. Empty: it has none. */
export const referenceOf = ({ idEnvio }: Payout): string =>
  idEnvio.startsWith(unnamed) ? '' : idEnvio.replace(/~\d{1,6}$/, '');

export const creditView = (payment: Payment, charge: Charge | undefined, nth: number) => ({
  ...pixPart(payment.endToEnd, payment.amountCents, payment.at, payment.feeCents ?? 0),
  refundedValue: realOf(payment.returns.reduce((sum, one) => sum + one.amountCents, 0)),
  type: 'CREDIT',
  originType: charge === undefined ? 'ADDRESS_KEY' : 'DYNAMIC_QRCODE',
  conciliationIdentifier: charge?.txid ?? null,
  payment: charge === undefined ? null : paymentIdOf(charge.txid, nth),
  transferId: null,
  externalReference: charge?.txid ?? null,
  originalTransaction: null,
});

/** Money that went back to the payer. */
export const creditRefundView = (payment: Payment, back: PixReturn, paymentId: string | null) => ({
  ...pixPart(back.rtrId, back.amountCents, back.at, 0),
  refundedValue: 0,
  type: 'CREDIT_REFUND',
  originType: null,
  conciliationIdentifier: null,
  payment: paymentId,
  transferId: null,
  externalReference: null,
  originalTransaction: originalView(payment.endToEnd, payment.amountCents, payment.at),
});

export const debitView = (payout: Payout) => ({
  ...pixPart(payout.endToEnd, payout.amountCents, payout.settledAt ?? payout.createdAt, payout.feeCents ?? 0),
  refundedValue: realOf(payout.returns.reduce((sum, one) => sum + one.amountCents, 0)),
  type: 'DEBIT',
  originType: 'ADDRESS_KEY',
  conciliationIdentifier: null,
  payment: null,
  transferId: transferIdOf(payout.idEnvio),
  externalReference: referenceOf(payout) || null,
  originalTransaction: null,
});

/** Money that came back of a transfer. */
export const debitRefundView = (payout: Payout, back: PixReturn) => ({
  ...pixPart(back.rtrId, back.amountCents, back.at, 0),
  refundedValue: 0,
  type: 'DEBIT_REFUND',
  originType: null,
  conciliationIdentifier: null,
  payment: null,
  transferId: transferIdOf(payout.idEnvio),
  externalReference: null,
  originalTransaction: originalView(
    payout.endToEnd,
    payout.amountCents,
    payout.settledAt ?? payout.createdAt,
  ),
});

const originalView = (endToEnd: string, amountCents: number, at: number) => ({
  id: pixIdOf(endToEnd),
  endToEndIdentifier: endToEnd,
  value: realOf(amountCents),
  effectiveDate: timeText(at),
});

const pixPart = (endToEnd: string, amountCents: number, at: number, feeCents: number) => ({
  id: pixIdOf(endToEnd),
  endToEndIdentifier: endToEnd,
  finality: null,
  value: realOf(amountCents),
  changeValue: null,
  dateCreated: timeText(at),
  effectiveDate: timeText(at),
  scheduledDate: null,
  status: 'DONE',
  description: null,
  transactionReceiptUrl: null,
  chargedFeeValue: realOf(feeCents),
  canBeRefunded: false,
  refundDisabledReason: null,
  refusalReason: null,
  canBeCanceled: false,
  externalAccount: null,
  qrCode: null,
  addressKey: null,
  addressKeyType: null,
});

const lineTypes: Record<StatementLine['kind'], string> = {
  PIX_RECEBIDO: 'PAYMENT_RECEIVED',
  PIX_ENVIADO: 'TRANSFER',
  DEVOLUCAO_RECEBIDA: 'TRANSFER_REVERSAL',
  DEVOLUCAO_ENVIADA: 'PAYMENT_REVERSAL',
  TARIFA_RECEBIDO: 'PAYMENT_FEE',
  TARIFA_ENVIADO: 'TRANSFER_FEE',
};
const isOut = ({ kind }: StatementLine): boolean => kind !== 'PIX_RECEBIDO' && kind !== 'DEVOLUCAO_RECEBIDA';

/** A line of the statement: it names the day alone. @param balanceCents behind it */
export const lineView = (line: StatementLine, balanceCents: number) => ({
  object: 'financialTransaction',
  id: `fin_${idOf('line', line.id).slice(0, 16)}`,
  value: realOf(isOut(line) ? -line.amountCents : line.amountCents),
  balance: realOf(balanceCents),
  type: lineTypes[line.kind],
  date: dayText(line.at),
  description: lineTypes[line.kind],
  paymentId: line.txid === undefined ? null : paymentIdOf(line.txid),
  splitId: null,
  transferId: line.idEnvio === undefined ? null : transferIdOf(line.idEnvio),
  anticipationId: null,
  billId: null,
  invoiceId: null,
  paymentDunningId: null,
  creditBureauReportId: null,
});
