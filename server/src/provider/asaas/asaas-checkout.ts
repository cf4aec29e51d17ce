import { reaisOf } from '../../ground/money.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Net } from '../../ports/net.ts';
import { type Adapter, CredentialFault } from '../adapter.ts';
import type { CheckoutInstruction, CheckoutReport, NamedCardPayer } from '../cards.ts';
import { balanceFinding, clockFindings, tokenFindings } from '../diagnosis.ts';
import {
  createExchange,
  failureOf,
  isSuccess,
  type Reply,
  readList,
  traceOf,
  unclear,
  wordsIn,
} from '../exchange.ts';
import { identityOf } from '../identity.ts';
import type {
  Capabilities,
  Finding,
  ListOutcome,
  ListWindow,
  MovedPage,
  PixOwner,
  Provider,
  ProviderBalance,
  QueryOutcome,
  SendOutcome,
  WebhookNews,
} from '../provider.ts';
import { cut } from '../wire.ts';
import {
  askAccount,
  askFreeBalance,
  balanceCall,
  balanceIn,
  contentOf,
  jsonOf,
  keyEvents,
  keyNewsIn,
  listCosts,
  notRead,
  olderHosts,
  registerWebhook,
  tokenLeast,
  webhookFindingOf,
  webhooksCall,
} from './asaas-account.ts';
import { dayAt, isRefusal, recordOf, textOf } from './asaas-bodies.ts';
import {
  netValueIn,
  ownId,
  paidPageIn,
  readMovedPayment,
  readOtherCost,
  refusedAttemptIn,
  reportOf,
} from './asaas-card-bodies.ts';
import { listChargebacks, queryRefund, sendRefund } from './asaas-card-refunds.ts';
import { type AsaasDeps, limitsOf, pages } from './asaas-lists.ts';
import { expirePage, lifeOf, queryPage } from './asaas-pages.ts';
import { deliveryWithoutTokens, exchangeWithoutTokens } from './asaas-tokens.ts';

/**
 * Asaas Checkout: card payments on Asaas' own page. It has no Pix here, and an account of its own. A page is made anew by every call and cannot be read afterwards:
 * what became of it say the payments that name it, and the answer to its cancellation (`asaas-pages.ts`). Deliveries carry a token in clear, so they
 * wake queries, and their word alone counts for refused attempts, of which a query shows the last: a wrong one asks for the page to be closed, and moves no money.
 */
export interface AsaasCheckoutOptions {
  connection: string;
  /** No money moves. */
  test: boolean;
  /** It is the simulator of this installation. */
  simulated?: boolean;
  /** Of the account, as Asaas said it when the connection was made; null: it was not asked. */
  identity?: string | null;
  /** `https://api.asaas.com`, `https://api-sandbox.asaas.com`. */
  baseUrl: string;
  apiKey: string;
  /** Asaas writes to it when deliveries fail. */
  email: string;
  /** Of deliveries: the header `asaas-access-token` repeats it. */
  webhookToken: string;
  net: Net;
  clock: Clock;
  limits?: { pageSize?: number; maxPages?: number };
}

const callTimeoutMs = 5_000;
const postTimeoutMs = 15_000;
/** A refund is looked for, made, and looked for again when it is refused; a page is asked for again without its payer. */
const sendTimeoutMs = 2 * postTimeoutMs;

/** Each wakes a query. */
export const asaasCheckoutEvents = [
  ...keyEvents,
  ...['CHECKOUT_PAID', 'CHECKOUT_CANCELED', 'CHECKOUT_EXPIRED'],
  ...['PAYMENT_AWAITING_RISK_ANALYSIS', 'PAYMENT_APPROVED_BY_RISK_ANALYSIS'],
  ...['PAYMENT_REPROVED_BY_RISK_ANALYSIS', 'PAYMENT_CREDIT_CARD_CAPTURE_REFUSED'],
  ...['PAYMENT_CONFIRMED', 'PAYMENT_RECEIVED', 'PAYMENT_ANTICIPATED'],
  ...['PAYMENT_REFUND_IN_PROGRESS', 'PAYMENT_REFUNDED', 'PAYMENT_PARTIALLY_REFUNDED'],
  ...['PAYMENT_REFUND_DENIED', 'PAYMENT_CHARGEBACK_REQUESTED', 'PAYMENT_CHARGEBACK_DISPUTE'],
  'PAYMENT_AWAITING_CHARGEBACK_REVERSAL',
] as const;

export const asaasCheckoutAdapter: Adapter = {
  members: {
    apiKey: {
      required: true,
      secret: true,
      about: 'API key of an account that takes cards alone, in the panel (Integrações)',
    },
    email: { required: true, secret: false, about: 'Asaas writes to it when deliveries fail' },
    webhookToken: {
      required: true,
      secret: true,
      about: 'of deliveries: 32 to 255 random characters of your own',
    },
  },
  certificate: 'none',
  defaultUrl: 'https://api.asaas.com',
  testUrl: 'https://api-sandbox.asaas.com',
  otherHosts: olderHosts,
  simulatorPath: '/asaas',
  create({ name, test, simulated, url, credentials, identity }, { net, clock }) {
    const { apiKey = '', email = '', webhookToken = '' } = credentials;
    if (webhookToken.length < tokenLeast)
      throw new CredentialFault(`webhookToken: takes at least ${tokenLeast} characters`);
    // docs.asaas.com/docs/autenticacao: the two environments have keys of their own.
    const wanted = test ? '$aact_hmlg_' : '$aact_prod_';
    if (!apiKey.startsWith(wanted))
      throw new CredentialFault(
        `apiKey: a key of ${test ? 'the sandbox' : 'production'} begins with ${wanted}`,
      );
    return createAsaasCheckoutProvider({
      ...{ connection: name, test, simulated, identity: identity ?? null, baseUrl: url },
      ...{ apiKey, email, webhookToken, net, clock },
    });
  },
};

/** Where payers find the pages of an account (docs.asaas.com/docs/checkout-link-and-customer-redirection). */
function pagesAt(baseUrl: string, { test, simulated }: { test: boolean; simulated?: boolean }): string {
  if (simulated) return baseUrl;
  return test ? 'https://sandbox.asaas.com' : 'https://www.asaas.com';
}

export function createAsaasCheckoutProvider(options: AsaasCheckoutOptions): Provider {
  const { connection, net, clock, apiKey, webhookToken, simulated = false } = options;
  const baseUrl = options.baseUrl.replace(/\/{1,9}$/, '').replace(/\/v3$/, '');
  const exchange = exchangeWithoutTokens(
    createExchange({
      ...{ baseUrl, callTimeoutMs, net, clock },
      credentials: { type: 'key', value: apiKey, header: 'access_token' },
    }),
  );
  const deps: AsaasDeps = { exchange, clock, limits: limitsOf(options.limits) };
  const host = pagesAt(baseUrl, options);
  const capabilities: Capabilities = {
    movesMoney: !options.test,
    charges: false,
    payouts: false,
    queryPayoutByOwnId: false,
    cancelsCharges: true,
    cards: true,
    dueCharges: false,
    staticCodes: null,
    canListCharges: false,
    canListPayouts: false,
    canRefund: true,
    canDispute: true,
    defence: null,
    hasBalance: true,
    // A page moves no money, and a refund is never made again.
    repeatIsSafe: true,
    refusalIsFinal: true,
    maxParallelSends: simulated ? null : 4,
    webhookTrust: 'path',
    callTimeoutMs,
    sendTimeoutMs,
    statement: { lists: false, dayReports: null },
  };
  const notOffered = async (): Promise<never> => {
    throw new Error('this connection to Asaas has no Pix');
  };
  return {
    connection,
    identity: simulated ? identityOf(null, [apiKey]) : (options.identity ?? null),
    capabilities,
    askAccount: () => askAccount(deps, simulated ? null : baseUrl),
    createCharge: notOffered,
    queryCharge: notOffered,
    listCharges: notOffered,
    sendPayout: notOffered,
    queryPayout: notOffered,
    listPayouts: notOffered,
    sendRefund: (instruction) => sendRefund(deps, instruction, postTimeoutMs),
    queryRefund: (payment, providerId) => queryRefund(deps, payment, providerId),
    statement: notOffered,
    requestDayReport: notOffered,
    readDayReport: notOffered,
    findPix: (name) => findPayment(deps, name),
    disputes: { list: (window) => listChargebacks(deps, window) },
    cards: {
      create: (instruction) => createPage(deps, host, instruction),
      query: (checkout) => queryPage(deps, host, checkout),
      expire: (checkout) => expirePage(deps, host, checkout, postTimeoutMs),
      listMoved: (window) => listMoved(deps, window),
    },
    listCosts: (window) => listCosts(deps, window, readOtherCost),
    parseWebhook: (delivery) => contentOf(delivery, webhookToken, readDelivery),
    readWebhook: (rawBody) => readDelivery(rawBody),
    redactDelivery: deliveryWithoutTokens,
    registerWebhook: (url) =>
      registerWebhook(deps, { email: options.email, webhookToken, events: asaasCheckoutEvents }, url),
    diagnose: ({ webhookUrl }) => diagnose(deps, webhookUrl),
    balance: () => balanceOf(deps),
  };
}

// --------------------------------------------------------------------------------------------------------------- pages

/** docs.asaas.com/reference/criar-novo-checkout: card alone, at once, in one item. Of the payer what the merchant gave, and no member is made up. */
const bodyOf = ({ providerId, amountCents, description, minutes, back, payer }: CheckoutInstruction) => ({
  billingTypes: ['CREDIT_CARD'],
  chargeTypes: ['DETACHED'],
  minutesToExpire: lifeOf(minutes),
  externalReference: providerId,
  callback: { successUrl: back.success, cancelUrl: back.cancel, expiredUrl: back.expired },
  items: [
    {
      name: cut(description, 30) || 'Pagamento',
      description: cut(description, 150) || 'Pagamento',
      quantity: 1,
      value: Number(reaisOf(amountCents)),
    },
  ],
  ...(payer !== null && { customerData: customerOf(payer) }),
});

/** docs.asaas.com/docs/checkout-com-dados-do-cliente-preenchidos: telephones of Brazil, without its code. */
const customerOf = ({ name, document, email, phone }: NamedCardPayer) => ({
  name,
  ...(document !== undefined && { cpfCnpj: document }),
  ...(email !== undefined && { email }),
  ...(phone?.startsWith('+55') && { phone: phone.slice('+55'.length) }),
});

/**
 * A repeat makes another page. No payer has the address of one whose answer was lost, and it ends by its own time; of one that a restore lost a payer may
 * have it, so what is paid on a page that the books do not know goes to a person (`keepUnknownPages`).
 */
async function createPage(
  deps: AsaasDeps,
  host: string,
  instruction: CheckoutInstruction,
): Promise<SendOutcome<CheckoutReport>> {
  const { exchange, clock } = deps;
  const { minutes, createdAt } = instruction;
  const asked = bodyOf({ ...instruction, payer: null });
  const ask = (body: object): Promise<Reply> =>
    exchange({
      ...{ method: 'POST', path: '/v3/checkouts', body, timeoutMs: postTimeoutMs },
      ...traceOf(instruction),
    });
  let reply = await ask(bodyOf(instruction));
  // Accounts were seen to refuse a payer without telephone or address: what only fills in the page costs no payment.
  if (isRefusal(reply) && instruction.payer !== null) reply = await ask(asked);
  const unread = notRead(reply);
  if (unread) return unread;
  if (isRefusal(reply))
    return { outcome: 'refused', reason: 'provider_refused', detail: '400 error', ...wordsIn(reply) };
  const page = reply.kind === 'answer' && isSuccess(reply.status) ? recordOf(reply.body) : null;
  const ref = textOf(page?.id);
  if (page === null || ref === null || !isAsAsked(page, asked)) return unclear(reply, clock);
  const report = reportOf(instruction, ref, {
    ...{ page: 'open', url: urlOf(host, ref), expiresAt: createdAt + minutes * 60_000 },
  });
  return { outcome: 'accepted', report };
}

export const urlOf = (host: string, ref: string): string =>
  `${host}/checkoutSession/show?id=${encodeURIComponent(ref)}`;

/** Members that the answer repeats; what it leaves out says nothing. */
function isAsAsked(page: Record<string, unknown>, asked: ReturnType<typeof bodyOf>): boolean {
  const isSame = (name: keyof typeof asked) =>
    page[name] === undefined ||
    page[name] === null ||
    JSON.stringify(page[name]) === JSON.stringify(asked[name]);
  const [item] = Array.isArray(page.items) ? page.items.map(recordOf) : [];
  return (
    (['billingTypes', 'chargeTypes', 'minutesToExpire', 'externalReference'] as const).every(isSame) &&
    (item === undefined || (item?.value === asked.items[0]?.value && Number(item?.quantity) === 1)) &&
    (page.status === undefined || page.status === 'ACTIVE')
  );
}

/**
 * docs.asaas.com/reference/listar-cobrancas: by the day on which a payment was made, which may be a page's whole life before it is approved. A refund of an
 * older payment is in no list: deliveries alone name it.
 */
const listMoved = (
  deps: AsaasDeps,
  { fromMs, toMs, wholeOnly }: ListWindow,
): Promise<ListOutcome<MovedPage>> =>
  readList(deps.exchange, deps.clock, {
    ...pages(
      deps,
      'charge',
      () =>
        `/v3/payments?billingType=CREDIT_CARD&dateCreated[ge]=${dayAt(fromMs - lifeMostMs)}&dateCreated[le]=${dayAt(toMs)}`,
    ),
    read: readMovedPayment,
    wholeOnly,
    // Whole days: a smaller window would not be a shorter list.
    maxPages: movedPagesMost,
  });

const lifeMostMs = 24 * 3_600_000;
const movedPagesMost = 1_000;

// ---------------------------------------------------------------------------------------------------------- deliveries

/**
 * A delivery names a page, or a payment of one. Asaas sends what happens to every payment of the account: one of no page and without an id of ours is not
 * for us, though its token is right.
 */
function readDelivery(rawBody: Buffer): WebhookNews | null {
  const body = recordOf(jsonOf(deliveryWithoutTokens(rawBody)));
  if (body === null) return null;
  const key = keyNewsIn(body);
  if (key) return { addressed: true, received: [], payouts: [], unread: [key] };
  const subject = recordOf(body.checkout) ?? recordOf(body.payment);
  const reference = textOf(subject?.externalReference);
  const page = textOf(recordOf(body.checkout)?.id) ?? textOf(recordOf(body.payment)?.checkoutSession);
  const isOurs = reference !== null && ownId.test(reference);
  const providerId = isOurs ? reference : null;
  const paid = paidPageIn(body.payment, providerId);
  const refused = refusedAttemptIn(body, providerId);
  return {
    ...{ addressed: isOurs || page !== null, received: [], payouts: [] },
    paidPages: paid === null ? [] : [paid],
    refusedAttempts: refused === null ? [] : [refused],
    named: isOurs ? [reference] : [],
    ...(!isOurs && page !== null && { namedAs: [page] }),
  };
}

/** Of which page a payment is; what is no payment's name is that of a page itself. */
async function findPayment({ exchange, clock }: AsaasDeps, name: string): Promise<QueryOutcome<PixOwner>> {
  if (!name.startsWith('pay_'))
    return { outcome: 'found', report: { direction: 'received', providerId: null, page: name } };
  const reply = await exchange({ method: 'GET', path: `/v3/payments/${encodeURIComponent(name)}` });
  if (reply.kind === 'answer' && reply.status === 404) return { outcome: 'notFound' };
  const payment = reply.kind === 'answer' && isSuccess(reply.status) ? recordOf(reply.body) : null;
  if (payment?.id !== name) return unclear(reply, clock);
  const reference = textOf(payment.externalReference);
  const page = textOf(payment.checkoutSession);
  const providerId = reference !== null && ownId.test(reference) ? reference : null;
  return {
    outcome: 'found',
    report: { direction: 'received', providerId, ...(page !== null && { page }) },
  };
}

// ------------------------------------------------------------------------------------------------------------- account

const heldCall = {
  method: 'GET',
  path: '/v3/finance/payment/statistics?billingType=CREDIT_CARD&status=CONFIRMED&anticipated=false',
} as const;

/**
 * The free balance, and with it what of confirmed payments is still to come. A release between the two calls would count twice, so the balance is read again.
 * @throws Error Asaas does not say it, or the balance moved meanwhile
 */
async function balanceOf(deps: AsaasDeps): Promise<ProviderBalance> {
  const before = await askFreeBalance(deps);
  const reply = await deps.exchange(heldCall);
  const held = reply.kind === 'answer' && isSuccess(reply.status) ? netValueIn(reply.body) : null;
  if (held === null) throw failureOf('what is still to come', reply, deps.clock);
  if ((await askFreeBalance(deps)) !== before) throw new Error('the balance moved while it was read');
  return { availableCents: before, totalCents: before + held, blocked: null };
}

async function diagnose(deps: AsaasDeps, webhookUrl: string): Promise<Finding[]> {
  const { exchange, clock } = deps;
  const reply = await exchange(webhooksCall);
  const findings = tokenFindings(reply, { needed: [], granted: null });
  if (reply.kind !== 'answer' || reply.status === 401) return findings;
  const balance = await exchange(balanceCall);
  const status = await exchange({ method: 'GET', path: '/v3/myAccount/status/' });
  return [
    ...findings,
    ...clockFindings(reply, clock),
    webhookFindingOf(reply.body, webhookUrl, asaasCheckoutEvents),
    balanceFinding(balance, clock, balanceIn),
    cardsFinding(status.kind === 'answer' && isSuccess(status.status) ? recordOf(status.body) : null),
  ];
}

/** Without approved data of the company every page is refused (docs.asaas.com/docs/duvidas-frequentes-cobrancas). */
function cardsFinding(status: Record<string, unknown> | null): Finding {
  const general = textOf(status?.general);
  if (general === 'APPROVED')
    return { check: 'cards', ok: true, message: 'the account is approved for cards' };
  return {
    check: 'cards',
    ok: false,
    message:
      general === null ? 'Asaas does not say whether the account is approved' : 'the account is not approved',
    action:
      'complete the data of the company in the panel of Asaas: until then it refuses every page for cards',
  };
}
