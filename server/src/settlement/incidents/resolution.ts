import type { SubscribedTypes } from '../../events/subscribed-types.ts';
import {
  type ChainKey,
  type Command,
  type Decision,
  put,
  read,
  remove,
  type View,
  type Write,
} from '../../ledger/till.ts';
import type { Payment } from '../../payments/payment.ts';
import { paymentKey, payments } from '../../payments/payments.sql.ts';
import { type Ids, idsOf } from '../../ports/ids.ts';
import { intents } from '../dispatch/intents.sql.ts';
import { audits } from '../operator/audit.sql.ts';
import { OperatorRefused } from '../operator/operator.ts';
import { announce } from '../payment-events.ts';
import { type Action, type CaseFacts, type Ending, endingOf } from './endings.ts';
import { freezingIncidents, type IncidentCase, incidentCases } from './incidents.sql.ts';

/** What a person decides about an incident, and what was read of it before the lock. */
export interface ResolutionInput {
  incident: IncidentCase;
  action: Action;
  /** As the audit log keeps it. */
  reason: string;
  actor: string;
  connection: string;
  mainOperationId: string | null;
  /** The provider's id of the money in suspense; null: no money of this incident is in suspense. */
  reference: string | null;
  suspended: { cents: number; at: number } | undefined;
  /** For `unmatched`: a payment has posted the same Pix. */
  claimed: boolean;
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
  return {
    token,
    deadlineMs,
    chains: [account, own, heir].filter((chain) => chain !== null),
    reads: [
      read(incidentCases, caseKey),
      ...(key === null ? [] : [read(payments, key), read(intents, key)]),
      ...(freezingKey === null ? [] : [read(freezingIncidents, freezingKey)]),
    ],
    eventRefs: [],
    decide: (view, now) => {
      const incident = view.get(incidentCases, caseKey);
      if (!incident) throw new OperatorRefused('no such incident');
      if (incident.state === 'resolved') {
        // The resolution of this command, when the answer to COMMIT was lost.
        if (incident.resolution?.command === token) return { answer: incident };
        // `none` posted nothing, so another action may follow.
        if (incident.resolution?.action !== 'none' || input.action === 'none')
          throw new OperatorRefused('the incident is resolved already');
      }
      return resolved(view, input, incident, now);
    },
  };
}

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
  const ending = endingOf(incident, action, facts);
  const after: IncidentCase = {
    ...incident,
    state: 'resolved',
    resolvedAt: now,
    resolution: { action, reason, actor, command: token },
  };
  const ids = idsOf(token);
  const { freezingKey } = placesOf(input);
  const freezing = freezingKey === null ? undefined : view.get(freezingIncidents, freezingKey);
  const isLast = freezing?.ids.every((one) => one === incident.id);
  return {
    answer: after,
    postings: ending.postings,
    writes: [
      put(incidentCases, after),
      put(audits, auditOf(ids, input, now)),
      ...paymentWrites(ids, input, facts, ending),
    ],
    thaw: isLast && facts.own ? [facts.own] : [],
  };
}

function factsOf(view: View, input: ResolutionInput, now: number): CaseFacts {
  const { incident, reference, suspended, claimed } = input;
  const { account, own, heir, key } = placesOf(input);
  const isLive = (chain: ChainKey | null): chain is ChainKey =>
    chain !== null && view.balance(chain)?.deletedAt === null;
  return {
    now,
    incidentId: incident.id,
    payment: key === null ? undefined : view.get(payments, key),
    intent: key === null ? undefined : view.get(intents, key),
    account,
    own: isLive(own) ? own : null,
    heir: isLive(heir) ? heir : null,
    receivableCents: isLive(own) ? (view.balance(own)?.receivable ?? 0) : 0,
    reference,
    suspended,
    claimed,
  };
}

function auditOf(ids: Pick<Ids, 'uuid'>, { incident, action, reason, actor }: ResolutionInput, at: number) {
  const { accountId, id: subject, kind, paymentId, operationId, amountCents } = incident;
  const detail = { kind, action, paymentId, operationId, amountCents };
  return { accountId, id: ids.uuid(), at, actor, action: 'incident.resolve', subject, reason, detail };
}

function paymentWrites(
  ids: Pick<Ids, 'uuid'>,
  { connection, subscribed }: ResolutionInput,
  { payment, intent, own }: CaseFacts,
  ending: Ending,
): Write[] {
  const after: Payment | undefined = ending.payment;
  if (!payment || !after || after === payment) return [];
  return [
    put(payments, after),
    ...(ending.ends && intent ? [remove(intents, paymentKey(payment.accountId, payment.id))] : []),
    ...(own ? announce(ids, connection, after, payment.status, ending.events, subscribed) : []),
  ];
}
