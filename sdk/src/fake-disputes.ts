import {
  type Answer,
  dayMs,
  emit,
  found,
  isoNow,
  known,
  one,
  pageOf,
  type Received,
  Refusal,
  type State,
  type Stored,
  textOf,
} from './fake-state.ts';
import { post } from './fake-statement.ts';
import type { Defence, Dispute, Operation, VintemEvent } from './types.ts';

export function openDispute(state: State, payment: Stored, amountCents = payment.amountCents): VintemEvent {
  if (payment.status !== 'paid') throw new Error(`the charge is ${payment.status}`);
  const operation = state.operations.find(({ id }) => id === payment.operationId);
  const heldCents = Math.min(amountCents, operation?.balanceCents ?? 0);
  if (heldCents > 0) post(state, payment, [['hold', -heldCents]]);
  const at = isoNow();
  const dispute: Dispute = {
    id: crypto.randomUUID(),
    paymentId: payment.id,
    operationId: payment.operationId,
    status: 'open',
    amountCents,
    heldCents,
    debitedCents: 0,
    endToEnd: payment.endToEnd ?? '',
    reason: 'golpe',
    openedAt: at,
    deadlineAt: new Date(Date.now() + 3 * dayMs).toISOString(),
    endedAt: null,
    createdAt: at,
    updatedAt: at,
  };
  state.disputes.push(dispute);
  return emit(state, 'dispute.opened', dispute, { from: null, to: 'open' });
}

const movesOf = {
  defend: 'defending',
  accept: 'accepted',
  reject: 'rejected',
  cancel: 'cancelled',
} as const;

/** An accepted dispute keeps its hold until the provider takes the money; a rejected or cancelled one holds nothing more. */
export function moveDispute(state: State, { ids: [disputeId, act], operation }: Received): Answer {
  moveTo(state, disputeOf(state, operation, disputeId), movesOf[act as keyof typeof movesOf]);
  return { status: 200, body: { ok: true } };
}

function moveTo(state: State, dispute: Dispute, status: Dispute['status']): void {
  const from = dispute.status;
  if (status === 'rejected' || status === 'cancelled') {
    if (dispute.heldCents > 0)
      post(state, found(state, dispute.paymentId, 'deposit'), [['hold_released', dispute.heldCents]]);
    dispute.heldCents = 0;
  }
  const at = isoNow();
  Object.assign(dispute, { status, updatedAt: at, endedAt: status === 'defending' ? null : at });
  if (from !== status && status !== 'open') emit(state, `dispute.${status}`, dispute, { from, to: status });
}

/** What the provider takes of a disputed Pix comes out of what is held for it. @returns what is left to take */
export function takeHeld(state: State, payment: Stored, amountCents: number): number {
  let leftCents = amountCents;
  for (const dispute of state.disputes.filter(({ paymentId }) => paymentId === payment.id)) {
    const heldCents = Math.min(dispute.heldCents, leftCents);
    dispute.heldCents -= heldCents;
    dispute.debitedCents += Math.min(dispute.amountCents - dispute.debitedCents, leftCents);
    dispute.updatedAt = isoNow();
    leftCents -= heldCents;
  }
  return leftCents;
}

/** As Efí takes them, and the simulator. */
const textMost = 1_000;

/** Why no defence is taken at this moment; null: one is. */
function refusalOf(state: State, { id, status, deadlineAt }: Dispute): string | null {
  if (state.defences.has(id)) return 'dispute_defended';
  if (status !== 'open' && status !== 'defending') return 'dispute_ended';
  if (status === 'defending') return 'dispute_defended';
  return deadlineAt !== null && Date.parse(deadlineAt) <= Date.now() ? 'defence_window_closed' : null;
}

export function showDefence(state: State, { ids, operation }: Received): Answer {
  const dispute = disputeOf(state, operation, ids[0]);
  const offer = refusalOf(state, dispute) === null ? { textMost, files: null } : null;
  return { status: 200, body: { offer, files: [], defence: state.defences.get(dispute.id) ?? null } };
}

/** The provider has it at once; the answer says, as the service's does, that it is not sent yet. */
export function defend(state: State, { ids, operation, body }: Received): Answer {
  const dispute = disputeOf(state, operation, ids[0]);
  known(body, ['text', 'fileIds']);
  if (body.fileIds !== undefined) throw new Refusal(400, 'not_offered_by_provider');
  const text = textOf(body, 'text', 1, textMost).trim();
  const before = state.defences.get(dispute.id);
  if (before?.text === text) return { status: 201, body: before };
  const refusal = refusalOf(state, dispute);
  if (refusal !== null) throw new Refusal(400, refusal);
  const at = isoNow();
  const defence: Defence = {
    disputeId: dispute.id,
    status: 'pending',
    text,
    files: [],
    createdAt: at,
    updatedAt: at,
    sentAt: null,
  };
  state.defences.set(dispute.id, { ...defence, status: 'sent', sentAt: at });
  moveTo(state, dispute, 'defending');
  return { status: 201, body: defence };
}

/** As where the provider takes a text alone. */
export function refuseFile(state: State, { ids, operation }: Received): Answer {
  const dispute = disputeOf(state, operation, ids[0]);
  throw new Refusal(400, refusalOf(state, dispute) ?? 'not_offered_by_provider');
}

export function removeFile(state: State, { ids, operation }: Received): Answer {
  disputeOf(state, operation, ids[0]);
  throw new Refusal(404, 'file_not_found');
}

export function disputeOf(
  state: State,
  { id: operationId }: Operation,
  disputeId: string | undefined,
): Dispute {
  const own = state.disputes.filter((each) => each.operationId === operationId);
  return one(own, disputeId, 'dispute_not_found');
}

export function listDisputes(state: State, { query, operation }: Received): Answer {
  const statuses = query.get('status')?.split(',');
  const fits = state.disputes.filter(
    ({ operationId, status }) => operationId === operation.id && (!statuses || statuses.includes(status)),
  );
  const { items, ...rest } = pageOf(fits.reverse(), query);
  return { status: 200, body: { disputes: items, ...rest } };
}
