import { type AcceptDeps, accept } from '../../flow/accept.ts';
import type { Caller } from '../../ground/caller.ts';
import { ApiError, refuse } from '../../ground/errors.ts';
import type { Permission } from '../../ground/permissions.ts';
import { isOfLink, linkCharge } from '../../kinds/charge/by-link.ts';
import { documentOf } from '../../kinds/due/terms.ts';
import { isTerminal, type Payment } from '../../money/payment.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Queries } from '../../ports/sql.ts';
import type { DuePayer } from '../../provider/due-terms.ts';
import { requestKeyFor } from '../../store/rows/idempotency.ts';
import { findPublicLink, type PublicLink } from '../../store/rows/payment-links.sql.ts';
import { paymentKey, payments } from '../../store/rows/payments.sql.ts';
import { cancelCharge } from '../charges/cancel.ts';
import { takeOfBuckets } from './limits.ts';

/** The fields that a payer sends. Nothing else of a form is read: amount, currency and merchant of a fixed link are those of its row. */
export interface PayerForm {
  /** A UUID that the form was rendered with: the same form makes one charge, however often it is sent. */
  formKey: string;
  /** For a link without an amount. */
  amountCents?: number;
  payerName?: string;
  /** CPF or CNPJ, as the payer wrote it. */
  payerDocument?: string;
  /** For "new code": the charge that ended without a payment. Its name, document and amount count where the form has none. */
  replaces?: string;
  /** Of the HTTP request. */
  requestId: string;
}

const charges: ReadonlySet<Permission> = new Set(['charges']);
/** Where the page asks for no name, or the payer gives none: a charge has one. */
const nameless = 'Pagador';

/**
 * Makes the charge of a payer by a link, through the acceptance of every charge. A form with a fault is refused by two reads, which its address pays for as
 * a look at a page, and takes none of the places below. Those are taken before anything is written: ten a minute for a network, three hundred a minute for
 * an account, then under the lock those of the link. They hold with `RATE_LIMITS=off` too: that setting is for the limits of keys and addresses, which a
 * gateway may count instead, and no gateway knows whose link a stranger fills the provider's account with.
 * @param network of the caller, as `callerNetwork` gives it
 * @returns the charge; of a form that was sent before, the one that it made
 * @throws ApiError `payment_link_not_found`, `payment_link_closed`, `payment_link_busy`, `payer_name_required`, `payer_document_required`, `payer_document_invalid`, `rate_limited`, and those of a charge
 */
export async function chargeOfLink(
  deps: AcceptDeps,
  accountNumber: number,
  linkId: string,
  form: PayerForm,
  network: string,
): Promise<Payment> {
  const link = await findPublicLink(deps.sql, accountNumber, linkId);
  if (!link) throw refuse('payment_link_not_found');
  const earlier = form.replaces === undefined ? undefined : await replaced(deps.sql, link, form.replaces);
  const payerName = form.payerName?.trim() || earlier?.payerName || '';
  if (link.nameField === 'required' && payerName === '') throw refuse('payer_name_required');
  const document = documentFor(deps, link, form, earlier);
  const amountCents = link.amountCents ?? form.amountCents ?? earlier?.amountCents;
  if (amountCents === undefined || !isOfLink(link, amountCents)) throw refuse('amount_out_of_limits');
  if (earlier && (earlier.status === 'paid' || !hasEnded(earlier, deps.clock.now()))) return earlier;
  await takePlaces(deps, link, network);
  const caller: Caller = {
    ...{ accountId: link.accountId, accountNumber, operationId: link.operationId, operationNamed: true },
    ...{ test: link.test, connection: link.connection, chargeFallback: link.chargeFallback },
    ...{ keyId: null, permissions: charges, requestId: form.requestId },
  };
  if (earlier && (await wasPaid(deps, caller, earlier))) return replaced(deps.sql, link, earlier.id);
  // Two tabs that ask for a new code in the place of the same old one get the same.
  const seed = earlier ? `replaces ${earlier.id}` : `form ${form.formKey}`;
  const asked = JSON.stringify([linkId, seed, amountCents, payerName, ...(document ? [document] : [])]);
  const { row } = await accept(deps, linkCharge, caller, {
    linkId,
    amountCents,
    payerName: link.nameField === 'none' || payerName === '' ? nameless : payerName,
    ...(document && { document }),
    description: link.title,
    requestKey: requestKeyFor(deps.identity, link.accountId, asked),
    ...(link.metadata && { metadata: link.metadata }),
  });
  return row;
}

/** The payer's document; undefined: none. What the page does not ask for is not kept. */
function documentFor(
  { secrets }: Pick<AcceptDeps, 'secrets'>,
  { documentField }: PublicLink,
  { payerDocument }: PayerForm,
  earlier: Payment | undefined,
): string | undefined {
  if (documentField === 'none') return undefined;
  if (payerDocument !== undefined && payerDocument.trim() !== '') {
    const document = documentOf(payerDocument);
    if (document === null) throw refuse('payer_document_invalid');
    return document;
  }
  const known = earlier?.linkPayer ? documentIn(secrets, earlier.linkPayer, earlier.id) : undefined;
  if (documentField === 'required' && known === undefined) throw refuse('payer_document_required');
  return known;
}

function documentIn(secrets: AcceptDeps['secrets'], payer: Buffer, id: string): string | undefined {
  try {
    return (JSON.parse(secrets.open(payer, id).toString()) as DuePayer).document;
  } catch {
    return undefined;
  }
}

/** Charges that strangers make by links: by their network, and for the account of the link. */
export const chargesOfLink = {
  network: { most: 10, withinMs: 60_000 },
  account: { most: 300, withinMs: 60_000 },
};

const takePlaces = (
  deps: { sql: Queries; clock: Clock },
  { accountId }: PublicLink,
  network: string,
): Promise<void> =>
  takeOfBuckets(
    deps,
    {
      id: `link-1-network ${network}`,
      most: chargesOfLink.network.most,
      everyMs: chargesOfLink.network.withinMs,
    },
    {
      id: `link-2-account ${accountId}`,
      most: chargesOfLink.account.most,
      everyMs: chargesOfLink.account.withinMs,
    },
  );

/**
 * Takes an old charge back whose time is over and whose end is not known yet, so that its payer has one code. A provider that cannot do that, or does not
 * answer, keeps no payer from a new code: a payment of the old one is booked as well. @returns whether it had been paid
 */
async function wasPaid(deps: AcceptDeps, caller: Caller, { id, status }: Payment): Promise<boolean> {
  if (isTerminal(status)) return false;
  try {
    await cancelCharge(deps, caller, id);
    return false;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.code === 'charge_already_paid';
  }
}

/** @throws ApiError `payment_not_found` for one that is not of this link */
async function replaced(sql: Queries, link: PublicLink, id: string): Promise<Payment> {
  const [payment] = await payments.read(sql, [paymentKey(link.accountId, id)]);
  if (payment?.paymentLinkId !== link.id) throw refuse('payment_not_found');
  return payment;
}

/** It has its end, or its deadline at the provider has passed. */
const hasEnded = ({ status, expiresAt }: Payment, now: number): boolean =>
  isTerminal(status) || (expiresAt !== null && expiresAt <= now);
