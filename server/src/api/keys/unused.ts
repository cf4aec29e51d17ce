import { brasiliaTime, type Letter } from '../../ground/mail.ts';
import { permissionNames } from '../../ground/permissions.ts';
import { restsAt } from '../../ground/resting-keys.ts';
import { createKeyWarnings, type WarningDeps } from './key-warnings.ts';
import { claimUnusedKeys, markWarned, type UnusedKey } from './keys.sql.ts';

const unusedMs = 90 * 86_400_000;

/**
 * Warns of each key without use for 90 days: half the time after which a key that may send money is suspended. Once, until the key is used or
 * reactivated. Suspension follows the same dates (`restsAt`), with or without this mail.
 */
export const createUnusedKeys = (deps: WarningDeps, publicUrl: string) =>
  createKeyWarnings<UnusedKey>(deps, {
    kind: 'unused',
    claim: (sql, now, until, most) => claimUnusedKeys(sql, now, { since: now - unusedMs, until, most }),
    letterOf: (key) => letterOf(key, publicUrl),
    note: markWarned,
  });

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
