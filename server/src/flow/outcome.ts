import { refuse } from '../ground/errors.ts';
import type { AnyKind, Heard, Observed, Sent } from '../kinds/kind.ts';
import { auditOf, endedByRule } from '../kinds/payment/explained-debits.ts';
import { type AttemptResult, afterEnding, type Intent, isOverdue } from '../money/intent.ts';
import type { OpenedIncident } from '../money/state.ts';
import { type Ids, idsOf } from '../ports/ids.ts';
import type { Capabilities } from '../provider/provider.ts';
import type { SubscribedTypes } from '../store/events/subscribed-types.ts';
import { audits } from '../store/rows/audit.sql.ts';
import {
  endedIncidents,
  type Incident,
  incidentKey,
  incidents,
  openIncidents,
} from '../store/rows/incidents.sql.ts';
import { intents } from '../store/rows/intents.sql.ts';
import { type Command, type Decision, put, read, remove, type View, type Write } from '../store/till.ts';
import { requestsEndedWith } from './requests-ended.ts';

export interface OutcomeInput {
  observed: Observed;
  /** Of its connection. */
  capabilities: Capabilities;
  /** The event types that this account's log keeps. */
  subscribed: SubscribedTypes;
  secrets: { open(sealed: Buffer, context: string): Buffer };
  token: string;
  /** 0 to 1, random: spreads the next query. */
  jitter: number;
  deadlineMs: number;
}

/** The row after the outcome, the opened incidents, and the report's news of others, which the caller applies. */
export interface OutcomeAnswer extends Pick<Heard<Sent>, 'others' | 'unclear'> {
  row: Sent;
  opened: readonly Incident[];
}

/**
 * The one command for an answer, a report and a query: what the provider said, applied to what was sent together with its intent. Incidents are rare,
 * so they are read only where one is wanted. Pure.
 * @throws ApiError from `decide`: `notFound` of the kind
 */
export function buildOutcome(kind: AnyKind, input: OutcomeInput): Command<OutcomeAnswer> {
  const { observed, token, deadlineMs } = input;
  const { accountId, paymentId, operationId } = observed;
  const key = accountId + paymentId;
  const hearing = kind.hear(observed);
  return {
    token,
    deadlineMs,
    chains: hearing.chains,
    reads: [read(kind.table, key), read(intents, key), ...hearing.reads, ...(observed.birth?.reads ?? [])],
    eventRefs: hearing.eventRefs,
    pix: hearing.pix,
    decide: (view, now) => {
      const known: Sent | undefined = view.get(kind.table, key);
      const row = known ?? observed.birth?.row(view, now, token);
      if (!row || !view.balance({ accountId, chainId: operationId })) throw refuse(kind.notFound);
      const { capabilities, subscribed, secrets } = input;
      const ids = idsOf(token);
      const intent = view.get(intents, key);
      const stored = { row, intent, capabilities, subscribed, secrets, ids, requestsEndedWith };
      const heard: Heard<Sent> | null = hearing.decide(view, stored, now);
      // A row that was not there and has not ended by this either is not made: the caller has a person look.
      const isMade = known !== undefined || (heard !== null && !kind.isOpen(heard.row));
      if (heard === null || !isMade) return { answer: { row, opened: [], others: [], unclear: [] } };
      const made = known === undefined ? (observed.birth?.writes(view, heard.row) ?? []) : [];
      return withWrites(made, decisionOf(view, { kind, input, row, intent, heard, ids }, now));
    },
  };
}

const withWrites = <Answer>(more: readonly Write[], decision: Decision<Answer>): Decision<Answer> =>
  more.length === 0 ? decision : { ...decision, writes: [...(decision.writes ?? []), ...more] };

interface Case {
  kind: AnyKind;
  input: OutcomeInput;
  /** As stored. */
  row: Sent;
  intent: Intent | undefined;
  heard: Heard<Sent>;
  ids: Pick<Ids, 'uuid'>;
}

function decisionOf(view: View, about: Case, now: number): Decision<OutcomeAnswer> {
  const { kind, input, row, intent, heard } = about;
  const { accountId, paymentId, operationId } = input.observed;
  const { row: after, others, unclear } = heard;
  const followed = intent && followedOn(intent, about, now);
  const wanted = wantedOf(view, kind, heard, followed).filter(
    (incident) => !isOpened(incident, accountId, view),
  );
  const opened = wanted
    .filter(({ explained }) => explained === undefined)
    .map((incident) => incidentOf(incident, about, now));
  const writes: Write[] = after === row ? [] : [put(kind.table, after)];
  if (intent && !kind.isOpen(after)) writes.push(remove(intents, accountId + paymentId));
  else if (followed && followed !== intent) writes.push(put(intents, followed));
  const { paymentId: subject } = kind.subjectOf(after);
  if (opened.length > 0) writes.push(put(openIncidents, { accountId, paymentId: subject }));
  const operation = { accountId, chainId: operationId };
  const freezes = opened.some((incident) => incident.freezes);
  const isLive = view.balance(operation)?.deletedAt === null;
  return {
    answer: { row: after, opened, others, unclear },
    writes: [
      ...writes,
      ...heard.writes,
      ...opened.map((incident) => put(incidents, incident)),
      ...wanted.flatMap((incident) => endedWrites(incident, about, now)),
    ],
    freeze: freezes && isLive ? [operation] : [],
    postings: heard.postings,
  };
}

/** One that needs no person is kept as ended. */
function endedWrites(incident: OpenedIncident, about: Case, now: number): Write[] {
  if (incident.explained === undefined) return [];
  const row = endedByRule(incidentOf(incident, about, now), about.input.token, now);
  const ended = { ...row, keptAt: null };
  return [put(endedIncidents, ended), put(audits, auditOf(ended, about.ids.uuid(), now))];
}

/** The intent after the observation; null when what was sent has ended. */
function followedOn(intent: Intent, { kind, input, row, heard }: Case, now: number): Intent | null {
  if (!kind.isOpen(heard.row)) return null;
  const providerRef = intent.providerRef ?? heard.providerRef;
  const named = providerRef === intent.providerRef ? intent : { ...intent, providerRef };
  if (heard.ending === null) return named;
  // Only another state is news: otherwise the schedule continues from the last one.
  const isNews = heard.ending.type !== 'news' || heard.row.status !== row.status;
  const ending: AttemptResult = isNews ? heard.ending : { type: 'unchanged' };
  const after = afterEnding(named, ending, followedAs(intent, heard.row), now, input.jitter);
  return after.state === 'ready' ? { ...after, connection: heard.connection ?? after.connection } : after;
}

/** As what it was sent: news of a cancel may speak of its charge as of any charge. */
const followedAs = (
  { kind }: Pick<Intent, 'kind'>,
  { status, createdAt, expiresAt = null, card = null }: Sent,
) => ({
  kind,
  status,
  createdAt,
  expiresAt,
  releaseAt: card?.releaseAt ?? null,
});

/** The incidents that are wanted, also where they were opened before. */
function wantedOf(
  view: View,
  kind: AnyKind,
  { row, undecided, incidents: wanted }: Heard<Sent>,
  followed: Intent | null | undefined,
): readonly OpenedIncident[] {
  if (!followed || !(undecided || isOverdue(followedAs(followed, row), followed))) return wanted;
  const undecidedOne = kind.isLookedAt(view, row) ? null : kind.undecided(row);
  return undecidedOne ? [...wanted, undecidedOne] : wanted;
}

const isOpened = ({ reference }: OpenedIncident, accountId: string, view: View): boolean =>
  view.get(incidents, incidentKey(accountId, reference)) !== undefined;

function incidentOf(
  { kind, reference, amountCents, freezes, detail }: OpenedIncident,
  { kind: of, input, row, ids }: Case,
  openedAt: number,
): Incident {
  const { accountId, operationId, observation } = input.observed;
  const { paymentId, detail: shown } = of.subjectOf(row);
  return {
    accountId,
    id: ids.uuid(),
    kind,
    paymentId,
    operationId,
    amountCents,
    reference,
    freezes,
    detail: { ...shown, status: row.status, from: observation.from, ...detail },
    openedAt,
  };
}
