import { open } from 'node:fs/promises';
import { priceOf } from '../../ground/money.ts';
import { paymentIdOf } from '../../money/payment.ts';
import { auditLine } from '../../operate/audit/line.ts';
import { type AuditEntry, auditPages, findAudit, findDisputeRows } from '../../operate/find.sql.ts';
import { accountFacts, find, shownDispute, storyOf } from '../../operate/look.ts';
import { onDatabase } from '../start.ts';
import {
  type Command,
  facts,
  instant,
  integer,
  optionalAccount,
  table,
  UsageFault,
  uuid,
} from './command.ts';
import { cellsOf, onAccount, onAll } from './in-cells.ts';
import { identityOf } from './operator-commands.ts';

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
          facts(account),
          table(
            operations.map((one) => [
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
            '',
            ['operation', 'name', 'available', 'reserved', 'held', 'owed', ''],
          ),
        ].join('\n\n'),
      };
    },
  },
  {
    name: 'payment show',
    usage: 'ID',
    about:
      'a payment with its send intent, refunds, changes, disputes, incidents, events with their deliveries, and postings. ID: ours, or the one at the provider',
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
      'what has this id, end-to-end id, id of a return or an event, request key, document (CNPJ) or name at the provider, or the accounts with this in their names',
    operands: ['TEXT'],
    run: async (edge, { operands: [given = ''] }) => {
      const text = given.trim();
      if (text === '') throw new UsageFault('needs TEXT');
      const { found, more } = await onDatabase(edge, 'find', (context) =>
        find({ ...context, identity: () => identityOf(context) }, text),
      );
      return {
        json: { found, more },
        text: `${table(
          found.map(({ kind, id, ownerId, state, amountCents }) => [
            kind,
            id,
            ownerId,
            state,
            amountCents === null ? '' : priceOf(amountCents),
          ]),
          'nothing found',
          ['kind', 'id', 'account', 'state', 'amount'],
        )}${more ? '\nThere are more than these.' : ''}`,
      };
    },
  },
  {
    name: 'dispute list',
    usage: '[--account OWNER_ID]',
    about: 'the disputes that have not ended, the next deadline first; of an account all, the newest first',
    options: { account: { type: 'string' } },
    run: async (edge, { values }) => {
      const ownerId = optionalAccount(values);
      const rows = await onAll(edge, 'dispute list', ownerId, async (context) => {
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
            one.deadlineAt ?? 'no deadline',
            one.paymentId,
            one.ownerId,
          ]),
          'no disputes',
          ['dispute', 'status', 'amount', 'deadline', 'payment', 'account'],
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
      const ownerId = optionalAccount(values);
      const most = typeof values.limit === 'string' ? integer(values.limit, '--limit') : 100;
      if (most < 1 || most > listMost) throw new UsageFault(`--limit takes a number from 1 to ${listMost}`);
      const rows = await onAll(edge, 'audit list', ownerId, async (context) => {
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
          ['at', 'who', 'did', 'to', 'reason'],
        ),
      };
    },
  },
  {
    name: 'audit export',
    usage: 'FILE [--account OWNER_ID]',
    about:
      'writes the audit log into FILE, which must not exist, as JSON Lines: each row with its number, the time of the database and its hash',
    operands: ['FILE'],
    options: { account: { type: 'string' } },
    run: async (edge, { operands, values }) => {
      const path = operands[0] as string;
      const ownerId = optionalAccount(values);
      const rows = await onAll(edge, 'audit export', ownerId, async (context) => {
        const file = await open(path, 'wx', 0o600);
        let written = 0;
        try {
          for (const { sql } of await cellsOf(context)) {
            for await (const page of auditPages(sql, ownerId, listMost)) {
              await file.write(page.map((row) => `${JSON.stringify(auditLine(row))}\n`).join(''));
              written += page.length;
            }
          }
          await file.sync();
        } finally {
          await file.close();
        }
        return written;
      });
      return { json: { file: path, rows }, text: `${path}: ${rows} rows` };
    },
  },
];

const listMost = 1_000;

function textOfStory(story: Awaited<ReturnType<typeof storyOf>>): string {
  const {
    history,
    intents: sends,
    refunds,
    changes,
    disputes,
    incidents,
    events,
    words,
    postings,
    ...payment
  } = story;
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
    ['history', history.map((step) => [step.at, step.status, step.cause.by, step.cause.name ?? ''])],
    [
      'to be sent or followed',
      sends.map((one) => [one.id, one.state, `attempts ${one.attempts}`, `next ${one.dueAt}`]),
    ],
    ['refunds', refunds.map((one) => [one.id, one.status, priceOf(one.amountCents), one.reasonCode ?? ''])],
    [
      'changes',
      changes.map((one) => [
        ...[one.id, one.outcome ?? one.status, priceOf(one.amountCents), one.createdAt, one.endedAt ?? ''],
      ]),
    ],
    [
      'disputes',
      disputes.map((one) => [one.id, one.status, priceOf(one.amountCents), one.deadlineAt ?? 'no deadline']),
    ],
    ['incidents', incidents.map((one) => [one.id, one.kind, one.state, amountsOf(one)])],
    [
      'events and their deliveries',
      events.map((one) => [
        ...[one.createdAt, one.type],
        one.deliveries
          .map(({ endpointId, status, lastResult }) => `${endpointId} ${status} ${lastResult ?? ''}`.trim())
          .join(', '),
      ]),
    ],
    ['said by the provider', words.map((one) => [String(one.at), one.name, one.message ?? ''])],
    ['postings', moved],
  ];
  return [
    table(facts, ''),
    ...sections.filter(([, rows]) => rows.length > 0).map(([head, rows]) => `${head}\n${table(rows, '')}`),
  ].join('\n\n');
}

const amountsOf = ({
  amountCents,
  bookedCents,
}: {
  amountCents: number;
  bookedCents: number | null;
}): string =>
  bookedCents === null
    ? priceOf(amountCents)
    : `${priceOf(amountCents)}, in the books ${priceOf(bookedCents)}`;
