import type { Static } from 'typebox';
import type { ApiScope } from '../../edge/edge.ts';
import { listOpenLines } from '../../jobs/statement-lines.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { findDisputeRows } from '../../operate/find.sql.ts';
import type { LookDeps } from '../../operate/look.ts';
import { listUnread } from '../../operate/unread/unread-items.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { findOpenRequests, findUnseenRequests, type OperatorRequest } from '../requests/requests.sql.ts';
import { consoleConfig } from '../route.ts';
import { WorklistSchema } from '../schema.ts';
import { findOpenIncidents, findUnknownTransfers, readPause } from './worklist.sql.ts';

/** Of each list. */
const most = 200;
/** A younger transfer is on its way. */
const unknownAfterMs = 60_000;

type Item = Static<typeof WorklistSchema>['items'][number];

export type WorklistDeps = LookDeps & { sql: Sql; clock: Clock };

/** Everything that waits for a person: money that withdrawals wait for, then deadlines, then by age. */
export function worklistRoute(api: ApiScope, deps: WorklistDeps): void {
  api.get(
    '/worklist',
    {
      schema: { tags: ['Operator'], summary: 'What waits for a person', response: { 200: WorklistSchema } },
      config: consoleConfig,
    },
    async () => {
      const { pausedAt, reason } = await readPause(deps.sql);
      return {
        withdrawalsPausedAt: pausedAt === null ? null : isoOf(pausedAt),
        withdrawalsPausedReason: pausedAt === null ? null : reason,
        most,
        items: (await itemsOf(deps)).sort(byUrgency),
      };
    },
  );
}

async function itemsOf({ sql, cells, clock }: WorklistDeps): Promise<Item[]> {
  await cells.refresh();
  const ofCells = cells.all().map((cell) => itemsOfCell(cell, clock.now()));
  const [lines, unread, ...open] = await Promise.all([
    listOpenLines({ sql }),
    listUnread({ sql }),
    ...ofCells,
  ]);
  return [
    ...(await findUnseenRequests(sql, most)).map((one) => requestItem('alone', one)),
    ...(await findOpenRequests(sql, clock.now(), most)).map((one) => requestItem('request', one)),
    ...open.flat(),
    ...lines.slice(0, most).map((one) =>
      item({
        kind: 'statement_line',
        id: one.id,
        about: one.kind,
        connection: one.connection,
        since: isoOf(one.firstSeenAt),
      }),
    ),
    ...unread.slice(0, most).map((one) =>
      item({
        kind: 'unread_item',
        id: one.id,
        about: one.kind,
        connection: one.connection,
        since: isoOf(one.firstSeenAt),
      }),
    ),
  ];
}

const requestItem = (
  kind: 'alone' | 'request',
  { id, act, movedCents, requestedAt, expiresAt }: OperatorRequest,
): Item =>
  item({
    ...{ kind, id, about: act, amountCents: movedCents, since: isoOf(requestedAt) },
    // The end of an act that was done alone is past, so it stands in front.
    dueAt: isoOf(expiresAt),
  });

async function itemsOfCell({ sql }: Pick<LookDeps, 'sql'>, now: number): Promise<Item[]> {
  const [incidents, disputes, unknown] = await Promise.all([
    findOpenIncidents(sql, most),
    findDisputeRows(sql, null, most),
    findUnknownTransfers(sql, now - unknownAfterMs, most),
  ]);
  return [
    ...incidents.map(({ id, kind, ownerId, paymentId, amountCents, freezes, openedAt }) =>
      item({
        kind: 'incident',
        id,
        about: kind,
        ownerId,
        paymentId,
        amountCents,
        freezes,
        since: isoOf(openedAt),
      }),
    ),
    ...disputes.map(({ id, status, ownerId, paymentId, connection, amountCents, openedAt, deadlineAt }) =>
      item({
        kind: 'dispute',
        id,
        about: status,
        ownerId,
        paymentId,
        connection,
        amountCents,
        since: isoOf(openedAt),
        dueAt: deadlineAt === null ? null : isoOf(deadlineAt),
      }),
    ),
    ...unknown.map(({ id, ownerId, connection, amountCents, createdAt }) =>
      item({
        kind: 'unknown_transfer',
        id,
        about: 'unknown',
        ownerId,
        paymentId: id,
        connection,
        amountCents,
        since: isoOf(createdAt),
      }),
    ),
  ];
}

const item = (known: Pick<Item, 'kind' | 'id' | 'about' | 'since'> & Partial<Item>): Item => ({
  ownerId: null,
  paymentId: null,
  connection: null,
  amountCents: null,
  dueAt: null,
  freezes: false,
  ...known,
});

/** Frozen withdrawals first, then deadlines, the next one first, then the oldest. */
function byUrgency(one: Item, other: Item): number {
  if (one.freezes !== other.freezes) return one.freezes ? -1 : 1;
  if ((one.dueAt === null) !== (other.dueAt === null)) return one.dueAt === null ? 1 : -1;
  return (one.dueAt ?? one.since) < (other.dueAt ?? other.since) ? -1 : 1;
}
