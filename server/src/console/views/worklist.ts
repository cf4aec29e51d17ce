import type { Static } from 'typebox';
import type { ApiScope } from '../../edge/edge.ts';
import { listOpenLines } from '../../jobs/statement-lines.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { mayAct, type OperatorRole } from '../../operate/acts.ts';
import { findDisputeRows } from '../../operate/find.sql.ts';
import type { LookDeps } from '../../operate/look.ts';
import { listUnread } from '../../operate/unread/unread-items.ts';
import { PanelError } from '../../panel/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Sql } from '../../ports/sql.ts';
import { sendList } from '../csv.ts';
import { noteOperator } from '../people/operators.ts';
import { findOpenRequests, findUnseenRequests, type OperatorRequest } from '../requests/requests.sql.ts';
import { consoleConfig } from '../route.ts';
import { ClaimBody, Done, WorklistSchema } from '../schema.ts';
import {
  findClaims,
  findEndingCertificates,
  findLateCash,
  findOpenIncidents,
  findUnknownTransfers,
  leaveItem,
  type Pause,
  readPause,
  takeItem,
} from './worklist.sql.ts';

/** Of each list. */
const most = 200;
/** A younger transfer is on its way. */
const unknownAfterMs = 60_000;
/** As `vintem doctor` warns of it. */
const certificateMs = 30 * 86_400_000;

type Item = Static<typeof WorklistSchema>['items'][number];
type Found = Omit<Item, 'takenBy' | 'isMine'>;

export type WorklistDeps = LookDeps & { sql: Sql; clock: Clock; ids: Ids };

const tags = ['Operator'];

/** Everything that waits for a person: money that withdrawals wait for, then deadlines, then by age. */
export function worklistRoutes(api: ApiScope, deps: WorklistDeps): void {
  api.get(
    '/worklist',
    {
      schema: { tags, summary: 'What waits for a person', response: { 200: WorklistSchema } },
      config: consoleConfig,
    },
    async ({ operator }) => {
      const pause = await readPause(deps.sql);
      const { pausedAt, reason } = pause;
      return {
        withdrawalsPausedAt: pausedAt === null ? null : isoOf(pausedAt),
        withdrawalsPausedReason: pausedAt === null ? null : reason,
        most,
        items: await withClaims(deps, operator, await itemsOf(deps, pause)),
      };
    },
  );

  api.get('/worklist.csv', { config: {} }, async ({ operator, language }, reply) => {
    const items = await withClaims(deps, operator, await itemsOf(deps, await readPause(deps.sql)));
    return sendList(reply, language, 'worklist', columns, items.map(cellsOf));
  });

  claimRoutes(api, deps);
}

/** Who works at an entry. Another operator takes it over by the same call, so that no absence holds it. */
function claimRoutes(api: ApiScope, deps: WorklistDeps): void {
  const { sql, clock } = deps;

  api.post(
    '/worklist/claims',
    {
      schema: { tags, summary: 'The caller works at an entry', body: ClaimBody, response: { 200: Done } },
      config: consoleConfig,
    },
    async ({ body, operator: { operatorId, email } }) => {
      const item = nameOf(body);
      const open = await itemsOf(deps, await readPause(sql));
      if (!open.some((one) => nameOf(one) === item)) throw new PanelError('not_found');
      await sql.tx(async (tx) => {
        await takeItem(tx, item, operatorId, clock.now());
        await noteOperator(tx, deps, {
          actor: email,
          action: 'worklist.take',
          subject: body.id,
          detail: body,
        });
      });
      return { ok: true as const };
    },
  );

  api.post(
    '/worklist/claims/removal',
    {
      schema: { tags, summary: 'The caller works at it no more', body: ClaimBody, response: { 200: Done } },
      config: consoleConfig,
    },
    async ({ body, operator: { operatorId, email } }) => {
      await sql.tx(async (tx) => {
        if (!(await leaveItem(tx, nameOf(body), operatorId))) throw new PanelError('not_found');
        await noteOperator(tx, deps, {
          actor: email,
          action: 'worklist.leave',
          subject: body.id,
          detail: body,
        });
      });
      return { ok: true as const };
    },
  );
}

const nameOf = ({ kind, id, connection }: { kind: string; id: string; connection?: string | null }): string =>
  [kind, connection ?? '', id].join(' ');

/** With who works at each, in the order of urgency. The money of connections is counted by some roles alone. */
async function withClaims(
  { sql }: WorklistDeps,
  { operatorId, role }: { operatorId: string; role: OperatorRole },
  found: readonly Found[],
): Promise<Item[]> {
  const claims = new Map(
    (await findClaims(sql, found.map(nameOf))).map((claim) => [claim.item, claim] as const),
  );
  return found
    .map((one) => {
      const claim = claims.get(nameOf(one));
      const amountCents = one.kind === 'cash' && !mayAct(role, 'closes') ? null : one.amountCents;
      return {
        ...one,
        amountCents,
        takenBy: claim?.name ?? null,
        isMine: claim?.operatorId === operatorId,
      };
    })
    .sort(byUrgency);
}

const columns = [
  'kind',
  'about',
  'id',
  'account',
  'payment',
  'connection',
  'amount',
  'since',
  'due',
  'freezes',
  'who',
];

const cellsOf = (one: Item) => [
  ...[one.kind, one.about, one.id, one.ownerId, one.paymentId, one.connection],
  one.amountCents === null ? null : { cents: one.amountCents },
  { at: one.since },
  one.dueAt === null ? null : { at: one.dueAt },
  String(one.freezes),
  one.takenBy,
];

async function itemsOf({ sql, cells, clock }: WorklistDeps, pause: Pause): Promise<Found[]> {
  await cells.refresh();
  const now = clock.now();
  const ofCells = cells.all().map((cell) => itemsOfCell(cell, now));
  const [lines, unread, certificates, cash, ...open] = await Promise.all([
    listOpenLines({ sql }),
    listUnread({ sql }),
    findEndingCertificates(sql, now + certificateMs, most),
    findLateCash(sql, now, most),
    ...ofCells,
  ]);
  return [
    ...(await findUnseenRequests(sql, most)).map((one) => requestItem('alone', one)),
    ...(await findOpenRequests(sql, now, most)).map((one) => requestItem('request', one)),
    ...open.flat(),
    ...lines.slice(0, most).map((one) => ofProvider('statement_line', one)),
    ...unread.slice(0, most).map((one) => ofProvider('unread_item', one)),
    ...certificates.map(({ connection, adapter, endsAt }) =>
      item({
        ...{ kind: 'certificate', id: connection, about: adapter, connection },
        since: isoOf(endsAt - certificateMs),
        dueAt: isoOf(endsAt),
      }),
    ),
    ...cash.map(({ connection, reference, toConnection, amountCents, leftAt }) =>
      item({
        ...{ kind: 'cash', id: reference, about: toConnection, connection, amountCents },
        since: isoOf(leftAt),
      }),
    ),
    ...uncomparedIn(pause),
  ];
}

/** Left to compare since a restore or another loss of time: withdrawals of all accounts wait for it. */
function uncomparedIn({ restoredAt, pausedAt, uncompared }: Pause): Found[] {
  const since = restoredAt ?? pausedAt;
  if (since === null) return [];
  const of = (id: string, connection: string | null): Found =>
    item({ kind: 'uncompared', id, about: 'restore', connection, since: isoOf(since), freezes: true });
  return [
    ...(restoredAt === null ? [] : [of('installation', null)]),
    ...uncompared.map((connection) => of(connection, connection)),
  ];
}

const ofProvider = (
  kind: 'statement_line' | 'unread_item',
  {
    id,
    kind: about,
    connection,
    firstSeenAt,
  }: { id: string; kind: string; connection: string; firstSeenAt: number },
): Found => item({ kind, id, about, connection, since: isoOf(firstSeenAt) });

const requestItem = (
  kind: 'alone' | 'request',
  { id, act, movedCents, requestedAt, expiresAt }: OperatorRequest,
): Found =>
  item({
    ...{ kind, id, about: act, amountCents: movedCents, since: isoOf(requestedAt) },
    // The end of an act that was done alone is past, so it stands in front.
    dueAt: isoOf(expiresAt),
  });

async function itemsOfCell({ sql }: Pick<LookDeps, 'sql'>, now: number): Promise<Found[]> {
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

const item = (known: Pick<Found, 'kind' | 'id' | 'about' | 'since'> & Partial<Found>): Found => ({
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
