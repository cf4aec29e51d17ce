import { type Dispute, explainedDebits } from '../../money/dispute.ts';
import type { KnownReturn } from '../../money/returns.ts';
import type { OpenedIncident } from '../../money/state.ts';
import type { CommandIds } from '../../ports/ids.ts';
import { audits } from '../../store/rows/audit.sql.ts';
import {
  debitIncidents,
  type IncidentCase,
  incidentCases,
  openIncidents,
  type Resolution,
  ruleActor,
} from '../../store/rows/incidents.sql.ts';
import { put, type View, type Write } from '../../store/till.ts';

/**
 * A debit that an accepted dispute explains to the cent (its Pix, its amount, its connection) needs no person: its incident ends by this rule, with
 * `none`, whichever of the two was heard first. One that is explained no longer, since the provider has changed its word, is a person's again. An incident that a
 * person has ended stays as it is. Pure.
 */
export interface Known {
  accountId: string;
  paymentId: string;
  connection: string;
  /** Of the payment. */
  disputes: readonly Dispute[];
  returns: readonly KnownReturn[];
}

const reason = 'an accepted dispute explains the debit to the cent';

const explainedIn = ({ connection, disputes, returns }: Known): ReadonlySet<string> =>
  explainedDebits(
    disputes.filter((one) => one.connection === connection),
    returns,
  );

const referenceOf = (paymentId: string, debit: string): string => `debit:${paymentId}:${debit}`;

/** Those that are opened now, with what is known of them. */
export function withExplanations(known: Known, opened: readonly OpenedIncident[]): OpenedIncident[] {
  const explained = new Set([...explainedIn(known)].map((debit) => referenceOf(known.paymentId, debit)));
  return opened.map((one) =>
    one.kind === 'debit' && explained.has(one.reference) ? { ...one, explained: true as const } : one,
  );
}

/** Ends and opens those that were opened before. */
export function debitsJudged(view: View, known: Known, ids: CommandIds, now: number): Write[] {
  const { accountId, paymentId } = known;
  const explained = new Set([...explainedIn(known)].map((debit) => referenceOf(paymentId, debit)));
  const incidents = view.get(debitIncidents, accountId + paymentId)?.incidents ?? [];
  return incidents.flatMap(({ id, reference, state, resolution }) => {
    const isExplained = explained.has(reference);
    const changes = state === 'open' ? isExplained : isOfRule(resolution) && !isExplained;
    const stored = changes ? view.get(incidentCases, accountId + id) : undefined;
    if (!stored) return [];
    const after = isExplained ? endedByRule(stored, ids.token, now) : openedAgain(stored);
    return [
      put(incidentCases, after),
      ...(isExplained ? [] : [put(openIncidents, { accountId, paymentId })]),
      put(audits, auditOf(after, ids.uuid(), now)),
    ];
  });
}

const isOfRule = (resolution: Resolution | null): boolean =>
  resolution?.actor === ruleActor && resolution.action === 'none';

export const endedByRule = <Row extends object>(row: Row, command: string, now: number) => ({
  ...row,
  state: 'resolved' as const,
  resolvedAt: now,
  resolution: { action: 'none', reason, actor: ruleActor, command },
});

const openedAgain = (incident: IncidentCase): IncidentCase => ({
  ...incident,
  state: 'open',
  resolvedAt: null,
  resolution: null,
});

export const auditOf = (
  { accountId, id: subject, kind, paymentId, operationId, amountCents, state }: IncidentCase,
  id: string,
  at: number,
) => ({
  ...{ accountId, id, at, actor: ruleActor, subject },
  action: state === 'open' ? 'incident.reopen' : 'incident.resolve',
  reason: state === 'open' ? 'no accepted dispute explains the debit any more' : reason,
  detail: { kind, action: 'none', paymentId, operationId, amountCents },
});
