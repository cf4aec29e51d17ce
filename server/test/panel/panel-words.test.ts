import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { money, roughMoney } from '../../../panel/src/format.ts';
import { en } from '../../../panel/src/text/en.ts';
import { pt } from '../../../panel/src/text/pt.ts';
import { permissionNames } from '../../src/ground/permissions.ts';
import { pixKeyTypeNames } from '../../src/kinds/transfer/pix-key.ts';
import { kindWords } from '../../src/operate/statement/words.ts';
import { codes } from '../../src/panel/exports/csv-words.ts';

describe.each([
  ['Portuguese', pt],
  ['English', en],
])('in %s no page shows a code where there are words', (_language, words) => {
  test.each([
    ['incidents', codes.incidents, words.reconciliation.kinds],
    ['decisions', codes.actions, words.reconciliation.actions],
    ['reasons', codes.reasons, words.reasons],
    ['lines of the ledger', codes.movements, words.detail.lines],
    ['states', codes.statuses, words.status],
    ['activity', codes.activity, words.securityEvents.kinds],
    ['lines of the statement', kindWords, words.statement.kinds],
    [
      'causes',
      { api: 1, rule: 1, answer: 1, webhook: 1, query: 1, operator: 1, clock: 1 },
      words.detail.causes,
    ],
  ])('%s', (_what, known, shown) => {
    expect(Object.keys(shown)).toEqual(expect.arrayContaining(Object.keys(known)));
  });
});

test.each<[string, Readonly<Record<string, string>>, Readonly<Record<string, string>>]>([
  ['incidents', codes.incidents, pt.reconciliation.kinds],
  ['decisions', codes.actions, pt.reconciliation.actions],
  ['lines of the ledger', codes.movements, pt.detail.lines],
  ['states', codes.statuses, pt.status],
  ['activity', codes.activity, pt.securityEvents.kinds],
  ['roles', codes.roles, pt.roles],
  ['deliveries', codes.deliveries, pt.webhooks.deliveryStates],
  ['permissions', permissionNames, pt.keys.permissionNames],
  ['types of key', pixKeyTypeNames, pt.transfers.types],
])('files and pages say the same in Portuguese: %s', (_what, ofFiles, ofPages) => {
  expect(ofPages).toMatchObject(ofFiles);
});

test.each([
  ['pt-BR', pt],
  ['en', en],
] as const)('the statement says the same in files and on the page: %s', (language, words) => {
  const ofFiles = Object.entries(kindWords).map(([kind, texts]) => [kind, texts[language]]);
  expect(words.statement.kinds).toEqual(Object.fromEntries(ofFiles));
});

test('the marks of a chart are in the language of the reader', () => {
  expect(roughMoney(500_000, 'pt-BR')).toMatch(/^R\$\s5\smil$/);
  expect(roughMoney(500_000, 'en')).toBe('R$ 5K');
});

test('amounts below zero have one minus sign everywhere, the one of typography', () => {
  expect(money(-123_456)).toMatch(/^−R\$\s1\.234,56$/);
});

test('the browser keeps the language, the account and the operation that were chosen, and the token of the mailbox page; a tab, which notice was closed', async () => {
  const folder = new URL('../../../panel/src/', import.meta.url);
  const names = (await readdir(folder, { recursive: true })).filter((name) => /\.tsx?$/.test(name));
  const writes: string[] = [];
  for (const name of names) {
    const text = await readFile(new URL(name.replaceAll('\\', '/'), folder), 'utf8');
    expect([name, /indexedDB|document\.cookie\s*=|caches\./.test(text)]).toEqual([name, false]);
    for (const [, storage, key, value] of text.matchAll(
      /(localS|sessionS)torage\.setItem\(([^,]*), ([^)]*)\)/g,
    ))
      writes.push(`${name}: ${storage === 'localS' ? '' : 'in its tab: '}${key} = ${value}`);
  }
  expect(writes.sort()).toEqual([
    'pages/mailbox.tsx: kept = given',
    "received-notice.ts: keptFor(accountId) = 'on'",
    'received-notice.ts: keptUnder.seenEvents = [eventId, ...kept].slice(0, mostSeen',
    'session.tsx: keptUnder.account = id',
    'session.tsx: keptUnder.operation = kept',
    'text/text.tsx: keptUnder.language = language',
    "ui/counter-lock.ts: keptUnder.counter = 'locked'",
    'ui/counter-sound.ts: keptUnder.counterSound = choice',
    'ui/shell.tsx: in its tab: dismissedUnder = setAt',
  ]);
});
