import { networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { ownAddresses } from './own-addresses.ts';

const forbidden = () => {
  throw Object.assign(new Error('uv_interface_addresses returned Unknown system error 97'), {
    code: 'ERR_SYSTEM_ERROR',
  });
};

test.runIf(process.platform === 'linux')(
  'The own addresses are known in a sandbox that forbids AF_NETLINK as outside of one',
  () => {
    const known = Object.values(networkInterfaces()).flatMap((own) =>
      (own ?? []).map(({ address }) => address),
    );
    expect(new Set(ownAddresses(forbidden))).toEqual(new Set(known));
  },
);

test('The own addresses are read from the tables of the kernel', () => {
  const files: Record<string, string> = {
    '/proc/net/fib_trie':
      'Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 203.0.113.0\n        /24 link UNICAST\n     |-- 203.0.113.7\n        /32 host LOCAL\nLocal:\n     |-- 203.0.113.7\n        /32 host LOCAL\n',
    '/proc/net/if_inet6': '20010db8000000000000000000000001 02 40 00 80     eth0\n',
  };
  expect(ownAddresses(forbidden, (path) => files[path] ?? '')).toEqual(['203.0.113.7', '2001:db8::1']);
});

test('An address list that cannot be read at all is empty and stops no webhook', () => {
  expect(ownAddresses(forbidden, forbidden)).toEqual([]);
});
