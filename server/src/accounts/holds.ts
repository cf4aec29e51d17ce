import type { Readable } from '../db/table.ts';
import { eventKinds } from '../ledger/journal.ts';
import { createTill, put, read } from '../ledger/till.ts';
import { audits } from '../settlement/operator/audit.sql.ts';
import { type Operator, OperatorRefused, operatorWaitMs, reasonOf } from '../settlement/operator/operator.ts';
import { findAccountOf, findHold, findHolds, type Hold, holds, readOpenHolds } from './holds.sql.ts';

/**
 * Administrative holds: an operator keeps back a part of an operation's balance.
 *
 * A hold captures at once what is available, and of every later credit what is still missing (after the operation's debt, see
 * `ledger/decide.ts`). It may want more than there is; it never touches a reserve.
 *
 * **Several holds on one operation** share what is captured, first come, first captured. The share is derived and not
 * stored: the balance row knows what all of them hold and want together, and the holds' order says whose it is. Stored, it
 * would have to be brought up to date by every credit, on rows that credits do not lock.
 *
 * When a hold ends, its share goes the way of all money that comes in: to the debt, to the holds that still want
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
}

/** @throws OperatorRefused no such live operation */
export async function placeHold(
  operator: Operator,
  wanted: { operationId: string; amountCents: number; reason: string },
): Promise<HoldView> {
  const { operationId, amountCents } = wanted;
  const reason = reasonOf(wanted.reason);
  if (!Number.isSafeInteger(amountCents) || amountCents < 1)
    throw new OperatorRefused('a hold is at least 1 cent');
  const accountId = await findAccountOf(operator.sql, operationId);
  if (accountId === undefined) throw new OperatorRefused('no such operation');
  const chain = { accountId, chainId: operationId };
  const id = operator.ids.uuid();
  // A till of its own: its batch is this command alone, so what was read under the lock is all there is.
  return createTill(operator).submit<HoldView>({
    token: id,
    deadlineMs: operator.clock.monotonicMs() + operatorWaitMs,
    chains: [chain],
    reads: [read(holds, accountId + id)],
    eventRefs: [],
    decide: (view) => {
      const balance = view.balance(chain);
      if (!balance || balance.deletedAt !== null) throw new OperatorRefused('the operation was deleted');
      const now = operator.clock.now();
      const hold: Hold = {
        accountId,
        id,
        operationId,
        wantedCents: amountCents,
        reason,
        placedBy: operator.actor,
        placedAt: now,
        releasedAt: null,
      };
      const audit = {
        accountId,
        id: operator.ids.uuid(),
        at: now,
        actor: operator.actor,
        action: 'hold.place',
        subject: id,
        reason,
        detail: { operationId, amountCents },
      };
      return {
        answer: viewOf(hold, Math.min(balance.available, amountCents)),
        postings: [
          {
            chain,
            subject: id,
            event: eventKinds.hold,
            reference: '',
            movement: { kind: 'hold', amountCents },
            effectiveAt: now,
          },
        ],
        writes: [put(holds, hold), put(audits, audit)],
      };
    },
  });
}

/**
 * Ends a hold; a repeat changes nothing.
 * @throws OperatorRefused no such hold
 */
export async function releaseHold(operator: Operator, id: string): Promise<HoldView> {
  const known = await findHold(operator.sql, id);
  if (!known) throw new OperatorRefused('no such hold');
  const { accountId, operationId } = known;
  const chain = { accountId, chainId: operationId };
  const key = accountId + id;
  const openKey = accountId + operationId;
  return createTill(operator).submit<HoldView>({
    token: operator.ids.uuid(),
    deadlineMs: operator.clock.monotonicMs() + operatorWaitMs,
    chains: [chain],
    reads: [read(holds, key), read(openHolds, openKey)],
    eventRefs: [],
    decide: (view) => {
      const hold = view.get(holds, key);
      const balance = view.balance(chain);
      if (!hold || !balance) throw new OperatorRefused('no such hold');
      if (hold.releasedAt !== null) return { answer: viewOf(hold, 0) };
      const shares = sharesOf(view.get(openHolds, openKey)?.holds ?? [], balance.held);
      const capturedCents = shares.get(id) ?? 0;
      const wantedCents = hold.wantedCents - capturedCents;
      const now = operator.clock.now();
      const released = { ...hold, releasedAt: now };
      const audit = {
        accountId,
        id: operator.ids.uuid(),
        at: now,
        actor: operator.actor,
        action: 'hold.release',
        subject: id,
        reason: null,
        detail: { operationId, capturedCents, wantedCents },
      };
      return {
        answer: viewOf(released, 0),
        postings: [
          {
            chain,
            subject: id,
            event: eventKinds.unhold,
            reference: '',
            movement: { kind: 'unhold', capturedCents, wantedCents },
            effectiveAt: now,
          },
        ],
        writes: [put(holds, released), put(audits, audit)],
      };
    },
  });
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

/** First come, first captured. */
function sharesOf(
  open: readonly { id: string; wantedCents: number }[],
  heldCents: number,
): Map<string, number> {
  const shares = new Map<string, number>();
  let left = heldCents;
  for (const { id, wantedCents } of open) {
    const captured = Math.min(left, wantedCents);
    shares.set(id, captured);
    left -= captured;
  }
  return shares;
}

/** Keyed by account and operation. */
const openHolds: Readable<{
  accountId: string;
  operationId: string;
  holds: { id: string; wantedCents: number }[];
}> = {
  name: 'hold_open',
  keyOf: (row) => row.accountId + row.operationId,
  read: (tx, keys) =>
    Promise.all(
      keys.map(async (key) => {
        const [accountId, operationId] = [key.slice(0, 36), key.slice(36)];
        return { accountId, operationId, holds: await readOpenHolds(tx, accountId, operationId) };
      }),
    ),
};

const viewOf = (hold: Hold, capturedCents: number): HoldView => ({
  id: hold.id,
  operationId: hold.operationId,
  amountCents: hold.wantedCents,
  capturedCents,
  reason: hold.reason,
  placedBy: hold.placedBy,
  placedAt: hold.placedAt,
  releasedAt: hold.releasedAt,
});
