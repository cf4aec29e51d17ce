import { subscribedBy, subscribedTypes } from '../../events/subscribed-types.ts';
import { eventKinds } from '../../ledger/journal.ts';
import { type ChainKey, createTill, type Posting, put, read, remove, type Write } from '../../ledger/till.ts';
import { type Cause, type Payment, type PaymentStatus, paymentIdOf } from '../../payments/payment.ts';
import { paymentKey, payments } from '../../payments/payments.sql.ts';
import { firstWord, next, type PaymentEvent, type PaymentEventType } from '../../payments/state.ts';
import type { Intent } from '../dispatch/intent.ts';
import { intents } from '../dispatch/intents.sql.ts';
import { audits, installationId } from '../operator/audit.sql.ts';
import { type Operator, OperatorRefused, operatorWaitMs, reasonOf } from '../operator/operator.ts';
import { announce } from '../payment-events.ts';
import {
  findClaimant,
  findIncident,
  findIncidents,
  findPlaceOf,
  findSuspended,
  freezingIncidents,
  type IncidentCase,
  incidentCases,
  incidentKey,
  incidents,
} from './incidents.sql.ts';

/**
 * How a person ends an incident. Nothing else does, nothing else ends a freeze, and money is posted once.
 *
 * R is what stands in suspense (negative: what left without an owner), G, N, f a transfer's gross, net and fee, X the reported amount.
 * *Operation* is the one that owns the payment. Where it was deleted, a `credit` goes to the account's main operation (the money is the
 * merchant's), and nothing is ever taken from another operation. A dash: refused.
 *
 * | Incident | `credit` | `debit` | `writeoff` |
 * |---|---|---|---|
 * | `amount_mismatch`, charge open or expired | R − fee to the operation (a fee above R becomes R); `paid` with that net | – | R is ours; an open charge becomes `expired` |
 * | the same, charge paid or failed by now; `second_payment`, `failed_charge_paid` | R to the operation, without a fee: it was charged once or never | – | R is ours |
 * | `return_exceeds` | R to the operation | – | R is ours |
 * | `deleted_operation`, money in | R to the main operation, less the fee where it is the payment that made the charge `paid` | – | R is ours |
 * | `deleted_operation`, money out | – | – (no other operation covers it) | our loss |
 * | `unmatched` | taken back out of suspense: a payment of ours has posted the same Pix by itself since (it must exist) | – | ours, or our loss |
 * | `debit` (already taken from the merchant) | – | – | what the merchant still owes of it is forgiven |
 * | `debit` of money that stood in suspense (R < 0) | – | taken from the operation, for when that money had been credited to it | our loss |
 * | `report_mismatch`, transfer unfinished | it did not leave: `cancelled`, reserve released | it left: `completed`; N − X comes back as a return; what X is above N is our loss, since the merchant agreed to G | X left at our cost: `cancelled`, reserve released, X our loss |
 * | `report_mismatch`, transfer cancelled | – | X and f are taken, at most G in all; above that our loss | X our loss |
 * | `report_mismatch`, charge unfinished | – | – | `expired` (whoever still pays it makes a new incident) |
 * | `contradiction`: cancelled, then completed | – | N and f are taken; what is missing becomes a debt; the state stays | N our loss |
 * | `contradiction`: cancelled, then returned | X to the operation (after a `debit` of the one above) | – | X is ours (after a `writeoff` of it) |
 * | `contradiction`: completed, then refused | what had left and f come back to the operation; the state stays | – | – |
 * | `undecided`, transfer | `cancelled`, reserve released | `completed` | – |
 * | `undecided`, charge | – | – | `failed` |
 * | `unreadable` | – | – | – |
 * | `divergence` | – | – | – |
 *
 * `none` is always allowed: it was looked at, and nothing is posted. Money in suspense then stays there, with a resolved incident
 * that says why; a payment that is unfinished is followed up as before (a charge that the provider calls paid stays open). Since
 * nothing was posted, one of the other actions may follow later; every other action is the last.
 *
 * Where the payment has moved on by itself (an `undecided` transfer that completed), only `none` is left.
 */
export const actions = ['credit', 'debit', 'writeoff', 'none'] as const;
export type Action = (typeof actions)[number];

export const isAction = (text: string): text is Action => (actions as readonly string[]).includes(text);

export interface IncidentView {
  id: string;
  accountId: string;
  kind: string;
  paymentId: string | null;
  operationId: string | null;
  amountCents: number;
  state: 'open' | 'resolved';
  freezes: boolean;
  /** ms since 1970. */
  openedAt: number;
  resolvedAt: number | null;
  resolution: { action: string; reason: string; actor: string } | null;
  reference: string;
  detail: object;
}

const listMost = 1_000;

/** The newest first, at most a thousand. */
export async function listIncidents(
  { sql, clock }: Pick<Operator, 'sql' | 'clock'>,
  accountId: string | null,
): Promise<IncidentView[]> {
  const before = { openedAt: clock.now() + 86_400_000, id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };
  return (await findIncidents(sql, accountId, before, listMost)).map(viewOf);
}

/** @throws OperatorRefused no such incident */
export async function showIncident({ sql }: Pick<Operator, 'sql'>, id: string): Promise<IncidentView> {
  const incident = await findIncident(sql, id);
  if (!incident) throw new OperatorRefused('no such incident');
  return viewOf(incident);
}

const viewOf = (incident: IncidentCase): IncidentView => ({
  id: incident.id,
  accountId: incident.accountId,
  kind: incident.kind,
  paymentId: incident.paymentId,
  operationId: incident.operationId,
  amountCents: incident.amountCents,
  state: incident.state,
  freezes: incident.freezes,
  openedAt: incident.openedAt,
  resolvedAt: incident.resolvedAt,
  resolution: incident.resolution && {
    action: incident.resolution.action,
    reason: incident.resolution.reason,
    actor: incident.resolution.actor,
  },
  reference: incident.reference,
  detail: incident.detail,
});

/**
 * Resolves an open incident and unfreezes its operation if it was the last that froze it.
 *
 * @throws OperatorRefused no such incident, resolved already, or an action that does not fit
 */
export async function resolveIncident(
  operator: Operator,
  id: string,
  wanted: { action: Action; reason: string },
): Promise<IncidentView> {
  const { action } = wanted;
  const reason = reasonOf(wanted.reason);
  const known = await findIncident(operator.sql, id);
  if (!known) throw new OperatorRefused('no such incident');
  const { accountId, paymentId, operationId } = known;
  const place = await findPlaceOf(operator.sql, accountId);
  if (!place) throw new OperatorRefused('no such account');
  const reference = suspenseReferenceOf(known);
  const suspended =
    reference === null
      ? undefined
      : await findSuspended(operator.sql, {
          accountId,
          subject: paymentId ?? accountId,
          event: eventKinds.suspense,
          reference,
        });
  const claimed =
    known.kind === 'unmatched' && action === 'credit' && reference !== null
      ? (await findClaimant(operator.sql, reference, paymentIdOf(reference))) !== undefined
      : false;

  const kept = await subscribedBy({ subscribed: subscribedTypes(operator) }, accountId);
  const account: ChainKey = { accountId, chainId: accountId };
  const own: ChainKey | null = operationId === null ? null : { accountId, chainId: operationId };
  const heir: ChainKey | null =
    place.mainOperationId === null ? null : { accountId, chainId: place.mainOperationId };
  const caseKey = accountId + id;
  const key = paymentId === null ? null : paymentKey(accountId, paymentId);
  const token = operator.ids.uuid();
  const chains = [account, own, heir].filter((chain) => chain !== null);
  // A till of its own: its batch is this command alone, so what was read under the lock is all there is.
  return createTill(operator).submit<IncidentView>({
    token,
    deadlineMs: operator.clock.monotonicMs() + operatorWaitMs,
    chains,
    reads: [
      read(incidentCases, caseKey),
      ...(key === null ? [] : [read(payments, key), read(intents, key)]),
      ...(operationId === null ? [] : [read(freezingIncidents, accountId + operationId)]),
    ],
    eventRefs: [],
    decide: (view) => {
      const incident = view.get(incidentCases, caseKey);
      if (!incident) throw new OperatorRefused('no such incident');
      if (incident.state === 'resolved') {
        // Our own, when the answer to COMMIT was lost.
        if (incident.resolution?.command === token) return { answer: viewOf(incident) };
        // Nothing was posted by `none`, so the money may still be decided about.
        if (incident.resolution?.action !== 'none' || action === 'none')
          throw new OperatorRefused('the incident is resolved already');
      }
      const now = operator.clock.now();
      const payment = key === null ? undefined : view.get(payments, key);
      const ownBalance = own === null ? undefined : view.balance(own);
      const live = ownBalance && ownBalance.deletedAt === null ? own : null;
      const heirLives = heir !== null && view.balance(heir)?.deletedAt === null;
      const ending = endingOf(incident, action, {
        now,
        incidentId: id,
        payment,
        intent: key === null ? undefined : view.get(intents, key),
        account,
        own: live,
        heir: heirLives ? heir : null,
        receivableCents: live && ownBalance ? ownBalance.receivable : 0,
        reference,
        suspended,
        claimed,
      });
      const resolved: IncidentCase = {
        ...incident,
        state: 'resolved',
        resolvedAt: now,
        resolution: { action, reason, actor: operator.actor, command: token },
      };
      const audit = {
        accountId,
        id: operator.ids.uuid(),
        at: now,
        actor: operator.actor,
        action: 'incident.resolve',
        subject: id,
        reason,
        detail: { kind: incident.kind, action, paymentId, operationId, amountCents: incident.amountCents },
      };
      const writes: Write[] = [put(incidentCases, resolved), put(audits, audit)];
      if (payment && key !== null && ending.payment !== payment) {
        writes.push(put(payments, ending.payment as Payment));
        if (ending.ends && view.get(intents, key)) writes.push(remove(intents, key));
        if (live) {
          writes.push(
            ...announce(
              operator,
              place.connection,
              ending.payment as Payment,
              payment.status as PaymentStatus,
              ending.events,
              kept,
            ),
          );
        }
      }
      const freezing =
        operationId === null ? undefined : view.get(freezingIncidents, accountId + operationId);
      const last = freezing?.ids.every((one) => one === id);
      return {
        answer: viewOf(resolved),
        postings: ending.postings,
        writes,
        thaw: last && live ? [live] : [],
      };
    },
  });
}

/** The provider's id under which an incident's money stands in suspense; null when none of it does. */
function suspenseReferenceOf({ reference, paymentId }: IncidentCase): string | null {
  if (reference.startsWith('unmatched:')) return reference.slice('unmatched:'.length);
  const ofPayment = `suspense:${paymentId}:`;
  return reference.startsWith(ofPayment) ? reference.slice(ofPayment.length) : null;
}

interface Facts {
  now: number;
  incidentId: string;
  payment: Payment | undefined;
  intent: Intent | undefined;
  account: ChainKey;
  /** The payment's operation, while it lives. */
  own: ChainKey | null;
  /** The account's main operation. */
  heir: ChainKey | null;
  receivableCents: number;
  /** The provider's id of the money in suspense. */
  reference: string | null;
  suspended: { cents: number; at: number } | undefined;
  /** For `unmatched`: a payment has posted the same Pix. */
  claimed: boolean;
}

interface Outcome {
  payment: Payment | undefined;
  postings: Posting[];
  events: PaymentEventType[];
  /** The payment is over: it is not followed up any more. */
  ends: boolean;
}

/** The table above. @throws OperatorRefused an action that does not fit */
function endingOf(incident: IncidentCase, action: Action, facts: Facts): Outcome {
  const untouched: Outcome = { payment: facts.payment, postings: [], events: [], ends: false };
  if (action === 'none') return untouched;
  const unfit = new OperatorRefused(`${action} does not fit this incident (${incident.kind})`);
  const { payment, account, own } = facts;
  const target = own ?? facts.heir;
  const post = (chain: ChainKey, movement: Posting['movement'], more = ''): Posting => ({
    chain,
    subject: incident.paymentId ?? account.accountId,
    event: eventKinds.resolution,
    reference: facts.incidentId + more,
    movement,
    effectiveAt: facts.now,
  });
  const open = payment !== undefined && (payment.status === 'unknown' || payment.status === 'pending');
  const cause: Cause = { by: 'operator', id: facts.incidentId };
  const first = (charge: Payment) => firstWord(charge, cause);
  const step = (event: PaymentEvent): Outcome => {
    if (!payment || !own) throw unfit;
    if (facts.intent?.state === 'sending') {
      throw new OperatorRefused('it is being sent at this moment: wait until the attempt has ended');
    }
    const made = next(payment, event, {
      now: facts.now,
      cause,
      operationDeleted: false,
      incidentOpen: false,
      posted: () => false,
      knowsReturn: () => false,
      isPixKey: () => true,
    });
    if (!made) throw unfit;
    const postings = made.postings.map((posting) => ({ ...posting, chain: own, subject: payment.id }));
    return { payment: made.payment, postings, events: made.events, ends: true };
  };
  const cancel = (): Outcome => step({ type: 'refused', reason: 'cancelled_by_operator' });
  const complete = (transfer: Payment): Outcome =>
    step({
      type: 'payoutCompleted',
      amountCents: transfer.amountCents - transfer.feeCents,
      pixKey: null,
      endToEnd: null,
      settledAt: null,
    });

  switch (incident.kind) {
    case 'amount_mismatch':
    case 'second_payment':
    case 'failed_charge_paid':
    case 'return_exceeds':
    case 'deleted_operation': {
      if (!facts.suspended) throw new OperatorRefused('nothing of it stands in suspense');
      const { cents, at } = facts.suspended;
      if (action === 'debit') throw unfit;
      if (action === 'writeoff') {
        const postings = [post(account, { kind: 'writeOff', amountCents: cents })];
        if (incident.kind !== 'amount_mismatch' || !payment || !open) return { ...untouched, postings };
        const expired = entered(payment, 'expired', facts, {});
        return { payment: expired, postings, events: [...first(payment), 'charge.expired'], ends: true };
      }
      if (cents < 0 || target === null) throw unfit;
      if (incident.kind === 'amount_mismatch' && payment && own && (open || payment.status === 'expired')) {
        const feeCents = Math.min(payment.feeCents, cents);
        const paid = entered(payment, 'paid', facts, {
          endToEnd: facts.reference,
          paidAt: at,
          settledAt: facts.now,
          providerFeeCents: feeCents,
          netAmountCents: cents - feeCents,
        });
        const postings = [post(own, { kind: 'settle', amountCents: cents, feeCents })];
        return { payment: paid, postings, events: [...first(payment), 'charge.paid'], ends: true };
      }
      const settles = incident.kind === 'deleted_operation' && payment?.endToEnd === facts.reference;
      const feeCents = settles && payment?.kind === 'deposit' ? Math.min(payment.feeCents, cents) : 0;
      return { ...untouched, postings: [post(target, { kind: 'claim', amountCents: cents, feeCents })] };
    }

    case 'unmatched': {
      if (!facts.suspended) throw new OperatorRefused('nothing of it stands in suspense');
      const { cents } = facts.suspended;
      if (action === 'writeoff')
        return { ...untouched, postings: [post(account, { kind: 'writeOff', amountCents: cents })] };
      if (action !== 'credit') throw unfit;
      if (!facts.claimed) throw new OperatorRefused('no payment has posted this Pix');
      return { ...untouched, postings: [post(account, { kind: 'suspend', amountCents: -cents })] };
    }

    case 'debit': {
      if (facts.suspended) {
        const { cents } = facts.suspended;
        if (action === 'writeoff')
          return { ...untouched, postings: [post(account, { kind: 'writeOff', amountCents: cents })] };
        if (action !== 'debit' || !own) throw unfit;
        return { ...untouched, postings: [post(own, { kind: 'reclaim', amountCents: -cents })] };
      }
      const amountCents = Math.min(facts.receivableCents, incident.amountCents);
      if (action !== 'writeoff' || !own) throw unfit;
      if (amountCents === 0) throw new OperatorRefused('nothing of it is owed any more');
      return { ...untouched, postings: [post(own, { kind: 'forgive', amountCents })] };
    }

    case 'report_mismatch': {
      if (!payment) throw unfit;
      const reported = incident.amountCents;
      if (payment.kind === 'deposit') {
        if (action !== 'writeoff' || !open) throw unfit;
        const expired = entered(payment, 'expired', facts, {});
        return { payment: expired, postings: [], events: [...first(payment), 'charge.expired'], ends: true };
      }
      const net = payment.amountCents - payment.feeCents;
      const bear = (amountCents: number, more = ''): Posting[] =>
        amountCents > 0 ? [post(own ?? account, { kind: 'bear', amountCents }, more)] : [];
      if (open) {
        if (action === 'credit') return cancel();
        if (action === 'writeoff') {
          const cancelled = cancel();
          return { ...cancelled, postings: [...cancelled.postings, ...bear(reported)] };
        }
        const completed = complete(payment);
        if (reported >= net)
          return { ...completed, postings: [...completed.postings, ...bear(reported - net)] };
        const amountCents = net - reported;
        const { payment: after, postings, events } = completed;
        return {
          payment: after && { ...after, returnedCents: amountCents, notice: 'returned' },
          // As a return, so that what came back of a transfer is always the sum of its returns.
          postings: [
            ...postings,
            {
              ...post(own as ChainKey, { kind: 'return', amountCents }),
              event: eventKinds.return,
            },
          ],
          events: [...events, 'transfer.returned'],
          ends: true,
        };
      }
      if (payment.status !== 'cancelled') throw unfit;
      if (action === 'writeoff') return { ...untouched, postings: bear(reported) };
      if (action !== 'debit' || !own) throw unfit;
      const netCents = Math.min(reported, net);
      const recover = post(own, { kind: 'recover', netCents, feeCents: payment.feeCents });
      return { ...untouched, postings: [recover, ...bear(reported - netCents, ':above')] };
    }

    case 'contradiction': {
      if (!payment) throw unfit;
      const net = payment.amountCents - payment.feeCents;
      // `contradiction:<payment>:<what was reported>`, and for a return the provider's id of it.
      const reported = incident.reference.split(':')[2];
      const amountCents = incident.amountCents;
      if (reported === 'completed') {
        if (action === 'writeoff')
          return { ...untouched, postings: [post(own ?? account, { kind: 'bear', amountCents })] };
        if (action !== 'debit' || !own) throw unfit;
        const movement = { kind: 'recover', netCents: net, feeCents: payment.feeCents } as const;
        return { ...untouched, postings: [post(own, movement)] };
      }
      if (reported === 'returned') {
        if (action === 'writeoff')
          return {
            ...untouched,
            postings: [post(own ?? account, { kind: 'bear', amountCents: -amountCents })],
          };
        if (action !== 'credit' || !target) throw unfit;
        return { ...untouched, postings: [post(target, { kind: 'return', amountCents })] };
      }
      const left = net - payment.returnedCents;
      if (action !== 'credit' || !target || left === 0) throw unfit;
      const movement = { kind: 'reinstate', netCents: left, feeCents: payment.feeCents } as const;
      return { ...untouched, postings: [post(target, movement)] };
    }

    case 'undecided': {
      if (!payment || !open) throw unfit;
      if (payment.kind === 'deposit') {
        if (action !== 'writeoff') throw unfit;
        return cancel();
      }
      if (action === 'credit') return cancel();
      if (action === 'debit') return complete(payment);
      throw unfit;
    }

    case 'unreadable':
    case 'divergence':
      throw unfit;
  }
}

/** A state that no word of the provider's leads to, but a person's. */
function entered(payment: Payment, status: PaymentStatus, facts: Facts, news: Partial<Payment>): Payment {
  const updatedAt = Math.max(facts.now, payment.updatedAt + 1);
  const cause: Cause = { by: 'operator', id: facts.incidentId };
  const step = { status, at: new Date(updatedAt).toISOString(), cause };
  return { ...payment, ...news, status, updatedAt, history: [...payment.history, step] };
}

export interface DivergenceFound {
  /** Null: of the installation. */
  accountId: string | null;
  operationId: string | null;
  paymentId: string | null;
  /** The broken invariant's number. */
  invariant: number;
  fault: string;
}

/** What a pass of `verify` found, as it is recorded. */
export const divergencesOf = (
  checks: readonly {
    number: number;
    violations: readonly Omit<DivergenceFound, 'invariant'>[];
  }[],
): DivergenceFound[] =>
  checks.flatMap(({ number, violations }) => violations.map((one) => ({ ...one, invariant: number })));

/** Of one account and invariant; one broken chain can break everything that follows. */
const divergencesMost = 20;

/**
 * Records what `verify` found, so that it blocks until a person has looked. What a person has resolved once is not opened again;
 * the same place with another fault is. Nothing is repaired.
 * @returns how many incidents were opened
 */
export async function recordDivergences(
  operator: Operator,
  found: readonly DivergenceFound[],
): Promise<number> {
  const counts = new Map<string, number>();
  let opened = 0;
  for (const one of found) {
    const accountId = one.accountId ?? installationId;
    const group = `${accountId}/${one.invariant}`;
    const count = (counts.get(group) ?? 0) + 1;
    counts.set(group, count);
    if (count > divergencesMost) continue;
    const where = one.paymentId ?? one.operationId ?? accountId;
    const reference = `divergence:${one.invariant}:${where}:${one.fault}`.slice(0, 400);
    const chain = { accountId, chainId: accountId };
    const key = incidentKey(accountId, reference);
    const isNew = await createTill(operator).submit<boolean>({
      token: operator.ids.uuid(),
      deadlineMs: operator.clock.monotonicMs() + operatorWaitMs,
      chains: [chain],
      reads: [read(incidents, key)],
      eventRefs: [],
      decide: (view) => {
        if (view.get(incidents, key)) return { answer: false };
        const incident = {
          accountId,
          id: operator.ids.uuid(),
          kind: 'divergence' as const,
          paymentId: one.paymentId,
          operationId: one.operationId,
          amountCents: 0,
          reference,
          freezes: false,
          detail: { invariant: one.invariant, fault: one.fault },
          openedAt: operator.clock.now(),
        };
        return { answer: true, writes: [put(incidents, incident)] };
      },
    });
    if (isNew) opened++;
  }
  return opened;
}
