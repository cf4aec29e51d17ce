import {
  anonymiseSubject,
  exportSubject,
  leastYears,
  type Subject,
  type SubjectOperator,
} from '../../operate/subject.ts';
import type { Context } from '../start.ts';
import {
  type Command,
  type CommandInput,
  instant,
  integer,
  required,
  table,
  UsageFault,
  uuid,
} from './command.ts';
import { onAccount } from './in-cells.ts';
import { operatorOf } from './operator-commands.ts';

/** Commands that data protection law requires for the data of a person. */
export const subjectCommands: Command[] = [
  {
    name: 'subject export',
    usage: '--account OWNER_ID (--name NAME | --pix-key KEY)',
    about:
      'everything that the payments of an account say about a payer (name, or the CPF, CNPJ or mail of a charge with a due date) or a receiver (name or Pix key)',
    options: { account: { type: 'string' }, name: { type: 'string' }, 'pix-key': { type: 'string' } },
    run: async (edge, { values }) => {
      const subject = subjectOf(values);
      const found = await onAccount(edge, 'subject export', subject.accountId, (context) =>
        exportSubject(subjectOperatorOf(context), subject),
      );
      const payments = found.map((payment) => ({
        ...payment,
        createdAt: instant(payment.createdAt),
        updatedAt: instant(payment.updatedAt),
      }));
      return {
        json: { ownerId: subject.accountId, payments },
        text: table(
          payments.map(({ id, kind, status, createdAt }) => [id, kind, status, createdAt]),
          'nothing is stored about this person',
          ['payment', 'kind', 'status', 'created'],
        ),
      };
    },
  },
  {
    name: 'subject anonymise',
    usage: `--account OWNER_ID (--name NAME | --pix-key KEY) --reason R [--years N]`,
    about: `takes name, Pix key, the payer of a charge with a due date, description, metadata, fiscal documents, the texts of refunds and defences and the files of these out of a person's ended payments that are older than N years (${leastYears} at least); money, journals and hashes stay`,
    options: {
      account: { type: 'string' },
      name: { type: 'string' },
      'pix-key': { type: 'string' },
      reason: { type: 'string' },
      years: { type: 'string' },
    },
    run: async (edge, { values }) => {
      const subject = subjectOf(values);
      const years = values.years === undefined ? leastYears : integer(values.years as string, '--years');
      const reason = required(values, 'reason');
      const done = await onAccount(edge, 'subject anonymise', subject.accountId, (context) =>
        anonymiseSubject(subjectOperatorOf(context), subject, { years, reason }),
      );
      const keptUntil = done.keptUntil === null ? null : instant(done.keptUntil);
      const json = { ownerId: subject.accountId, years, ...done, keptUntil };
      const rows = [
        ['anonymised', String(done.anonymised)],
        ['kept, not ended', String(done.open)],
        [
          `kept, younger than ${years} years`,
          `${done.kept}${keptUntil === null ? '' : ` (the last until ${keptUntil})`}`,
        ],
      ];
      return { json, text: table(rows, '') };
    },
  },
];

function subjectOf(values: CommandInput['values']): Subject {
  const accountId = uuid(required(values, 'account'), '--account');
  const name = typeof values.name === 'string' ? values.name : null;
  const pixKey = typeof values['pix-key'] === 'string' ? values['pix-key'] : null;
  if ((name === null) === (pixKey === null)) throw new UsageFault('needs either --name or --pix-key');
  if ((name ?? pixKey ?? '').trim() === '') throw new UsageFault('an empty name or key is nobody');
  return { accountId, name, pixKey };
}

/** With the secrets, which open Pix keys. */
const subjectOperatorOf = (context: Context): SubjectOperator => ({
  ...operatorOf(context),
  secrets: context.secrets,
});
