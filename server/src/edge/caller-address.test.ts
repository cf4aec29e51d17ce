import { expect, test } from 'vitest';
import { countedBy, plainAddress, trustOf } from './caller-address.ts';

test.each([
  ['203.0.113.7', '203.0.113.7', '203.0.113.7'],
  ['203.0.113.7:51234', '203.0.113.7', '203.0.113.7'],
  ['"203.0.113.7:51234"', '203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7', '203.0.113.7'],
  ['::FFFF:CB00:7107', '203.0.113.7', '203.0.113.7'],
  ['[::ffff:203.0.113.7]:443', '203.0.113.7', '203.0.113.7'],
  ['2001:DB8:0:0:0:0:0:1', '2001:db8::1', '2001:db8:0:0::/64'],
  ['[2001:db8::1]', '2001:db8::1', '2001:db8:0:0::/64'],
  ['"[2001:db8:1:2:3:4:5:6]:4711"', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  [' 2001:db8:1:2:ffff::9 ', '2001:db8:1:2:ffff::9', '2001:db8:1:2::/64'],
  ['2001:db8:1::', '2001:db8:1::', '2001:db8:1:0::/64'],
  ['fe80::1%eth0', 'fe80::1', 'fe80:0:0:0::/64'],
  ['::1', '::1', '0:0:0:0::/64'],
])('The address of the caller %s is %s, and is counted by %s', (entry, address, network) => {
  expect(plainAddress(entry)).toBe(address);
  expect(countedBy(address)).toBe(network);
});

test('An entry that is no address is none', () => {
  const entries = ['', 'unknown', '_hidden', '203.0.113', '203.0.113.7:', '203.0.113.7:x', '[2001:db8::1'];
  for (const entry of [...entries, '[]:1', '"', '1.2.3.4:5:6', '999.1.1.1:80', 'x'.repeat(4000)]) {
    expect([entry, plainAddress(entry)]).toEqual([entry, null]);
  }
});

test('A trusted proxy is known by its address, with whatever port it is written', () => {
  expect(trustOf([])).toBe(false);
  const trusts = trustOf(['10.0.0.0/8', '2001:db8:aaaa::/48', '192.0.2.1']);
  if (trusts === false) throw new Error('no proxy is trusted');
  for (const entry of [
    '10.1.2.3',
    '10.1.2.3:4711',
    '::ffff:10.1.2.3',
    '[2001:db8:aaaa::5]:80',
    '192.0.2.1',
  ]) {
    expect([entry, trusts(entry)]).toEqual([entry, true]);
  }
  for (const entry of ['11.0.0.1', '192.0.2.2:10', '[2001:db8:bbbb::5]:80', 'unknown', '']) {
    expect([entry, trusts(entry)]).toEqual([entry, false]);
  }
});
