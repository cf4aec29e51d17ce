import type { AcceptDeps } from '../../flow/accept.ts';
import type { Caller } from '../../ground/caller.ts';
import { cursorOf, placeOf } from '../../ground/cursor.ts';
import { ApiError, type FieldProblem, refuse, refuseFields } from '../../ground/errors.ts';
import type { Permission } from '../../ground/permissions.ts';
import { chargeFeeOf } from '../../kinds/charge/charge.ts';
import { cardFeeOf } from '../../kinds/checkout/checkout.ts';
import { documentOf } from '../../kinds/due/terms.ts';
import { isSold, linkEvent, statusAt } from '../../kinds/link/link.ts';
import { type LinkMethod, limitsOf, linkMethods, sharedRange } from '../../kinds/link/methods.ts';
import { askedMetadata, type Metadata, metadataOf } from '../../money/metadata.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Queries, Sql } from '../../ports/sql.ts';
import { events } from '../../store/events/event.ts';
import { conditions } from '../../store/rows/conditions.sql.ts';
import { fingerprintOf, madeEarlier, paymentIdFor, sharedIdFor } from '../../store/rows/idempotency.ts';
import { lockAccount } from '../../store/rows/lock.sql.ts';
import {
  type FieldRule,
  findDueLinks,
  findLeftCharges,
  findLink,
  findLinks,
  linkKey,
  type PaymentLink,
  paymentLinks,
} from '../../store/rows/payment-links.sql.ts';
import { findKeyUse, insertKeyUse } from '../../store/rows/used-keys.sql.ts';
import { cancelCharge } from '../charges/cancel.ts';

export interface LinkDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  /** The installation's identity secret. */
  identity: Buffer;
  /** Signs cursors. */
  cursorKey: Buffer;
}

export interface LinkOrder {
  title: string;
  description?: string;
  amountCents?: number | null;
  minimumCents?: number;
  maximumCents?: number;
  maxPayments?: number | null;
  /** Default: Pix alone. */
  methods?: readonly LinkMethod[];
  payerFields?: { name?: FieldRule; document?: FieldRule };
  /** A CPF or CNPJ. */
  onlyDocument?: string;
  /** RFC 3339. */
  expiresAt?: string | null;
  successUrl?: string;
  requestKey: string;
  metadata?: Metadata;
}

/**
 * Makes a payment link, or answers a repeat with it as it is now.
 * @throws ApiError `validation_failed`, `not_offered_by_provider`, `card_not_enabled`, `amount_out_of_limits`, `amount_below_fee`, `idempotency_conflict`, `operation_not_found`
 */
export async function createLink(
  deps: Omit<LinkDeps, 'cursorKey' | 'ids'>,
  caller: Caller,
  order: LinkOrder,
): Promise<{ link: PaymentLink; replayed: boolean }> {
  const { accountId, operationId, accountNumber } = caller;
  const { title, description = '', amountCents = null, maxPayments = null, requestKey } = order;
  const { minimumCents = null, maximumCents = null, successUrl = null } = order;
  const now = deps.clock.now();
  const expiresAt = timeOf(order.expiresAt ?? null);
  if (successUrl !== null && !isHttps(successUrl))
    throw refuseFields([{ field: 'successUrl', code: 'invalid_format' }]);
  requireNoOnlyPayer(order.onlyDocument);
  const isFixed = amountCents !== null;
  if (isFixed && minimumCents !== null)
    throw refuseFields([{ field: 'minimumCents', code: 'unknown_property' }]);
  if (isFixed && maximumCents !== null)
    throw refuseFields([{ field: 'maximumCents', code: 'unknown_property' }]);
  const metadata = metadataOf(order.metadata);
  const methods = linkMethods.filter((method) => (order.methods ?? ['pix']).includes(method));
  const { name: nameField = 'optional', document: documentField = 'none' } = order.payerFields ?? {};
  const fingerprint = fingerprintOf(deps.identity, {
    ...{
      endpoint: 'payment-links',
      operationId,
      title,
      description,
      amountCents,
      minimumCents,
      maximumCents,
    },
    ...{ maxPayments, nameField, expiresAt, successUrl },
    ...(documentField !== 'none' && { documentField }),
    // A link of Pix alone has the fingerprint that it had before there was a choice.
    ...(methods.includes('card') && { methods: methods.join() }),
    ...askedMetadata(metadata),
  });
  const paymentId = paymentIdFor(deps.identity, { id: accountId, number: accountNumber }, requestKey);
  return deps.sql.tx(async (tx) => {
    const account = await lockAccount(tx, accountId);
    const use = await findKeyUse(tx, accountId, requestKey, paymentId);
    const made = madeEarlier(use, 'payment_link', fingerprint);
    if (made !== undefined) {
      const link = await findLink(tx, caller, made);
      if (!link) throw refuse('request_key_consumed');
      return { link, replayed: true };
    }
    // A repeat may come when the link has ended.
    requireAhead(expiresAt, now);
    if (!account?.balances.some((one) => one.operationId === operationId))
      throw refuse('operation_not_found');
    const bounds = await boundsOf(tx, accountId, methods, { amountCents, minimumCents, maximumCents });
    const link: PaymentLink = {
      ...{ accountId, operationId, title, description, amountCents, ...bounds },
      id: sharedIdFor(deps.identity, accountId, 'payment_link', requestKey),
      ...{ maxPayments, nameField, documentField, expiresAt, successUrl, metadata, requestKey },
      ...{ takesPix: methods.includes('pix'), takesCard: methods.includes('card') },
      status: 'active',
      ...{ openCount: 0, paidCount: 0, paidCents: 0 },
      ...{ createdAt: now, updatedAt: now },
    };
    const key = { resource: 'payment_link', resourceId: link.id, fingerprint } as const;
    await Promise.all([paymentLinks.insert(tx, [link]), insertKeyUse(tx, accountId, requestKey, key, now)]);
    return { link, replayed: false };
  });
}

/**
 * A link for one payer alone needs a provider whose reports of a received Pix name its payer. API Pix has no such member (`pix` of 2.9.0), and none of the adapters
 * has one that is whole: what cannot be kept is not promised.
 * @throws ApiError `validation_failed`, `not_offered_by_provider`
 */
function requireNoOnlyPayer(document: string | undefined): void {
  if (document === undefined) return;
  if (documentOf(document) === null) throw refuseFields([{ field: 'onlyDocument', code: 'invalid_format' }]);
  throw refuse('not_offered_by_provider');
}

/**
 * Inside of the limits of the account: a link that could make no charge is refused when it is made, and not when a payer comes. With two methods its amount fits
 * both; one that the payer types fits one of them, and each has amounts that fit it.
 * @throws ApiError `card_not_enabled`, `amount_out_of_limits`, `amount_below_fee`
 */
async function boundsOf(
  tx: Queries,
  accountId: string,
  methods: readonly LinkMethod[],
  {
    amountCents,
    minimumCents,
    maximumCents,
  }: Pick<PaymentLink, 'amountCents' | 'minimumCents' | 'maximumCents'>,
): Promise<Pick<PaymentLink, 'minimumCents' | 'maximumCents'>> {
  const [account] = await conditions.read(tx, [accountId]);
  if (!account) throw refuse('account_disabled');
  const limits = methods.map((method) => {
    const range = limitsOf(method, account);
    if (range === null) throw refuse('card_not_enabled');
    return range;
  });
  if (amountCents !== null) {
    for (const method of methods) feeOf[method](account, amountCents);
    return { minimumCents: null, maximumCents: null };
  }
  const least = Math.min(...limits.map((one) => one.minimumCents));
  const most = Math.max(...limits.map((one) => one.maximumCents));
  const asked = { minimumCents: minimumCents ?? least, maximumCents: maximumCents ?? most };
  const isInside = asked.minimumCents >= least && asked.maximumCents <= most;
  if (!isInside || limits.some((one) => sharedRange(one, asked) === null))
    throw refuse('amount_out_of_limits');
  return asked;
}

const feeOf = { pix: chargeFeeOf, card: cardFeeOf };

const notATime: FieldProblem = { field: 'expiresAt', code: 'not_a_time' };

/** @throws ApiError `validation_failed` */
function timeOf(text: string | null): number | null {
  const at = text === null ? null : Date.parse(text);
  if (Number.isNaN(at)) throw refuseFields([notATime]);
  return at;
}

/** @throws ApiError `validation_failed` */
function requireAhead(at: number | null, now: number): void {
  if (at !== null && at <= now) throw refuseFields([notATime]);
}

const isHttps = (text: string): boolean => URL.parse(text)?.protocol === 'https:';

/** @throws ApiError `payment_link_not_found` */
export async function getLink(
  { sql }: Pick<LinkDeps, 'sql'>,
  caller: Caller,
  id: string,
): Promise<PaymentLink> {
  const link = await findLink(sql, caller, id);
  if (!link) throw refuse('payment_link_not_found');
  return link;
}

export interface LinkChanges {
  title?: string;
  description?: string;
  maxPayments?: number | null;
  expiresAt?: string | null;
  status?: 'active' | 'disabled';
}

/**
 * Changes a link. One that has ended takes charges again with `status` active, a time ahead and a stock that is not sold. One whose stock is lowered to what was
 * paid is completed.
 * @throws ApiError `payment_link_not_found`, `payment_link_closed`, `validation_failed`
 */
export function updateLink(
  { sql, clock, ids }: Pick<LinkDeps, 'sql' | 'clock' | 'ids'>,
  caller: Caller,
  id: string,
  changes: LinkChanges,
): Promise<PaymentLink> {
  return sql.tx(async (tx) => {
    // The till reads the link without locking its row.
    await lockAccount(tx, caller.accountId);
    const link = await findLink(tx, caller, id);
    if (!link) throw refuse('payment_link_not_found');
    const now = clock.now();
    const { status, expiresAt: asked, ...texts } = changes;
    const expiresAt = asked === undefined ? link.expiresAt : timeOf(asked);
    if (asked !== undefined) requireAhead(expiresAt, now);
    const changed: PaymentLink = {
      ...link,
      ...texts,
      expiresAt,
      ...(status === undefined ? {} : { status }),
      updatedAt: Math.max(now, link.updatedAt),
    };
    const isActive = statusAt(changed, now) === 'active';
    if (status === 'active' && (isSold(changed) || !isActive)) throw refuse('payment_link_closed');
    const after: PaymentLink = isSold(changed) && isActive ? { ...changed, status: 'completed' } : changed;
    await paymentLinks.update(tx, [after]);
    if (after !== changed) {
      const event = linkEvent(ids, !caller.test, after, 'payment_link.completed');
      await Promise.all(events.write(tx, { inserted: [event], updated: [], deleted: [] }));
    }
    return after;
  });
}

/** Those of the operation, newest first. @throws ApiError `invalid_cursor` */
export async function listLinks(
  { sql, clock, cursorKey }: Pick<LinkDeps, 'sql' | 'clock' | 'cursorKey'>,
  { accountId, operationId }: Caller,
  { limit = 100, cursor }: { limit?: number; cursor?: string },
): Promise<{ links: PaymentLink[]; nextCursor: string | null }> {
  const list = JSON.stringify(['payment links', accountId, operationId]);
  const now = clock.now();
  const below = cursor === undefined ? null : placeOf(cursorKey, list, cursor, now);
  const found = await findLinks(sql, { accountId, operationId }, below, limit + 1);
  const last = found.length > limit ? (found[limit - 1] as PaymentLink) : null;
  return { links: found.slice(0, limit), nextCursor: last && cursorOf(cursorKey, list, last, now) };
}

const linksPerStep = 50;

const charges: ReadonlySet<Permission> = new Set(['charges']);

const lowest = '00000000-0000-0000-0000-000000000000';
/** Where this process has come to among the links that were sold, by the database that it looks at. */
const lookedTo = new WeakMap<Sql, { accountId: string; linkId: string }>();

/**
 * Cancels what waits of links for one payment that was made: the codes of payers who were slower. A provider that cannot do that leaves them payable, and what
 * they bring is booked as overpaid. In the order of the key: codes that no provider cancels keep no others waiting.
 * @returns whether there is more to look at at once
 */
export async function stepSoldLinks(deps: AcceptDeps): Promise<boolean> {
  const place = lookedTo.get(deps.sql) ?? { accountId: lowest, linkId: lowest };
  const found = await findLeftCharges(deps.sql, place, linksPerStep);
  const last = new Set(found.map(({ linkId }) => linkId)).size < linksPerStep ? undefined : found.at(-1);
  if (last) lookedTo.set(deps.sql, last);
  else lookedTo.delete(deps.sql);
  for (const { paymentId, linkId: _, ...account } of found) {
    if (paymentId === null) continue;
    const caller: Caller = {
      ...account,
      ...{ operationNamed: true, keyId: null, permissions: charges, requestId: `link ${paymentId}` },
    };
    await cancelCharge(deps, caller, paymentId).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
    });
  }
  return last !== undefined;
}

/** Ends links whose time is over, each with its event. @returns whether there may be more at once */
export async function stepLinks(deps: Pick<LinkDeps, 'sql' | 'clock' | 'ids'>): Promise<boolean> {
  const now = deps.clock.now();
  const due = await findDueLinks(deps.sql, now, linksPerStep);
  for (const { accountId, id, test } of due) {
    await deps.sql.tx(async (tx) => {
      await lockAccount(tx, accountId);
      const [link] = await paymentLinks.read(tx, [linkKey(accountId, id)]);
      if (!link || link.status !== 'active' || statusAt(link, now) !== 'expired') return;
      const after: PaymentLink = { ...link, status: 'expired', updatedAt: Math.max(now, link.updatedAt) };
      const event = linkEvent(deps.ids, !test, after, 'payment_link.expired');
      await Promise.all([
        paymentLinks.update(tx, [after]),
        ...events.write(tx, { inserted: [event], updated: [], deleted: [] }),
      ]);
    });
  }
  return due.length === linksPerStep;
}
