import type { Log } from '../ground/log.ts';
import { type Intent, isPixCharge, priorityOf } from '../money/intent.ts';
import { providerIdOf } from '../money/payment.ts';
import { queryAnyCharge } from '../provider/due-charges.ts';
import type { Provider } from '../provider/provider.ts';
import type { Platform } from '../store/rows/conditions.sql.ts';
import { intents } from '../store/rows/intents.sql.ts';
import { paymentKey, payments } from '../store/rows/payments.sql.ts';
import { type Command, put, read } from '../store/till.ts';
import { takeQuery } from './limit.ts';

/**
 * First sends in a time that the database may have lost: the id may have gone out already, and at another connection than the account is bound to now, since
 * what was lost may be the binding. So the id is queried before it is sent, at every connection that the account could have used, and a
 * connection that has it keeps it.
 *
 * Payouts wait for the comparison, which stores every id that a list shows (`lost-payments.sql.ts`); what is left for them are connections that were never compared. Charges do not
 * wait, and are queried at the other connections: their own answers a second creation with the first.
 * Rejected: to hold back charges as well until the comparison has ended, because merchants could take no money for hours.
 */

/** Of the connections that the account could have used, those to be queried. Pure. */
export function connectionsToAsk(
  installation: Platform | undefined,
  { kind, connection }: Pick<Intent, 'kind' | 'connection'>,
  candidates: Candidates,
): string[] {
  if (!installation) return [];
  const { restoredAt, uncompared, recorded } = installation;
  const possible = () => candidates(recorded);
  if (isPixCharge(kind)) return restoredAt === null ? [] : possible().filter((one) => one !== connection);
  // A refund goes where its charge is.
  if (kind !== 'transfer') return [];
  if (restoredAt !== null) return possible();
  return uncompared.length === 0 ? [] : possible().filter((one) => uncompared.includes(one));
}

/**
 * The connections that an account could have used. Called in a lost time alone: there may be hundreds.
 * @param recorded those of the database
 */
export type Candidates = (recorded: readonly string[]) => string[];

/**
 * Those of the same kind of money that can answer for an id of ours, and those that this process has not taken up yet: what they can do is not known here, and `askFirst`
 * waits until they are. A merchant's repeat may come in the moment in which the operator has made a lost connection again.
 */
export const candidatesFor =
  (
    providers: ReadonlyMap<string, Provider>,
    { kind, connection }: Pick<Intent, 'kind' | 'connection'>,
  ): Candidates =>
  (recorded) => {
    const movesMoney = providers.get(connection)?.capabilities.movesMoney;
    const answers = ({ capabilities: can }: Provider) =>
      can.movesMoney === movesMoney &&
      (kind === 'deposit'
        ? can.charges
        : kind === 'due_charge'
          ? can.dueCharges
          : can.payouts && can.queryPayoutByOwnId);
    const known = [...providers.values()].filter(answers).map((provider) => provider.connection);
    return [...known, ...recorded.filter((name) => !providers.has(name))];
  };

export type Asked =
  | { at: 'nowhere' }
  /** One of them did not answer, or no query was left. */
  | { at: 'unknown' }
  | { at: 'found'; connection: string; identity: string; providerRef: string | null };

/** Asks one after the other: the first that has the id ends it. */
export async function askFirst(
  deps: Parameters<typeof takeQuery>[0] & { providers: ReadonlyMap<string, Provider>; log: Log },
  { paymentId, kind }: Intent,
  connections: readonly string[],
): Promise<Asked> {
  const providerId = providerIdOf(paymentId);
  for (const connection of connections) {
    const provider = deps.providers.get(connection);
    const identity = provider?.identity ?? null;
    // Of another account than the one that it had, an answer says nothing.
    if (identity === null) return { at: 'unknown' };
    const slot = provider && (await takeQuery(deps, connection, provider.capabilities.callTimeoutMs * 2));
    if (!provider || !slot) return { at: 'unknown' };
    const asking = isPixCharge(kind)
      ? queryAnyCharge(provider, providerId)
      : provider.queryPayout(providerId);
    const outcome = await asking.finally(() => slot.free());
    if (outcome.outcome === 'unclear' || provider.identity !== identity) return { at: 'unknown' };
    if (outcome.outcome === 'notFound') continue;
    const { report } = outcome;
    const providerRef = 'providerId' in report ? (report.providerRef ?? null) : null;
    deps.log.warn({ paymentId, connection }, 'a payment of the lost time was found before it was sent');
    return { at: 'found', connection, identity, providerRef };
  }
  return { at: 'nowhere' };
}

/** How soon it is asked again where one did not answer. */
const askAgainMs = 5_000;

/** Stores what was found; a payment that a connection has is queried there from now on, and never sent. Pure. */
export function buildAsked(input: {
  intent: Intent;
  asked: Exclude<Asked, { at: 'nowhere' }>;
  token: string;
  deadlineMs: number;
}): Command<void> {
  const { intent, asked, token, deadlineMs } = input;
  const { accountId, paymentId, operationId } = intent;
  const key = paymentKey(accountId, paymentId);
  return {
    token,
    deadlineMs,
    chains: [{ accountId, chainId: operationId }],
    reads: [read(payments, key), read(intents, key)],
    eventRefs: [],
    decide: (view, now) => {
      const payment = view.get(payments, key);
      const stored = view.get(intents, key);
      if (!payment || stored?.state !== 'ready') return { answer: undefined };
      if (asked.at === 'unknown')
        return { answer: undefined, writes: [put(intents, { ...stored, dueAt: now + askAgainMs })] };
      const { connection, identity, providerRef } = asked;
      const adopted: Intent = {
        ...stored,
        connection,
        identity,
        providerRef,
        priority: priorityOf(stored.kind, payment.status),
        state: 'awaiting',
        fence: token,
        attempt: 1,
        dueAt: now,
        attemptEndedAt: now,
        known: true,
      };
      return {
        answer: undefined,
        writes: [put(payments, { ...payment, connection }), put(intents, adopted)],
      };
    },
  };
}
