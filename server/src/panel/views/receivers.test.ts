import { expect, test } from 'vitest';
import { keysTyped, openedKey, receiversFor } from './receivers.ts';

test.each([
  ['529.982.247-25', '52998224725'],
  ['52998224725', '52998224725'],
  ['11.222.333/0001-81', '11222333000181'],
  ['(11) 99999-8888', '+5511999998888'],
  ['+55 11 99999-8888', '+5511999998888'],
  ['5511999998888', '+5511999998888'],
  [' Maria@Loja.Example ', 'maria@loja.example'],
  ['123E4567-E89B-12D3-A456-426614174000', '123e4567-e89b-12d3-a456-426614174000'],
])('%s is looked for as %s', (typed, stored) => {
  expect(keysTyped(typed)).toContain(stored);
});

test.each(['Maria', 'pedido 123', '12,34', '2026', 'fornecedor', '@'])('%s is no key', (typed) => {
  expect(keysTyped(typed)).toEqual([]);
});

test('who moves money sees a key whole, developers and viewers masked', () => {
  const secrets = { open: () => Buffer.from('52998224725') };
  const payment = { id: 'p', pixKey: Buffer.of(1) };
  const seen = (role: Parameters<typeof receiversFor>[1]) => receiversFor(secrets, role)(payment);
  for (const role of ['owner', 'admin', 'finance'] as const) expect(seen(role)).toBe('52998224725');
  for (const role of ['developer', 'viewer'] as const) expect(seen(role)).toBe('***4725');
});

test('a key whose secret is lost is left out, and a charge has none', () => {
  const open = (): Buffer => {
    throw new Error('sealed under a secret that is not at hand');
  };
  expect(openedKey({ open }, { id: 'p', pixKey: Buffer.of(1) })).toBeNull();
  expect(openedKey({ open }, { id: 'p', pixKey: null })).toBeNull();
});
