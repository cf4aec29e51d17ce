import { type AcceptDeps, accept } from '../../flow/accept.ts';
import type { Caller } from '../../ground/caller.ts';
import { ApiError, refuse, refuseFields } from '../../ground/errors.ts';
import { gather } from '../../ground/gather.ts';
import type { Permission } from '../../ground/permissions.ts';
import { linkCharge } from '../../kinds/charge/by-link.ts';
import { linkCheckout } from '../../kinds/checkout/by-link.ts';
import { documentOf } from '../../kinds/due/terms.ts';
import { type LinkMethod, limitsOf, methodsOf } from '../../kinds/link/methods.ts';
import { isOfLink, nameless } from '../../kinds/link/takes-charge.ts';
import { isTerminal, type Payment } from '../../money/payment.ts';
import type { Queries } from '../../ports/sql.ts';
import type { CardPayer } from '../../provider/cards.ts';
import { requestKeyFor } from '../../store/rows/idempotency.ts';
import { findPublicLinks, type LinkPlace, type PublicLink } from '../../store/rows/payment-links.sql.ts';
import { paymentKey, payments } from '../../store/rows/payments.sql.ts';
import { cancelCharge } from '../charges/cancel.ts';
import { minutes } from '../checkouts/schema.ts';
import { gatherPlaces, type Place, type TakePlace } from './limits.ts';

/** The fields that a payer sends. Nothing else of a form is read: amount, currency and merchant of a fixed link are those of its row. */
export interface PayerForm {
  /** A UUID that the form was rendered with: the same form makes one charge by each method, however often it is sent. */
  formKey: string;
  /** Default: Pix. */
  method?: LinkMethod;
  /** For a link without an amount. */
  amountCents?: number;
  payerName?: string;
  /** CPF or CNPJ, as the payer wrote it. */
  payerDocument?: string;
  /**
   * For a new code or page, or the other method: the charge in whose place it is made. Its name, document and amount count where the form has none.
   */
  replaces?: string;
  /** Of the HTTP request. */
  requestId: string;
}

const charges: ReadonlySet<Permission> = new Set(['charges']);

/** The reads before a charge, which the payers of one moment share. */
interface Door {
  find(place: LinkPlace): Promise<PublicLink | undefined>;
  take: TakePlace;
}

/** Links in one statement. */
const linksMost = 256;
/** Least time between two of them while many pay: what comes together is accepted together as well. */
const paceMs = 20;

export type ChargeByLink = (link: LinkPlace, form: PayerForm, network: string) => Promise<Payment>;

/** The charges that payers make by the links of a cell. */
export function chargesByLinks(deps: AcceptDeps): ChargeByLink {
  const { sql, clock } = deps;
  const find = gather<LinkPlace, PublicLink | undefined>({ clock, most: linksMost, paceMs }, (places) =>
    findPublicLinks(sql, places),
  );
  const door: Door = { find, take: gatherPlaces(deps) };
  return (link, form, network) => chargeOfLink(deps, door, link, form, network);
}

/**
 * Makes the charge of a payer by a link, through the acceptance of every charge. A form with a fault is refused by two reads, which its address pays for as
 * a look at a page, and takes none of the places below. Those are taken before anything is written: ten a minute for a network, three hundred a minute for
 * an account, then under the lock those of the link. They hold with `RATE_LIMITS=off` too: that setting is for the limits of keys and addresses, which a
 * gateway may count instead, and no gateway knows whose link a stranger fills the provider's account with.
 * @param network of the caller, as `callerNetwork` gives it
 * @returns the charge; of a form that was sent before, the one that it made; the replaced one where it was paid or still may be
 * @throws ApiError `validation_failed`, `payment_link_not_found`, `payment_link_closed`, `payment_link_busy`, `payer_name_required`, `payer_document_required`, `payer_document_invalid`, `card_not_enabled`, `rate_limited`, and those of a charge
 */
async function chargeOfLink(
  deps: AcceptDeps,
  door: Door,
  { accountNumber, id: linkId }: LinkPlace,
  form: PayerForm,
  network: string,
): Promise<Payment> {
  const link = await door.find({ accountNumber, id: linkId });
  if (!link) throw refuse('payment_link_not_found');
  const { method = 'pix' } = form;
  requireMethod(link, method);
  const earlier = form.replaces === undefined ? undefined : await replaced(deps.sql, link, form.replaces);
  const payerName = form.payerName?.trim() || earlier?.payerName || '';
  if (link.nameField === 'required' && payerName === '') throw refuse('payer_name_required');
  const document = documentFor(deps, link, form, earlier);
  const amountCents = link.amountCents ?? form.amountCents ?? earlier?.amountCents;
  if (amountCents === undefined || !isOfLink(link, amountCents)) throw refuse('amount_out_of_limits');
  if (earlier && !mayTakePlaceOf(earlier, method, deps.clock.now())) return earlier;
  await door.take(placeOf(link, network));
  const caller: Caller = {
    ...{ accountId: link.accountId, accountNumber, operationId: link.operationId, operationNamed: true },
    ...{ test: link.test, connection: link.connection, chargeFallback: link.chargeFallback },
    ...{ keyId: null, permissions: charges, requestId: form.requestId },
  };
  const standing = earlier && (await stillStanding(deps, caller, link, earlier));
  if (standing) return standing;
  // Two tabs that ask for a new code in the place of the same old one get the same.
  const seed = earlier ? `replaces ${earlier.id}` : `form ${form.formKey}`;
  // A charge by Pix has the key that it had before there was a choice.
  const asked = [linkId, seed, amountCents, payerName, ...(document ? [document] : [])];
  const key = JSON.stringify(method === 'pix' ? asked : [...asked, method]);
  const order = {
    linkId,
    amountCents,
    payerName: link.nameField === 'none' || payerName === '' ? nameless : payerName,
    ...(document && { document }),
    description: link.title,
    requestKey: requestKeyFor(deps.identity, link.accountId, key),
    ...(link.metadata && { metadata: link.metadata }),
  };
  const { row } =
    method === 'pix'
      ? await accept(deps, linkCharge, caller, order)
      : await accept(deps, linkCheckout, caller, { ...order, expiresInMinutes: minutes.usual });
  return row;
}

/** @throws ApiError `validation_failed`, `card_not_enabled` */
function requireMethod(link: PublicLink, method: LinkMethod): void {
  const allowed = methodsOf(link);
  if (!allowed.includes(method)) throw refuseFields([{ field: 'method', code: 'not_one_of', allowed }]);
  if (limitsOf(method, link) === null) throw refuse('card_not_enabled');
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
  // That of a charge by Pix is sealed with the name, that of one by card with what its acquirer gets.
  const sealed = earlier?.linkPayer ?? earlier?.payer;
  const known = earlier && sealed ? documentIn(secrets, sealed, earlier.id) : undefined;
  if (documentField === 'required' && known === undefined) throw refuse('payer_document_required');
  return known;
}

function documentIn(secrets: AcceptDeps['secrets'], payer: Buffer, id: string): string | undefined {
  try {
    return (JSON.parse(secrets.open(payer, id).toString()) as CardPayer).document;
  } catch {
    return undefined;
  }
}

/** Charges that strangers make by links: by their network, and for the account of the link. */
export const chargesOfLink = {
  network: { most: 10, everyMs: 60_000 },
  account: { most: 300, everyMs: 60_000 },
};

const placeOf = ({ accountId }: PublicLink, network: string): Place => ({
  narrow: { id: `link-1-network ${network}`, ...chargesOfLink.network },
  wide: { id: `link-2-account ${accountId}`, ...chargesOfLink.account },
});

/**
 * Whether another charge may take the place of this one. A code whose time is over at the provider counts as ended. A page for a card does not, until its acquirer
 * has said so: one that is under way is never replaced.
 */
function mayTakePlaceOf(earlier: Payment, method: LinkMethod, now: number): boolean {
  const { status, card, expiresAt } = earlier;
  if (status === 'paid') return false;
  if (isTerminal(status)) return true;
  if (card !== null) return method === 'pix' && card.status !== 'processing';
  return method === 'card' || (expiresAt !== null && expiresAt <= now);
}

/**
 * Takes an old charge back whose end is not known yet, over the connection that it is on. A provider that cannot do that with a code, or does not answer, keeps
 * no payer from another one: a payment of the old one is booked as well. A page for a card is left standing until its acquirer has closed it.
 * @returns the old charge where it was paid meanwhile, or is a page that is not closed
 */
async function stillStanding(
  deps: AcceptDeps,
  caller: Caller,
  link: PublicLink,
  { id, status, card }: Payment,
): Promise<Payment | undefined> {
  if (isTerminal(status)) return undefined;
  const isPaid = await wasPaid(deps, caller, id);
  if (card === null && !isPaid) return undefined;
  const now = await replaced(deps.sql, link, id);
  return isTerminal(now.status) && now.status !== 'paid' ? undefined : now;
}

async function wasPaid(deps: AcceptDeps, caller: Caller, id: string): Promise<boolean> {
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
