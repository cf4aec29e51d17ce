import { centsIn, dayText, failure, idOf, notFound, realOf, serverError, timeText, uuidOf } from './asaas.ts';
import type { Bank } from './bank.ts';
import { cardPage } from './card-page.ts';
import {
  type Attempt,
  approvalOf,
  type Card,
  type CardPrices,
  cardBalance,
  isOpen,
  mailAddress,
  moveCard,
  openPage,
  refundCard,
  refundedOf,
} from './cards.ts';
import type { ClientDesk, Desk, Request } from './desk.ts';
import { isRecord } from './money.ts';
import { type Outcome, parsed, queried } from './provider-api.ts';
import { json, type Reply } from './reply.ts';

/**
 * Asaas Checkout on the truth of `cards.ts`: pages, the payments that are made on them, refunds, chargebacks and anticipations. The forms are those of
 * `contract/provider-bodies/asaas`. As at Asaas there is no call that reads a page, and a payment does not inherit the page's reference.
 */

/** 2.99 % and 49 cents, credited after 32 days; a chargeback has no cost of its own that is published. */
const prices: CardPrices = { bps: 299, cents: 49, disputeCents: 0, heldDays: 32, anticipates: true };
/** Of what is anticipated. */
const anticipationBps = 250;

type PageOf = (query: URLSearchParams, items: readonly unknown[], cap?: number) => Reply;

/** The calls about cards; undefined: it is none of them. */
export function asaasCardApi(
  desk: ClientDesk,
  request: Request,
  [first, second, third]: readonly string[],
  page: PageOf,
): Outcome | undefined {
  const { method, query, body } = request;
  const call = `${method} ${first}`;
  if (call === 'POST checkouts' && second === undefined) return createPage(desk, request);
  if (call === 'POST checkouts' && third === 'cancel') return cancelPage(desk, second ?? '');
  if (first === 'checkouts') return notFound();
  if (call === 'GET myAccount' && second === 'status') return json(200, statusOf());
  const cards = [...desk.bank.cards.values()].filter(({ client }) => client === desk.client);
  if (call === 'GET payments' && second === undefined)
    return cards.length > 0 || query.has('checkoutSession')
      ? listPayments(desk, cards, query, page)
      : undefined;
  if (call === 'GET chargebacks') return listOf(desk, query, page, () => chargebacksOf(cards, query));
  if (call === 'GET anticipations')
    return listOf(desk, query, page, () => anticipationsOf(cards, query.get('payment')));
  if (call === 'GET finance' && second === 'payment') return statistics(desk, cards, query);
  if (first === 'payments' && second !== undefined) {
    const row = cards.flatMap((card) => rowsOf(card)).find(({ id }) => id === second);
    return row && paymentCall(desk, `${method} ${third ?? ''}`, row, query, body, page);
  }
  if (cards.length === 0) return undefined;
  if (call === 'GET finance' && second === 'balance')
    return queried(desk, notFound, () => json(200, { balance: realOf(balanceOf(desk, cards)) }), serverError);
  if (call === 'GET financialTransactions')
    return listOf(desk, query, page, () => linesOf(desk, cards, query));
  return undefined;
}

const statusOf = () => ({
  id: '47ed0d25-f9fb-4b35-b23a-d8895caf92b7',
  commercialInfo: 'APPROVED',
  bankAccountInfo: 'APPROVED',
  documentation: 'APPROVED',
  general: 'APPROVED',
});

const listOf = (
  desk: ClientDesk,
  query: URLSearchParams,
  page: PageOf,
  items: () => readonly unknown[],
): Outcome =>
  queried(
    desk,
    () => page(query, []),
    () => page(query, items(), desk.bank.behaviour.pageCap),
    serverError,
  );

// --------------------------------------------------------------------------------------------------------------- pages

const members = new Set([
  ...['billingTypes', 'chargeTypes', 'minutesToExpire', 'externalReference', 'callback', 'items'],
  ...['customer', 'customerData', 'subscription', 'installment', 'splits'],
]);

function createPage(desk: ClientDesk, { body, headers }: Request): Outcome {
  const { bank, world } = desk;
  const { checkout } = bank.behaviour;
  if (checkout === 'lose-request') return 'drop';
  if (checkout === 'error-500') return serverError();
  if (checkout === 'refuse')
    return failure('A conta ainda não recebe por cartão.', 400, 'invalid_billingType');
  const read = readPage(parsed(body));
  if ('refusal' in read) return read.refusal;
  const { given, amountCents, minutes, name, returnUrl, cancelUrl, expiredUrl } = read;
  const { answer, writes } = openPage(bank, world, {
    id: typeof given.externalReference === 'string' ? given.externalReference : '',
    ...{ client: desk.client, body, amountCents, name, currency: 'brl', prices },
    ...{ returnUrl, cancelUrl, expiredUrl },
    ...(isRecord(given.customerData) && { payer: given.customerData }),
    // Each call makes a page of its own.
    idempotencyKey: world.letters(24),
    ref: uuidOf('checkout', world.letters(24)),
    host: headers.host ?? '127.0.0.1',
    expiresAt: world.now() + minutes * 60_000,
  });
  desk.commit(writes);
  if (answer === 'conflict') return serverError();
  if (checkout === 'lose-answer') return 'drop';
  if (checkout === 'hang') return 'hang';
  return json(200, pageView(answer, world.now()));
}

interface Asked {
  given: Record<string, unknown>;
  amountCents: number;
  minutes: number;
  name: string;
  returnUrl: string;
  cancelUrl: string;
  expiredUrl: string;
}

const isOne = (value: unknown, wanted: string): boolean =>
  Array.isArray(value) && value.length === 1 && value[0] === wanted;

/** docs.asaas.com/docs/erros-comuns-e-boas-praticas: what is required. The simulator offers cards alone, at once. */
function readPage(given: unknown): Asked | { refusal: Reply } {
  const invalid = (text: string, code = 'invalid_object') => ({ refusal: failure(text, 400, code) });
  if (!isRecord(given)) return invalid('Corpo inválido');
  const unknown = Object.keys(given).find((name) => !members.has(name));
  if (unknown !== undefined) return invalid(`O campo ${unknown} é desconhecido.`);
  if (!isOne(given.billingTypes, 'CREDIT_CARD'))
    return invalid('O simulador oferece apenas CREDIT_CARD.', 'invalid_billingType');
  if (!isOne(given.chargeTypes, 'DETACHED'))
    return invalid('O simulador oferece apenas DETACHED.', 'invalid_chargeType');
  const { minutesToExpire: minutes = 60, callback, items, externalReference } = given;
  if (!Number.isInteger(minutes) || (minutes as number) < 10 || (minutes as number) > 1_440)
    return invalid('O tempo de expiração é inválido.', 'invalid_minutesToExpire');
  const urls = ['successUrl', 'cancelUrl', 'expiredUrl'].map((name) => isRecord(callback) && callback[name]);
  if (!urls.every((url) => typeof url === 'string' && URL.canParse(url)))
    return invalid('O campo callback deve ser informado.');
  if (externalReference !== undefined && typeof externalReference !== 'string')
    return invalid('A referência é inválida.', 'invalid_externalReference');
  if (!isCustomer(given.customerData)) return invalid('Os dados do cliente são inválidos.');
  if (!Array.isArray(items) || items.length === 0) return invalid('O campo items deve ser informado.');
  let amountCents = 0;
  for (const item of items) {
    if (!isRecord(item)) return invalid('O item é inválido.');
    const { name, description, quantity, value } = item;
    if (typeof name !== 'string' || name === '' || name.length > 30)
      return invalid('O nome do item é inválido.');
    if (typeof description !== 'string' || description.length > 150)
      return invalid('A descrição do item é inválida.');
    const cents = centsIn(value);
    if (!Number.isInteger(quantity) || (quantity as number) < 1 || cents === undefined)
      return invalid('A quantidade ou o valor do item é inválido.', 'invalid_value');
    amountCents += cents * (quantity as number);
  }
  if (amountCents < 500) return invalid('O valor mínimo é R$ 5,00.', 'invalid_value');
  const [first] = items as [Record<string, unknown>];
  return {
    ...{ given, amountCents, minutes: minutes as number },
    name: String(first.name),
    ...{ returnUrl: String(urls[0]), cancelUrl: String(urls[1]), expiredUrl: String(urls[2]) },
  };
}

/** docs.asaas.com/reference/criar-novo-checkout: every member may be left out, and a telephone has the digits of Brazil. */
function isCustomer(given: unknown): boolean {
  if (given === undefined || given === null) return true;
  if (!isRecord(given)) return false;
  return Object.entries(given).every(
    ([name, value]) => Object.hasOwn(customerForms, name) && customerForms[name]?.test(String(value)),
  );
}

const customerForms: Readonly<Record<string, RegExp>> = {
  name: /^.{1,255}$/,
  cpfCnpj: /^[0-9]{11}$|^[0-9A-Z]{12}[0-9]{2}$/,
  email: mailAddress,
  phone: /^[0-9]{10,11}$/,
  address: /./,
  addressNumber: /^[0-9]{1,9}$/,
  complement: /./,
  province: /./,
  postalCode: /^[0-9]{8}$/,
  city: /^[0-9]{1,9}$/,
};

const statusOfPage = (card: Card, now: number): string => {
  if (approvalOf(card)) return 'PAID';
  if (isOpen(card, now)) return 'ACTIVE';
  return card.cancelled ? 'CANCELED' : 'EXPIRED';
};

/** As it was asked for, with what Asaas adds. */
function pageView(card: Card, now: number) {
  const given = parsed(card.body);
  const { billingTypes, chargeTypes, minutesToExpire, externalReference, callback, items, customerData } =
    isRecord(given) ? given : {};
  return {
    id: card.ref,
    link: `http://${card.host}/asaas/checkoutSession/show?id=${card.ref}`,
    status: statusOfPage(card, now),
    minutesToExpire: minutesToExpire ?? 60,
    externalReference: externalReference ?? null,
    ...{ billingTypes, chargeTypes, callback, items },
    ...{
      customer: null,
      customerData: customerData ?? null,
      subscription: null,
      installment: null,
      split: [],
    },
  };
}

function cancelPage(desk: ClientDesk, ref: string): Outcome {
  const { bank, world } = desk;
  const { cancel } = bank.behaviour;
  if (cancel === 'lose-request') return 'drop';
  if (cancel === 'error-500') return serverError();
  if (cancel === 'garbage') return json(200, { id: ref });
  const card = bank.cards.get(ref);
  if (card?.client !== desk.client) return notFound();
  if (cancel === 'late-cancel') desk.commit(moveCard(bank, world, card, 'approve', {}).writes);
  if (cancel === 'refuse' || !isOpen(card, world.now()))
    return failure('Não é possível cancelar este checkout.', 400, 'invalid_action');
  card.cancelled = true;
  desk.commit(moveCard(bank, world, card, 'expire', {}).writes);
  if (cancel === 'lose-answer') return 'drop';
  if (cancel === 'hang') return 'hang';
  return json(200, pageView(card, world.now()));
}

export function checkoutPage(desk: Desk, request: Request): Reply | undefined {
  const { path, query } = request;
  if (path[0] !== 'checkoutSession' || path[1] !== 'show') return undefined;
  const card = desk.bank.cards.get(query.get('id') ?? '');
  return card === undefined ? notFound() : cardPage(desk, card, request);
}

// ------------------------------------------------------------------------------------------------------------ payments

/** A payment of a page: there is one once a payer has tried, or one for each instalment. */
interface Row {
  id: string;
  card: Card;
  /** The last attempt, or the one that was approved. */
  attempt: Attempt | undefined;
  nth: number;
  of: number;
}

const paymentIdOf = (card: Card, nth: number): string =>
  `pay_${idOf('card', `${card.ref}/${nth}`).slice(0, 16)}`;

function rowsOf(card: Card): Row[] {
  if (card.intent === undefined) return [];
  const approval = approvalOf(card);
  const attempt = approval ?? card.attempts.at(-1);
  const of = approval?.installments ?? 1;
  return Array.from({ length: of }, (_, at) => ({ id: paymentIdOf(card, at), card, attempt, nth: at, of }));
}

function statusOfRow({ card, attempt }: Row): string {
  if (attempt?.status !== 'succeeded') return card.inReview ? 'AWAITING_RISK_ANALYSIS' : 'PENDING';
  const { dispute, refunds, amountCents, released } = attempt;
  if (dispute?.status === 'open') return 'CHARGEBACK_REQUESTED';
  if (dispute?.status === 'lost') return 'REFUNDED';
  const back = refunds.filter(({ status }) => status === 'succeeded');
  if (refundedOf(back) === amountCents) return 'REFUNDED';
  if (refunds.some(({ status }) => status === 'pending')) return 'REFUND_IN_PROGRESS';
  return released ? 'RECEIVED' : 'CONFIRMED';
}

const partOf = (cents: number, { nth, of }: Row): number =>
  Math.floor(cents / of) + (nth === 0 ? cents % of : 0);

const brandNames: Readonly<Record<string, string>> = {
  ...{ visa: 'VISA', mastercard: 'MASTERCARD', elo: 'ELO', amex: 'AMEX', hipercard: 'HIPERCARD' },
};

function paymentView(row: Row, isInherited: boolean) {
  const { id, card, attempt } = row;
  const status = statusOfRow(row);
  const isPaid = attempt?.status === 'succeeded';
  const valueCents = partOf(isPaid ? attempt.amountCents : card.amountCents, row);
  const creditDate = isPaid ? dayText(attempt.releaseAt) : null;
  const day = dayText(attempt?.at ?? card.createdAt);
  return {
    object: 'payment',
    id,
    dateCreated: dayText(card.attempts[0]?.at ?? card.createdAt),
    customer: 'cus_000007140442',
    checkoutSession: card.ref,
    paymentLink: null,
    value: realOf(valueCents),
    netValue: realOf(valueCents - (isPaid ? partOf(attempt.feeCents, row) : 0)),
    originalValue: null,
    interestValue: null,
    description: null,
    billingType: 'CREDIT_CARD',
    confirmedDate: isPaid ? day : null,
    creditCard:
      attempt === undefined
        ? null
        : {
            creditCardNumber: attempt.last4,
            creditCardBrand: brandNames[attempt.brand] ?? 'UNKNOWN',
            creditCardToken: uuidOf('token', card.ref),
          },
    pixTransaction: null,
    status,
    dueDate: day,
    originalDueDate: day,
    paymentDate: isPaid && attempt.released ? dayText(attempt.releasedAt ?? attempt.at) : null,
    clientPaymentDate: isPaid ? day : null,
    installment: row.of > 1 ? uuidOf('plan', card.ref) : null,
    installmentNumber: row.of > 1 ? row.nth + 1 : null,
    invoiceUrl: `https://sandbox.asaas.example/i/${id.slice(4)}`,
    externalReference: isInherited ? card.id : null,
    deleted: false,
    anticipated: isPaid && attempt.anticipation !== undefined,
    anticipable: status === 'CONFIRMED',
    creditDate,
    estimatedCreditDate: creditDate,
    invoiceNumber: id.slice(4, 12),
    transactionReceiptUrl: null,
    nossoNumero: null,
    bankSlipUrl: null,
    discount: { value: 0, limitDate: null, dueDateLimitDays: 0, type: 'FIXED' },
    fine: { value: 0, type: 'FIXED' },
    interest: { value: 0, type: 'PERCENTAGE' },
    postalService: false,
    ...(isPaid && attempt.dispute && { chargeback: chargebackView(row, attempt) }),
    refunds: isPaid && attempt.refunds.length > 0 ? attempt.refunds.map(refundView) : null,
  };
}

const inherits = ({ bank }: Pick<Desk, 'bank'>): boolean => bank.behaviour.pageFilter === 'inherited';

function listPayments(
  desk: ClientDesk,
  cards: readonly Card[],
  query: URLSearchParams,
  page: PageOf,
): Outcome {
  const { pageFilter } = desk.bank.behaviour;
  const isInherited = inherits(desk);
  const [session, reference] = [query.get('checkoutSession'), query.get('externalReference')];
  const isOf = (row: Row): boolean => {
    if (session !== null && pageFilter === 'empty') return false;
    if (session !== null && pageFilter !== 'ignored' && row.card.ref !== session) return false;
    return reference === null || (isInherited && row.card.id === reference);
  };
  return queried(
    desk,
    () => page(query, []),
    (stale) => {
      const rows = stale ? [] : cards.flatMap(rowsOf).filter(isOf);
      const shown = rows
        .map((row) => paymentView(row, isInherited))
        .filter(({ dateCreated }) => isWithin(query, 'dateCreated', dateCreated))
        .reverse();
      return page(query, shown, desk.bank.behaviour.pageCap);
    },
    serverError,
  );
}

/** Days, both ends included. */
function isWithin(query: URLSearchParams, name: string, day: string): boolean {
  const [from, to] = [query.get(`${name}[ge]`), query.get(`${name}[le]`)];
  return (from === null || day >= from) && (to === null || day <= to);
}

function paymentCall(
  desk: ClientDesk,
  call: string,
  row: Row,
  query: URLSearchParams,
  body: string,
  page: PageOf,
): Outcome | undefined {
  const { attempt } = row;
  const answer = (of: (stale: boolean) => Reply): Outcome => queried(desk, notFound, of, serverError);
  if (call === 'GET ') return answer(() => json(200, paymentView(row, inherits(desk))));
  if (call === 'GET refunds')
    return answer((stale) => page(query, stale ? [] : (attempt?.refunds ?? []).map(refundView)));
  if (call === 'GET chargeback')
    return answer(() => (attempt?.dispute ? json(200, chargebackView(row, attempt)) : notFound()));
  return call === 'POST refund' ? postRefund(desk, row, body) : undefined;
}

// --------------------------------------------------------------------------------------------- refunds and chargebacks

/** Asaas knows no id of a client: each call is a refund of its own. */
function postRefund(desk: ClientDesk, row: Row, body: string): Outcome {
  const { bank, world } = desk;
  const { refund: fate } = bank.behaviour;
  if (fate === 'lose-request' || fate === 'delay-request') return 'drop';
  if (fate === 'error-500') return serverError();
  if (row.attempt?.status !== 'succeeded') return failure('A cobrança não foi recebida.');
  if (fate === 'refuse-in-answer') return failure('Recusada pelo simulador');
  if (fate === 'refuse-unknown') return failure('Recusa que nenhuma tabela contém', 422, 'odd');
  const given = parsed(body);
  const { value, description } = isRecord(given) ? given : {};
  const wholeCents = row.attempt.amountCents - refundedOf(row.attempt.refunds);
  const amountCents = value === undefined ? wholeCents : centsIn(value);
  if (amountCents === undefined) return failure('O valor informado é inválido.', 400, 'invalid_value');
  const { answer, writes } = refundCard(bank, world, row.card, {
    ...{ amountCents, body, idempotencyKey: world.letters(24) },
    metadata: typeof description === 'string' ? { description } : {},
  });
  desk.commit(writes);
  if (answer === 'too much')
    return failure('O valor do estorno supera o valor da cobrança.', 400, 'invalid_value');
  if (answer === 'disputed' || answer === 'conflict') return failure('A cobrança está em chargeback.');
  if (fate === 'lose-answer') return 'drop';
  if (fate === 'hang') return 'hang';
  if (fate === 'error-500-after-accepting') return serverError();
  if (fate === 'garbage') return json(200, { object: 'payment' });
  return json(200, paymentView(row, inherits(desk)));
}

const refundView = ({ at, status, amountCents, metadata }: Attempt['refunds'][number]) => ({
  dateCreated: timeText(at),
  status: status === 'pending' ? 'PENDING' : status === 'failed' ? 'CANCELLED' : 'DONE',
  value: realOf(amountCents),
  endToEndIdentifier: null,
  description: metadata.description ?? null,
  effectiveDate: null,
  transactionReceiptUrl: null,
  refundedSplits: [],
});

const chargebackStates = { open: 'REQUESTED', won: 'REVERSED', lost: 'DONE' } as const;

function chargebackView({ id }: Pick<Row, 'id'>, { dispute, brand, last4, at }: Attempt) {
  if (dispute === undefined) return null;
  return {
    id: uuidOf('chargeback', dispute.id),
    payment: id,
    installment: null,
    customerAccount: 'cus_000007140442',
    status: chargebackStates[dispute.status],
    reason: 'FRAUD',
    disputeStartDate: dayText(dispute.at),
    value: realOf(dispute.amountCents),
    paymentDate: dayText(at),
    creditCard: { number: last4, brand: brandNames[brand] ?? 'UNKNOWN' },
    disputeStatus: null,
    deadlineToSendDisputeDocuments: dayText(dispute.at + 7 * 86_400_000),
  };
}

const chargebacksOf = (cards: readonly Card[], query: URLSearchParams) =>
  cards
    .flatMap(rowsOf)
    .flatMap((row) => (row.attempt?.dispute ? [chargebackView(row, row.attempt)] : []))
    .filter((one) => one !== null && isWithin(query, 'originDisputeDate', one.disputeStartDate))
    .reverse();

const anticipationsOf = (cards: readonly Card[], payment: string | null) =>
  cards
    .flatMap(rowsOf)
    .filter(({ id, attempt }) => attempt?.anticipation !== undefined && (payment === null || id === payment))
    .map(({ id, attempt }) => ({
      object: 'receivableAnticipation',
      id: uuidOf('anticipation', id),
      installment: null,
      payment: id,
      status: attempt?.released ? 'DEBITED' : attempt?.anticipation === 'credited' ? 'CREDITED' : 'PENDING',
    }));

// ------------------------------------------------------------------------------------------------------------- account

const isComing = ({ attempt, ...row }: Row): boolean =>
  statusOfRow({ attempt, ...row }) === 'CONFIRMED' && attempt?.anticipation === undefined;

const netOf = ({ attempt, ...row }: Row): number =>
  attempt === undefined ? 0 : partOf(attempt.amountCents - attempt.feeCents, { attempt, ...row });

const comingOf = (cards: readonly Card[]): Row[] => cards.flatMap(rowsOf).filter(isComing);

/** GET /v3/finance/payment/statistics: only the sum that our side asks for. */
function statistics(desk: ClientDesk, cards: readonly Card[], query: URLSearchParams): Outcome {
  if (query.get('status') !== 'CONFIRMED' || query.get('anticipated') !== 'false')
    return failure('O simulador soma apenas o que foi confirmado e não antecipado.');
  return queried(
    desk,
    serverError,
    () => {
      const coming = comingOf(cards);
      const value = coming.reduce((sum, row) => sum + partOf(row.attempt?.amountCents ?? 0, row), 0);
      const net = coming.reduce((sum, row) => sum + netOf(row), 0);
      return json(200, { quantity: coming.length, value: realOf(value), netValue: realOf(net) });
    },
    serverError,
  );
}

/** All that the acquirer has for the client, less what is still to come: fees are not given back with what went back. */
function balanceOf({ bank, client }: ClientDesk, cards: readonly Card[]): number {
  const { availableCents, pendingCents } = cardBalance(bank, client);
  const isAsked = ({ attempt }: Row) => attempt?.anticipation === 'asked' && !attempt.released;
  const notHere = [...comingOf(cards), ...cards.flatMap(rowsOf).filter(isAsked)];
  return (
    availableCents +
    pendingCents -
    notHere.reduce((sum, row) => sum + netOf(row), 0) -
    cards.reduce((sum, card) => sum + anticipationFeeOf(bank, approvalOf(card)), 0)
  );
}

const anticipationFeeOf = ({ behaviour }: Bank, attempt: Attempt | undefined): number =>
  attempt?.anticipation === 'credited' && behaviour.fees === 'on'
    ? Math.round(((attempt.amountCents - attempt.feeCents) * anticipationBps) / 10_000)
    : 0;

/** GET /v3/financialTransactions: what was credited, and the fees of it; newest first. */
function linesOf({ bank }: Pick<Desk, 'bank'>, cards: readonly Card[], query: URLSearchParams) {
  const [from, to] = [query.get('startDate'), query.get('finishDate')];
  return cards
    .flatMap((card) => {
      const attempt = approvalOf(card);
      if (attempt === undefined) return [];
      const of = { paymentId: paymentIdOf(card, 0), anticipationId: null };
      const lines = [];
      const fee = anticipationFeeOf(bank, attempt);
      if (fee > 0)
        lines.push(
          lineOf(card, 'RECEIVABLE_ANTICIPATION_FEE', -fee, attempt.anticipatedAt ?? attempt.at, of),
        );
      if (attempt.released) {
        const at = attempt.releasedAt ?? attempt.at;
        lines.push(lineOf(card, 'PAYMENT_RECEIVED', attempt.amountCents, at, of));
        if (attempt.feeCents > 0) lines.push(lineOf(card, 'PAYMENT_FEE', -attempt.feeCents, at, of));
      }
      return lines;
    })
    .filter(({ date }) => (from === null || date >= from) && (to === null || date <= to))
    .reverse();
}

const lineOf = (card: Card, type: string, cents: number, at: number, of: object) => ({
  object: 'financialTransaction',
  id: `fin_${idOf('line', `${card.ref}/${type}`).slice(0, 16)}`,
  value: realOf(cents),
  balance: 0,
  type,
  date: dayText(at),
  description: type,
  ...of,
});

// ---------------------------------------------------------------------------------------------------------- deliveries

/** The truth names its events as Stripe does; null: Asaas sends nothing for it. */
const eventNames: Readonly<Record<string, string>> = {
  'payment_intent.processing': 'PAYMENT_AWAITING_RISK_ANALYSIS',
  'payment_intent.payment_failed': 'PAYMENT_CREDIT_CARD_CAPTURE_REFUSED',
  'payment_intent.succeeded': 'PAYMENT_CONFIRMED',
  'checkout.session.completed': 'CHECKOUT_PAID',
  'checkout.session.expired': 'CHECKOUT_EXPIRED',
  'charge.updated': 'PAYMENT_RECEIVED',
  'refund.created': 'PAYMENT_REFUNDED',
  'refund.failed': 'PAYMENT_REFUND_DENIED',
  'charge.dispute.created': 'PAYMENT_CHARGEBACK_REQUESTED',
  'charge.dispute.closed': 'PAYMENT_REFUNDED',
  'charge.dispute.funds_reinstated': 'PAYMENT_CONFIRMED',
  'charge.anticipated': 'PAYMENT_ANTICIPATED',
};

/** The delivery of an event of a card. */
export function cardEventOf(bank: Bank, ref: string, nth: number, now: number) {
  const card = bank.cards.get(ref);
  const type = card?.events[nth - 1];
  const name = type === undefined ? undefined : eventNames[type];
  if (card === undefined || name === undefined) return undefined;
  if (name.startsWith('CHECKOUT_')) {
    const event = card.cancelled && name === 'CHECKOUT_EXPIRED' ? 'CHECKOUT_CANCELED' : name;
    return { event, checkout: pageView(card, now) };
  }
  const [row] = rowsOf(card);
  if (row === undefined) return undefined;
  const payment = paymentView(row, inherits({ bank }));
  const isPart = name === 'PAYMENT_REFUNDED' && payment.status !== 'REFUNDED';
  return { event: isPart ? 'PAYMENT_PARTIALLY_REFUNDED' : name, payment };
}
