import type { Static } from 'typebox';
import type { ApiScope } from '../../edge/edge.ts';
import type { Cell } from '../../ground/csv.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { mayAct, type OperatorRole } from '../../operate/acts.ts';
import { listMovements } from '../../operate/book-movement.ts';
import { findClosesOfConnection } from '../../operate/closes/connection-closes.sql.ts';
import { dayAfter, dayBefore, endsAt, startsAt } from '../../operate/closes/day.ts';
import { environmentOf } from '../../operate/connections/connections.ts';
import { type Examination, findExamination } from '../../operate/connections/examination.sql.ts';
import { wishExamination } from '../../operate/connections/examination.ts';
import { dayOf } from '../../operate/statement/period.ts';
import { PanelError } from '../../panel/errors.ts';
import type { Queries } from '../../ports/sql.ts';
import type { Finding, Provider } from '../../provider/provider.ts';
import { OperatorRefused } from '../../store/operator.ts';
import { instant, sendList } from '../csv.ts';
import type { PlaceDeps } from '../place.ts';
import { consoleConfig } from '../route.ts';
import { Nothing } from '../schema.ts';
import {
  AfterQuery,
  ConnectionMoneySchema,
  ConnectionSchema,
  ConnectionsSchema,
  ExaminationSchema,
  NameParams,
} from './connections.schema.ts';
import {
  findBoundAccounts,
  findCashOnTheWay,
  findConnectionMoney,
  findListedConnections,
  type ListedConnection,
} from './connections.sql.ts';

const tags = ['Operator'];
const listedMost = 200;
const boundMost = 50;
const cashMost = 200;
/** Closed days with the day that is not over. */
const daysMost = 31;

export type ConnectionDeps = PlaceDeps & { providers: ReadonlyMap<string, Provider> };

/** Connections to providers: their state for all who look after them, their money for those who count it. */
export function connectionRoutes(api: ApiScope, deps: ConnectionDeps): void {
  const { sql } = deps;

  api.get(
    '/connections',
    {
      schema: {
        tags,
        summary: 'Connections, in the order of their names',
        querystring: AfterQuery,
        response: { 200: ConnectionsSchema },
      },
      config: consoleConfig,
    },
    async ({ query: { after } }) => {
      const rows = await findListedConnections(sql, { after, most: listedMost + 1 });
      const shown = rows.slice(0, listedMost);
      return {
        connections: shown.map(listedView),
        next: rows.length > listedMost ? (shown.at(-1)?.name ?? null) : null,
      };
    },
  );

  api.get('/connections.csv', { config: {} }, async ({ language }, reply) =>
    sendList(reply, language, 'connections', columns, (await everyConnection(sql)).map(cellsOf)),
  );

  api.get(
    '/connections/:name',
    {
      schema: {
        tags,
        summary: 'A connection',
        params: NameParams,
        response: { 200: ConnectionSchema },
      },
      config: consoleConfig,
    },
    async ({ params: { name }, operator: { role } }) => {
      const [row] = await findListedConnections(sql, { name, most: 1 });
      if (!row) throw new PanelError('not_found');
      const [bound, examination] = await Promise.all([
        findBoundAccounts(sql, name, boundMost),
        findExamination(sql, name),
      ]);
      return {
        ...listedView(row),
        createdAt: nullable(row.createdAt),
        bound,
        examination: examinationView(examination, role),
      };
    },
  );

  api.post(
    '/connections/:name/examination',
    {
      schema: {
        tags,
        summary: 'Asks for an examination as `vintem doctor` makes it; once a minute',
        params: NameParams,
        body: Nothing,
        response: { 200: ExaminationSchema },
      },
      config: consoleConfig,
    },
    async ({ params: { name }, operator: { email, role } }) => {
      await wishExamination({ ...deps, actor: email }, name).catch((error: unknown) => {
        throw error instanceof OperatorRefused ? new PanelError('not_found') : error;
      });
      return examinationView(await findExamination(sql, name), role);
    },
  );

  api.get(
    '/connections/:name/money',
    {
      schema: {
        tags,
        summary: 'The provider’s last word on its account, cash between connections, costs and own money',
        params: NameParams,
        response: { 200: ConnectionMoneySchema },
      },
      config: consoleConfig,
    },
    ({ params: { name } }) => moneyOf(deps, name),
  );
}

const nullable = (ms: number | null): string | null => (ms === null ? null : isoOf(ms));

const listedView = (row: ListedConnection) => ({
  name: row.name,
  adapter: row.adapter ?? 'environment',
  mode: row.mode,
  state: row.state,
  environment: environmentOf(row),
  accounts: row.accounts,
  certificateExpiresAt: nullable(row.certificateExpiresAt),
  heldSince: nullable(row.heldSince),
  heldReason: row.heldReason,
  refused: row.refused.map(({ call, since, probeAt }) => ({
    call,
    since: isoOf(since),
    probeAt: isoOf(probeAt),
  })),
  faults: row.faults,
  foundAt: nullable(row.foundAt),
});

const columns = [
  'name',
  'adapter',
  'mode',
  'state',
  'environment',
  'accounts',
  'certificateExpiresAt',
  'heldSince',
  'heldReason',
  'refuses',
  'faults',
  'foundAt',
];

const cellsOf = (row: ListedConnection): Cell[] => [
  ...[row.name, row.adapter ?? 'environment', row.mode, row.state, environmentOf(row), String(row.accounts)],
  ...[instant(row.certificateExpiresAt), instant(row.heldSince), row.heldReason],
  row.refused.map(({ call }) => call).join(' '),
  ...[row.faults === null ? null : String(row.faults), instant(row.foundAt)],
];

/** A page after the other: an installation may have as many as merchants. */
async function everyConnection(sql: Queries): Promise<ListedConnection[]> {
  const all: ListedConnection[] = [];
  for (;;) {
    const rows = await findListedConnections(sql, { after: all.at(-1)?.name, most: listedMost });
    all.push(...rows);
    if (rows.length < listedMost) return all;
  }
}

/** Their messages say amounts where they are good: for those who may see the money of a connection. */
const checksOfMoney: readonly Finding['check'][] = ['balance', 'payout limit'];

const isShownTo = (role: OperatorRole, { check, ok }: Finding): boolean =>
  !ok || !checksOfMoney.includes(check) || mayAct(role, 'closes');

const examinationView = (
  one: Examination | undefined,
  role: OperatorRole,
): Static<typeof ExaminationSchema> => ({
  askedAt: one ? isoOf(one.askedAt) : null,
  askedBy: one?.askedBy ?? null,
  underWay: one !== undefined && one.endedAt === null,
  unanswered: one !== undefined && one.endedAt !== null && one.foundAt !== one.endedAt,
  foundAt: nullable(one?.foundAt ?? null),
  findings: (one?.findings ?? [])
    .filter((finding) => isShownTo(role, finding))
    .map(({ check, ok, message, action }) => ({
      check,
      ok,
      message,
      action: action ?? null,
    })),
});

async function moneyOf(
  { sql, clock, providers }: ConnectionDeps,
  name: string,
): Promise<Static<typeof ConnectionMoneySchema>> {
  const account = await findConnectionMoney(sql, name);
  if (!account) throw new PanelError('not_found');
  const [cash, closes] = await Promise.all([
    findCashOnTheWay(sql, name, cashMost),
    findClosesOfConnection(sql, name, null, daysMost),
  ]);
  const today = dayOf(clock.now());
  // Closed days come from their closes: the movements of a month may be millions.
  const yesterday = dayBefore(today);
  const open = closes[0] ? dayAfter(closes[0].day) : yesterday;
  const begin = open > yesterday ? open : yesterday;
  const moved = await listMovements({ sql }, name, { fromMs: startsAt(begin), toMs: endsAt(today) });
  const days = new Map<string, Static<typeof ConnectionMoneySchema>['days'][number]>();
  for (const { day, kind, inCents, outCents } of moved) {
    const before = days.get(day) ?? { day, closed: false, costCents: 0, ownInCents: 0, ownOutCents: 0 };
    days.set(
      day,
      kind === 'cost'
        ? { ...before, costCents: outCents - inCents }
        : kind === 'own'
          ? { ...before, ownInCents: inCents, ownOutCents: outCents }
          : before,
    );
  }
  const closed = closes.map((one) => ({
    day: one.day,
    closed: true,
    costCents: one.costCents ?? 0,
    ownInCents: one.ownInCents ?? 0,
    ownOutCents: one.ownOutCents ?? 0,
  }));
  return {
    ...account,
    balanceReadAt: nullable(account.balanceReadAt),
    maxParallelSends: providers.get(name)?.capabilities.maxParallelSends ?? null,
    cash: cash.map((one) => ({ ...one, leftAt: isoOf(one.leftAt), dueAt: isoOf(one.dueAt) })),
    days: [...days.values(), ...closed].filter(
      (one) => one.costCents !== 0 || one.ownInCents !== 0 || one.ownOutCents !== 0,
    ),
  };
}
