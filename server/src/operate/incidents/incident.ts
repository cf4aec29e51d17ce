import { findWords } from '../../flow/provider-words.sql.ts';
import { pixOf, referencesAt } from '../../flow/unmatched.ts';
import { eventKinds } from '../../money/journal.ts';
import { paymentIdOf } from '../../money/payment.ts';
import type { Sql, Statement } from '../../ports/sql.ts';
import type { ProviderWords } from '../../provider/provider.ts';
import { subscribedBy, subscribedTypes } from '../../store/events/subscribed-types.ts';
import { type Operator, OperatorRefused, operatorWaitMs, reasonOf } from '../../store/operator.ts';
import { accountNumberOf, fingerprintOf, paymentIdFor } from '../../store/rows/idempotency.ts';
import {
  findClaimant,
  findIncident,
  findIncidents,
  findNamedPlace,
  findOtherCharge,
  findPlaceOf,
  findSuspended,
  type IncidentCase,
  isTestConnection,
  type SuspendedMoney,
} from '../../store/rows/incidents.sql.ts';
import { paymentKey, payments } from '../../store/rows/payments.sql.ts';
import { refundKey, refunds } from '../../store/rows/refunds.sql.ts';
import { namesReturnOf } from '../../store/rows/statement-lines.sql.ts';
import { findIncidentsOfPix, findPixOfReturn, suspenseKey } from '../../store/rows/suspense.sql.ts';
import { createTill } from '../../store/till.ts';
import type { Action } from './endings.ts';
import {
  buildKeep,
  buildResolution,
  type Decider,
  type NamedPlace,
  type ResolutionInput,
} from './resolution.ts';

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
  /** Since when a person keeps its money from the account's rule, ms since 1970. */
  keptAt: number | null;
}

/** Of one list. */
export const incidentsMost = 1_000;

/** The newest first, at most a thousand. */
export async function listIncidents(
  { sql, everyCell = [sql], clock }: Pick<Operator, 'sql' | 'everyCell' | 'clock'>,
  accountId: string | null,
): Promise<IncidentView[]> {
  const before = { openedAt: clock.now() + 86_400_000, id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };
  const found = await Promise.all(
    everyCell.map((cell) => findIncidents(cell, accountId, before, incidentsMost)),
  );
  const newest = found.flat().sort((one, other) => other.openedAt - one.openedAt);
  return newest.slice(0, incidentsMost).map(viewOf);
}

/**
 * An incident, with the others about the same Pix: they decide about one sum of money.
 * @throws OperatorRefused no such incident
 */
export async function showIncident(
  { sql }: Pick<Operator, 'sql'>,
  id: string,
): Promise<IncidentView & { related: string[] }> {
  const incident = await findIncident(sql, id);
  if (!incident) throw new OperatorRefused('no such incident');
  const reference = await suspenseReferenceOf(sql, incident);
  const key = await suspenseKeyOf(sql, incident, reference);
  const ofPix = key === null ? [] : await findIncidentsOfPix(sql, key);
  return { ...viewOf(incident), related: ofPix.filter((one) => one !== id) };
}

/** The provider's words to the attempts that an incident is about, the newest first. */
export async function wordsOfIncident(
  { sql }: Pick<Operator, 'sql'>,
  { accountId, paymentId, detail }: Pick<IncidentView, 'accountId' | 'paymentId' | 'detail'>,
): Promise<(ProviderWords & { at: number })[]> {
  const { refundId, cancelId, defenceId } = detail as Readonly<Record<string, unknown>>;
  const subjects = [paymentId, refundId, cancelId, defenceId].filter((one) => typeof one === 'string');
  return subjects.length === 0 ? [] : findWords(sql, accountId, subjects);
}

/** The payment that an incident is about, as an operator at the shell sees it; empty: it is about none. */
export async function factsOfPayment(
  { sql }: Pick<Operator, 'sql'>,
  { accountId, paymentId }: Pick<IncidentView, 'accountId' | 'paymentId'>,
): Promise<{
  payerName?: string | null;
  description?: string;
  paymentCents?: number;
  paymentStatus?: string;
}> {
  const [payment] = paymentId === null ? [] : await payments.read(sql, [paymentKey(accountId, paymentId)]);
  if (!payment) return {};
  const { payerName, description, amountCents: paymentCents, status: paymentStatus } = payment;
  return { payerName, description, paymentCents, paymentStatus };
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
  keptAt: incident.keptAt,
});

/**
 * Resolves an open incident and unfreezes its operation if it was the last that froze it.
 *
 * @throws OperatorRefused no such incident, resolved already, or an action that does not fit
 */
export async function resolveIncident(
  operator: Operator,
  id: string,
  wanted: { action: Action; reason: string; decider?: Decider },
): Promise<IncidentView> {
  const { action, decider = 'operator' } = wanted;
  const reason = reasonOf(wanted.reason);
  const incident = await findIncident(operator.sql, id);
  if (!incident) throw new OperatorRefused('no such incident');
  const { accountId, paymentId } = incident;
  const place = await findPlaceOf(operator.sql, accountId);
  if (!place) throw new OperatorRefused('no such account');
  const reference = await suspenseReferenceOf(operator.sql, incident);
  const subject = paymentId ?? accountId;
  const event = eventKinds.suspense;
  const suspended =
    reference === null
      ? undefined
      : await findSuspended(operator.sql, { accountId, subject, event, reference });
  const money = await suspenseKeyOf(operator.sql, incident, reference);
  if (action === 'return' && suspended && reference !== null) {
    await requireAnswered(operator.sql, suspended, reference);
    await requireOwn(operator, suspended, reference, subject);
  }
  const command = buildResolution({
    ...place,
    incident,
    action,
    reason,
    actor: operator.actor,
    decider,
    reference,
    suspended,
    ...(await ownerOf(operator, incident, action, { reference, suspended })),
    money,
    returning: action === 'return' ? await returningOf(operator.sql, place.number, incident) : null,
    subscribed: await subscribedBy({ subscribed: subscribedTypes(operator) }, accountId),
    token: operator.ids.uuid(),
    deadlineMs: operator.clock.monotonicMs() + operatorWaitMs,
  });
  // A till of its own: its batch is this command alone, so the view holds only what was read under the lock.
  return viewOf(await createTill(operator).submit(command));
}

/** Whose the money of an unmatched Pix is, for its credit. */
async function ownerOf(
  operator: Operator,
  incident: IncidentCase,
  action: Action,
  { reference, suspended }: Pick<ResolutionInput, 'reference' | 'suspended'>,
): Promise<Pick<ResolutionInput, 'claimed' | 'named'>> {
  if (incident.kind !== 'unmatched' || action !== 'credit' || reference === null || !suspended)
    return { claimed: false, named: null };
  const { sql, everyCell = [sql] } = operator;
  const { cents, connection } = suspended;
  const endToEnd = pixOf(reference);
  const pix = { endToEnd, paymentId: paymentIdOf(endToEnd), cents, connection };
  const found = await Promise.all(everyCell.map((cell) => findClaimant(cell, pix)));
  if (found.some((one) => one !== undefined)) return { claimed: true, named: null };
  const named = await namedPlaceOf(operator, incident, connection);
  if (named && cents > 0) await requireAnswered(sql, suspended, endToEnd);
  return { claimed: false, named: named && { ...named, pix: reference } };
}

/** A payment id as `paymentIdFor` makes it: a UUIDv8. Other programs that use the provider's account take random ones. */
const isOurForm = (id: unknown): id is string => typeof id === 'string' && /^.{14}8.{4}[89ab].{16}$/.test(id);

/**
 * The account that the id of a lost payment names, in whichever cell it is. @returns null: the money names none of ours
 * @throws OperatorRefused its cell is not open here, or only one of connection and account moves money
 */
async function namedPlaceOf(
  { sql, everyCell = [sql] }: Operator,
  { detail }: IncidentCase,
  connection: string,
): Promise<Omit<NamedPlace, 'pix'> | null> {
  const { named } = detail as { named?: unknown };
  if (!isOurForm(named)) return null;
  let found = { cell: sql, place: await findNamedPlace(sql, accountNumberOf(named)) };
  if (!found.place) return null;
  for (const cell of everyCell)
    if (!found.place?.isHere) found = { cell, place: await findNamedPlace(cell, accountNumberOf(named)) };
  if (!found.place?.isHere)
    throw new OperatorRefused('the account that its id names is in a cell that is not open here');
  const { accountId, mainOperationId, firstConnection, test } = found.place;
  if ((await isTestConnection(sql, connection)) !== test)
    throw new OperatorRefused(`${connection} and the account that its id names do not both move money`);
  const place = { paymentId: named, accountId, mainOperationId, firstConnection };
  if (found.cell === sql) return place;
  const [payment] = await payments.read(found.cell, [paymentKey(accountId, named)]);
  return { ...place, elsewhere: { payment } };
}

/** @throws OperatorRefused the Pix paid another charge: its money is not what stands in suspense */
async function requireOwn(
  { sql, everyCell = [sql] }: Operator,
  { connection }: SuspendedMoney,
  endToEnd: string,
  paymentId: string,
): Promise<void> {
  const found = await Promise.all(
    everyCell.map((cell) => findOtherCharge(cell, endToEnd, paymentId, connection)),
  );
  const other = found.find((one) => one !== undefined);
  if (other !== undefined) throw new OperatorRefused(`the Pix paid another charge: ${other}`);
}

/** The key of the money in suspense that an incident is about; null: it is about none. */
async function suspenseKeyOf(
  sql: Sql,
  { accountId, paymentId, detail }: IncidentCase,
  reference: string | null,
): Promise<string | null> {
  if (reference === null) return null;
  if (paymentId !== null) {
    const pix = await findPixOfReturn(sql, accountId, paymentId, reference);
    return suspenseKey(accountId, paymentId, pix ?? reference);
  }
  const { pix, connection } = detail as { pix?: string; connection?: string };
  const isNamed = pix !== undefined && connection !== undefined;
  return suspenseKey(accountId, accountId, isNamed ? referencesAt(connection).refer(pix) : reference);
}

/** @throws OperatorRefused the provider names a return of the Pix that was not looked up yet: it may have taken the money back */
async function requireAnswered(sql: Sql, { connection }: SuspendedMoney, endToEnd: string): Promise<void> {
  if (await namesReturnOf(sql, connection, endToEnd))
    throw new OperatorRefused(
      'the provider names a return of the Pix that has no answer yet: see `vintem statement list`',
    );
}

/**
 * Keeps an incident's money here until a person resolves it, whatever the account's rule says.
 * @throws OperatorRefused no such incident, or resolved already
 */
export async function keepIncident(operator: Operator, id: string, reason: string): Promise<IncidentView> {
  const incident = await findIncident(operator.sql, id);
  if (!incident) throw new OperatorRefused('no such incident');
  const command = buildKeep({
    incident,
    reason: reasonOf(reason),
    actor: operator.actor,
    token: operator.ids.uuid(),
    deadlineMs: operator.clock.monotonicMs() + operatorWaitMs,
  });
  return viewOf(await createTill(operator).submit(command));
}

const selectIdentity: Statement = {
  name: 'incident_identity',
  text: 'SELECT identity_secret AS identity FROM installation',
};

/** Under which id the Pix of an incident goes back: always the same for this incident. */
async function returningOf(
  sql: Sql,
  number: number,
  { accountId, reference }: IncidentCase,
): Promise<ResolutionInput['returning']> {
  const [installation] = await sql.run<{ identity: Buffer }>(selectIdentity);
  if (!installation) throw new OperatorRefused('the installation has no identity yet');
  const { identity } = installation;
  const refundId = paymentIdFor(identity, { id: accountId, number }, reference);
  return { refundId, fingerprint: fingerprintOf(identity, { kind: 'return', reference }) };
}

/** The provider's id under which an incident's money is in suspense; null when none of it is. */
async function suspenseReferenceOf(sql: Sql, incident: IncidentCase): Promise<string | null> {
  const { accountId, kind, reference, paymentId } = incident;
  if (kind === 'return_refused') {
    const refundId = reference.slice('return_refused:'.length);
    return (await refunds.read(sql, [refundKey(accountId, refundId)]))[0]?.endToEnd ?? null;
  }
  if (reference.startsWith('unmatched:')) return reference.slice('unmatched:'.length);
  const ofPayment = `suspense:${paymentId}:`;
  return reference.startsWith(ofPayment) ? reference.slice(ofPayment.length) : null;
}
