import type { Log } from '../ground/log.ts';
import type { Sent } from '../kinds/kind.ts';
import { kindOf } from '../kinds/registry/kinds.ts';
import type { Intent } from '../money/intent.ts';
import type { OpenedIncident } from '../money/state.ts';
import type { Clock } from '../ports/clock.ts';
import { type Ids, idsOf } from '../ports/ids.ts';
import { type Incident, incidentKey, incidents } from '../store/rows/incidents.sql.ts';
import { intents } from '../store/rows/intents.sql.ts';
import { paymentKey } from '../store/rows/payments.sql.ts';
import { type Command, put, read, type Till, type View } from '../store/till.ts';

/**
 * A payment that was sent to an account at a provider that is not behind its connection now (`isElsewhere`). It is not queried and not repeated there: that
 * account would not know the id, and would pay it a second time. It waits, and a person decides: the old credentials come back, or the incident is
 * resolved by what the provider's own statement says.
 */
export interface ElsewhereDeps {
  till: Till;
  clock: Clock;
  ids: Ids;
  log: Log;
}

/** How soon it is looked at again: the credentials may have come back. */
const againMs = 60_000;
const withinMs = 15_000;

/** Lets it wait, with an incident where something of it was sent. */
export async function leaveElsewhere(deps: ElsewhereDeps, intent: Intent): Promise<void> {
  const { till, clock, ids, log } = deps;
  const deadlineMs = clock.monotonicMs() + withinMs;
  const opened = await till.submit(buildElsewhere({ intent, token: ids.uuid(), deadlineMs }));
  const { connection, paymentId } = intent;
  if (opened)
    log.error(
      { connection, paymentId, incident: opened.id },
      'sent to another account: it waits for a person',
    );
}

/** Pure. Answers the incident that it opens. */
export function buildElsewhere(input: {
  intent: Pick<Intent, 'accountId' | 'paymentId' | 'operationId' | 'kind'>;
  token: string;
  deadlineMs: number;
}): Command<Incident | null> {
  const { intent, token, deadlineMs } = input;
  const { accountId, paymentId, operationId, kind } = intent;
  const key = paymentKey(accountId, paymentId);
  const of = kindOf(kind);
  return {
    token,
    deadlineMs,
    chains: [{ accountId, chainId: operationId }],
    reads: [read(of.table, key), read(intents, key)],
    eventRefs: [],
    decide: (view: View, now) => {
      const sent: Sent | undefined = view.get(of.table, key);
      const stored = view.get(intents, key);
      if (!sent || !stored || stored.state === 'sending') return { answer: null };
      const waiting = put(intents, { ...stored, dueAt: now + againMs });
      const wanted: OpenedIncident | null = of.undecided(sent);
      if (stored.state === 'ready' || wanted === null) return { answer: null, writes: [waiting] };
      if (view.get(incidents, incidentKey(accountId, wanted.reference)))
        return { answer: null, writes: [waiting] };
      const { paymentId: subject, detail } = of.subjectOf(sent);
      const incident: Incident = {
        accountId,
        id: idsOf(token).uuid(),
        kind: wanted.kind,
        paymentId: subject,
        operationId: sent.operationId,
        amountCents: sent.amountCents,
        reference: wanted.reference,
        freezes: false,
        detail: { ...detail, status: sent.status, from: 'elsewhere', connection: stored.connection },
        openedAt: now,
      };
      return { answer: incident, writes: [waiting, put(incidents, incident)] };
    },
  };
}
