import { requestsEndedWith } from '../../flow/requests-ended.ts';
import { linkWrites } from '../../kinds/link/link.ts';
import { type Adjusted, heldFromNowOn, holdReads } from '../../kinds/payment/hold-of-pix.ts';
import { announce, announceRefund } from '../../kinds/payment/payment-events.ts';
import { chargeAfter, heldLess } from '../../kinds/refund/outcome.ts';
import { claimReads, claimsIn } from '../../kinds/refund/pix-claims.ts';
import type { Notice, Payment } from '../../money/payment.ts';
import type { Refund } from '../../money/refund.ts';
import type { OpenedIncident } from '../../money/state.ts';
import { type Ids, idsOf } from '../../ports/ids.ts';
import type { SubscribedTypes } from '../../store/events/subscribed-types.ts';
import { OperatorRefused } from '../../store/operator.ts';
import { audits } from '../../store/rows/audit.sql.ts';
import {
  freezingIncidents,
  type Incident,
  type IncidentCase,
  incidentCases,
  incidents,
  isOddMoney,
  oddMoney,
  type SuspendedMoney,
} from '../../store/rows/incidents.sql.ts';
import { intents } from '../../store/rows/intents.sql.ts';
import { lostPayments } from '../../store/rows/lost-payments.sql.ts';
import { oddMoneyRules } from '../../store/rows/odd-money-rules.sql.ts';
import { paymentKey, payments } from '../../store/rows/payments.sql.ts';
import { refundKey, refunds } from '../../store/rows/refunds.sql.ts';
import { knownReturns, knownReturnsKey } from '../../store/rows/returns.sql.ts';
import { borneByOperation, suspenseOfPix } from '../../store/rows/suspense.sql.ts';
import {
  type ChainKey,
  type Command,
  type Decision,
  put,
  type Read,
  read,
  remove,
  type View,
  type Write,
} from '../../store/till.ts';
import { type Action, type CaseFacts, type Ending, endingOf, type NamedOwner } from './endings.ts';
import { requireOfMerchant } from './merchant-rule.ts';
import type { PayerReturnInput } from './return-to-payer.ts';

/** Where the money of a payment belongs that is not here, or that another connection has. */
export interface NamedPlace {
  paymentId: string;
  accountId: string;
  mainOperationId: string | null;
  /** Of the account: that of payments that name none. */
  firstConnection: string;
  /** The name of the Pix among the returns of unmatched money, under which what went back of it is kept. */
  pix: string;
  /** Of an account of another cell the payment as it is there, where there is one; absent: the account is of this cell. */
  elsewhere?: { payment: Payment | undefined };
}

export type Decider = 'operator' | 'rule' | 'merchant';

/** A person's decision about an incident, and the facts read before the lock. */
export interface ResolutionInput {
  incident: IncidentCase;
  action: Action;
  /** As the audit log keeps it. */
  reason: string;
  actor: string;
  /** Of the account: the first one is that of payments that name none. */
  test: boolean;
  firstConnection: string;
  mainOperationId: string | null;
  /** The provider's id of the money in suspense; null: no money of this incident is in suspense. */
  reference: string | null;
  suspended: SuspendedMoney | undefined;
  /** The key of all that stands in suspense of the same Pix; null: no money of this incident is in suspense. */
  money: string | null;
  /** For `unmatched`: a payment has posted the same Pix. */
  claimed: boolean;
  /** For the `credit` of `unmatched`: the account and the payment that the money's id names. */
  named: NamedPlace | null;
  /** Who decides: an operator, the account's rule for what goes back by itself, or a person of the account within the operator's rule. */
  decider: Decider;
  /** For `return`: what goes back to the payer is sent under this id. */
  returning: Omit<PayerReturnInput, 'token'> | null;
  /** The event types that this account's log keeps. */
  subscribed: SubscribedTypes;
  token: string;
  deadlineMs: number;
}

/**
 * Resolves an incident by the table in `endings.ts`, and unfreezes its operation when it was the last that froze it. Pure.
 * @throws OperatorRefused from `decide`: the incident is resolved already, or the action does not fit
 */
export function buildResolution(input: ResolutionInput): Command<IncidentCase> {
  const { token, deadlineMs } = input;
  const { account, own, heir, caseKey, key, freezingKey } = placesOf(input);
  const [ofRefund, intentKey] = [refundKeyOf(input.incident), intentKeyOf(input)];
  const { accountId, paymentId } = input.incident;
  return {
    token,
    deadlineMs,
    chains: [account, own, heir, operationOf(input.named)].filter((chain) => chain !== null),
    reads: [
      read(incidentCases, caseKey),
      ...(input.decider === 'merchant' ? [read(oddMoneyRules, accountId)] : []),
      ...(key === null ? [] : [read(payments, key), read(oddMoney, key)]),
      ...(ofRefund === null ? [] : [read(refunds, ofRefund)]),
      ...(intentKey === null ? [] : [read(intents, intentKey)]),
      ...(freezingKey === null ? [] : [read(freezingIncidents, freezingKey)]),
      ...disputeReads(input),
      ...lostKeysOf(input).map((one) => read(lostPayments, one)),
      ...namedReads(input),
      ...(input.money === null ? [] : [read(suspenseOfPix, input.money)]),
      ...borneKeysOf(input).map((one) => read(borneByOperation, one)),
      ...(input.returning === null || paymentId === null
        ? []
        : [
            read(refunds, refundKey(accountId, input.returning.refundId)),
            ...claimReads(accountId, paymentId),
          ]),
    ],
    eventRefs: [],
    decide: (view, now) => {
      const incident = view.get(incidentCases, caseKey);
      if (!incident) throw new OperatorRefused('no such incident');
      if (input.decider === 'rule' && incident.keptAt !== null)
        throw new OperatorRefused('a person keeps its money');
      if (incident.state === 'resolved') {
        // The resolution of this command, when the answer to COMMIT was lost.
        if (incident.resolution?.command === token) return { answer: incident };
        // `none` posted nothing, so another action may follow.
        if (incident.resolution?.action !== 'none' || input.action === 'none')
          throw new OperatorRefused('the incident is resolved already');
      }
      if (input.decider === 'merchant')
        requireOfMerchant(view.get(oddMoneyRules, accountId), incident, input.action);
      return resolved(view, input, incident, now);
    },
  };
}

/** A person keeps the money of an open incident: the account's rule does not send it back. Pure. */
export function buildKeep(input: {
  incident: IncidentCase;
  reason: string;
  actor: string;
  token: string;
  deadlineMs: number;
}): Command<IncidentCase> {
  const { incident, reason, actor, token, deadlineMs } = input;
  const { accountId, id } = incident;
  const key = accountId + id;
  return {
    token,
    deadlineMs,
    chains: [{ accountId, chainId: accountId }],
    reads: [read(incidentCases, key)],
    eventRefs: [],
    decide: (view, now) => {
      const found = view.get(incidentCases, key);
      if (!found) throw new OperatorRefused('no such incident');
      if (found.state === 'resolved') throw new OperatorRefused('the incident is resolved already');
      const kept = { ...found, keptAt: found.keptAt ?? now };
      const audit = {
        accountId,
        id: idsOf(token).uuid(),
        at: now,
        actor,
        action: 'incident.keep',
        subject: id,
        reason,
        detail: { kind: found.kind, paymentId: found.paymentId, amountCents: found.amountCents },
      };
      return { answer: kept, writes: [put(incidentCases, kept), put(audits, audit)] };
    },
  };
}

const operationOf = (named: NamedPlace | null): ChainKey | null =>
  named?.mainOperationId && !named.elsewhere
    ? { accountId: named.accountId, chainId: named.mainOperationId }
    : null;

const namedReads = ({ incident, named }: ResolutionInput): Read[] =>
  named === null
    ? []
    : [
        ...(named.elsewhere ? [] : [read(payments, paymentKey(named.accountId, named.paymentId))]),
        read(knownReturns, knownReturnsKey(incident.accountId, named.pix)),
      ];

function namedOf(view: View, { incident, named, suspended }: ResolutionInput): NamedOwner | null {
  if (named === null) return null;
  const { accountId, paymentId, pix, firstConnection } = named;
  const operation = operationOf(named);
  const isLive = operation !== null && view.balance(operation)?.deletedAt === null;
  const returns = view.get(knownReturns, knownReturnsKey(incident.accountId, pix))?.returns ?? [];
  const payment = named.elsewhere
    ? named.elsewhere.payment
    : view.get(payments, paymentKey(accountId, paymentId));
  // A lost charge may have been repeated on another connection before its own was made again. What that one then brings is posted nowhere.
  const isElsewhere =
    payment?.kind === 'deposit' && (payment.connection ?? firstConnection) !== suspended?.connection;
  const problem =
    payment && !isElsewhere
      ? 'the payment that it names is here: its money is posted there, or has an incident of its own'
      : returns.some(({ posted }) => posted)
        ? 'the Pix, or a part of it, went back already'
        : null;
  const subject = isElsewhere ? accountId : paymentId;
  const owed = named.elsewhere ? { accountId, paymentId, subject } : null;
  return { subject, operation: isLive ? operation : null, owed, problem };
}

/** Of the refund that the incident is about; null: it is about none. */
function refundKeyOf({ kind, accountId, reference }: IncidentCase): string | null {
  const [, id] = reference.split(':');
  return kind.startsWith('refund_') && id !== undefined ? refundKey(accountId, id) : null;
}

/** Of what the incident is about: the refund or the payment. */
const intentKeyOf = (input: ResolutionInput): string | null =>
  refundKeyOf(input.incident) ?? placesOf(input).key;

/** Chains and keys that the command concerns. */
function placesOf({ incident, mainOperationId }: ResolutionInput) {
  const { accountId, id, paymentId, operationId } = incident;
  const chainOf = (chainId: string | null): ChainKey | null =>
    chainId === null ? null : { accountId, chainId };
  return {
    account: { accountId, chainId: accountId },
    own: chainOf(operationId),
    heir: chainOf(mainOperationId),
    caseKey: accountId + id,
    key: paymentId === null ? null : paymentKey(accountId, paymentId),
    freezingKey: operationId === null ? null : accountId + operationId,
  };
}

function resolved(
  view: View,
  input: ResolutionInput,
  incident: IncidentCase,
  now: number,
): Decision<IncidentCase> {
  const { action, reason, actor, token } = input;
  const facts = factsOf(view, input, now);
  const ending = noticed(view, input, endingOf(incident, action, facts));
  const after: IncidentCase = {
    ...incident,
    state: 'resolved',
    resolvedAt: now,
    resolution: { action, reason, actor, command: token, ...(ending.owed && { owed: ending.owed }) },
  };
  const ids = idsOf(token);
  const { freezingKey } = placesOf(input);
  const held = heldOf(view, input, facts, ending);
  const freezing = freezingKey === null ? undefined : view.get(freezingIncidents, freezingKey);
  const isLast = freezing?.ids.every((one) => one === incident.id);
  return {
    answer: after,
    // The hold was counted as it stands before money that comes in fills it.
    postings: [...(held?.postings ?? []), ...ending.postings],
    writes: [
      put(incidentCases, after),
      put(audits, auditOf(ids, input, now)),
      ...requestWritesOf(view, ids, input, facts, ending),
      ...paymentWrites(ids, input, facts, ending),
      ...linkWritesOf(view, ids, input, facts, ending),
      ...refundWrites(ids, input, facts, ending),
      ...toPayerWrites(ending),
      ...lostWrites(view, input, now),
      ...(held?.writes ?? []),
    ],
    thaw: isLast && facts.own ? [facts.own] : [],
  };
}

const oddNotice: Partial<Record<Action, Notice>> = {
  credit: 'odd_credited',
  return: 'odd_returned',
  writeoff: 'odd_kept',
};

/** The notice says what is true now: money that was decided about does not wait for review any more, unless more of the payment does. */
function noticed(view: View, { incident, action }: ResolutionInput, ending: Ending): Ending {
  const { payment } = ending;
  const notice = oddNotice[action];
  if (!payment || !notice || !isOddMoney(incident.kind)) return ending;
  const others = view.get(oddMoney, paymentKey(payment.accountId, payment.id))?.ids ?? [];
  if (others.some((id) => id !== incident.id)) return ending;
  return { ...ending, payment: { ...payment, notice } };
}

function factsOf(view: View, input: ResolutionInput, now: number): CaseFacts {
  const { incident, reference, suspended, money, claimed, firstConnection } = input;
  const ofPix = money === null ? undefined : view.get(suspenseOfPix, money);
  const { leftCents = 0, creditedCents = 0 } = ofPix ?? {};
  const { account, own, heir, key } = placesOf(input);
  const payment = key === null ? undefined : view.get(payments, key);
  const [ofRefund, intentKey] = [refundKeyOf(incident), intentKeyOf(input)];
  const isLive = (chain: ChainKey | null): chain is ChainKey =>
    chain !== null && view.balance(chain)?.deletedAt === null;
  return {
    now,
    incidentId: incident.id,
    payment,
    intent: intentKey === null ? undefined : view.get(intents, intentKey),
    refund: ofRefund === null ? undefined : view.get(refunds, ofRefund),
    account,
    own: isLive(own) ? own : null,
    heir: isLive(heir) ? heir : null,
    receivableCents: isLive(own) ? (view.balance(own)?.receivable ?? 0) : 0,
    reference,
    suspended: suspended && { ...suspended, leftCents, creditedCents },
    borneCents: borneKeysOf(input).reduce(
      (sum, one) => sum + (view.get(borneByOperation, one)?.cents ?? 0),
      0,
    ),
    claimed,
    named: namedOf(view, input),
    connection: payment?.connection ?? suspended?.connection ?? firstConnection,
    returning: returningOf(view, input),
  };
}

function returningOf(view: View, { incident, returning, token }: ResolutionInput): CaseFacts['returning'] {
  const { accountId, paymentId } = incident;
  if (returning === null || paymentId === null) return null;
  return { ...returning, token, ...claimsIn(view, accountId, paymentId) };
}

/** A credit makes a Pix in suspense the merchant's, and a refund that is carried out takes of what is held. */
function disputeReads({ incident, action }: ResolutionInput): Read[] {
  const { accountId, operationId, paymentId } = incident;
  if ((action !== 'credit' && action !== 'debit') || operationId === null || paymentId === null) return [];
  return [
    ...holdReads(accountId, operationId, paymentId),
    read(knownReturns, knownReturnsKey(accountId, paymentId)),
  ];
}

/** Of the payment whose end the provider contradicts. */
const borneKeysOf = ({ incident: { kind, accountId, paymentId } }: ResolutionInput): string[] =>
  kind === 'contradiction' && paymentId !== null ? [paymentKey(accountId, paymentId)] : [];

/** Of the payout that a provider has and the books lack, or of the charge whose money is credited. */
const lostKeysOf = ({ incident: { accountId, kind, reference }, named }: ResolutionInput): string[] => {
  if (kind === 'lost_payout') return [paymentKey(accountId, reference.slice('lost:'.length))];
  return named === null || named.elsewhere ? [] : [paymentKey(named.accountId, named.paymentId)];
};

/** A person has decided: a payout no longer stops the account's withdrawals. */
const lostWrites = (view: View, input: ResolutionInput, now: number): Write[] =>
  lostKeysOf(input).flatMap((key) => {
    const lost = view.get(lostPayments, key);
    return lost ? [put(lostPayments, { ...lost, decidedAt: lost.decidedAt ?? now })] : [];
  });

/** The hold of a disputed Pix that this decision credits, or of which it ends a refund. */
function heldOf(
  view: View,
  { action, token }: ResolutionInput,
  { own, reference: endToEnd, suspended, now }: CaseFacts,
  { payment, refund }: Ending,
): Pick<Adjusted, 'postings' | 'writes'> | null {
  if (!own || !payment) return null;
  if (refund) return heldLess(view, chargeAfter(refund, payment, now), token, now);
  if (action !== 'credit' || endToEnd === null || !suspended) return null;
  const { cents } = suspended;
  return heldFromNowOn(view, { chain: own, paymentId: payment.id, endToEnd, cents, token }, now);
}

/** The refund, and the intent that sends it: both commit with the decision, before anything goes to the provider. */
const toPayerWrites = ({ toPayer }: Ending): Write[] =>
  toPayer ? [put(refunds, toPayer.refund), put(intents, toPayer.intent)] : [];

function auditOf(ids: Pick<Ids, 'uuid'>, { incident, action, reason, actor }: ResolutionInput, at: number) {
  const { accountId, id: subject, kind, paymentId, operationId, amountCents } = incident;
  const detail = { kind, action, paymentId, operationId, amountCents };
  return { accountId, id: ids.uuid(), at, actor, action: 'incident.resolve', subject, reason, detail };
}

/** A person may end a charge, or credit one that had ended: its link counts that as well. */
const linkWritesOf = (
  view: View,
  ids: Pick<Ids, 'uuid'>,
  { test }: ResolutionInput,
  { payment, own }: CaseFacts,
  { payment: after }: Ending,
): Write[] =>
  payment && after ? linkWrites(view, payment, after, { ids, livemode: !test, silent: own === null }) : [];

function requestWritesOf(
  view: View,
  ids: Pick<Ids, 'uuid'>,
  { test }: ResolutionInput,
  { payment, own, now }: CaseFacts,
  { payment: after }: Ending,
): Write[] {
  if (!payment || !after) return [];
  return requestsEndedWith(view, payment, after, { ids, livemode: !test, silent: own === null }, now);
}

function refundWrites(
  ids: Pick<Ids, 'uuid'>,
  { incident, test, subscribed }: ResolutionInput,
  { payment, refund, intent, own, now }: CaseFacts,
  { refund: step }: Ending,
): Write[] {
  const key = refundKeyOf(incident);
  if (!step || !payment || !refund || key === null) return [];
  const charge = chargeAfter(step, payment, now);
  return [
    put(refunds, step.refund),
    ...(charge === payment ? [] : [put(payments, charge)]),
    ...(intent ? [remove(intents, key)] : []),
    ...(own ? announceRefund(ids, !test, refund, step, charge, subscribed) : []),
    ...(step.incident ? [put(incidents, openedOf(ids.uuid(), incident, refund, step.incident, now))] : []),
  ];
}

/** The incident that a decision about a return opens: its money stands in suspense again. */
const openedOf = (
  id: string,
  { accountId, paymentId, operationId }: IncidentCase,
  { id: refundId, status }: Refund,
  { kind, reference, amountCents, freezes }: OpenedIncident,
  openedAt: number,
): Incident => ({
  accountId,
  id,
  kind,
  paymentId,
  operationId,
  amountCents,
  reference,
  freezes,
  detail: { refundId, status, from: 'operator' },
  openedAt,
});

function paymentWrites(
  ids: Pick<Ids, 'uuid'>,
  { test, subscribed }: ResolutionInput,
  { payment, intent, own, now }: CaseFacts,
  ending: Ending,
): Write[] {
  const after: Payment | undefined = ending.payment;
  if (!payment || !after || after === payment) return [];
  const updatedAt =
    after.updatedAt > payment.updatedAt ? after.updatedAt : Math.max(now, payment.updatedAt + 1);
  return [
    put(payments, { ...after, updatedAt }),
    ...(ending.ends && intent ? [remove(intents, paymentKey(payment.accountId, payment.id))] : []),
    ...(own ? announce(ids, !test, after, payment.status, ending.events, subscribed) : []),
  ];
}
