import { mailPeople } from '../../events/mail-people.ts';
import type { Log } from '../../ground/log.ts';
import { brasiliaTime, type Letter, type Mail } from '../../ground/mail.ts';
import { permissionNames } from '../../ground/permissions.ts';
import { restsAt } from '../../ground/resting-keys.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { claimUnusedKeys, markWarned, type UnusedKey } from './keys.sql.ts';

const unusedMs = 90 * 86_400_000;
const claimMs = 600_000;
const lookAgainMs = 3600_000;
const keysAtOnce = 100;

/**
 * Mails the people who manage an account's keys about each key without use for 90 days: half the time after which a key that may send
 * money is suspended. Once, until the key is used or reactivated. Suspension follows the same dates (`restsAt`), with or without this mail.
 *
 * A mail is recorded after it was sent: a process that dies in between sends it twice, and never loses it.
 */
export function createUnusedKeys(
  { sql, clock, mail, log }: { sql: Sql; clock: Clock; mail: Mail; log: Log },
  publicUrl: string,
): {
  step(): Promise<boolean>;
} {
  let lookAtMs = Number.NEGATIVE_INFINITY;

  async function warn(key: UnusedKey): Promise<void> {
    await mailPeople({ sql, mail }, key.accountId, 'integrations', letterOf(key, publicUrl));
    await markWarned(sql, key.id, clock.now());
  }

  return {
    /** One round; true when there may be more at once. Days are nothing to hurry for: it looks once an hour. */
    step: async () => {
      if (clock.monotonicMs() < lookAtMs) return false;
      const now = clock.now();
      const unused = await claimUnusedKeys(sql, now, {
        since: now - unusedMs,
        until: now + claimMs,
        most: keysAtOnce,
      });
      for (const key of unused) {
        await warn(key).catch((error: unknown) =>
          log.error({ err: error, keyId: key.id }, 'failed to send unused-key warning'),
        );
      }
      const more = unused.length === keysAtOnce;
      if (!more) lookAtMs = clock.monotonicMs() + lookAgainMs;
      return more;
    },
  };
}

function letterOf(key: UnusedKey, publicUrl: string): Omit<Letter, 'to'> {
  const { accountName, accountId, id, name, permissions, usedAt } = key;
  const [used, rests] = [usedAt, restsAt(usedAt)].map(brasiliaTime) as [string, string];
  const sends = permissions.some((one) => one === 'transfers' || one === 'refunds');
  return {
    'pt-BR': {
      subject: 'chave de API sem uso há 90 dias',
      text: [
        `Conta: ${accountName} (${accountId})`,
        `Chave: ${name} (${id}), ${permissions.map((one) => permissionNames[one]).join(', ')}`,
        `Último uso, criação ou reativação: ${used}`,
        '',
        'Se a chave não é mais necessária, revogue-a: uma chave sem uso é um risco.',
        ...(sends
          ? [`Ela pode enviar dinheiro, por isso fica suspensa a partir de ${rests}, até ser reativada.`]
          : []),
        '',
        `Ver as chaves: ${publicUrl}/integracoes/chaves`,
        '',
      ].join('\n'),
    },
    en: {
      subject: 'an API key unused for 90 days',
      text: [
        `Account: ${accountName} (${accountId})`,
        `Key: ${name} (${id}), ${permissions.join(', ')}`,
        `Last used, created or reactivated: ${used}`,
        '',
        'Revoke it if it is no longer needed: an unused key is a risk.',
        ...(sends
          ? [`It can send money, so it is suspended from ${rests} on, until it is reactivated.`]
          : []),
        '',
        `View the keys: ${publicUrl}/integracoes/chaves`,
        '',
      ].join('\n'),
    },
  };
}
