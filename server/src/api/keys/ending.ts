import { brasiliaTime, type Letter } from '../../ground/mail.ts';
import { claimEndingKeys, type EndingKey, endsSoonMs, markEndWarned } from './ending.sql.ts';
import { createKeyWarnings, type WarningDeps } from './key-warnings.ts';

/** Warns once of each key that ends within two weeks: a program that uses it stops at that moment. Not of a key that was replaced, whose end is meant. */
export const createEndingKeys = (deps: WarningDeps, publicUrl: string) =>
  createKeyWarnings<EndingKey>(deps, {
    kind: 'ending',
    claim: (sql, now, until, most) => claimEndingKeys(sql, now, { before: now + endsSoonMs, until, most }),
    letterOf: (key) => letterOf(key, publicUrl),
    note: markEndWarned,
  });

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
