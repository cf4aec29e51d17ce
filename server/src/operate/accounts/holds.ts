import type { Movement } from '../../money/decide.ts';
import { type EventKind, eventKinds } from '../../money/journal.ts';
import { idsOf } from '../../ports/ids.ts';
import { type Operator, OperatorRefused, operatorWaitMs, reasonOf } from '../../store/operator.ts';
import { audits } from '../../store/rows/audit.sql.ts';
import { disputesKey, disputesOfPayment, findPaymentOfHold } from '../../store/rows/disputes.sql.ts';
import {
  findAccountOf,
  findHold,
  findHolds,
  type Hold,
  holds,
  openHolds,
  openHoldsAfter,
  sharesOf,
} from '../../store/rows/holds.sql.ts';
import {
  type ChainKey,
  type Command,
  createTill,
  type Posting,
  put,
  read,
  type View,
  type Write,
} from '../../store/till.ts';

/**
 * Administrative holds: an operator blocks a part of an operation's balance.
 *
 * A hold captures at once what is available, and of every later credit what is still missing (after the operation's debt, see
 * `money/decide.ts`). It may be larger than the balance; it never touches a reserve.
 *
 * **Several holds on one operation** share the captured money in the order in which they were placed. The share is derived and not
 * stored: the balance row has the sums of all holds, and their order gives each its share. A stored share would have to be updated by every
 * credit, on rows that credits do not lock.
 *
 * When a hold is released, its share is distributed like new money: to the debt, to the other holds that miss
 * something, to the merchant.
 */
export interface HoldView {
  id: string;
  operationId: string;
  amountCents: number;
  /** Of the amount, what is captured at this moment. */
  capturedCents: number;
  reason: string;
  placedBy: string;
  /** ms since 1970. */
  placedAt: number;
  releasedAt: number | null;
  /** The person who released it; null: it is open, or what it was placed for has ended. */
  releasedBy: string | null;
}

/**
 * @param wanted `requestKey`: a UUID of one wish of a person; what it has placed is not placed again
 * @throws OperatorRefused no such live operation; the hold of this key stands already
 */
export async function placeHold(
  operator: Operator,
  wanted: { operationId: string; amountCents: number; reason: string; requestKey?: string },
): Promise<HoldView> {
  const { operationId, amountCents } = wanted;
  const reason = reasonOf(wanted.reason);
  if (!Number.isSafeInteger(amountCents) || amountCents < 1)
    throw new OperatorRefused('a hold is at least 1 cent');
  const accountId = await findAccountOf(operator.sql, operationId);
  if (accountId === undefined) throw new OperatorRefused('no such operation');
  const { requestKey } = wanted;
  // Never the key itself: a person could name a payment by it.
  const token = requestKey === undefined ? operator.ids.uuid() : idsOf(requestKey).uuid();
  const deadlineMs = operator.clock.monotonicMs() + operatorWaitMs;
  const { actor } = operator;
  // A till of its own: its batch is this command alone, so the view holds only what was read under the lock.
  return createTill(operator).submit(
    buildHold({ accountId, operationId, amountCents, reason, actor, token, deadlineMs }),
  );
}

export interface HoldInput {
  accountId: string;
  operationId: string;
  amountCents: number;
  /** As the audit log keeps it. */
  reason: string;
  actor: string;
  /** Also the id of the hold. */
  token: string;
  deadlineMs: number;
}

/** Places a hold. Pure. @throws OperatorRefused from `decide`: the operation was deleted */
export function buildHold(input: HoldInput): Command<HoldView> {
  const { accountId, operationId, amountCents, reason, actor, token: id, deadlineMs } = input;
  const chain = { accountId, chainId: operationId };
  return {
    token: id,
    deadlineMs,
    chains: [chain],
    reads: [read(holds, accountId + id), read(openHolds, accountId + operationId)],
    eventRefs: [],
    decide: (view, now) => {
      const balance = view.balance(chain);
      if (!balance || balance.deletedAt !== null) throw new OperatorRefused('the operation was deleted');
      if (view.get(holds, accountId + id)) throw new OperatorRefused('this hold was placed already');
      const hold: Hold = {
        accountId,
        id,
        operationId,
        wantedCents: amountCents,
        paymentId: null,
        reason,
        placedBy: actor,
        placedAt: now,
        releasedAt: null,
        releasedBy: null,
      };
      const detail = { operationId, amountCents };
      const audit = { accountId, id: idsOf(id).uuid(), at: now, actor, action: 'hold.place', subject: id };
      return {
        answer: viewOf(hold, Math.min(balance.available, amountCents)),
        postings: [posting(chain, id, eventKinds.hold, { kind: 'hold', amountCents }, now)],
        writes: [put(holds, hold), ...openAfter(view, hold), put(audits, { ...audit, reason, detail })],
      };
    },
  };
}

function openAfter(view: View, hold: Hold): Write[] {
  const open = view.get(openHolds, hold.accountId + hold.operationId);
  return open ? [put(openHolds, openHoldsAfter(open, hold))] : [];
}

const posting = (
  chain: ChainKey,
  subject: string,
  event: EventKind,
  movement: Movement,
  effectiveAt: number,
): Posting => ({ chain, subject, event, reference: '', movement, effectiveAt });

/**
 * Ends a hold; a repeat changes nothing. One that disputes share stays released, whatever the provider then says of them, until another
 * dispute of the Pix holds.
 * @throws OperatorRefused no such hold
 */
export async function releaseHold(
  operator: Operator,
  id: string,
  reason: string | null = null,
): Promise<HoldView> {
  const known = await findHold(operator.sql, id);
  if (!known) throw new OperatorRefused('no such hold');
  const { accountId, operationId } = known;
  const disputed = await findPaymentOfHold(operator.sql, known, id);
  const token = operator.ids.uuid();
  const deadlineMs = operator.clock.monotonicMs() + operatorWaitMs;
  const { actor } = operator;
  return createTill(operator).submit(
    buildHoldRelease({
      ...{ accountId, operationId, id, disputed: disputed ?? null, reason, actor, token, deadlineMs },
    }),
  );
}

export interface HoldReleaseInput {
  accountId: string;
  operationId: string;
  id: string;
  /** The payment whose disputes share it; null: no dispute placed it. */
  disputed: string | null;
  /** As the audit log keeps it; null: none was given. */
  reason: string | null;
  actor: string;
  token: string;
  deadlineMs: number;
}

/** Releases a hold; a released one stays as it is. Pure. @throws OperatorRefused from `decide`: no such hold */
export function buildHoldRelease(input: HoldReleaseInput): Command<HoldView> {
  const { accountId, operationId, id, disputed, reason, actor, token, deadlineMs } = input;
  const chain = { accountId, chainId: operationId };
  const key = accountId + id;
  const openKey = accountId + operationId;
  const disputesAt = disputed === null ? null : disputesKey(accountId, disputed);
  return {
    token,
    deadlineMs,
    chains: [chain],
    reads: [
      read(holds, key),
      read(openHolds, openKey),
      ...(disputesAt === null ? [] : [read(disputesOfPayment, disputesAt)]),
    ],
    eventRefs: [],
    decide: (view, now) => {
      const hold = view.get(holds, key);
      const balance = view.balance(chain);
      if (!hold || !balance) throw new OperatorRefused('no such hold');
      if (hold.releasedAt !== null) return { answer: viewOf(hold, 0) };
      const shares = sharesOf(view.get(openHolds, openKey)?.holds ?? [], balance.held);
      const capturedCents = shares.get(id) ?? 0;
      const wantedCents = hold.wantedCents - capturedCents;
      const released = { ...hold, releasedAt: now, releasedBy: actor };
      const ofPayment = disputesAt === null ? undefined : view.get(disputesOfPayment, disputesAt);
      const disputes = ofPayment?.disputes.map((one) =>
        one.holdId === id ? { ...one, releasedAt: now } : one,
      );
      const covered = disputes?.filter(({ holdId }) => holdId === id).map((one) => one.id) ?? [];
      const detail = { operationId, capturedCents, wantedCents, ...(ofPayment ? { disputes: covered } : {}) };
      const audit = { accountId, id: idsOf(token).uuid(), at: now, actor, action: 'hold.release' };
      return {
        answer: viewOf(released, 0),
        postings: [
          posting(
            chain,
            id,
            eventKinds.releaseHold,
            { kind: 'releaseHold', capturedCents, wantedCents },
            now,
          ),
        ],
        writes: [
          put(holds, released),
          ...openAfter(view, released),
          ...(ofPayment && disputes ? [put(disputesOfPayment, { ...ofPayment, disputes })] : []),
          put(audits, { ...audit, subject: id, reason, detail }),
        ],
      };
    },
  };
}

/**
 * The holds of an operation, released ones included, the oldest first.
 * @throws OperatorRefused no such operation
 */
export async function listHolds(operator: Pick<Operator, 'sql'>, operationId: string): Promise<HoldView[]> {
  const accountId = await findAccountOf(operator.sql, operationId);
  if (accountId === undefined) throw new OperatorRefused('no such operation');
  const rows = await findHolds(operator.sql, accountId, operationId);
  const open = rows.filter((row) => row.releasedAt === null);
  const shares = sharesOf(open, rows[0]?.held ?? 0);
  return rows.map((row) => viewOf(row, shares.get(row.id) ?? 0));
}

const viewOf = (hold: Hold, capturedCents: number): HoldView => ({
  id: hold.id,
  operationId: hold.operationId,
  amountCents: hold.wantedCents,
  capturedCents,
  reason: hold.reason,
  placedBy: hold.placedBy,
  placedAt: hold.placedAt,
  releasedAt: hold.releasedAt,
  releasedBy: hold.releasedBy,
});
