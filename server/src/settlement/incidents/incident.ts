import { subscribedBy, subscribedTypes } from '../../events/subscribed-types.ts';
import { eventKinds } from '../../ledger/journal.ts';
import { createTill } from '../../ledger/till.ts';
import { paymentIdOf } from '../../payments/payment.ts';
import { type Operator, OperatorRefused, operatorWaitMs, reasonOf } from '../operator/operator.ts';
import type { Action } from './endings.ts';
import {
  findClaimant,
  findIncident,
  findIncidents,
  findPlaceOf,
  findSuspended,
  type IncidentCase,
} from './incidents.sql.ts';
import { buildResolution } from './resolution.ts';

export interface IncidentView {
  id: string;
  accountId: string;
  kind: string;
  paymentId: string | null;
  operationId: string | null;
  amountCents: number;
  state: 'open' | 'resolved';
  /** While it is open the operation's withdrawals are frozen. */
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
  const incident = await findIncident(operator.sql, id);
  if (!incident) throw new OperatorRefused('no such incident');
  const { accountId, paymentId } = incident;
  const place = await findPlaceOf(operator.sql, accountId);
  if (!place) throw new OperatorRefused('no such account');
  const reference = suspenseReferenceOf(incident);
  const subject = paymentId ?? accountId;
  const event = eventKinds.suspense;
  const command = buildResolution({
    ...place,
    incident,
    action,
    reason,
    actor: operator.actor,
    reference,
    suspended:
      reference === null
        ? undefined
        : await findSuspended(operator.sql, { accountId, subject, event, reference }),
    claimed:
      incident.kind === 'unmatched' &&
      action === 'credit' &&
      reference !== null &&
      (await findClaimant(operator.sql, reference, paymentIdOf(reference))) !== undefined,
    subscribed: await subscribedBy({ subscribed: subscribedTypes(operator) }, accountId),
    token: operator.ids.uuid(),
    deadlineMs: operator.clock.monotonicMs() + operatorWaitMs,
  });
  // A till of its own: its batch is this command alone, so the view holds only what was read under the lock.
  return viewOf(await createTill(operator).submit(command));
}

/** The provider's id under which an incident's money is in suspense; null when none of it is. */
function suspenseReferenceOf({ reference, paymentId }: IncidentCase): string | null {
  if (reference.startsWith('unmatched:')) return reference.slice('unmatched:'.length);
  const ofPayment = `suspense:${paymentId}:`;
  return reference.startsWith(ofPayment) ? reference.slice(ofPayment.length) : null;
}
