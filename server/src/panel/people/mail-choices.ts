import type { Log } from '../../ground/log.ts';
import { brasiliaTime, type Letter, type Mail } from '../../ground/mail.ts';
import { priceOf } from '../../ground/money.ts';
import { periodOf } from '../../operate/statement/period.ts';
import { type NewestPage, readNewest } from '../../operate/statement/statement.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { findLetterhead } from '../../store/rows/profile.sql.ts';
import {
  claimDigests,
  claimMonths,
  type DueMail,
  endDigest,
  endMonthMail,
  findHeads,
  findReceived,
  type Heads,
  type MailChoice,
} from './mail-choices.sql.ts';
import {
  daysOfMonth,
  monthAfter,
  monthAt,
  monthDueAt,
  nextReceivedAt,
  type Pace,
  type QuietHours,
} from './mail-times.ts';

export interface ChoiceDeps {
  sql: Sql;
  clock: Clock;
  log: Log;
  mail: Mail;
}

/** As a person chooses it. */
export interface Chosen extends QuietHours {
  month: boolean;
  received: Pace;
}

/** The row of a choice that begins now. What was chosen before continues where it stands: the statement that writes it sees to that. Pure. */
export function chosen(
  of: Pick<MailChoice, 'accountId' | 'userId'>,
  { month, received, ...quiet }: Chosen,
  heads: Heads,
  now: number,
): MailChoice {
  const first = monthAt(now);
  return {
    ...{ ...of, ...quiet, received, told: heads },
    month: month ? first : null,
    monthDueAt: month ? monthDueAt(first) : null,
    receivedDueAt: received === 'off' ? null : nextReceivedAt(now, received, quiet),
  };
}

const most = 50;
/** Where a process died with them, or the mail server could not take one. */
const claimMs = 10 * 60_000;

/**
 * Mails that people of accounts have chosen: where the statement of a finished month is, and what was received since the last such mail. A mail is recorded
 * after it was sent, as every other: a process that dies in between sends it twice. What it counts is counted by the entries of the books, once.
 * @returns whether there may be more at once
 */
export async function stepMailChoices(deps: ChoiceDeps, publicUrl: string): Promise<boolean> {
  const { sql, clock, log } = deps;
  const now = clock.now();
  const attempt = (work: Promise<void>): Promise<void> =>
    work.catch((error: unknown) => log.error({ err: error }, 'a mail that a person has chosen was not sent'));
  const months = await claimMonths(sql, now, now + claimMs, most);
  for (const one of months) await attempt(announceMonth(deps, one, publicUrl));
  const digests = await claimDigests(sql, now, now + claimMs, most);
  for (const one of digests) await attempt(sendDigest(deps, one, publicUrl));
  return months.length === most || digests.length === most;
}

async function announceMonth({ sql, mail }: ChoiceDeps, one: DueMail, publicUrl: string): Promise<void> {
  const { accountId, email, month } = one;
  if (month === null) return;
  const { first, last } = daysOfMonth(month);
  const operations = Object.keys(await findHeads(sql, accountId));
  const period = periodOf({ from: first, to: last });
  const sums = await readNewest({ sql }, accountId, operations, period, { limit: 1 });
  const letterhead = await findLetterhead(sql, accountId);
  await mail.send({ to: email, letterhead, ...monthLetter(one, month, sums, publicUrl) });
  const next = monthAfter(month);
  await endMonthMail(sql, one, { month: next, dueAt: monthDueAt(next) });
}

async function sendDigest({ sql, mail, clock }: ChoiceDeps, one: DueMail, publicUrl: string): Promise<void> {
  const { accountId, email, told, received } = one;
  if (received === 'off') return;
  const heads = await findHeads(sql, accountId);
  const sum = await findReceived(sql, accountId, told, heads);
  const now = clock.now();
  if (sum.count > 0) {
    const letterhead = await findLetterhead(sql, accountId);
    await mail.send({ to: email, letterhead, ...digestLetter(one, sum, now, publicUrl) });
  }
  await endDigest(sql, one, { told: heads, dueAt: nextReceivedAt(now, received, one) });
}

/** With the figures of the whole account. The files need a sign-in: the mail leads to their page. */
function monthLetter(
  { accountName }: DueMail,
  month: string,
  sums: NewestPage,
  publicUrl: string,
): Omit<Letter, 'to'> {
  const { first, last } = daysOfMonth(month);
  const [year, number] = month.split('-');
  const link = `${publicUrl}/extrato?de=${first}&ate=${last}`;
  return {
    'pt-BR': {
      subject: `extrato de ${number}/${year}`,
      text: `Conta: ${accountName}

O mês ${number}/${year} está fechado${sums.lines.length === 0 ? ' e não teve lançamentos' : ''}. O extrato, em PDF, CSV e OFX, está no painel.

${tableOf(sums, figureWords['pt-BR'])}

Abrir o extrato: ${link}

Você escolheu este e-mail no painel, em Segurança, E-mails e avisos. Lá ele também pode ser desligado.
`,
    },
    en: {
      subject: `statement of ${month}`,
      text: `Account: ${accountName}

The month ${month} is closed${sums.lines.length === 0 ? ' and has no entries' : ''}. Its statement, as PDF, CSV and OFX, is in the panel.

${tableOf(sums, figureWords.en)}

Open the statement: ${link}

You chose this e-mail in the panel, under Security, E-mails and notifications. There it can be switched off too.
`,
    },
  };
}

const figureWords = {
  'pt-BR': ['Saldo inicial', 'Entradas', 'Saídas', 'Tarifas', 'Reembolsos', 'Bloqueios', 'Saldo final'],
  en: ['Opening balance', 'In', 'Out', 'Fees', 'Refunds', 'Holds', 'Closing balance'],
} as const;

/** With the sign by which each figure changes the balance. Of a month that is too long to be summed up, its ends alone. */
function tableOf(
  { openingBalanceCents, closingBalanceCents, totals }: NewestPage,
  [opening, ...rest]: readonly string[],
): string {
  const closing = rest.at(-1);
  const between = totals
    ? [
        totals.inCents,
        ...[totals.outCents, totals.feeCents, totals.refundCents, totals.holdCents].map((cents) => 0 - cents),
      ]
    : [];
  return [
    [opening, openingBalanceCents] as const,
    ...between.map((cents, at) => [rest[at], cents] as const),
    [closing, closingBalanceCents] as const,
  ]
    .map(([label, cents]) => `  ${(label ?? '').padEnd(16)}  ${priceOf(cents)}`)
    .join('\n');
}

/** Without payers: who paid stands in the panel. */
function digestLetter(
  { accountName }: DueMail,
  { count, cents }: { count: number; cents: number },
  now: number,
  publicUrl: string,
): Omit<Letter, 'to'> {
  const [amount, at] = [priceOf(cents), brasiliaTime(now)];
  return {
    'pt-BR': {
      subject: `${count} Pix ${count === 1 ? 'recebido' : 'recebidos'}: ${amount}`,
      text: `Conta: ${accountName}

  Pix recebidos  ${count}
  Valor          ${amount}
  Até            ${at}

Ver as cobranças: ${publicUrl}/cobrancas

Você escolheu este e-mail no painel, em Segurança, E-mails e avisos. Lá ele também pode ser desligado.
`,
    },
    en: {
      subject: `${count} Pix received: ${amount}`,
      text: `Account: ${accountName}

  Pix received  ${count}
  Amount        ${amount}
  Until         ${at}

See the charges: ${publicUrl}/cobrancas

You chose this e-mail in the panel, under Security, E-mails and notifications. There it can be switched off too.
`,
    },
  };
}
