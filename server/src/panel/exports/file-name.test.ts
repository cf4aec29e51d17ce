import { expect, test } from 'vitest';
import { type FileFacts, fileName } from './file-name.ts';

const facts: FileFacts = {
  accountName: 'Padaria São João & Cia.',
  operationName: null,
  kind: 'transfers',
  from: undefined,
  to: undefined,
  now: Date.parse('2026-11-21T02:30:00Z'),
};

test('a file is named after account, kind and period, in days of Brasília', () => {
  expect(fileName(facts, 'pt-BR', 'csv')).toBe('padaria-sao-joao-cia-transferencias-ate-2026-11-20.csv');
  const november = { ...facts, from: '2026-11-01T03:00:00.000Z', to: '2026-11-11T03:00:00.000Z' };
  expect(fileName({ ...november, kind: 'charges', operationName: 'Loja 2' }, 'pt-BR', 'csv')).toBe(
    'padaria-sao-joao-cia-loja-2-cobrancas-2026-11-01-a-2026-11-10.csv',
  );
  expect(fileName(november, 'en', 'csv')).toBe('padaria-sao-joao-cia-transfers-2026-11-01-to-2026-11-10.csv');
});

test('a name that leaves nothing for a header breaks none', () => {
  expect(fileName({ ...facts, accountName: '"\r\nSet-Cookie: a\u2028' }, 'en', 'csv')).toBe(
    'set-cookie-a-transfers-until-2026-11-20.csv',
  );
  expect(fileName({ ...facts, accountName: '店' }, 'en', 'csv')).toBe('transfers-until-2026-11-20.csv');
});
