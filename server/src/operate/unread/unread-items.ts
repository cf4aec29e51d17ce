import { findOwnersInCells } from '../../flow/in-cells.ts';
import { retryAfterMs } from '../../flow/keep-unread.ts';
import { askForPage, confirm, NoQueryLeft, takeAllowedQuery } from '../../flow/query.ts';
import type { TrackingDeps } from '../../flow/tracking-deps.ts';
import type { Secrets } from '../../ground/secrets.ts';
import { kindOf } from '../../kinds/registry/kinds.ts';
import { paymentIdOf } from '../../money/payment.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Queries, Sql, Statement } from '../../ports/sql.ts';
import type { Provider, UnreadKind } from '../../provider/provider.ts';
import { type Operator, OperatorRefused, reasonOf } from '../../store/operator.ts';
import { installationId, writeAudit } from '../../store/rows/audit.sql.ts';
import { accountNumberOf } from '../../store/rows/idempotency.ts';
import { isApprovalKnown } from '../../store/rows/payments.sql.ts';
import {
  claimUnread,
  type DueUnread,
  findNaming,
  findOpenUnread,
  findUnnamedKinds,
  findUnreadBody,
  findUnreadIncidents,
  markDismissed,
  nameIncidentOf,
  noteUnreadFailed,
  type OpenUnread,
  pruneUnread,
  removeUnread,
} from '../../store/rows/unread-items.sql.ts';
import { resolveIncident } from '../incidents/incident.ts';

/**
 * Asks again for what could not be read (`keep-unread.ts`), and opens and ends its incidents. An incident ends by itself when everything that it
 * names can be read.
 */
const hour = 3_600_000;
const claimMs = 5 * 60_000;
/** Asked for in one turn: queries of the shared limit are left for payments under way. */
const queriesMost = 3;
const busyMs = 30_000;
/** An item that the provider has not sent for this long is removed; an incident that named it stays. */
const keptMs = 90 * 24 * hour;
const rowsPerStep = 500;

/** @returns whether there is more to remove at once */
export const stepUnreadPruning = async ({ sql, clock }: { sql: Sql; clock: Clock }): Promise<boolean> =>
  (await pruneUnread(sql, clock.now() - keptMs, rowsPerStep)) === rowsPerStep;

/** One turn of one connection: asks for items again, and opens and ends its incidents. @returns false: the next turn has its time */
export async function stepUnread(deps: TrackingDeps, provider: Provider): Promise<boolean> {
  const { connection } = provider;
  const now = deps.clock.now();
  const due = await claimUnread(deps.sql, connection, now, now + claimMs, queriesMost);
  for (const item of due) await askAgain(deps, provider, item);
  const open = await findUnreadIncidents(deps.sql, installationId, connection);
  await openIncidents(deps, connection, open);
  if (open.length > 0) await endIncidents(deps, connection, open);
  return false;
}

async function askAgain(deps: TrackingDeps, provider: Provider, item: DueUnread): Promise<void> {
  const { connection } = provider;
  let isRead = false;
  let waitMs = retryAfterMs(item.tries + 1);
  try {
    isRead = await canBeRead(deps, provider, item);
  } catch (error) {
    if (error instanceof NoQueryLeft) waitMs = busyMs;
    else deps.log.warn({ err: error, connection, kind: item.kind }, 'an unread item cannot be queried');
  }
  if (isRead) await removeUnread(deps.sql, item.id);
  else await noteUnreadFailed(deps.sql, item.id, deps.clock.now() + waitMs);
}

/** Their lists end them: there is no query for one. That a Pix is found says nothing of its cost. */
const withoutQuery: ReadonlySet<UnreadKind> = new Set(['dispute', 'return', 'refund', 'cost', 'span']);

/** Whether the provider's own answer about it can be read. A payment of ours that it names is queried, so what it says is booked. */
async function canBeRead(deps: TrackingDeps, provider: Provider, item: DueUnread): Promise<boolean> {
  const { kind, providerId, endToEnd } = item;
  if (withoutQuery.has(kind)) return false;
  if (provider.cards && kind === 'charge' && endToEnd !== null)
    return isBooked(deps, provider, item, endToEnd);
  const payment = await queryOwner(deps, provider, providerId);
  if (kind === 'charge' || kind === 'payout') return payment === 'ended' || payment === 'open';
  // A movement is booked when its payment has ended.
  if (payment === 'open' || payment === 'unread') return false;
  if (endToEnd === null) return payment === 'ended';
  const slot = await takeAllowedQuery(deps, provider);
  if (!slot) throw new NoQueryLeft();
  const found = await provider.findPix(endToEnd).finally(() => slot.free());
  return found.outcome === 'found';
}

/**
 * Money that was paid on a page. That its payment is known, and another page of it can be read, says nothing of this money: it is asked for under its own name.
 * @param page the acquirer's own name of the page, or of what was paid on it
 */
async function isBooked(
  deps: TrackingDeps,
  provider: Provider,
  { providerId, reference }: DueUnread,
  page: string,
): Promise<boolean> {
  const found = await ownerOf(deps, provider, providerId);
  if (!found) return false;
  const { cell, owner } = found;
  if (await isApprovalKnown(cell.sql, owner, reference)) return true;
  const slot = await takeAllowedQuery(deps, provider);
  if (!slot) throw new NoQueryLeft();
  await askForPage(cell, provider, { owner, page }, (query) => query()).finally(() => slot.free());
  return isApprovalKnown(cell.sql, owner, reference);
}

/** The payment of ours under an id; undefined: there is none. */
async function ownerOf(deps: TrackingDeps, provider: Provider, providerId: string | null) {
  const id = providerId === null ? null : paymentIdOf(providerId);
  if (id === null) return undefined;
  const named = [{ id, accountNumber: accountNumberOf(id) }];
  const cells = await findOwnersInCells(deps, provider.connection, named);
  return cells.flatMap(({ deps: cell, owners }) => owners.map((owner) => ({ cell, owner })))[0];
}

/**
 * The provider's report of the payment under an id.
 * @returns `ended`: read and applied; `open`: read, and the follow-up applies it; `none`: no payment of ours
 * @throws Error when the answer about one that has ended cannot be read
 */
async function queryOwner(
  deps: TrackingDeps,
  provider: Provider,
  providerId: string | null,
): Promise<'ended' | 'open' | 'unread' | 'none'> {
  const found = await ownerOf(deps, provider, providerId);
  if (!found) return 'none';
  const { cell, owner } = found;
  if (!owner.followed) {
    await confirm(cell, provider, [owner]);
    return 'ended';
  }
  const slot = await takeAllowedQuery(deps, provider);
  if (!slot) throw new NoQueryLeft();
  const asked = { ...owner, paymentId: owner.id, connection: provider.connection, providerRef: null };
  const query = async () => (await kindOf(owner.kind).locate(cell.sql, asked))?.query(provider);
  const answer = await query().finally(() => slot.free());
  if (answer === undefined) return 'none';
  await confirm(cell, provider, [owner]);
  return answer.outcome === 'found' ? 'open' : 'unread';
}

const insert: Statement = {
  name: 'incident_unread',
  text: `INSERT INTO incident (account_id, id, kind, amount_cents, reference, freezes, detail, state, opened_at, mail_due_at)
    VALUES ($1, $2, 'unread', 0, $3, false, $4, 'open', $5, $5)
    ON CONFLICT DO NOTHING`,
};

/** One incident for each kind: what comes later joins it while it is open. */
async function openIncidents(
  deps: TrackingDeps,
  connection: string,
  open: readonly { id: string; kind: string }[],
): Promise<void> {
  const now = deps.clock.now();
  for (const { kind, count, first } of await findUnnamedKinds(deps.sql, connection, now)) {
    const there = open.find((one) => one.kind === kind);
    // Under the id of its first item, so that two processes open one.
    const id = there?.id ?? first;
    if (!there) {
      const detail = JSON.stringify({ connection, items: kind, count });
      const at = new Date(now).toISOString();
      await deps.sql.run(insert, [installationId, id, `unread:${connection}:${kind}:${first}`, detail, at]);
      deps.log.error({ incident: id, kind: 'unread', connection, items: kind }, 'incident opened');
    }
    await nameIncidentOf(deps.sql, connection, kind, id);
  }
}

async function endIncidents(
  deps: TrackingDeps,
  connection: string,
  open: readonly { id: string }[],
): Promise<void> {
  const naming = new Set(await findNaming(deps.sql, connection));
  const reason = 'every item can be read, or was dismissed';
  for (const { id } of open.filter((one) => !naming.has(one.id))) {
    try {
      await resolveIncident({ ...deps, actor: 'vintem' }, id, { action: 'none', reason });
    } catch (error) {
      // A person was faster.
      if (!(error instanceof OperatorRefused)) throw error;
    }
  }
}

// ------------------------------------------------------------------------------------------ operators

export const listUnread = ({ sql }: { sql: Queries }): Promise<OpenUnread[]> => findOpenUnread(sql);

/** The item as it came: it may hold names, documents and Pix keys. @throws OperatorRefused no such item, or it cannot be opened */
export async function showUnread(
  { sql, secrets }: { sql: Queries; secrets: Pick<Secrets, 'open'> },
  id: string,
): Promise<string> {
  const body = await findUnreadBody(sql, id);
  if (!body) throw new OperatorRefused('no such item');
  try {
    return secrets.open(body, id).toString();
  } catch {
    throw new OperatorRefused('no secret that is set opens it');
  }
}

/** A person has dealt with it: it is not asked for again and opens no incident. @throws OperatorRefused no such item */
export async function dismissUnread(operator: Operator, id: string, reason: string): Promise<void> {
  const why = reasonOf(reason);
  await operator.sql.tx(async (tx) => {
    const item = await markDismissed(tx, id, operator.clock.now());
    if (!item) throw new OperatorRefused('no such item');
    const audit = {
      accountId: installationId,
      id: operator.ids.uuid(),
      at: operator.clock.now(),
      actor: operator.actor,
      action: 'unread.dismiss',
      subject: id,
      reason: why,
      detail: item,
    };
    await writeAudit(tx, audit);
  });
}
