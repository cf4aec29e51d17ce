import { mailPeople } from '../../events/mail-people.ts';
import type { Log } from '../../ground/log.ts';
import { brasiliaTime, type Letter, type Mail } from '../../ground/mail.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { claimEndingKeys, type EndingKey, endsSoonMs, markEndWarned } from './ending.sql.ts';

const claimMs = 600_000;
const lookAgainMs = 3_600_000;
const keysAtOnce = 100;

/**
 * Mails the people who manage an account's keys about each key that ends within two weeks, once: a program that uses it stops at that moment. Not about a
 * key that was replaced, whose end is meant.
 *
 * A mail is recorded after it was sent: a process that dies in between sends it twice, and never loses it.
 */
export function createEndingKeys(
  { sql, clock, mail, log }: { sql: Sql; clock: Clock; mail: Mail; log: Log },
  publicUrl: string,
): {
  step(): Promise<boolean>;
} {
  let lookAtMs = Number.NEGATIVE_INFINITY;

  async function warn(key: EndingKey): Promise<void> {
    await mailPeople({ sql, mail }, key.accountId, 'integrations', letterOf(key, publicUrl));
    await markEndWarned(sql, key.id, clock.now());
  }

  return {
    /** One round; true when there may be more at once. It looks once an hour. */
    step: async () => {
      if (clock.monotonicMs() < lookAtMs) return false;
      const now = clock.now();
      const ending = await claimEndingKeys(sql, now, {
        before: now + endsSoonMs,
        until: now + claimMs,
        most: keysAtOnce,
      });
      for (const key of ending) {
        await warn(key).catch((error: unknown) =>
          log.error({ err: error, keyId: key.id }, 'failed to send ending-key warning'),
        );
      }
      const more = ending.length === keysAtOnce;
      if (!more) lookAtMs = clock.monotonicMs() + lookAgainMs;
      return more;
    },
  };
}

function letterOf(key: EndingKey, publicUrl: string): Omit<Letter, 'to'> {
  const { accountName, id, name, expiresAt } = key;
  const at = brasiliaTime(expiresAt);
  return {
    'pt-BR': {
      subject: `a chave de API "${name}" termina em breve`,
      text: `Conta: ${accountName}

  Chave        ${name} (${id})
  Vale até     ${at}

Depois disso, as chamadas com esta chave são recusadas. Troque-a antes: a nova tem as mesmas permissões, e a antiga pode continuar valendo por até 7 dias.

Trocar a chave: ${publicUrl}/integracoes/chaves
`,
    },
    en: {
      subject: `the API key "${name}" ends soon`,
      text: `Account: ${accountName}

  Key          ${name} (${id})
  Valid until  ${at}

After that, calls with this key are refused. Replace it before: the new one has the same permissions, and the old one may stay valid for up to 7 days.

Replace the key: ${publicUrl}/integracoes/chaves
`,
    },
  };
}
