import type { Language } from '../../ground/errors.ts';
import { hmacSha256 } from '../../ground/hmac.ts';
import type { Log } from '../../ground/log.ts';
import { type Letter, type Mail, MailRefused, type MailText } from '../../ground/mail.ts';
import { priceOf } from '../../ground/money.ts';
import type { PageAddresses } from '../../ground/page-address.ts';
import { nextReminder } from '../../kinds/due/reminder-times.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import type { DuePayer } from '../../provider/due-terms.ts';
import {
  claimReminder,
  type DueReminder,
  findReminded,
  isStopped,
  planReminder,
  stopAddress,
  unplanReminder,
} from '../../store/rows/charge-reminders.sql.ts';
import { isPersonOf } from '../../store/rows/people.sql.ts';
import { findLetterhead } from '../../store/rows/profile.sql.ts';
import { giveToBuckets, hasPlace, type Place } from '../links/limits.ts';

export interface ReminderDeps {
  sql: Sql;
  clock: Clock;
  log: Log;
  mail: Mail;
  secrets: { open(sealed: Buffer, context: string): Buffer };
  /** The installation's identity secret. */
  identity: Buffer;
  pages: PageAddresses;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Where a process died with it. */
const claimMs = 10 * 60_000;
/** Where the mail server could not take it now; tried on the day alone. */
const againMs = 30 * 60_000;
/** Mails of an account in a day, and of it to one address: a merchant's mistake in a loop fills no mailbox. */
const ofAccount = { most: 500, everyMs: dayMs };
const toAddress = { most: 6, everyMs: dayMs };

/**
 * Reminds a payer of a charge with a due date by mail: three days before, on the day, three days after, where the merchant asked for it. A charge that is
 * paid, ended or about to be cancelled gets none, and so does a payer who wants none of this merchant. A test account reminds its own people alone.
 *
 * One at a time, so that what is sent is of this moment. A mail is recorded after it was sent: a process that dies in between sends it twice.
 * @returns whether there may be more at once
 */
export async function stepReminders(deps: ReminderDeps): Promise<boolean> {
  const { sql, clock, log } = deps;
  const now = clock.now();
  const reminder = await claimReminder(sql, now, now + claimMs);
  if (!reminder) return false;
  const { paymentId } = reminder;
  await remind(deps, reminder, now).catch((error: unknown) =>
    log.error({ err: error, paymentId }, 'failed to send a reminder'),
  );
  return true;
}

async function remind(deps: ReminderDeps, reminder: DueReminder, now: number): Promise<void> {
  const { sql } = deps;
  const { accountId, status, due } = reminder;
  const next = nextReminder(due, now);
  const email = emailOf(deps, reminder);
  const isOpen = (status === 'pending' || status === 'unknown') && !reminder.isCancelling;
  if (!isOpen || !reminder.enabled || email === null)
    return void (await planReminder(sql, reminder, null, 0));
  const address = addressOf(deps, accountId, email);
  if (await isStopped(sql, accountId, address)) return void (await planReminder(sql, reminder, null, 0));
  // Without a code there is nothing to pay yet.
  const isMailed = status === 'pending' && (!reminder.test || (await isPersonOf(sql, accountId, email)));
  if (!isMailed) return void (await planReminder(sql, reminder, next, 0));
  const place = placeOf(accountId, address);
  if (!(await hasPlace(deps, place))) return void (await planReminder(sql, reminder, now + hourMs, 0));
  const letterhead = await findLetterhead(sql, accountId);
  const stop = deps.pages.of('reminders', reminder.accountNumber, reminder.paymentId);
  const page = deps.pages.of('charge', reminder.accountNumber, reminder.paymentId);
  const name = letterhead?.name ?? reminder.accountName;
  try {
    await deps.mail.send({
      ...{ to: email, letterhead, unsubscribe: stop },
      ...letterOf({ ...reminder, name, page, stop, today: dayAt(now) }),
    });
  } catch (error) {
    const isForEver = error instanceof MailRefused && error.isPermanent;
    if (!isForEver) await giveToBuckets(sql, place);
    const again = !isForEver && dayAt(now + againMs) === dayAt(now);
    await planReminder(sql, reminder, again ? now + againMs : next, 0);
    throw error;
  }
  await planReminder(sql, reminder, next, 1);
}

/** Null: it has none, or cannot be opened; `vintem secret status` counts those. */
function emailOf(
  { secrets }: Pick<ReminderDeps, 'secrets'>,
  { payer, paymentId }: { payer: Buffer; paymentId: string },
) {
  try {
    return (JSON.parse(secrets.open(payer, paymentId).toString()) as DuePayer).email ?? null;
  } catch {
    return null;
  }
}

const addressOf = ({ identity }: Pick<ReminderDeps, 'identity'>, accountId: string, email: string): Buffer =>
  hmacSha256(identity)(`reminders of ${accountId} to ${email.toLowerCase()}`);

const placeOf = (accountId: string, address: Buffer): Place => ({
  narrow: { id: `reminder-1-address ${address.toString('base64url')}`, ...toAddress },
  wide: { id: `reminder-2-account ${accountId}`, ...ofAccount },
});

/**
 * The payer wants no reminders of this merchant any more: neither of this charge nor of others to the same address.
 * @returns false: no reminder was ever asked for
 */
export async function stopReminders(
  deps: Omit<ReminderDeps, 'mail' | 'pages' | 'log'>,
  accountNumber: number,
  id: string,
): Promise<boolean> {
  const found = await findReminded(deps.sql, accountNumber, id);
  if (!found) return false;
  const email = emailOf(deps, found);
  if (email !== null)
    await stopAddress(deps.sql, found.accountId, addressOf(deps, found.accountId, email), deps.clock.now());
  await unplanReminder(deps.sql, found);
  return true;
}

/** Brasília, without summer time since 2019. */
const dayAt = (ms: number): string => new Date(ms - 3 * hourMs).toISOString().slice(0, 10);

interface Reminded extends DueReminder {
  /** Of the merchant. */
  name: string;
  page: string;
  stop: string;
  /** A day of Brasília. */
  today: string;
}

function letterOf(reminded: Reminded): Record<Language, MailText> {
  return { 'pt-BR': inPortuguese(reminded), en: inEnglish(reminded) } satisfies Omit<Letter, 'to'>;
}

const shownDay = (day: string): string => day.split('-').reverse().join('/');

function inPortuguese({ amountCents, due, name, page, stop, today, test }: Reminded): MailText {
  const [price, day] = [priceOf(amountCents), shownDay(due.dueDate)];
  const when =
    today < due.dueDate
      ? `${price} vence em ${day}`
      : today === due.dueDate
        ? `${price} vence hoje`
        : `${price} venceu em ${day}`;
  return {
    subject: `${test ? '[teste] ' : ''}${when}`,
    text: `${name} lembra esta cobrança por Pix.

  Valor        ${price}
  Vencimento   ${day}

Pagar: ${page}

O app do seu banco mostra o valor do dia, com desconto, multa ou juros. Se você já pagou, não precisa fazer nada.

Não receber mais lembretes de ${name}:

${stop}
`,
  };
}

function inEnglish({ amountCents, due, name, page, stop, today, test }: Reminded): MailText {
  const [price, day] = [priceOf(amountCents), shownDay(due.dueDate)];
  const when =
    today < due.dueDate
      ? `${price} due on ${day}`
      : today === due.dueDate
        ? `${price} due today`
        : `${price} was due on ${day}`;
  return {
    subject: `${test ? '[test] ' : ''}${when}`,
    text: `${name} reminds you of this Pix charge.

  Amount     ${price}
  Due date   ${day}

Pay: ${page}

Your bank's app shows the amount of the day, with discount, fine or interest. If you have paid already, there is nothing to do.

No more reminders of ${name}:

${stop}
`,
  };
}
