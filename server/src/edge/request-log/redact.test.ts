import { expect, test } from 'vitest';
import { redact } from './redact.ts';

const known = ['amountCents', 'requestKey', 'pixKey', 'pixKeyType', 'description', 'events'];

test('amounts, request keys and kinds of keys are kept; of everything else name and kind', () => {
  const requestKey = '01939f3a-7c00-4000-8000-000000000001';
  const body = {
    amountCents: 1000,
    requestKey,
    pixKey: '529.982.247-25',
    pixKeyType: 'CPF',
    events: ['*'],
    description: 'aluguel',
  };
  expect(redact(body, known)).toEqual({
    values: { amountCents: 1000, requestKey, pixKeyType: 'CPF' },
    fields: { pixKey: 'string', events: 'array', description: 'string' },
  });
});

test.each([
  ['a name that no schema knows', { CANARY: 1 }],
  ['a text where a number belongs', { amountCents: 'CANARY de la Vega' }],
  ['an object where a text belongs', { requestKey: { CANARY: 1 } }],
  ['a long text', { pixKeyType: 'CANARY'.repeat(20) }],
  ['what is inherited', Object.create({ pixKeyType: 'CANARY' })],
])('%s is not kept', (_what, body) => {
  expect(JSON.stringify(redact(body, known))).not.toContain('CANARY');
});

test.each([[null], [undefined], ['text'], [[1]], [Buffer.from('{}')]])('%j has nothing to keep', (body) => {
  expect(redact(body, []) ?? { values: {}, fields: {} }).toEqual({ values: {}, fields: {} });
});
