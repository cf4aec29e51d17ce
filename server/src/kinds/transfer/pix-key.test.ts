import { describe, expect, test } from 'vitest';
import type { PixKeyType } from '../../provider/provider.ts';
import { existsInDict, maskedPixKey, normalisePixKey } from './pix-key.ts';

const digits = { cnpjLetters: false };
const uuid = '123e4567-e89b-12d3-a456-426614174000';

describe('a key in the form of its type', () => {
  test.each<[PixKeyType, string, string]>([
    ['EMAIL', 'joao@example.com', 'joao@example.com'],
    ['EMAIL', '  Joao@Example.COM ', 'joao@example.com'],
    ['EMAIL', `${'a'.repeat(140)}@b.example`, `${'a'.repeat(140)}@b.example`],
    ['EMAIL', 'cafe\u0301@example.com', 'caf\u00e9@example.com'],
    ['CPF', '52998224725', '52998224725'],
    ['CPF', '11111111111', '11111111111'],
    ['CNPJ', '11222333000181', '11222333000181'],
    ['PHONE', '+5511999998888', '+5511999998888'],
    ['PHONE', '+1234567', '+1234567'],
    ['PHONE', '+0511999998888', '+0511999998888'],
    ['PHONE', '+1234567890123456', '+1234567890123456'],
    ['CPF', '5299822472', '5299822472'],
    ['CNPJ', '112', '112'],
    ['RANDOM', uuid.toUpperCase(), uuid],
    ['RANDOM', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000'],
  ])('%s %j is taken as %j', (type, text, key) => {
    expect(normalisePixKey(type, text, digits)).toEqual({ ok: true, key });
  });

  test.each<[PixKeyType, string, string]>([
    ['EMAIL', 'a@', 'invalid_length'],
    ['EMAIL', '   ', 'invalid_length'],
    ['EMAIL', `${'a'.repeat(150)}@b`, 'invalid_length'],
    ['EMAIL', 'joao.example.com', 'invalid_pix_key'],
    ['EMAIL', 'joao@example@com', 'invalid_pix_key'],
    ['EMAIL', 'joao\u0000@example.com', 'invalid_pix_key'],
    ['EMAIL', 'joao\ud800@example.com', 'invalid_pix_key'],
    ['CPF', '529.982.247-25', 'invalid_pix_key'],
    ['CPF', '٥٢٩٩٨٢٢٤٧٢٥', 'invalid_pix_key'],
    ['CNPJ', '11.222.333/0001-81', 'invalid_pix_key'],
    ['CNPJ', '12ABC34501DE35', 'invalid_pix_key'],
    ['PHONE', '5511999998888', 'invalid_pix_key'],
    ['PHONE', '+55-11-98765-4321', 'invalid_pix_key'],
    ['PHONE', '+55 11 98765-4321', 'invalid_pix_key'],
    ['RANDOM', uuid.replaceAll('-', ''), 'invalid_pix_key'],
    ['RANDOM', `{${uuid}}`, 'invalid_pix_key'],
  ])('%s %j is refused: %s', (type, text, code) => {
    expect(normalisePixKey(type, text, digits)).toEqual({ ok: false, code });
  });

  test('length is counted in code points', () => {
    expect(normalisePixKey('EMAIL', `${'😀'.repeat(148)}@b`, digits)).toMatchObject({ ok: true });
    expect(normalisePixKey('EMAIL', `${'😀'.repeat(149)}@b`, digits)).toEqual({
      ok: false,
      code: 'invalid_length',
    });
  });
});

test.each([
  ['12ABC34501DE35', '12ABC34501DE35'],
  [' 12abc34501de35 ', '12ABC34501DE35'],
  ['11222333000181', '11222333000181'],
  ['11222333000180', '11222333000180'],
])('With CNPJ_LETTERS the CNPJ %j is taken as %j', (text, key) => {
  expect(normalisePixKey('CNPJ', text, { cnpjLetters: true })).toEqual({ ok: true, key });
});

test.each(['12ABC34501DE36', '12.ABC.345/01DE-35', '12ABC34501DEAB', '12ABC34501DE3'])(
  'With CNPJ_LETTERS %j is no CNPJ: its check digits or its form are wrong',
  (text) => {
    expect(normalisePixKey('CNPJ', text, { cnpjLetters: true })).toEqual({
      ok: false,
      code: 'invalid_pix_key',
    });
  },
);

describe('what the directory can hold', () => {
  test.each<[PixKeyType, string, boolean]>([
    ['EMAIL', 'joao@example.com', true],
    ['EMAIL', 'lose-answer@simulator.example', true],
    ['EMAIL', `${'a'.repeat(65)}@example.com`, true],
    ['EMAIL', `${'a'.repeat(66)}@example.com`, false],
    ['EMAIL', '50%@example.com', false],
    ['EMAIL', 'joão@example.com', false],
    ['EMAIL', '@example.com', false],
    ['EMAIL', 'joao@-example.com', false],
    ['CPF', '52998224725', true],
    ['CPF', '52998224724', false],
    ['CPF', '12345678909', true],
    ['CPF', '5299822472', false],
    ['CPF', '11111111111', false],
    ['CNPJ', '11222333000181', true],
    ['CNPJ', '11222333000180', false],
    ['CNPJ', '112', false],
    ['PHONE', '+5511999998888', true],
    ['PHONE', '+0511999998888', false],
    ['PHONE', '+1234567890123456', false],
    ['PHONE', '+55 11 99999', false],
    ['PHONE', '+11987654321', false],
    ['PHONE', '+12125550100', true],
    ['CNPJ', '12ABC34501DE35', true],
    ['CNPJ', '12ABC34501DE36', false],
    ['RANDOM', uuid, true],
  ])('%s %s: %s', (type, key, possible) => {
    expect(existsInDict(type, key)).toBe(possible);
  });
});

test.each([
  ['maria@example.com', 'ma***@example.com'],
  ['ma@example.com', 'm***@example.com'],
  ['m@example.com', '***@example.com'],
  ['@example.com', '***.com'],
  ['12345678909', '***8909'],
])('%s is shown as %s, never whole', (key, shown) => {
  expect(maskedPixKey(key)).toBe(shown);
});

test('a key of three characters is long enough, and only e-mail and random keys change to lower case', () => {
  expect(normalisePixKey('EMAIL', 'A@B', digits)).toEqual({ ok: true, key: 'a@b' });
});
