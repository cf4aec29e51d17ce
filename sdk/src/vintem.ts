import { type FollowOptions, follow } from './follow.ts';
import { type List, listOf, type Page } from './pages.ts';
import { type Call, type CallOptions, createTransport, type Transport } from './transport.ts';
import type {
  AccountSummary,
  CreatedPayment,
  CreatedPaymentLink,
  CreatedRefund,
  CreatedStaticCode,
  CreatedWebhook,
  Defence,
  DefenceOfDispute,
  Delivery,
  DeliveryFilter,
  Dispute,
  DisputeFile,
  DisputeFilter,
  DueChargeChanges,
  EndpointChanges,
  EventFilter,
  EventType,
  FollowedEvent,
  NewCardCheckout,
  NewCharge,
  NewDefence,
  NewDisputeFile,
  NewDueCharge,
  NewEndpoint,
  NewOperation,
  NewPaymentLink,
  NewRefund,
  NewSecret,
  NewStaticCode,
  NewTransfer,
  OperationList,
  Payment,
  PaymentFilter,
  PaymentLink,
  PaymentLinkChanges,
  PaymentStatus,
  PosterSize,
  Refund,
  Replay,
  SavedOperation,
  SecretRotation,
  StatementFile,
  StatementFormat,
  StatementLine,
  StatementPeriod,
  StatementTotals,
  StaticCode,
  StaticCodeChanges,
  TestClock,
  TestReset,
  Time,
  VintemEvent,
  Webhook,
} from './types.ts';
import { waitFor } from './wait.ts';

/** The call that a `requestKey` stands for: enough to repeat it. */
export interface KeyedCall {
  call:
    | 'charges.create'
    | 'cardCheckouts.create'
    | 'dueCharges.create'
    | 'transfers.create'
    | 'operations.create'
    | 'webhooks.create'
    | 'refunds.create'
    | 'staticCodes.create'
    | 'paymentLinks.create';
  /** The request's body, `requestKey` included; amounts in cents. */
  body: Readonly<Record<string, unknown>>;
  /** Only for refunds: the payment that is returned. */
  paymentId?: string;
  /** The business operation; undefined for the main one. */
  operation: string | undefined;
}

export interface VintemOptions {
  /** `vtm_live_…` or `vtm_test_…`. Keep it on a server. */
  apiKey: string;
  /** `https://pix.example.com`, or the same with `/api/v1/public`. */
  baseUrl: string;
  /** The business operation that calls are for, by id. Default: the main one. */
  operation?: string | undefined;
  /** For each attempt, in milliseconds. Default 20,000: the service waits up to 6 s for the provider before it answers. */
  timeoutMs?: number | undefined;
  /** How often a call is repeated, with the same `requestKey`, before it fails. Default 4. */
  maxRetries?: number | undefined;
  /**
   * Called with the `requestKey` of every creation before its first byte goes out. Store it: a program that dies after that
   * can repeat the creation with the same key. When it throws or rejects, nothing is sent and the call fails with its error.
   */
  persist?: ((requestKey: string, what: KeyedCall) => Promise<void> | void) | undefined;
  /** Default: the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
}

/**
 * A client of one vintem account. Amounts are integers in cents, times RFC 3339 in UTC. Every call fails with a `VintemError`.
 *
 * Calls that read, delete, or carry a `requestKey` are repeated after lost connections, timeouts, 429 and 5xx, with growing
 * waits and `Retry-After`; always with the same key. Other calls (renames, rotations, tests, replays) only after a 429.
 *
 * @example
 * const vintem = new Vintem({ apiKey, baseUrl, persist: (requestKey, what) => keys.save(requestKey, what) });
 * const charge = await vintem.charges.create({ amountCents: 1990, payerName: 'Maria Silva' });
 * console.log(charge.copyPaste);
 */
export class Vintem {
  readonly charges: Charges;
  readonly cardCheckouts: CardCheckouts;
  readonly dueCharges: DueCharges;
  readonly transfers: Transfers;
  readonly payments: Payments;
  readonly refunds: Refunds;
  readonly staticCodes: StaticCodes;
  readonly paymentLinks: PaymentLinks;
  readonly disputes: Disputes;
  readonly account: Account;
  readonly operations: Operations;
  readonly webhooks: Webhooks;
  readonly events: Events;
  /** Test accounts alone. */
  readonly testMode: TestMode;

  /** @throws TypeError for a key or an address that cannot be one */
  constructor(options: VintemOptions) {
    const { apiKey, baseUrl, operation, timeoutMs = 20_000, maxRetries = 4, persist } = options;
    if (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey))
      throw new TypeError('apiKey is missing');
    if (!/^https?:$/.test(new URL(baseUrl).protocol))
      throw new TypeError('baseUrl must be an http or https URL');
    // Contract: every path is below /api/v1/public, those of test mode are below /api/v1/test.
    const root = baseUrl.replace(/\/+$/, '').replace(/\/api\/v1\/public$/, '');
    const connection = {
      apiKey,
      baseUrl: `${root}/api/v1/public`,
      operation,
      timeoutMs,
      maxRetries,
      // Called without a receiver: browsers and workers refuse another one.
      fetch: options.fetch ?? ((input: string | URL | Request, init?: RequestInit) => fetch(input, init)),
    };
    const transport = createTransport(connection);
    const keyed: Keyed = async (call, path, given, options, fits, paymentId) => {
      const requestKey = given.requestKey ?? crypto.randomUUID();
      const body = { ...given, requestKey };
      const what = { call, body, operation: options.operation ?? operation };
      await persist?.(requestKey, paymentId === undefined ? what : { ...what, paymentId });
      const made = await transport.request<Record<string, unknown>>({
        method: 'POST',
        path,
        body,
        requestKey,
        fits: (answer) => typeof answer.id === 'string' && fits(answer),
        ...options,
      });
      return { ...made, requestKey } as never;
    };
    this.charges = new Charges(transport, keyed);
    this.cardCheckouts = new CardCheckouts(transport, keyed);
    this.dueCharges = new DueCharges(transport, keyed);
    this.transfers = new Transfers(transport, keyed);
    this.payments = new Payments(transport);
    this.refunds = new Refunds(transport, keyed);
    this.staticCodes = new StaticCodes(transport, keyed);
    this.paymentLinks = new PaymentLinks(transport, keyed);
    this.disputes = new Disputes(transport);
    this.account = new Account(transport);
    this.operations = new Operations(transport, keyed);
    this.webhooks = new Webhooks(transport, keyed);
    this.events = new Events(transport);
    this.testMode = new TestMode(createTransport({ ...connection, baseUrl: `${root}/api/v1/test` }));
  }
}

/** A creation: makes the key, hands it to `persist`, sends. */
type Keyed = <Made>(
  call: KeyedCall['call'],
  path: string,
  given: { requestKey?: string | undefined },
  options: CallOptions,
  fits: (answer: Record<string, unknown>) => boolean,
  paymentId?: string,
) => Promise<Made>;

class Charges {
  #transport: Transport;
  #keyed: Keyed;
  constructor(transport: Transport, keyed: Keyed) {
    this.#transport = transport;
    this.#keyed = keyed;
  }

  /**
   * Creates a Pix charge. Needs the permission `charges`.
   *
   * `amountCents`: 200 to 200,000; `payerName`: 2 to 100 characters; `description`: up to 200; `expiresInMinutes`: 1 to 10,080, as the
   * installation is set if left out. The answer is `pending`, with `copyPaste` and `qrCodeBase64` to show to the payer, or `unknown` while the provider has not answered.
   *
   * @throws VintemError `validation_failed`, `amount_out_of_limits`, `account_disabled`, `provider_unavailable`; when it is
   * `retryable`, repeat with its `requestKey`
   *
   * @example
   * const charge = await vintem.charges.create({ amountCents: 1990, payerName: 'Maria Silva', description: 'Pedido 1042' });
   * console.log(charge.id, charge.copyPaste, charge.requestKey);
   */
  create(charge: NewCharge, options: CallOptions = {}): Promise<CreatedPayment> {
    return this.#keyed(
      'charges.create',
      '/pix/charges',
      charge,
      options,
      isOf('deposit', charge.amountCents),
    );
  }

  /**
   * Takes a charge back that is not paid. Needs the permission `charges`. Repeated after a lost answer: a charge is cancelled once.
   *
   * The answer is `failed` with the reason `cancelled_by_merchant`, or still `pending` (`unknown`) with a `notice`: the provider decides, and a payer
   * may be quicker. Follow it with `payments.waitFor` or events.
   *
   * @throws VintemError `charge_already_paid`, `charge_already_ended`, `not_offered_by_provider`, `payment_not_found`
   *
   * @example
   * const open = await vintem.charges.create({ amountCents: 1990, payerName: 'Maria Silva' });
   * const charge = await vintem.charges.cancel(open.id);
   * console.log(charge.status, charge.reasonCode);
   */
  cancel(id: string, options: CallOptions = {}): Promise<Payment> {
    const path = `/payments/${segment(id)}/cancel`;
    const call = { method: 'POST', path, body: {}, repeatable: true } as const;
    return this.#transport.request({ ...call, fits: isCalled(id), ...options });
  }
}

class DueCharges {
  #transport: Transport;
  #keyed: Keyed;
  constructor(transport: Transport, keyed: Keyed) {
    this.#transport = transport;
    this.#keyed = keyed;
  }

  /**
   * Creates a Pix charge with a due date. Needs the permission `charges`, and a provider that has such charges.
   *
   * `amountCents` is 200 to 200,000, before fine, interest, discounts and rebate; `dueDate` a day of Brasília. `value` is cents for `fixed` and hundredths of
   * a percent for `percent`. What is owed on a day is shown by the payer's bank; once the charge is `paid`, `amountPaidCents` says what was received.
   * Change it with `update`, cancel it with `charges.cancel`.
   *
   * @throws VintemError `not_offered_by_provider`, `due_date_out_of_range`, `due_terms_invalid`, `validation_failed` (`payer.document`),
   * `amount_out_of_limits`, `provider_unavailable`; when it is `retryable`, repeat with its `requestKey`
   *
   * @example
   * const dueDate = new Date(Date.now() + 10 * 86_400_000).toISOString().slice(0, 10);
   * const charge = await vintem.dueCharges.create({
   *   amountCents: 10000,
   *   payer: { name: 'Maria Silva', document: '111.444.777-35' },
   *   dueDate,
   *   fine: { type: 'percent', value: 200 },
   *   interest: { type: 'percent_month', value: 100, days: 'calendar' },
   * });
   * console.log(charge.copyPaste, charge.dueDate);
   */
  create(dueCharge: NewDueCharge, options: CallOptions = {}): Promise<CreatedPayment> {
    return this.#keyed(
      'dueCharges.create',
      '/pix/due-charges',
      dueCharge,
      options,
      isOf('deposit', dueCharge.amountCents),
    );
  }

  /**
   * Changes amount, dates or terms of a charge that is not paid. Needs the permission `charges`. What is left out stays; `fine`, `interest` or `rebate` null takes
   * it away. Repeated after a lost answer: a charge that asks for this already is answered as it stands.
   *
   * The answer asks for what you asked for, or is still as before with a `notice`: the provider decides, and a payer may be quicker.
   *
   * @throws VintemError `charge_change_refused`, `charge_change_under_way`, `charge_changed_too_often`, `charge_already_paid`, `charge_already_ended`,
   * `due_date_out_of_range`, `due_terms_invalid`, `amount_out_of_limits`, `not_offered_by_provider`, `payment_not_found`
   *
   * @example
   * const dueDate = new Date(Date.now() + 10 * 86_400_000).toISOString().slice(0, 10);
   * const open = await vintem.dueCharges.create({
   *   amountCents: 10000,
   *   payer: { name: 'Maria Silva', document: '111.444.777-35' },
   *   dueDate,
   * });
   * const charge = await vintem.dueCharges.update(open.id, { amountCents: 8000 });
   * console.log(charge.amountCents, charge.notice);
   */
  update(id: string, changes: DueChargeChanges, options: CallOptions = {}): Promise<Payment> {
    const path = `/pix/due-charges/${segment(id)}`;
    const call = { method: 'PATCH', path, body: changes, repeatable: true } as const;
    return this.#transport.request({ ...call, fits: isCalled(id), ...options });
  }
}

class CardCheckouts {
  #transport: Transport;
  #keyed: Keyed;
  constructor(transport: Transport, keyed: Keyed) {
    this.#transport = transport;
    this.#keyed = keyed;
  }

  /**
   * Creates a charge that is paid by card on the page of an acquirer. Needs the permission `charges`, and an account that takes cards.
   *
   * `amountCents` is within `minimumCardCents` and `maximumCardCents` of the account; `expiresInMinutes`: 30 to 1,440, 60 if left out. `successUrl` and
   * `cancelUrl`: where the payer goes afterwards, at hosts that the account allows; a visit proves nothing. `payer`: what is filled in for the payer. Send
   * the payer to `checkoutUrl` of the answer. The charge is `paid` once the acquirer approves it; the amount less the fee is in the balance once the acquirer releases
   * it (`cardSettlementStatus: available`, event `charge.card_available`).
   *
   * @throws VintemError `card_not_enabled`, `return_url_not_allowed`, `amount_out_of_limits`, `amount_below_fee`, `provider_unavailable`; when it is `retryable`, repeat with its
   * `requestKey`
   *
   * @example
   * const { cardFeeCents, maximumCardCents } = await vintem.account.get();
   * if (maximumCardCents > 0) {
   *   const charge = await vintem.cardCheckouts.create({ amountCents: 12500, payerName: 'Maria Silva' });
   *   console.log(charge.checkoutUrl, cardFeeCents);
   * }
   */
  create(checkout: NewCardCheckout, options: CallOptions = {}): Promise<CreatedPayment> {
    return this.#keyed(
      'cardCheckouts.create',
      '/card/checkouts',
      checkout,
      options,
      isOf('deposit', checkout.amountCents),
    );
  }

  /**
   * Closes the page of a card payment that is not paid. Needs the permission `charges`. Repeated after a lost answer: a page is closed once.
   *
   * The answer is `expired`, or still `pending` (`unknown`) with a `notice`: the acquirer decides, and a payer may be quicker. Follow it with
   * `payments.waitFor` or events.
   *
   * @throws VintemError `charge_already_paid`, `charge_already_ended`, `payment_not_found`
   *
   * @example
   * const { maximumCardCents } = await vintem.account.get();
   * if (maximumCardCents > 0) {
   *   const open = await vintem.cardCheckouts.create({ amountCents: 12500, payerName: 'Maria Silva' });
   *   const closed = await vintem.cardCheckouts.expire(open.id);
   *   console.log(closed.status);
   * }
   */
  expire(id: string, options: CallOptions = {}): Promise<Payment> {
    const path = `/card/checkouts/${segment(id)}/expire`;
    const call = { method: 'POST', path, body: {}, repeatable: true } as const;
    return this.#transport.request({ ...call, fits: isCalled(id), ...options });
  }
}

class Transfers {
  #transport: Transport;
  #keyed: Keyed;
  constructor(transport: Transport, keyed: Keyed) {
    this.#transport = transport;
    this.#keyed = keyed;
  }

  /**
   * Sends a Pix. Needs the permission `transfers`; the key alone authorizes it.
   *
   * `amountCents`: 1,000 to 1,000,000, all that leaves the balance, fee included. `pixKeyType`: `EMAIL`, `CPF`, `CNPJ`, `PHONE`,
   * `RANDOM`. The answer is `pending`, `unknown` or `completed`; follow the others with `payments.waitFor` or events.
   *
   * @throws VintemError `insufficient_balance`, `pix_key_not_found`, `recipient_refused`, `withdrawals_blocked`, …; when it is
   * `retryable`, the Pix may have been sent: repeat with its `requestKey`, never with a new one
   *
   * @example
   * const transfer = await vintem.transfers.create({ amountCents: 1000, pixKey: 'maria@example.com', pixKeyType: 'EMAIL' });
   * console.log(transfer.status, transfer.expectedNetAmountCents, transfer.requestKey);
   */
  create(transfer: NewTransfer, options: CallOptions = {}): Promise<CreatedPayment> {
    const body = { ...transfer, description: transfer.description ?? '' };
    return this.#keyed(
      'transfers.create',
      '/pix/transfers',
      body,
      options,
      isOf('transfer', body.amountCents),
    );
  }

  /**
   * Confirms a draft, which a person has made in the panel, with the six digits from the mail. Needs the permission `transfers`. Not
   * repeated after a lost answer: the Pix may have been sent, and `payments.get` shows it.
   *
   * @throws VintemError `payment_not_found`, `not_a_draft`, `invalid_code`, `code_expired`, and what refuses `create`
   * @deprecated people confirm drafts in the panel
   *
   * @example
   * const transfer = await vintem.transfers.confirm(draftId, { code: '123456' }).catch((error) => error);
   * console.log(transfer.status ?? transfer.code);
   */
  confirm(id: string, given: { code: string }, options: CallOptions = {}): Promise<Payment> {
    return this.#decide(id, 'confirm', given, options);
  }

  /**
   * Cancels a draft: nothing is sent. Needs the permission `transfers`.
   *
   * @throws VintemError `payment_not_found`, `not_a_draft`
   * @deprecated people cancel drafts in the panel
   *
   * @example
   * const draft = await vintem.transfers.cancel(draftId);
   * console.log(draft.status, draft.reasonCode);
   */
  cancel(id: string, options: CallOptions = {}): Promise<Payment> {
    return this.#decide(id, 'cancel', {}, options);
  }

  #decide(id: string, what: string, body: object, options: CallOptions): Promise<Payment> {
    const path = `/pix/transfers/${segment(id)}/${what}`;
    return this.#transport.request({ method: 'POST', path, body, fits: isCalled(id), ...options });
  }
}

/** An answer about another payment is none to this call: what stands between client and service mixed them up. */
const isOf = (kind: Payment['kind'], amountCents: number) => (answer: Record<string, unknown>) =>
  answer.kind === kind && answer.amountCents === amountCents;
const isCalled = (id: string) => (answer: Record<string, unknown>) => answer.id === id.toLowerCase();

export interface WaitOptions extends CallOptions {
  /** Which states end the wait. Default: `paid`, `completed`, `failed`, `expired`, `cancelled`. */
  until?: readonly PaymentStatus[] | undefined;
  /** How long to wait in all, in milliseconds. Default 60,000. */
  timeoutMs?: number | undefined;
}

class Payments {
  #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * A charge or a transfer as it is now. Needs `read`, or the permission that creates its kind.
   *
   * @throws VintemError `payment_not_found`: no payment of this id in the selected business operation
   *
   * @example
   * const { id } = await vintem.charges.create({ amountCents: 1990, payerName: 'Maria Silva' });
   * const charge = await vintem.payments.get(id);
   * console.log(charge.status);
   */
  get(id: string, options: CallOptions = {}): Promise<Payment> {
    const path = `/payments/${segment(id)}`;
    return this.#transport.request({ method: 'GET', path, fits: isCalled(id), ...options });
  }

  /**
   * Payments of the selected business operation, newest first, page by page as they are read. Needs `read`.
   * With `requestKey` it finds the payment that was created with that key, or none.
   *
   * @throws VintemError `validation_failed`, `invalid_cursor`
   *
   * @example
   * let receivedCents = 0;
   * for await (const payment of vintem.payments.list({ status: 'paid', from: '2026-11-01T00:00:00-03:00' })) {
   *   receivedCents += payment.netAmountCents ?? 0;
   * }
   */
  list(filter: PaymentFilter = {}, options: CallOptions = {}): List<Payment> {
    const { status, ...rest } = filter;
    const query = { ...queryOf(rest), status: status?.toString() };
    return listing(this.#transport, '/payments', query, options, 'payments');
  }

  /**
   * Waits until a payment is in one of the states `until`, and returns it. Looks every half second at first and every five
   * seconds later; a webhook or `events.follow` reports many payments at less cost.
   *
   * @throws VintemError `wait_timeout` after `timeoutMs` (default 60,000 ms): the payment continues without you; wait again, or later
   *
   * @example
   * const charge = await vintem.charges.create({ amountCents: 1990, payerName: 'Maria Silva' });
   * const paid = await vintem.payments.waitFor(charge.id, { until: ['paid', 'failed', 'expired'], timeoutMs: 30_000 });
   * console.log(paid.status, paid.netAmountCents);
   */
  waitFor(
    id: string,
    { until = finalStates, timeoutMs = 60_000, ...options }: WaitOptions = {},
  ): Promise<Payment> {
    return waitFor(this.#transport, (call) => this.get(id, call), { id, until, timeoutMs, options });
  }
}

const finalStates: readonly PaymentStatus[] = ['paid', 'completed', 'failed', 'expired', 'cancelled'];

class Refunds {
  #transport: Transport;
  #keyed: Keyed;
  constructor(transport: Transport, keyed: Keyed) {
    this.#transport = transport;
    this.#keyed = keyed;
  }

  /**
   * Returns a received payment to its payer, in whole or in part. Needs the permission `refunds`.
   *
   * @throws VintemError `refund_exceeds`: more than what is left; `refund_window_closed`: after 90 days; `refund_limit_reached`: the 100th part takes all that is left;
   * `payment_not_refundable`: not a received payment; when it is `retryable`, repeat with its `requestKey`
   *
   * @example
   * const refund = await vintem.refunds.create(paidCharge.id, { amountCents: 500 });
   * console.log(refund.status, refund.requestKey);
   */
  create(paymentId: string, refund: NewRefund = {}, options: CallOptions = {}): Promise<CreatedRefund> {
    const path = `/payments/${segment(paymentId)}/refunds`;
    const fits = (answer: Record<string, unknown>): boolean => answer.paymentId === paymentId.toLowerCase();
    return this.#keyed('refunds.create', path, refund, options, fits, paymentId);
  }

  /**
   * A refund as it is now.
   *
   * @example
   * const refund = await vintem.refunds.get(refundId);
   * console.log(refund.status, refund.amountCents);
   */
  get(id: string, options: CallOptions = {}): Promise<Refund> {
    return this.#transport.request({ method: 'GET', path: `/refunds/${segment(id)}`, ...options });
  }

  /**
   * The refunds of a payment, oldest first: at most 200, `limit` (1 to 100) a page.
   *
   * @example
   * let returnedCents = 0;
   * for await (const refund of vintem.refunds.list(paidCharge.id)) {
   *   if (refund.status === 'completed') returnedCents += refund.amountCents;
   * }
   */
  list(paymentId: string, { limit }: { limit?: number } = {}, options: CallOptions = {}): List<Refund> {
    const path = `/payments/${segment(paymentId)}/refunds`;
    return listing(this.#transport, path, { limit }, options, 'refunds');
  }
}

class StaticCodes {
  readonly #transport: Transport;
  readonly #keyed: Keyed;
  constructor(transport: Transport, keyed: Keyed) {
    this.#transport = transport;
    this.#keyed = keyed;
  }

  /**
   * Makes a code to print, which is paid as often as payers like. Needs the permission `charges`.
   *
   * @throws VintemError `static_code_limit_reached`, `not_offered_by_provider`; when it is `retryable`, repeat with its `requestKey`
   *
   * @example
   * const made = await vintem.staticCodes.create({ name: 'Balcão 1' });
   * console.log(made.copyPaste, made.requestKey);
   */
  create(code: NewStaticCode, options: CallOptions = {}): Promise<CreatedStaticCode> {
    return this.#keyed('staticCodes.create', '/static-codes', code, options, () => true);
  }

  /**
   * A static code as it is now.
   *
   * @example
   * for await (const { id } of vintem.staticCodes.list()) console.log((await vintem.staticCodes.get(id)).paidCents);
   */
  get(id: string, options: CallOptions = {}): Promise<StaticCode> {
    return this.#transport.request({ method: 'GET', path: `/static-codes/${segment(id)}`, ...options });
  }

  /**
   * Renames it, retires it, or uses it again. A printed code that is retired can still be paid.
   *
   * @example
   * for await (const { id } of vintem.staticCodes.list()) await vintem.staticCodes.update(id, { status: 'retired' });
   */
  update(id: string, changes: StaticCodeChanges, options: CallOptions = {}): Promise<StaticCode> {
    const path = `/static-codes/${segment(id)}`;
    return this.#transport.request({ method: 'PATCH', path, body: changes, ...options });
  }

  /**
   * Those of the operation, newest first; `limit` (1 to 100) a page.
   *
   * @example
   * for await (const { id, paidCount } of vintem.staticCodes.list()) console.log(id, paidCount);
   */
  list({ limit }: { limit?: number } = {}, options: CallOptions = {}): List<StaticCode> {
    return listing(this.#transport, '/static-codes', { limit }, options, 'staticCodes');
  }

  /**
   * The charges that it has brought, newest first; `limit` (1 to 100) a page.
   *
   * @example
   * for await (const { id } of vintem.staticCodes.list())
   *   for await (const payment of vintem.staticCodes.payments(id)) console.log(payment.status, payment.amountCents);
   */
  payments(id: string, { limit }: { limit?: number } = {}, options: CallOptions = {}): List<Payment> {
    const path = `/static-codes/${segment(id)}/payments`;
    return listing(this.#transport, path, { limit }, options, 'payments');
  }

  /**
   * A page with the code to print, a PDF: `a6` (unless you say so), `a4` or `80mm`, the roll of receipt printers. A retired code has none.
   *
   * @throws VintemError `static_code_not_found`
   *
   * @example
   * const { id } = await vintem.staticCodes.create({ name: 'Balcão 2' });
   * const file = await vintem.staticCodes.poster(id, { size: 'a4' });
   * console.log(file.type, file.size);
   */
  poster(id: string, { size }: { size?: PosterSize } = {}, options: CallOptions = {}): Promise<Blob> {
    const path = `/static-codes/${segment(id)}/poster.pdf`;
    return this.#transport.file({ method: 'GET', path, query: { size }, ...options }, 'application/pdf');
  }
}

class PaymentLinks {
  readonly #transport: Transport;
  readonly #keyed: Keyed;
  constructor(transport: Transport, keyed: Keyed) {
    this.#transport = transport;
    this.#keyed = keyed;
  }

  /**
   * Makes a page on which payers make charges of their own. Needs the permission `charges`.
   *
   * @throws VintemError `amount_out_of_limits`; when it is `retryable`, repeat with its `requestKey`
   *
   * @example
   * const made = await vintem.paymentLinks.create({ title: 'Curso de cerâmica', amountCents: 25_000 });
   * console.log(made.url, made.requestKey);
   */
  create(link: NewPaymentLink, options: CallOptions = {}): Promise<CreatedPaymentLink> {
    return this.#keyed('paymentLinks.create', '/payment-links', link, options, () => true);
  }

  /**
   * A payment link as it is now.
   *
   * @example
   * for await (const { id } of vintem.paymentLinks.list()) console.log((await vintem.paymentLinks.get(id)).paidCents);
   */
  get(id: string, options: CallOptions = {}): Promise<PaymentLink> {
    return this.#transport.request({ method: 'GET', path: `/payment-links/${segment(id)}`, ...options });
  }

  /**
   * Changes it, closes it, or opens it again.
   *
   * @example
   * for await (const { id } of vintem.paymentLinks.list()) await vintem.paymentLinks.update(id, { status: 'disabled' });
   */
  update(id: string, changes: PaymentLinkChanges, options: CallOptions = {}): Promise<PaymentLink> {
    const path = `/payment-links/${segment(id)}`;
    return this.#transport.request({ method: 'PATCH', path, body: changes, ...options });
  }

  /**
   * Those of the operation, newest first; `limit` (1 to 100) a page.
   *
   * @example
   * for await (const { id, paidCount } of vintem.paymentLinks.list()) console.log(id, paidCount);
   */
  list({ limit }: { limit?: number } = {}, options: CallOptions = {}): List<PaymentLink> {
    return listing(this.#transport, '/payment-links', { limit }, options, 'paymentLinks');
  }

  /**
   * The charges that it has brought, newest first; `limit` (1 to 100) a page.
   *
   * @example
   * for await (const { id } of vintem.paymentLinks.list())
   *   for await (const payment of vintem.paymentLinks.payments(id)) console.log(payment.status, payment.amountCents);
   */
  payments(id: string, { limit }: { limit?: number } = {}, options: CallOptions = {}): List<Payment> {
    const path = `/payment-links/${segment(id)}/payments`;
    return listing(this.#transport, path, { limit }, options, 'payments');
  }
}

class Disputes {
  #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Disputes (MED) of received Pix, newest first. Needs `read`.
   *
   * @example
   * for await (const dispute of vintem.disputes.list({ status: ['open', 'defending'] })) {
   *   console.log(dispute.paymentId, dispute.heldCents, dispute.deadlineAt);
   * }
   */
  list({ status, limit }: DisputeFilter = {}, options: CallOptions = {}): List<Dispute> {
    const query = { limit, status: status?.toString() };
    return listing(this.#transport, '/disputes', query, options, 'disputes');
  }

  /**
   * One dispute as it is now: what is held for it, and what the provider has taken, in cents.
   *
   * @throws VintemError `dispute_not_found`
   *
   * @example
   * const dispute = await vintem.disputes.get(disputeId);
   * console.log(dispute.status, dispute.heldCents, dispute.debitedCents);
   */
  get(id: string, options: CallOptions = {}): Promise<Dispute> {
    return this.#transport.request({ method: 'GET', path: `/disputes/${segment(id)}`, ...options });
  }

  /**
   * The defence that was sent (`defence`), what a defence may contain at this moment (`offer`), each null where there is none, and the
   * files that go out with no defence.
   *
   * @throws VintemError `dispute_not_found`
   *
   * @example
   * const { offer, files, defence } = await vintem.disputes.defence(disputeId);
   * console.log(offer?.textMost, offer?.files?.types, files.length, defence?.status, defence?.reasonCode);
   */
  defence(id: string, options: CallOptions = {}): Promise<DefenceOfDispute> {
    return this.#transport.request({ method: 'GET', path: `/disputes/${segment(id)}/defence`, ...options });
  }

  /**
   * Answers a dispute, before its `deadlineAt`. Needs the permission `disputes`. The provider takes one defence, which cannot be changed;
   * the same text and files again are the same defence. The answer is `pending`: `disputes.defence` shows when the provider has it.
   *
   * @throws VintemError `dispute_not_found`, `dispute_defended`, `dispute_ended`, `defence_window_closed`, `defence_too_long`,
   * `file_not_found`, `not_offered_by_provider`
   *
   * @example
   * const defence = await vintem.disputes.defend(disputeId, { text: 'Entregue em 20/11, com assinatura do cliente.' });
   * console.log(defence.status);
   */
  defend(id: string, defence: NewDefence, options: CallOptions = {}): Promise<Defence> {
    const path = `/disputes/${segment(id)}/defence`;
    return this.#transport.request({ method: 'POST', path, body: defence, ...options });
  }

  /**
   * Gives a file for the defence of a dispute, where the provider takes files (`offer.files`). Needs the permission `disputes`. It goes out
   * when `disputes.defend` names it in `fileIds`. The same contents again are the same file.
   *
   * @throws VintemError `dispute_not_found`, `not_offered_by_provider`, `dispute_defended`, `dispute_ended`, `defence_window_closed`,
   * `file_not_accepted`, `unsupported_media_type`, `body_too_large`, `file_limit_reached`, `file_storage_full`
   *
   * @example
   * const file = await vintem.disputes.addFile(disputeId, { name: 'recibo.pdf', type: 'application/pdf', contents: receipt });
   * console.log(file.id, file.sha256);
   */
  addFile(
    id: string,
    { name, type, contents }: NewDisputeFile,
    options: CallOptions = {},
  ): Promise<DisputeFile> {
    const path = `/disputes/${segment(id)}/files`;
    return this.#transport.request({
      method: 'POST',
      path,
      query: { name },
      file: { type, contents },
      ...options,
    });
  }

  /**
   * Takes a file away that goes out with no defence. Needs the permission `disputes`.
   *
   * @throws VintemError `dispute_not_found`, `file_not_found`, `dispute_defended`
   *
   * @example
   * await vintem.disputes.removeFile(disputeId, fileId);
   */
  async removeFile(id: string, fileId: string, options: CallOptions = {}): Promise<void> {
    const path = `/disputes/${segment(id)}/files/${segment(fileId)}`;
    await this.#transport.request({ method: 'DELETE', path, ...options });
  }
}

class Account {
  #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Balance, reserves, fees and limits of the selected business operation, in cents. Needs `read`.
   *
   * @example
   * const { balanceCents, reservedWithdrawalCents } = await vintem.account.get();
   * console.log(balanceCents, reservedWithdrawalCents);
   */
  get(options: CallOptions = {}): Promise<AccountSummary> {
    return this.#transport.request({ method: 'GET', path: '/account', ...options });
  }

  /**
   * The changes of the balance of the selected business operation, oldest first: charges, transfers, fees, refunds, holds. Needs `read`.
   * `amountCents` of a line is what the balance changed by, and `balanceCents` the balance after it. Each of its `pages()` has
   * `openingBalanceCents` and `closingBalanceCents` of the period besides. `from` and `to` are days of São Paulo (`2026-11-30`, both
   * included) or times.
   *
   * @throws VintemError `validation_failed`, `invalid_cursor`
   *
   * @example
   * for await (const line of vintem.account.statement({ from: '2026-11-01', to: '2026-11-30' })) {
   *   console.log(line.at, line.kind, line.amountCents, line.balanceCents, line.paymentId);
   * }
   */
  statement(
    { from, to, limit }: StatementPeriod & { limit?: number | undefined } = {},
    options: CallOptions = {},
  ): List<StatementLine, StatementTotals> {
    const query = { limit, from: timeOf(from), to: timeOf(to) };
    return listing(this.#transport, '/statement', query, options, 'lines');
  }

  /**
   * The statement as a file: `csv` for spreadsheets, `ofx` for accounting programs, `pdf` to read. Amounts are in reais. Needs `read`.
   *
   * @throws VintemError `statement_too_large`: ask for a shorter period
   *
   * @example
   * const file = await vintem.account.statementFile('ofx', { from: '2026-11-01', to: '2026-11-30' });
   * console.log(file.type, (await file.text()).length);
   */
  statementFile(
    format: StatementFormat,
    { from, to, ...form }: StatementFile = {},
    options: CallOptions = {},
  ): Promise<Blob> {
    const query = { ...form, from: timeOf(from), to: timeOf(to) };
    const call: Call = { method: 'GET', path: `/statement.${format}`, query, ...options };
    return this.#transport.file(call, fileTypes[format]);
  }
}

const fileTypes: Readonly<Record<StatementFormat, string>> = {
  csv: 'text/csv',
  ofx: 'application/x-ofx',
  pdf: 'application/pdf',
};

class Operations {
  #transport: Transport;
  #keyed: Keyed;
  constructor(transport: Transport, keyed: Keyed) {
    this.#transport = transport;
    this.#keyed = keyed;
  }

  /**
   * The business operations of the account, oldest first, with their balances in cents. Needs `read`.
   *
   * @example
   * const { ownerId, operations } = await vintem.operations.list();
   * console.log(ownerId, operations.map(({ name, balanceCents }) => [name, balanceCents]));
   */
  list(options: CallOptions = {}): Promise<OperationList> {
    return this.#transport.request({ method: 'GET', path: '/operations', ...options });
  }

  /**
   * Creates a business operation. Needs the permission `operations`; without `read` the answer has no balance. `name`: 2 to 64 characters.
   *
   * @throws VintemError `operation_limit_reached`: an account has up to ten
   *
   * @example
   * const branch = await vintem.operations.create({ name: 'Loja do Centro' });
   * const account = await vintem.account.get({ operation: branch.id });
   * console.log(account.balanceCents);
   */
  create(
    operation: NewOperation,
    options: CallOptions = {},
  ): Promise<SavedOperation & { requestKey: string }> {
    return this.#keyed('operations.create', '/operations', operation, options, () => true);
  }

  /**
   * Renames a business operation; its balance, payments and id stay. Not repeated after a lost answer.
   *
   * @throws VintemError `operation_not_found`
   *
   * @example
   * const branch = await vintem.operations.create({ name: 'Loja do Centro' });
   * await vintem.operations.update(branch.id, { name: 'Loja da Praia' });
   */
  update(id: string, changes: { name: string }, options: CallOptions = {}): Promise<SavedOperation> {
    const path = `/operations/${segment(id)}`;
    return this.#transport.request({ method: 'PATCH', path, body: changes, ...options });
  }

  /**
   * Deletes a business operation without balance, holds and unfinished payments. Deleting it again succeeds.
   *
   * @throws VintemError `operation_has_balance`, `operation_has_unfinished_payments`, `operation_on_hold`, `last_operation`,
   * `balance_not_confirmed`, `ledger_divergence`
   *
   * @example
   * const branch = await vintem.operations.create({ name: 'Loja do Centro' });
   * await vintem.operations.delete(branch.id);
   */
  delete(id: string, options: CallOptions = {}): Promise<{ ok: true }> {
    return this.#transport.request({
      method: 'DELETE',
      path: `/operations/${segment(id)}`,
      body: {},
      ...options,
    });
  }
}

/** The endpoints that events are sent to. Needs the permission `webhooks`. `verifyWebhook` checks what arrives there. */
class Webhooks {
  #transport: Transport;
  #keyed: Keyed;
  constructor(transport: Transport, keyed: Keyed) {
    this.#transport = transport;
    this.#keyed = keyed;
  }

  /**
   * The account's endpoints, oldest first; up to ten.
   *
   * @example
   * const { webhooks } = await vintem.webhooks.list();
   * console.log(webhooks.map(({ url, status }) => [url, status]));
   */
  list(options: CallOptions = {}): Promise<{ webhooks: Webhook[]; limit: number }> {
    return this.#transport.request({ method: 'GET', path: '/webhooks', ...options });
  }

  /**
   * Registers an endpoint. `secret` is in the first answer alone: when it is missing (the first answer was lost and the call
   * was repeated), call `rotateSecret`.
   *
   * @throws VintemError `webhook_url_not_allowed`, `webhook_limit_reached`
   *
   * @example
   * const endpoint = await vintem.webhooks.create({ url: webhookUrl, events: ['charge.paid', 'transfer.completed'] });
   * const secret = endpoint.secret ?? (await vintem.webhooks.rotateSecret(endpoint.id, { overlapHours: 0 })).secret;
   * console.log(secret.startsWith('whsec_'));
   */
  create(endpoint: NewEndpoint, options: CallOptions = {}): Promise<CreatedWebhook> {
    return this.#keyed('webhooks.create', '/webhooks', endpoint, options, () => true);
  }

  /**
   * One endpoint.
   *
   * @throws VintemError `webhook_not_found`
   *
   * @example
   * const endpoint = await vintem.webhooks.get(endpointId);
   * console.log(endpoint.status);
   */
  get(id: string, options: CallOptions = {}): Promise<Webhook> {
    return this.#transport.request({ method: 'GET', path: `/webhooks/${segment(id)}`, ...options });
  }

  /**
   * Changes an endpoint; what is left out stays. Not repeated after a lost answer.
   *
   * @example
   * await vintem.webhooks.update(endpointId, { events: ['*'], enabled: true });
   */
  update(id: string, changes: EndpointChanges, options: CallOptions = {}): Promise<Webhook> {
    const path = `/webhooks/${segment(id)}`;
    return this.#transport.request({ method: 'PATCH', path, body: changes, ...options });
  }

  /**
   * Removes an endpoint.
   *
   * @example
   * await vintem.webhooks.delete(endpointId);
   */
  delete(id: string, options: CallOptions = {}): Promise<{ ok: true }> {
    return this.#transport.request({
      method: 'DELETE',
      path: `/webhooks/${segment(id)}`,
      body: {},
      ...options,
    });
  }

  /**
   * Makes a new secret. For `overlapHours` (0 to 168, default 24) every message carries the signatures of both: give both to
   * `verifyWebhook` until then. Not repeated after a lost answer: rotate again with `force`.
   *
   * @throws VintemError `rotation_in_progress`
   *
   * @example
   * const { secret, previousSecretExpiresAt } = await vintem.webhooks.rotateSecret(endpointId, { overlapHours: 1 });
   * console.log(secret.length, previousSecretExpiresAt);
   */
  rotateSecret(id: string, rotation: SecretRotation = {}, options: CallOptions = {}): Promise<NewSecret> {
    return this.#post(`/${segment(id)}/rotate-secret`, rotation, options);
  }

  /**
   * Sends `webhook.test`, or a sample of another type, to an endpoint.
   *
   * @throws VintemError `webhook_disabled`
   *
   * @example
   * const { deliveryId } = await vintem.webhooks.test(endpointId, { type: 'charge.paid' });
   * console.log(deliveryId);
   */
  test(
    id: string,
    sample: { type?: EventType } = {},
    options: CallOptions = {},
  ): Promise<{ deliveryId: string }> {
    return this.#post(`/${segment(id)}/test`, sample, options);
  }

  /**
   * The types of events, with a description of each.
   *
   * @example
   * const { eventTypes } = await vintem.webhooks.eventTypes();
   * console.log(eventTypes.map(({ type }) => type));
   */
  eventTypes(
    options: CallOptions = {},
  ): Promise<{ eventTypes: { type: string; description: string; schemaVersion: number }[] }> {
    return this.#transport.request({ method: 'GET', path: '/webhooks/event-types', ...options });
  }

  /**
   * The deliveries to an endpoint with their attempts, those of the newest events first; kept for 90 days.
   *
   * @example
   * for await (const delivery of vintem.webhooks.deliveries(endpointId, { status: 'failed' })) {
   *   console.log(delivery.type, delivery.attempts.at(-1)?.statusCode);
   * }
   */
  deliveries(id: string, filter: DeliveryFilter = {}, options: CallOptions = {}): List<Delivery> {
    return listing(this.#transport, `/webhooks/${segment(id)}/deliveries`, filter, options, 'deliveries');
  }

  /**
   * One delivery.
   *
   * @throws VintemError `delivery_not_found`
   *
   * @example
   * const { deliveryId } = await vintem.webhooks.test(endpointId);
   * const delivery = await vintem.webhooks.delivery(endpointId, deliveryId);
   * console.log(delivery.status);
   */
  delivery(id: string, deliveryId: string, options: CallOptions = {}): Promise<Delivery> {
    const path = `/webhooks/${segment(id)}/deliveries/${segment(deliveryId)}`;
    return this.#transport.request({ method: 'GET', path, ...options });
  }

  /**
   * Sends one delivery again.
   *
   * @example
   * const { deliveryId } = await vintem.webhooks.test(endpointId);
   * await vintem.webhooks.retryDelivery(endpointId, deliveryId);
   */
  retryDelivery(id: string, deliveryId: string, options: CallOptions = {}): Promise<{ deliveryId: string }> {
    return this.#post(`/${segment(id)}/deliveries/${segment(deliveryId)}/retry`, {}, options);
  }

  /**
   * Sends again what failed or was skipped between `from` and `to` (at most 7 days), a hundred a second, up to 10,000;
   * with `onlyFailed: false` everything.
   *
   * @throws VintemError `replay_window_too_long`, `webhook_disabled`
   *
   * @example
   * const yesterday = new Date(Date.now() - 86_400_000).toISOString();
   * const { scheduled } = await vintem.webhooks.replay(endpointId, { from: yesterday });
   * console.log(scheduled);
   */
  replay(id: string, replay: Replay, options: CallOptions = {}): Promise<{ scheduled: number }> {
    return this.#post(`/${segment(id)}/replay`, replay, options);
  }

  #post<Answer>(path: string, body: object, options: CallOptions): Promise<Answer> {
    return this.#transport.request({ method: 'POST', path: `/webhooks${path}`, body, ...options });
  }
}

class Events {
  #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * The account's events of the last 90 days, newest first. Needs `read` or `webhooks`.
   *
   * @example
   * for await (const event of vintem.events.list({ type: 'charge.paid' })) {
   *   console.log(event.timestamp, event.data.operationId);
   * }
   */
  list(filter: EventFilter = {}, options: CallOptions = {}): List<VintemEvent> {
    return listing(this.#transport, '/events', queryOf(filter), options, 'events');
  }

  /**
   * One event.
   *
   * @throws VintemError `event_not_found`
   *
   * @example
   * const event = await vintem.events.get(eventId);
   * console.log(event.type);
   */
  get(id: string, options: CallOptions = {}): Promise<VintemEvent> {
    return this.#transport.request({ method: 'GET', path: `/events/${segment(id)}`, ...options });
  }

  /**
   * Events as they happen. Store the `cursor` of the last one that was handled: `follow(cursor)` continues behind it and
   * misses nothing. Without a cursor it begins now, with `'0'` at the beginning of the account's log. Lost connections are
   * opened again for as long as it takes; it ends when `signal` is aborted or the loop is left. An account has five
   * streams at once.
   *
   * @throws VintemError when the service refuses, as for an invalid key or cursor
   *
   * @example
   * for await (const event of vintem.events.follow(cursor, { types: ['charge.paid'] })) {
   *   console.log(event.type, event.data.operationId, event.cursor);
   *   break;
   * }
   */
  follow(cursor?: string, options: FollowOptions = {}): AsyncGenerator<FollowedEvent, void, undefined> {
    return follow(this.#transport, cursor, options);
  }
}

class TestMode {
  #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * A payer pays a charge of a test account, or pays `amountCents`. Needs the permission `simulate`, as every call of test mode. The payment
   * follows a moment later.
   *
   * @throws VintemError `simulation_refused`: the payment is in no state for it; `test_account_required`
   *
   * @example
   * const charge = await vintem.charges.create({ amountCents: 1990, payerName: 'Maria Silva' });
   * await vintem.testMode.pay(charge.id);
   * await vintem.payments.waitFor(charge.id, { until: ['paid'] });
   */
  pay(id: string, given: { amountCents?: number } = {}, options: CallOptions = {}): Promise<{ ok: true }> {
    return this.#act(id, 'pay', given, options);
  }

  /**
   * The deadline of an open charge passes, or (`remove`) the provider removes it.
   *
   * @example
   * const charge = await vintem.charges.create({ amountCents: 1990, payerName: 'Maria Silva' });
   * await vintem.testMode.end(charge.id, 'expire').catch((error) => console.log(error.code));
   * const { status } = await vintem.payments.waitFor(charge.id);
   * console.log(status);
   */
  end(id: string, how: 'expire' | 'remove', options: CallOptions = {}): Promise<{ ok: true }> {
    return this.#act(id, how, {}, options);
  }

  /**
   * A transfer that waits (`stay-pending@simulator.example`) is completed.
   *
   * @example
   * const stays = { ...transfer, pixKey: 'stay-pending@simulator.example' };
   * const { id } = await vintem.transfers.create(stays);
   * await vintem.testMode.complete(id);
   */
  complete(id: string, options: CallOptions = {}): Promise<{ ok: true }> {
    return this.#act(id, 'complete', {}, options);
  }

  /**
   * A transfer that waits is refused, with a code of the payment system.
   *
   * @example
   * const stays = { ...transfer, pixKey: 'stay-pending@simulator.example' };
   * const { id } = await vintem.transfers.create(stays);
   * await vintem.testMode.refuse(id, { code: 'AC07' });
   */
  refuse(id: string, given: { code?: string } = {}, options: CallOptions = {}): Promise<{ ok: true }> {
    return this.#act(id, 'refuse', given, options);
  }

  /**
   * Gives back a paid charge or a completed transfer, in whole or in part.
   *
   * @example
   * await vintem.testMode.return(paidCharge.id, { amountCents: 1 }).catch((error) => console.log(error.code));
   */
  return(id: string, given: { amountCents?: number } = {}, options: CallOptions = {}): Promise<{ ok: true }> {
    return this.#act(id, 'return', given, options);
  }

  /**
   * The payer disputes what a charge received (MED), in whole or in part. The dispute follows within seconds, with the event
   * `dispute.opened` and a hold of the amount.
   *
   * @throws VintemError `simulation_refused`: the charge has received nothing, or less than `amountCents`
   *
   * @example
   * await vintem.testMode.dispute(paidCharge.id, { amountCents: 100 });
   */
  dispute(
    id: string,
    given: { amountCents?: number } = {},
    options: CallOptions = {},
  ): Promise<{ ok: true }> {
    return this.#act(id, 'dispute', given, options);
  }

  /**
   * Plays the provider's decision of a dispute. An accepted one keeps its hold until the money is taken: that is `return` on its charge.
   *
   * @param id of the dispute
   * @throws VintemError `dispute_not_found`
   *
   * @example
   * await vintem.testMode.moveDispute(disputeId, 'reject');
   */
  moveDispute(
    id: string,
    to: 'defend' | 'accept' | 'reject' | 'cancel',
    options: CallOptions = {},
  ): Promise<{ ok: true }> {
    return this.#post(`/disputes/${segment(id)}/${to}`, {}, options);
  }

  /**
   * The account's test clock.
   *
   * @example
   * const { now, status } = await vintem.testMode.clock();
   * console.log(now, status);
   */
  clock(options: CallOptions = {}): Promise<TestClock> {
    return this.#transport.request({ method: 'GET', path: '/clock', ...options });
  }

  /**
   * Gives the account a test clock. From then on webhooks are tried twelve times over three days, as those of a live account.
   *
   * @example
   * const { now } = await vintem.testMode.startClock();
   * console.log(now);
   */
  startClock(options: CallOptions = {}): Promise<TestClock> {
    return this.#post('/clock', {}, options);
  }

  /**
   * Moves the test clock to a time of the account's, through everything that falls due on the way. It is there when `clock` says `ready`.
   *
   * @throws VintemError `validation_failed`: not ahead, or more than two years; `test_clock_advancing`
   *
   * @example
   * const tomorrow = new Date(Date.now() + 86_400_000);
   * await vintem.testMode.advance(tomorrow).catch((error) => console.log(error.code));
   */
  advance(to: Time, options: CallOptions = {}): Promise<TestClock> {
    return this.#post('/clock/advance', { to: timeOf(to) }, options);
  }

  /**
   * Begins again with an empty account under the same keys, people and conditions. Business operations, endpoints and the test clock are
   * not taken along. Needs `operations` and `webhooks` besides.
   *
   * @throws VintemError `test_account_required`, `permission_denied`
   *
   * @example
   * const { ownerId, operationId } = await vintem.testMode.reset();
   * console.log(ownerId, operationId);
   */
  reset(options: CallOptions = {}): Promise<TestReset> {
    return this.#post('/reset', {}, options);
  }

  #act(id: string, act: string, body: object, options: CallOptions): Promise<{ ok: true }> {
    return this.#post(`/payments/${segment(id)}/${act}`, body, options);
  }

  #post<Answer>(path: string, body: object, options: CallOptions): Promise<Answer> {
    return this.#transport.request({ method: 'POST', path, body, ...options });
  }
}

/** An id that comes from outside never becomes another path: the service refuses `_` (`invalid_id`). `%2E%2E` would still be `..`. */
const segment = (id: string): string => id.replaceAll(/[^\w-]/g, '_') || '_';

const timeOf = (time: Time | undefined): string | undefined =>
  time instanceof Date ? time.toISOString() : time;

const queryOf = ({ from, to, ...rest }: { from?: Time | undefined; to?: Time | undefined }) => ({
  ...rest,
  createdFrom: timeOf(from),
  createdTo: timeOf(to),
});

function listing<Item, Totals = unknown>(
  transport: Transport,
  path: string,
  query: NonNullable<Call['query']>,
  options: CallOptions,
  name: string,
): List<Item, Totals> {
  return listOf(async (cursor) => {
    const fits = (answer: Record<string, unknown>): boolean => Array.isArray(answer[name]);
    const call: Call = { method: 'GET', path, query: { ...query, cursor }, fits, ...options };
    const {
      [name]: items,
      nextCursor = null,
      ...more
    } = await transport.request<Record<string, unknown>>(call);
    return { ...more, items, nextCursor } as Page<Item> & Totals;
  });
}
