import type { Log } from '../../ground/log.ts';
import type { Mail } from '../../ground/mail.ts';
import { priceOf } from '../../ground/money.ts';
import type { Payment } from '../../money/payment.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql, Statement } from '../../ports/sql.ts';
import { findPeople } from '../../store/rows/people.sql.ts';
import { findLetterhead } from '../../store/rows/profile.sql.ts';

/**
 * Mails an account's people when a key has sent a large transfer: at least half of the largest that the account may send. The
 * mail comes after the transfer and stops nothing; its purpose is to reveal a stolen key.
 *
 * At most one mail an hour per account and process, so that an account with many large transfers is not flooded with
 * mails. No request waits for it, and it is lost when the process dies.
 */
export interface LargeTransfers {
  /** After a transfer was accepted. */
  note(payment: Payment): void;
}

const quietMs = 3_600_000;
/** How long a process believes what it read of an account's limit. */
const maxAgeMs = 60_000;
const accountsMost = 10_000;

const select: Statement = {
  name: 'large_transfer_account',
  text: `SELECT name, maximum_withdrawal_cents AS "maximumCents" FROM account WHERE id = $1`,
};

interface Known {
  name: string;
  maximumCents: number;
  readAtMs: number;
  quietUntilMs: number;
}

export function createLargeTransfers({
  sql,
  clock,
  mail,
  log,
}: {
  sql: Sql;
  clock: Clock;
  mail: Mail;
  log: Log;
}): LargeTransfers {
  const accounts = new Map<string, Known>();

  async function accountOf(accountId: string): Promise<Known | undefined> {
    const known = accounts.get(accountId);
    if (known && isFresh(known)) return known;
    const [row] = await sql.run<{ name: string; maximumCents: number }>(select, [accountId]);
    if (!row) return undefined;
    // Checked again: a parallel call may have sent the mail during the read.
    const quietUntilMs = accounts.get(accountId)?.quietUntilMs ?? Number.NEGATIVE_INFINITY;
    if (accounts.size >= accountsMost) accounts.clear();
    const read = { ...row, readAtMs: clock.monotonicMs(), quietUntilMs };
    accounts.set(accountId, read);
    return read;
  }

  /** Large for this account, and not within an hour of the last mail. */
  const isNews = (account: Known, { amountCents }: Payment): boolean =>
    amountCents * 2 >= account.maximumCents && clock.monotonicMs() >= account.quietUntilMs;
  const isFresh = (account: Known): boolean => clock.monotonicMs() - account.readAtMs < maxAgeMs;

  async function tell(payment: Payment): Promise<void> {
    const { accountId, id, amountCents } = payment;
    const account = await accountOf(accountId);
    if (!account || !isNews(account, payment)) return;
    // In the same turn as the look: of several at once one reports.
    account.quietUntilMs = clock.monotonicMs() + quietMs;
    const people = await findPeople(sql, accountId, 'money');
    const letterhead = await findLetterhead(sql, accountId);
    for (const to of people) {
      await mail.send({
        to,
        letterhead,
        'pt-BR': {
          subject: 'transferência de valor alto',
          text: `Uma chave de API da conta ${account.name} enviou ${priceOf(amountCents)} (pagamento ${id}).

Se não foi um programa seu, revogue a chave no painel agora. Este aviso é enviado no máximo uma vez por hora.
`,
        },
        en: {
          subject: 'large transfer',
          text: `An API key of the account ${account.name} sent ${priceOf(amountCents)} (payment ${id}).

If it was not one of your programs, revoke the key in the panel now. This notice is sent at most once an hour.
`,
        },
      });
    }
  }

  return {
    note(payment) {
      if (payment.status === 'cancelled') return;
      const known = accounts.get(payment.accountId);
      if (known && isFresh(known) && !isNews(known, payment)) return;
      tell(payment).catch((error: unknown) =>
        log.error({ err: error, paymentId: payment.id }, 'failed to send large-transfer alert'),
      );
    },
  };
}
