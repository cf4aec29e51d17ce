import { createHash } from 'node:crypto';
import { copyPasteOf } from './api-pix.ts';
import {
  type Bank,
  type Charge,
  type ChargeRequest,
  type Dispute,
  deadlineOf,
  type Payment,
  type Payout,
  type PayoutRequest,
  type PixReturn,
  type StatementLine,
  type StaticCode,
  type StoredFile,
} from './bank.ts';
import { staticBrCode } from './br-code.ts';
import { addDays, type DueTerms } from './cobv.ts';
import type { Field } from './form.ts';
import { isRecord, toReais } from './money.ts';
import { json, type Reply } from './reply.ts';

/**
 * Woovi's API: how its requests are read and its answers and deliveries written. The forms are those of `contract/provider-bodies/woovi`,
 * which a test compares. Amounts are integer cents; every refusal is 400 with a text.
 */

export const failure = (error: string, status = 400, errorCode?: string): Reply =>
  json(status, { error, ...(errorCode === undefined ? {} : { errorCode }) });

export const chargeNotFound = (): Reply => failure('Charge not found');
export const paymentNotFound = (): Reply => failure('Payment not found');
export const transactionNotFound = (): Reply => failure('Transaction not found');
export const refundNotFound = (): Reply => failure('Refund not found');
export const serverError = (): Reply => failure('Internal server error', 500);

// --------------------------------------------------------------------------------------------- requests

const isCents = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;
const isText = (value: unknown, most: number): boolean =>
  typeof value === 'string' && [...value].length <= most;

/** Reads the body of POST /api/v1/charge. */
export function readCharge(
  key: string,
  body: unknown,
  today: string,
): { request: ChargeRequest } | { refusal: Reply } {
  const invalid = (error: string) => ({ refusal: failure(error) });
  if (!isRecord(body)) return invalid('Invalid body');
  const {
    correlationID,
    value,
    comment,
    expiresIn = 86_400,
    additionalInfo = [],
    type = 'DYNAMIC',
    customer,
  } = body;
  if (typeof correlationID !== 'string' || correlationID === '') return invalid('correlationID is required');
  if (!isCents(value)) return invalid('value must be a positive integer of cents');
  if (type !== 'DYNAMIC' && type !== 'OVERDUE')
    return invalid('only DYNAMIC and OVERDUE charges are offered');
  if (customer !== undefined && !isCustomer(customer))
    return invalid('customer needs a taxID, an email or a phone');
  const due = type === 'OVERDUE' ? readDue(body, today) : undefined;
  if (typeof due === 'string') return invalid(due);
  if (comment !== undefined && !isText(comment, 140)) return invalid('comment has more than 140 characters');
  if (!Number.isSafeInteger(expiresIn) || (expiresIn as number) < 300)
    return invalid('expiresIn is too small');
  const infos = Array.isArray(additionalInfo) ? additionalInfo : [null];
  if (!infos.every((one) => isRecord(one) && isText(one.key, 50) && isText(one.value, 200)))
    return invalid('additionalInfo must be a list of key and value');
  return {
    request: {
      txid: correlationID,
      key,
      amountCents: value,
      lifeSeconds: expiresIn as number,
      details: {
        ...(comment === undefined ? {} : { solicitacaoPagador: comment as string }),
        infoAdicionais: infos.map(({ key: nome, value: valor }) => ({ nome, valor })),
      },
      ...(due !== undefined && { due }),
    },
  };
}

/**
 * The terms of an OVERDUE charge (woovi.yml, ChargePayload), as those of API Pix, by which the simulator computes. Interest is a percentage a calendar day, as that document
 * says; the unit of FIXED interest is said nowhere, so it is refused. @returns a text: the refusal
 */
function readDue(body: Record<string, unknown>, today: string): DueTerms | string {
  const { daysForDueDate, daysAfterDueDate = 0, customer, interests, fines, discountSettings } = body;
  const isDays = (value: unknown, least: number): value is number =>
    Number.isSafeInteger(value) && (value as number) >= least;
  if (!isDays(daysForDueDate, 1)) return 'daysForDueDate must be positive';
  if (!isDays(daysAfterDueDate, 0)) return 'daysAfterDueDate is invalid';
  const { taxID, address } = isRecord(customer) ? customer : {};
  if (typeof taxID !== 'string' || taxID === '') return 'customer needs a taxID';
  if (!isAddress(address)) return 'customer needs an address';
  const fine = fines === undefined ? undefined : rateIn(fines, { FIXED: 1, PERCENTAGE: 2 });
  const interest = interests === undefined ? undefined : rateIn(interests, { PERCENTAGE: 2 });
  if (fine === null || interest === null) return 'fines or interests are invalid';
  const discount =
    discountSettings === undefined ? undefined : discountIn(discountSettings, today, daysForDueDate);
  if (discount === null) return 'discountSettings are invalid';
  return {
    dueDate: addDays(today, daysForDueDate),
    validAfterDue: daysAfterDueDate,
    ...(fine && { fine }),
    ...(interest && { interest }),
    ...(discount && { discount }),
  };
}

const isAddress = (value: unknown): boolean =>
  isRecord(value) &&
  ['zipcode', 'street', 'city', 'state'].every(
    (name) => typeof value[name] === 'string' && value[name] !== '',
  );

function rateIn(value: unknown, modes: Readonly<Record<string, number>>) {
  const { value: cents, type = 'PERCENTAGE' } = isRecord(value) ? value : {};
  const mode = modes[String(type)];
  return isCents(cents) && mode !== undefined ? { mode, value: toReais(cents) } : null;
}

const discountModes: Readonly<Record<string, number>> = {
  FIXED_VALUE_UNTIL_SPECIFIED_DATE: 1,
  PERCENTAGE_UNTIL_SPECIFIED_DATE: 2,
};

/** "Discount only applies to payments before the due date"; of those that have not ended "the largest discount wins". */
function discountIn(value: unknown, today: string, daysForDueDate: number): DueTerms['discount'] | null {
  const { modality, discountFixedDate: items } = isRecord(value) ? value : {};
  const mode = discountModes[String(modality)];
  if (mode === undefined || !Array.isArray(items) || items.length === 0) return null;
  let largest = 0;
  const dates: { data: string; valorPerc: string }[] = [];
  const latestFirst = items.toSorted((one, other) => other?.daysActive - one?.daysActive);
  for (const { daysActive, value: amount } of latestFirst) {
    if (!Number.isSafeInteger(daysActive) || daysActive < 1 || !isCents(amount)) return null;
    largest = Math.max(largest, amount);
    const lasts = Math.min(daysActive, daysForDueDate - 1);
    dates.unshift({ data: addDays(today, lasts), valorPerc: toReais(largest) });
  }
  return { mode, dates };
}

const isCustomer = (value: unknown): boolean =>
  isRecord(value) &&
  typeof value.name === 'string' &&
  ['taxID', 'email', 'phone'].some((name) => typeof value[name] === 'string' && value[name] !== '');

const aliasTypes = ['CPF', 'CNPJ', 'EMAIL', 'PHONE', 'RANDOM'];

/** Reads the body of POST /api/v1/payment; only payments by key are offered. Without `autoApprove` one waits for `payment/approve`. */
export function readPayment(
  payerKey: string,
  body: unknown,
): { request: PayoutRequest } | { refusal: Reply } {
  const invalid = (error: string) => ({ refusal: failure(error) });
  if (!isRecord(body)) return invalid('Invalid body');
  const {
    correlationID,
    value,
    destinationAlias,
    destinationAliasType,
    comment,
    autoApprove,
    type = 'PIX_KEY',
  } = body;
  if (typeof correlationID !== 'string' || correlationID === '') return invalid('correlationID is required');
  if (type !== 'PIX_KEY') return invalid('only PIX_KEY is offered');
  if (!isCents(value)) return invalid('value must be a positive integer of cents');
  if (typeof destinationAlias !== 'string' || destinationAlias === '')
    return invalid('destinationAlias is required');
  if (!aliasTypes.includes(String(destinationAliasType))) return invalid('destinationAliasType is invalid');
  if (comment !== undefined && !isText(comment, 140)) return invalid('comment has more than 140 characters');
  return {
    request: {
      idEnvio: correlationID,
      amountCents: value,
      payerKey,
      pixKey: destinationAlias,
      ...(comment === undefined ? {} : { payerInfo: comment as string }),
      ...(autoApprove === true ? {} : { needsApproval: true }),
    },
  };
}

/** Reads the body of POST /api/v1/refund. */
export function readRefund(
  body: unknown,
): { endToEnd: string; id: string; request: { amountCents: number; message: string } } | { refusal: Reply } {
  const invalid = (error: string) => ({ refusal: failure(error) });
  if (!isRecord(body)) return invalid('Invalid body');
  const { transactionEndToEndId, correlationID, value, comment = '' } = body;
  if (typeof correlationID !== 'string' || correlationID === '') return invalid('correlationID is required');
  if (typeof transactionEndToEndId !== 'string') return invalid('transactionEndToEndId is required');
  if (!isCents(value)) return invalid('value must be a positive integer of cents');
  if (!isText(comment, 140)) return invalid('comment has more than 140 characters');
  return {
    endToEnd: transactionEndToEndId,
    id: correlationID,
    request: { amountCents: value, message: comment as string },
  };
}

// ---------------------------------------------------------------------------------------------- answers

const iso = (at: number): string => new Date(at).toISOString();
/** Of a day of Brasília, as `2023-03-04T02:59:59.999Z`. */
const endOf = (day: string): string => `${addDays(day, 1)}T02:59:59.999Z`;
const globalId = (kind: string, id: string): string => Buffer.from(`${kind}:${id}`).toString('base64');

/** Woovi's own name of a charge, which is the txid of its Pix: our id is only its `correlationID`. */
export const transactionIdOf = (txid: string): string => createHash('md5').update(txid).digest('hex');

export function chargeView(charge: Charge, now: number, stale: boolean) {
  const status = stale || charge.status === 'ATIVA' ? 'ACTIVE' : 'COMPLETED';
  const deadline = stale ? charge.createdAt + charge.lifeSeconds * 1000 : deadlineOf(charge);
  const id = transactionIdOf(charge.txid);
  const brCode = charge.withoutCode ? undefined : copyPasteOf(charge);
  const shown = status === 'ACTIVE' && deadline <= now ? 'EXPIRED' : status;
  return {
    value: charge.amountCents,
    comment: charge.details.solicitacaoPagador ?? '',
    identifier: id,
    transactionID: id,
    status: shown,
    additionalInfo: (charge.details.infoAdicionais ?? []).map(({ nome, valor }) => ({
      key: nome,
      value: valor,
    })),
    fee: 0,
    discount: 0,
    valueWithDiscount: charge.amountCents,
    // The example of an OVERDUE charge has the end of its due day, and it can be paid after that.
    expiresDate: charge.due ? endOf(charge.due.dueDate) : iso(deadline),
    type: charge.due ? 'OVERDUE' : 'DYNAMIC',
    ...(charge.due && { dueDate: endOf(charge.due.dueDate) }),
    correlationID: charge.txid,
    paymentLinkID: id,
    createdAt: iso(charge.createdAt),
    updatedAt: iso(charge.createdAt),
    ensureSameTaxID: false,
    ...(brCode === undefined ? {} : { brCode }),
    expiresIn: Math.round((deadline - charge.createdAt) / 1000),
    pixKey: charge.key,
    paymentLinkUrl: `https://woovi.simulator.example/pay/${id}`,
    qrCodeImage: `https://woovi.simulator.example/openpix/charge/brcode/image/${id}.png`,
    globalID: globalId('Charge', charge.txid),
  };
}

export function chargeAnswer(charge: Charge, now: number) {
  const view = chargeView(charge, now, false);
  return { charge: view, correlationID: charge.txid, ...('brCode' in view ? { brCode: view.brCode } : {}) };
}

/** Reads the body of POST /api/v1/qrcode-static. */
export function readStaticCode(
  key: string,
  body: unknown,
): { request: Omit<StaticCode, 'createdAt'> } | { refusal: Reply } {
  const invalid = (error: string) => ({ refusal: failure(error) });
  if (!isRecord(body)) return invalid('Invalid body');
  const { name, identifier, correlationID = identifier, value, comment } = body;
  if (typeof name !== 'string' || name === '') return invalid('name is required');
  if (typeof identifier !== 'string' || !/^[A-Za-z0-9]{1,25}$/.test(identifier))
    return invalid('identifier must have at most 25 letters or digits');
  if (typeof correlationID !== 'string' || correlationID === '') return invalid('correlationID is invalid');
  if (value !== undefined && !isCents(value)) return invalid('value must be a positive integer of cents');
  if (comment !== undefined && !isText(comment, 140)) return invalid('comment has more than 140 characters');
  return {
    request: { identifier, correlationID, key, name, ...(value === undefined ? {} : { amountCents: value }) },
  };
}

export function staticCodeView({ identifier, correlationID, key, name, amountCents, createdAt }: StaticCode) {
  return {
    name,
    ...(amountCents === undefined ? {} : { value: amountCents }),
    correlationID,
    identifier,
    paymentLinkID: transactionIdOf(identifier),
    paymentLinkUrl: `https://woovi.simulator.example/pay/${transactionIdOf(identifier)}`,
    qrCodeImage: `https://woovi.simulator.example/openpix/charge/brcode/image/${transactionIdOf(identifier)}.png`,
    brCode: staticBrCode(key, identifier, amountCents),
    createdAt: iso(createdAt),
    updatedAt: iso(createdAt),
  };
}

/** A received Pix in the list of transactions and in deliveries. */
export function pixView(payment: Payment, charge: Charge | undefined, now: number) {
  return {
    ...(charge === undefined ? {} : { charge: chargeView(charge, now, false) }),
    value: payment.amountCents,
    time: iso(payment.at),
    endToEndId: payment.endToEnd,
    // A static code has no other name at Woovi than its identifier.
    transactionID: charge === undefined ? payment.txid : transactionIdOf(payment.txid),
    infoPagador: '',
    status: 'CONFIRMED',
    type: 'PAYMENT',
    createdAt: iso(payment.at),
    globalID: globalId('PixTransaction', payment.endToEnd),
    ...(payment.feeCents === undefined ? {} : { fee: payment.feeCents }),
  };
}

/** In a query. The answer to the creation has no `returnIdentification`. */
export function refundView({ id, rtrId, amountCents, at, state, message }: PixReturn) {
  return { ...refundAnswer({ id, amountCents, at, state, message }), returnIdentification: rtrId };
}

export const refundAnswer = ({
  id,
  amountCents,
  at,
  state,
  message,
}: Pick<PixReturn, 'id' | 'amountCents' | 'at'> & {
  state?: PixReturn['state'] | undefined;
  message?: string | undefined;
}) => ({
  status: state === 'pending' ? 'IN_PROCESSING' : state === 'failed' ? 'NOT_ACCOMPLISHED' : 'REFUNDED',
  value: amountCents,
  correlationID: id,
  refundId: transactionIdOf(id),
  time: iso(at),
  ...(message === undefined || message === '' ? {} : { comment: message }),
});

export const disputeWords: Record<Dispute['status'], string> = {
  ABERTA: 'IN_REVIEW',
  EM_DEFESA: 'IN_REVIEW',
  ACEITA: 'ACCEPTED',
  REJEITADA: 'REJECTED',
  CANCELADA_EFI: 'CANCELED',
};

/** A MED, which names no amount. */
export const disputeView = ({ id, endToEnd, status, openedAt, endedAt }: Dispute) => ({
  id,
  type: 'MED',
  status: disputeWords[status],
  endToEndId: endToEnd,
  createdAt: iso(openedAt),
  updatedAt: iso(endedAt ?? openedAt),
});

const uploadMostBytes = 10 * 1024 * 1024;
const purposes = ['DISPUTE_EVIDENCE', 'ACCOUNT_LIMIT_REQUEST', 'ACCOUNT_REGISTER_DOCUMENT'];
/** The first bytes have to be those of the type. */
const fileBeginnings: Record<string, string> = {
  'application/pdf': '25504446',
  'image/png': '89504e470d0a1a0a',
  'image/jpeg': 'ffd8ff',
  'image/webp': '52494646',
};

type GivenFile = Omit<StoredFile, 'id' | 'at' | 'account' | 'correlationID'> & {
  correlationID: string | null;
};

/** Reads the form of POST /api/v1/files (docs/arquivos/upload-de-arquivo.md). */
export function readFile(fields: Field[] | undefined): { given: GivenFile } | { refusal: Reply } {
  const text = (wanted: string) => fields?.find(({ name }) => name === wanted)?.bytes.toString('utf8');
  const files = fields?.filter(({ fileName }) => fileName !== undefined) ?? [];
  const [file] = files;
  if (!purposes.includes(text('purpose') ?? ''))
    return { refusal: failure('Invalid value for the field purpose') };
  if (file?.name !== 'file' || files.length > 1)
    return { refusal: failure('Invalid value for the field file') };
  const correlationID = text('correlationID');
  if (correlationID === '') return { refusal: failure('Invalid value for the field correlationID') };
  const { bytes, fileName = '', type = '' } = file;
  if (bytes.length > uploadMostBytes) return { refusal: failure('File too large', 413) };
  const begins = fileBeginnings[type];
  if (begins === undefined || !bytes.toString('hex', 0, 8).startsWith(begins))
    return { refusal: failure('Content type not allowed', 415) };
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return {
    given: { correlationID: correlationID ?? null, name: fileName, type, sizeBytes: bytes.length, sha256 },
  };
}

export const fileUrl = (id: string): string => `https://woovi-files.example/dispute_evidence/${id}`;
const urlLifeMs = 3_600_000;

export const fileView = ({ id, correlationID, name, type, sizeBytes, at }: StoredFile) => ({
  id,
  correlationID,
  purpose: 'DISPUTE_EVIDENCE',
  fileName: name,
  contentType: type,
  size: sizeBytes,
  url: fileUrl(id),
  urlExpiresAt: iso(at + urlLifeMs),
  createdAt: iso(at),
});

/** `documents` of POST /api/v1/dispute/:id/evidence; undefined when they cannot be read. */
export function readEvidence(
  body: unknown,
): { fileId: string; description?: string; correlationID?: string }[] | undefined {
  const documents = isRecord(body) ? body.documents : undefined;
  if (!Array.isArray(documents) || documents.length === 0) return undefined;
  const read = documents.map((one) => (isRecord(one) && typeof one.fileId === 'string' ? one : undefined));
  if (read.some((one) => one === undefined || 'url' in one)) return undefined;
  return read as { fileId: string }[];
}

export const evidenceNotAllowed = (): Reply =>
  failure(
    'Your account does not have the permission to send a evidence by fileId',
    403,
    'DISPUTE_EVIDENCE_FILE_ID_NOT_ALLOWED',
  );

/** A sent Pix among the transactions: it does not say which payment it belongs to. */
export function sentView(payout: Payout) {
  return {
    value: payout.amountCents,
    time: iso(payout.settledAt ?? payout.createdAt),
    endToEndId: payout.endToEnd,
    status: 'CONFIRMED',
    type: 'WITHDRAW',
    createdAt: iso(payout.createdAt),
    globalID: globalId('PixTransaction', payout.endToEnd),
  };
}

/** Woovi's fee: a transaction of its own, which names no other. */
export const feeView = ({ id, amountCents, at }: StatementLine) => ({
  value: amountCents,
  time: iso(at),
  status: 'CONFIRMED',
  type: 'FEE',
  createdAt: iso(at),
  globalID: globalId('PixTransaction', id),
});

/** A return of either direction among the transactions: no document says that it names the Pix that went back. */
export const returnView = ({ rtrId, amountCents, at }: PixReturn) => ({
  value: amountCents,
  time: iso(at),
  endToEndId: rtrId,
  status: 'CONFIRMED',
  type: 'REFUND',
  createdAt: iso(at),
  globalID: globalId('PixTransaction', rtrId),
});

/** The immediate answer to a creation: without transaction and destination. */
export const paymentAnswer = (payout: Payout) => ({
  payment: { ...paymentPart(payout, false), status: payout.held ? 'CREATED' : 'APPROVED' },
});

function paymentPart(payout: Payout, stale: boolean) {
  return {
    value: payout.amountCents,
    status: statusOf(payout, stale),
    destinationAlias: payout.pixKey,
    comment: payout.payerInfo ?? '',
    correlationID: payout.idEnvio,
    sourceAccountId: accountIdOf(payout.payerKey),
  };
}

function statusOf(payout: Payout, stale: boolean): 'CREATED' | 'APPROVED' | 'CONFIRMED' | 'FAILED' {
  if (payout.status === 'pending' || (stale && payout.accepted))
    return payout.held || (stale && payout.needsApproval) ? 'CREATED' : 'APPROVED';
  return payout.status === 'refused' ? 'FAILED' : 'CONFIRMED';
}

/** Each client has an account of its own. */
export const accountIdOf = (client: string): string =>
  createHash('sha256').update(client).digest('hex').slice(0, 24);

/** The payout in queries and lists. A stale one shows it as it was when it was created. */
export function paymentView(payout: Payout, stale: boolean) {
  const status = statusOf(payout, stale);
  const wasSent = payout.accepted && (status === 'CONFIRMED' || status === 'FAILED');
  return {
    payment: paymentPart(payout, stale),
    ...(wasSent ? { transaction: transactionOf(payout, status) } : {}),
    ...(status === 'CONFIRMED' ? { destination: destinationOf(payout) } : {}),
  };
}

function transactionOf(payout: Payout, status: string) {
  const { code = '', reason = '' } = payout.refusal ?? {};
  return {
    value: payout.amountCents,
    endToEndId: payout.endToEnd,
    time: iso(payout.settledAt ?? payout.createdAt),
    ...(status === 'FAILED' ? { providerRejectedReason: `${code} - ${reason}` } : {}),
  };
}

/** Whose a key is; the answer to a look-up. */
export const ownerView = (pixKey: string) => ({
  pixKeyEndToEndId: 'E12345678202601011200abcdefghijk',
  pixKey,
  type: pixKeyTypeOf(pixKey),
  owner: {
    name: 'Fulano de Tal',
    taxID: '000.***.***-91',
    psp: '00000000',
    branch: '****',
    account: '********************',
  },
});

function pixKeyTypeOf(pixKey: string): string {
  if (pixKey.includes('@')) return 'EMAIL';
  if (pixKey.startsWith('+')) return 'PHONE';
  if (/^\d{11}$/.test(pixKey)) return 'CPF';
  return /^\d{14}$/.test(pixKey) ? 'CNPJ' : 'RANDOM';
}

const destinationOf = ({ pixKey }: Payout) => ({
  name: 'Fulano de Tal',
  taxID: '***.456.789-**',
  pixKey,
  bank: 'Banco Exemplo S.A.',
  branch: '0001',
  account: '123456',
});

// ------------------------------------------------------------------------------------------- deliveries

/** Of the one company whose accounts these all are. */
export const company = { id: '6810ce3b892866f103d77ef2', name: 'Vintem Simulador', taxID: '11222333000181' };
const account = { environment: 'TESTING' };

/** The events of a received Pix, or of one of its returns: `about` counts them from 1. */
export function paymentEvents(
  bank: Bank,
  payment: Payment,
  about: number,
  now: number,
): Record<string, unknown>[] {
  const returned = payment.returns[about - 1];
  const charge = bank.charges.get(payment.txid);
  const pix = pixView(payment, charge, now);
  if (returned !== undefined)
    return [
      refundEvent(
        returned.state === 'failed'
          ? 'PIX_TRANSACTION_REFUND_SENT_REJECTED'
          : 'PIX_TRANSACTION_REFUND_SENT_CONFIRMED',
        returned,
        { ...pix, amountCents: payment.amountCents },
      ),
    ];
  const code = bank.staticCodes.get(payment.txid);
  if (code !== undefined) {
    const pixQrCode = staticCodeView(code);
    return [{ event: 'OPENPIX:TRANSACTION_RECEIVED', pixQrCode, pix, company, account, refunds: [] }];
  }
  if (charge === undefined) return [];
  const told = { charge: chargeView(charge, now, false), pix, company, account };
  return [
    { event: 'OPENPIX:CHARGE_COMPLETED', ...told },
    { event: 'OPENPIX:TRANSACTION_RECEIVED', ...told, pixQrCode: null, refunds: [] },
  ];
}

export function payoutEvents(payout: Payout, about: number): Record<string, unknown>[] {
  const returned = payout.returns[about - 1];
  if (returned !== undefined)
    return [
      refundEvent('PIX_TRANSACTION_REFUND_RECEIVED_CONFIRMED', returned, {
        ...sentView(payout),
        amountCents: payout.amountCents,
      }),
    ];
  if (payout.removed)
    return [{ event: 'OPENPIX:MOVEMENT_REMOVED', payment: { correlationID: payout.idEnvio } }];
  const failed = payout.status === 'refused';
  const { correlationID, value, destinationAlias, comment } = paymentPart(payout, false);
  const payment = {
    value,
    status: failed ? 'FAILED' : 'CONFIRMED',
    destinationAlias,
    comment,
    correlationID,
  };
  const transaction = transactionOf(payout, failed ? 'FAILED' : 'CONFIRMED');
  if (!failed) {
    // It names the account that paid (docs/boleto/boleto-out-reconciliation.md). That a failure does, no document says.
    const account = { accountId: accountIdOf(payout.payerKey) };
    const confirmed = { ...payment, metadata: {} };
    return [{ event: 'OPENPIX:MOVEMENT_CONFIRMED', account, payment: confirmed, transaction }];
  }
  const error = { code: 'PAY_PIX_KEY_ERROR', description: payout.refusal?.reason ?? '' };
  return [{ event: 'OPENPIX:MOVEMENT_FAILED', payment, transaction, error }];
}

function refundEvent(
  event: string,
  { rtrId, amountCents, at, state }: PixReturn,
  {
    amountCents: originalCents,
    time,
    endToEndId,
    status,
    type,
    createdAt,
    globalID,
  }: {
    amountCents: number;
    time: string;
    endToEndId: string;
    status: string;
    type: string;
    createdAt: string;
    globalID: string;
  },
): Record<string, unknown> {
  const refundTransaction = {
    value: amountCents,
    time: iso(at),
    endToEndId: rtrId,
    status: state === 'failed' ? 'REJECTED' : 'CONFIRMED',
    type: 'REFUND',
    createdAt: iso(at),
    partial: amountCents < originalCents,
    globalID: globalId('PixTransaction', rtrId),
  };
  const originalTransaction = { value: originalCents, time, endToEndId, status, type, createdAt, globalID };
  const error = state === 'failed' ? { error: 'AC06 - Conta bloqueada' } : {};
  return { event, refundTransaction, originalTransaction, company, account, ...error };
}
