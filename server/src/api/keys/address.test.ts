import { expect, test } from 'vitest';
import { allowList, networkOf } from './address.ts';

test('an address or a network of at most /16, in IPv6 /32, is taken in one form', () => {
  expect(networkOf(' 203.0.113.9 ')).toBe('203.0.113.9');
  expect(networkOf('203.0.113.0/24')).toBe('203.0.113.0/24');
  expect(networkOf('10.0.0.0/16')).toBe('10.0.0.0/16');
  expect(networkOf('2001:DB8::1')).toBe('2001:db8::1');
  expect(networkOf('2001:db8::/032')).toBe('2001:db8::/32');
  expect(networkOf('::ffff:203.0.113.9')).toBe('203.0.113.9');
  expect(networkOf('203.0.113.9:80')).toBe(null);
  const refused = [
    '',
    'x',
    '203.0.113',
    '203.0.113.9/33',
    '10.0.0.0/15',
    '0.0.0.0/0',
    '2001:db8::/31',
    '::/0',
  ];
  for (const text of [...refused, '1.2.3.4/', '1.2.3.4/8/8', '1.2.3.4/-1', '::1/129', 'localhost']) {
    expect([text, networkOf(text)]).toEqual([text, null]);
  }
});

test('an empty list allows every address, any other list only its own', () => {
  expect(allowList([])('whatever')).toBe(true);
  const allowed = allowList(['203.0.113.0/24', '198.51.100.7', '2001:db8:1::/48']);
  for (const address of [
    '203.0.113.0',
    '203.0.113.255',
    '198.51.100.7',
    '::ffff:203.0.113.9',
    '2001:db8:1:2::3',
  ]) {
    expect([address, allowed(address)]).toEqual([address, true]);
  }
  for (const address of [
    '203.0.114.0',
    '198.51.100.8',
    '2001:db8:2::1',
    '::1',
    '',
    'unknown',
    '::ffff:8.8.8.8',
  ]) {
    expect([address, allowed(address)]).toEqual([address, false]);
  }
});
