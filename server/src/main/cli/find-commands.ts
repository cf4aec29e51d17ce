import { findWords } from '../../flow/provider-words.sql.ts';
import { priceOf } from '../../ground/money.ts';
import { paymentIdOf, providerIdOf } from '../../money/payment.ts';
import {
  type AuditEntry,
  countOpenIncidents,
  type DisputeRow,
  type FoundAccount,
  type FoundRow,
  findAccountById,
  findAccountNumbers,
  findAccountsNamed,
  findAccountsOfDocument,
  findAudit,
  findByEndToEnd,
  findById,
  findByRequestKey,
  findDisputeRows,
  findIncidentsOf,
  findOperationsOf,
  findPaymentDisputes,
  findPostings,
  findRefundRows,
} from '../../operate/find.sql.ts';
import { OperatorRefused } from '../../store/operator.ts';
import { conditions } from '../../store/rows/conditions.sql.ts';
import { accountNumberOf, paymentIdFor } from '../../store/rows/idempotency.ts';
import { intents } from '../../store/rows/intents.sql.ts';
import { paymentKey, payments } from '../../store/rows/payments.sql.ts';
import type { Context } from '../start.ts';
import { onDatabase } from '../start.ts';
import { type Command, instant, integer, table, UsageFault, uuid } from './command.ts';
import { cellsOf, onAccount } from './in-cells.ts';
import { identityOf } from './operator-commands.ts';

const namedMost = 50;

/** Commands of operators that read and change nothing. No Pix key is shown: keys are sealed. */
export const findCommands: Command[] = [
  {
    name: 'account show',
    usage: 'OWNER_ID',
    about: 'an account: its conditions, its operations with their balances, its open incidents',
    operands: ['OWNER_ID'],
    run: async (edge, { operands }) => {
      const ownerId = uuid(operands[0] as string, 'OWNER_ID');
      const shown = await onAccount(edge, 'account show', ownerId, ({ sql }) => accountFacts(sql, ownerId));
      const { operations, ...account } = shown;
      return {
        json: {
          ...account,
          operations: operations.map((one) => ({ ...one, deletedAt: instant(one.deletedAt) })),
        },
        text: [
          table(
            Object.entries(account).map(([name, value]) => [name, String(value)]),
            '',
          ),
          table(
            [
              ['operation', 'name', 'available', 'reserved', 'held', 'owed', ''],
              ...operations.map((one) => [
                one.id,
                one.name,
                priceOf(one.availableCents),
                priceOf(one.reservedCents),
                priceOf(one.heldCents),
                priceOf(one.receivableCents),
                [
                  one.isDefault ? 'main' : '',
                  one.deletedAt === null ? '' : 'deleted',
                  one.frozen ? 'frozen' : '',
                ]
                  .filter((word) => word !== '')
                  .join(', '),
              ]),
            ],
            '',
          ),
        ].join('\n\n'),
      };
    },
  },
  {
    name: 'payment show',
    usage: 'ID',
    about:
      'a payment with its send intent, refunds, disputes, incidents and postings. ID: ours, or the one at the provider',
    operands: ['ID'],
    run: async (edge, { operands }) => {
      const id = paymentIdOf((operands[0] as string).replaceAll('-', ''));
      if (id === null) throw new UsageFault('ID takes the id of a payment');
      const story = await onDatabase(edge, 'payment show', (context) => storyOf(context, id));
      return { json: story, text: textOfStory(story) };
    },
  },
  {
    name: 'find',
    usage: 'TEXT',
    about:
      'what has this id, end-to-end id, request key or document (CNPJ), or the accounts with this in their names',
    operands: ['TEXT'],
    run: async (edge, { operands }) => {
      const found = await onDatabase(edge, 'find', (context) =>
        find(context, (operands[0] as string).trim()),
      );
      return {
        json: { found },
        text: table(
          found.map(({ kind, id, ownerId, state, amountCents }) => [
            kind,
            id,
            `account ${ownerId}`,
            state,
            amountCents === null ? '' : priceOf(amountCents),
          ]),
          'nothing found',
        ),
      };
    },
  },
  {
    name: 'dispute list',
    usage: '[--account OWNER_ID]',
    about: 'the disputes that have not ended, the next deadline first; of an account all, the newest first',
    options: { account: { type: 'string' } },
    run: async (edge, { values }) => {
      const ownerId = typeof values.account === 'string' ? uuid(values.account, '--account') : null;
      const rows = await onDatabase(edge, 'dispute list', async (context) => {
        const cells = await cellsOf(context);
        return (await Promise.all(cells.map(({ sql }) => findDisputeRows(sql, ownerId, listMost)))).flat();
      });
      const disputes = rows.map(shownDispute);
      return {
        json: { disputes },
        text: table(
          disputes.map((one) => [
            one.id,
            one.status,
            priceOf(one.amountCents),
            one.deadlineAt === null ? 'no deadline' : `until ${one.deadlineAt}`,
            `payment ${one.paymentId}`,
            `account ${one.ownerId}`,
          ]),
          'no disputes',
        ),
      };
    },
  },
  {
    name: 'audit list',
    usage: '[--account OWNER_ID] [--limit N]',
    about: 'what operators did, the newest first: of an account, or of all and the installation',
    options: { account: { type: 'string' }, limit: { type: 'string' } },
    run: async (edge, { values }) => {
      const ownerId = typeof values.account === 'string' ? uuid(values.account, '--account') : null;
      const most = typeof values.limit === 'string' ? integer(values.limit, '--limit') : 100;
      if (most < 1 || most > listMost) throw new UsageFault(`--limit takes a number from 1 to ${listMost}`);
      const rows = await onDatabase(edge, 'audit list', async (context) => {
        const cells = await cellsOf(context);
        return (await Promise.all(cells.map(({ sql }) => findAudit(sql, ownerId, most)))).flat();
      });
      const entries = rows
        .sort((one, other) => other.at - one.at)
        .slice(0, most)
        .map((one: AuditEntry) => ({ ...one, at: instant(one.at) }));
      return {
        json: { entries },
        text: table(
          entries.map((one) => [one.at, one.actor, one.action, one.subject, one.reason ?? '']),
          'nothing',
        ),
      };
    },
  },
];

const listMost = 1_000;

async function accountFacts(sql: Context['sql'], ownerId: string) {
  const account = await findAccountById(sql, ownerId);
  const [held] = account ? await conditions.read(sql, [ownerId]) : [];
  if (!account || !held) throw new OperatorRefused('no such account');
  const { accountId: _, ...rules } = held;
  const [operations, openIncidents] = await Promise.all([
    findOperationsOf(sql, ownerId),
    countOpenIncidents(sql, ownerId),
  ]);
  const { number: __, ...shown } = account;
  return { ...shown, ...rules, openIncidents, operations };
}

/** Everything that the books have of a payment, each with its own clock. */
async function storyOf(context: Context, id: string) {
  const accounts = await findAccountNumbers(context.sql);
  const owner = accounts.find(({ number }) => number === accountNumberOf(id));
  const cell = owner && (await context.cells.ofAccount(owner.ownerId));
  const sql = cell?.sql ?? context.sql;
  const [payment] = owner ? await payments.read(sql, [paymentKey(owner.ownerId, id)]) : [];
  if (!owner || !payment) throw new OperatorRefused('no such payment');
  const { ownerId } = owner;
  const [refunds, disputes, incidents] = await Promise.all([
    findRefundRows(sql, ownerId, id),
    findPaymentDisputes(sql, ownerId, id),
    findIncidentsOf(sql, ownerId, id),
  ]);
  const subjects = [id, ...refunds.map((one) => one.id)];
  const [words, postings, sends] = await Promise.all([
    findWords(sql, ownerId, subjects),
    findPostings(sql, ownerId, subjects),
    intents.read(
      sql,
      subjects.map((one) => paymentKey(ownerId, one)),
    ),
  ]);
  return {
    id,
    ownerId,
    operationId: payment.operationId,
    kind: payment.kind,
    status: payment.status,
    amountCents: payment.amountCents,
    feeCents: payment.feeCents,
    connection: payment.connection,
    providerId: providerIdOf(id),
    endToEnd: payment.endToEnd,
    payerName: payment.payerName,
    receiver: payment.receiver,
    description: payment.description,
    requestKey: payment.requestKey,
    reasonCode: payment.reasonCode,
    refundedCents: payment.refundedCents,
    returnedCents: payment.returnedCents,
    createdAt: instant(payment.createdAt),
    updatedAt: instant(payment.updatedAt),
    settledAt: instant(payment.settledAt),
    paidAt: instant(payment.paidAt),
    expiresAt: instant(payment.expiresAt),
    history: payment.history,
    /** The open intents of it and of its refunds. */
    intents: sends.map(({ paymentId, connection, state, attempt, failures, absences, dueAt, known }) => ({
      id: paymentId,
      connection,
      state,
      attempts: attempt,
      failures,
      absences,
      known,
      dueAt: instant(dueAt),
    })),
    refunds: refunds.map((one) => ({
      ...one,
      createdAt: instant(one.createdAt),
      settledAt: instant(one.settledAt),
    })),
    disputes: disputes.map(shownDispute),
    incidents: incidents.map((one) => ({
      ...one,
      openedAt: instant(one.openedAt),
      resolvedAt: instant(one.resolvedAt),
    })),
    /** The provider's words to attempts that it did not accept. */
    words: words.map((one) => ({ ...one, at: instant(one.at) })),
    postings: postings.map(({ postedAt, ...one }) => ({ ...one, postedAt: instant(postedAt) })),
  };
}

function textOfStory(story: Awaited<ReturnType<typeof storyOf>>): string {
  const { history, intents: sends, refunds, disputes, incidents, words, postings, ...payment } = story;
  const facts = Object.entries(payment)
    .filter(([, value]) => value !== null && value !== '')
    .map(([name, value]) => [
      name,
      name.endsWith('Cents')
        ? priceOf(value as number)
        : typeof value === 'object'
          ? JSON.stringify(value)
          : String(value),
    ]);
  const moved = postings.map(({ postedAt, template, chainId: _, seq: __, reference: ___, ...columns }) => [
    postedAt,
    template,
    Object.entries(columns)
      .filter(([, cents]) => cents !== 0)
      .map(([name, cents]) => `${name} ${priceOf(cents as number)}`)
      .join(', '),
  ]);
  const sections: [string, string[][]][] = [
    ['history', history.map((step) => [step.at, step.status, step.cause.by])],
    [
      'to be sent or followed',
      sends.map((one) => [one.id, one.state, `attempts ${one.attempts}`, `next ${one.dueAt}`]),
    ],
    ['refunds', refunds.map((one) => [one.id, one.status, priceOf(one.amountCents), one.reasonCode ?? ''])],
    [
      'disputes',
      disputes.map((one) => [one.id, one.status, priceOf(one.amountCents), one.deadlineAt ?? 'no deadline']),
    ],
    ['incidents', incidents.map((one) => [one.id, one.kind, one.state, priceOf(one.amountCents)])],
    ['said by the provider', words.map((one) => [String(one.at), one.name, one.message ?? ''])],
    ['postings', moved],
  ];
  return [
    table(facts, ''),
    ...sections.filter(([, rows]) => rows.length > 0).map(([head, rows]) => `${head}\n${table(rows, '')}`),
  ].join('\n\n');
}

type Found = Omit<FoundRow, 'kind'> & { kind: FoundRow['kind'] | 'account' };

const foundAccount = ({ ownerId, name }: FoundAccount): Found => ({
  kind: 'account',
  id: ownerId,
  ownerId,
  operationId: null,
  state: name,
  amountCents: null,
});

/** Exact identifiers first; a text that is none of them is looked for in the names of accounts. */
async function find(context: Context, text: string): Promise<Found[]> {
  const cells = await cellsOf(context);
  const inCells = async (look: (sql: Context['sql']) => Promise<FoundRow[]>): Promise<FoundRow[]> =>
    (await Promise.all(cells.map(({ sql }) => look(sql)))).flat();
  const id = paymentIdOf(text.replaceAll('-', ''));
  if (id !== null) {
    const account = await findAccountById(context.sql, id);
    if (account) return [foundAccount(account)];
    const rows = await inCells((sql) => findById(sql, id));
    if (rows.length > 0) return rows;
    const identity = await identityOf(context);
    const accounts = await findAccountNumbers(context.sql);
    const ids = accounts.map(({ ownerId, number }) => ({
      accountId: ownerId,
      paymentId: paymentIdFor(identity, { id: ownerId, number }, id),
    }));
    return inCells((sql) => findByRequestKey(sql, id, ids));
  }
  if (/^[ED][0-9A-Za-z]{31}$/.test(text)) return inCells((sql) => findByEndToEnd(sql, text));
  const document = text.replace(/[./-]/g, '').toUpperCase();
  if (/^[0-9A-Z]{12}[0-9]{2}$/.test(document)) {
    const ofDocument = await Promise.all(cells.map(({ sql }) => findAccountsOfDocument(sql, document)));
    if (ofDocument.flat().length > 0) return ofDocument.flat().map(foundAccount);
  }
  return (await findAccountsNamed(context.sql, text, namedMost)).map(foundAccount);
}

const shownDispute = (row: DisputeRow) => ({
  ...row,
  openedAt: instant(row.openedAt),
  deadlineAt: instant(row.deadlineAt),
  endedAt: instant(row.endedAt),
});
