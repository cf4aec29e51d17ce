import { describe, expect, test } from 'vitest';
import { AddressRefused, type AddressRules, createAddresses } from './address.ts';

const strict: AddressRules = {
  allowCidrs: [],
  denyCidrs: ['8.8.4.0/24', '2001:4860::/32'],
  allowInsecureLocal: false,
  proxy: null,
  ownHosts: ['pix.example.org'],
  ownPort: 3000,
};
const ownAddresses = () => ['93.184.216.40', '2600:1f18::40'];
const lookup = () => Promise.reject(new Error('this test resolves nothing'));
const live = { test: false };
const trial = { test: true };

const addresses = createAddresses(strict, { lookup, ownAddresses });
const local = createAddresses({ ...strict, allowInsecureLocal: true }, { lookup, ownAddresses });
const lan = createAddresses(
  { ...strict, allowCidrs: ['10.20.0.0/16', 'fd00:20::/32'] },
  { lookup, ownAddresses },
);

const allowsUrl = (rules: typeof addresses, url: string, account: { test: boolean }): boolean => {
  try {
    rules.checkUrl(url, account);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(AddressRefused);
    return false;
  }
};

describe('addresses', () => {
  test.each([
    ['93.184.216.34', true, 'a public address'],
    ['1.1.1.1', true, 'a public address'],
    ['172.15.255.255', true, 'right below 172.16/12'],
    ['172.32.0.0', true, 'right above 172.16/12'],
    ['100.63.255.255', true, 'right below 100.64/10'],
    ['100.128.0.0', true, 'right above 100.64/10'],
    ['2606:4700:4700::1111', true, 'a public address'],
    ['2a00:1450:4001::200e', true, 'a public address'],
    ['0.0.0.0', false, 'this host'],
    ['0.1.2.3', false, 'this network'],
    ['10.0.0.1', false, 'private'],
    ['10.255.255.255', false, 'private'],
    ['100.64.0.1', false, 'carrier NAT'],
    ['100.127.255.255', false, 'carrier NAT'],
    ['127.0.0.1', false, 'loopback'],
    ['127.255.255.254', false, 'loopback'],
    ['169.254.169.254', false, 'cloud metadata'],
    ['169.254.0.1', false, 'link local'],
    ['172.16.0.1', false, 'private'],
    ['172.31.255.255', false, 'private'],
    ['192.0.0.1', false, 'protocol assignments'],
    ['192.0.2.1', false, 'documentation'],
    ['192.88.99.1', false, '6to4 relay'],
    ['192.168.1.1', false, 'private'],
    ['198.18.0.1', false, 'benchmarks'],
    ['198.19.255.255', false, 'benchmarks'],
    ['198.51.100.1', false, 'documentation'],
    ['203.0.113.1', false, 'documentation'],
    ['224.0.0.1', false, 'multicast'],
    ['239.255.255.255', false, 'multicast'],
    ['240.0.0.1', false, 'reserved'],
    ['255.255.255.255', false, 'broadcast'],
    ['8.8.4.4', false, 'denied by the operator'],
    ['93.184.216.40', false, "the server's own"],
    ['2600:1f18::40', false, "the server's own"],
    ['2001:4860:4860::8888', false, 'denied by the operator'],
    ['::', false, 'unspecified'],
    ['::1', false, 'loopback'],
    ['::ffff:127.0.0.1', false, 'mapped loopback'],
    ['::ffff:7f00:1', false, 'mapped loopback in hexadecimal'],
    ['::ffff:169.254.169.254', false, 'mapped metadata'],
    ['::ffff:93.184.216.34', false, 'mapped public'],
    ['::ffff:0:127.0.0.1', false, 'translated'],
    ['::127.0.0.1', false, 'compatible'],
    ['64:ff9b::7f00:1', false, 'NAT64'],
    ['64:ff9b::a9fe:a9fe', false, 'NAT64 of metadata'],
    ['64:ff9b:1::1', false, 'local NAT64'],
    ['100::1', false, 'discard'],
    ['2001::1', false, 'Teredo'],
    ['2001:2::1', false, 'benchmarks'],
    ['2001:10::1', false, 'ORCHID'],
    ['2001:20::1', false, 'ORCHIDv2'],
    ['2001:db8::1', false, 'documentation'],
    ['2002:7f00:1::', false, '6to4 of loopback'],
    ['2002:a9fe:a9fe::1', false, '6to4 of metadata'],
    ['3fff::1', false, 'documentation'],
    ['fc00::1', false, 'unique local'],
    ['fd12:3456::1', false, 'unique local'],
    ['fe80::1', false, 'link local'],
    ['fe80::1%eth0', false, 'link local with a zone'],
    ['fec0::1', false, 'site local'],
    ['ff02::1', false, 'multicast'],
    ['4000::1', false, 'not assigned'],
    ['no address', false, 'not an address'],
    ['', false, 'not an address'],
  ])('%s: %s (%s)', (address, allowed) => {
    expect([address, addresses.allows(address, live)]).toEqual([address, allowed]);
    // A test account may not reach an address that a live account may not.
    expect([address, addresses.allows(address, trial)]).toEqual([address, allowed]);
  });

  test.each([
    ['127.0.0.1', true],
    ['::1', true],
    ['10.0.0.1', false],
    ['169.254.169.254', false],
    ['192.168.1.1', false],
  ])('insecure local allows test accounts loopback and no more: %s %s', (address, allowed) => {
    expect(local.allows(address, trial)).toBe(allowed);
    expect(local.allows(address, live)).toBe(false);
  });

  test.each([
    ['10.20.3.4', true],
    ['fd00:20::1', true],
    ['10.21.0.1', false],
    ['127.0.0.1', false],
  ])("the operator's own networks: %s %s", (address, allowed) => {
    expect(lan.allows(address, live)).toBe(allowed);
  });

  test('what is denied stays denied where it is allowed as well', () => {
    const both = createAddresses(
      { ...strict, allowCidrs: ['10.0.0.0/8'], denyCidrs: ['10.9.0.0/16'] },
      { lookup, ownAddresses },
    );
    expect([both.allows('10.8.0.1', live), both.allows('10.9.0.1', live)]).toEqual([true, false]);
  });
});

describe('URLs', () => {
  test.each([
    ['https://loja.example.com/vintem', true, 'a name'],
    ['https://loja.example.com:443/', true, 'its port'],
    ['https://loja.example.com:8443/a?b=c', true, 'a high port'],
    ['https://LOJA.example.com/', true, 'capitals'],
    ['https://maçã.example.com/', true, 'IDNA makes it ASCII'],
    ['http://loja.example.com/', false, 'no TLS'],
    ['ftp://loja.example.com/', false, 'another scheme'],
    ['file:///etc/passwd', false, 'another scheme'],
    ['javascript:alert(1)', false, 'another scheme'],
    ['gopher://loja.example.com/', false, 'another scheme'],
    ['https://loja.example.com:80/', false, 'a low port'],
    ['https://loja.example.com:22/', false, 'a low port'],
    ['https://loja.example.com:0/', false, 'port zero'],
    ['https://loja.example.com:2375/', false, 'Docker'],
    ['https://loja.example.com:2376/', false, 'Docker'],
    ['https://loja.example.com:3306/', false, 'MySQL'],
    ['https://loja.example.com:5432/', false, 'PostgreSQL'],
    ['https://loja.example.com:6379/', false, 'Redis'],
    ['https://loja.example.com:9200/', false, 'Elasticsearch'],
    ['https://loja.example.com:11211/', false, 'memcached'],
    ['https://loja.example.com:27017/', false, 'MongoDB'],
    ['https://user@loja.example.com/', false, 'a user'],
    ['https://user:secret@loja.example.com/', false, 'a user and a password'],
    ['https://@loja.example.com/', false, 'an empty user'],
    ['https://loja.example.com/#a', false, 'a fragment'],
    ['https://loja.example.com/#', false, 'an empty fragment'],
    ['https://localhost/', false, 'this machine'],
    ['https://a.localhost/', false, 'this machine'],
    ['https://intranet/', false, 'no dot'],
    ['https://printer.local/', false, 'multicast DNS'],
    ['https://metadata.google.internal/', false, 'internal'],
    ['https://nas.home.arpa/', false, 'the home network'],
    ['https://loja.example.com./', false, 'a dot at its end'],
    ['https://localhost./', false, 'a dot at its end'],
    ['https://pix.example.org/hook', false, 'our own name'],
    ['https://PIX.example.org/hook', false, 'our own name'],
    ['https://93.184.216.34/', false, 'an address'],
    ['https://127.0.0.1/', false, 'loopback'],
    ['https://2130706433/', false, 'loopback in decimal'],
    ['https://0x7f000001/', false, 'loopback in hexadecimal'],
    ['https://0x7f.0.0.1/', false, 'loopback, partly hexadecimal'],
    ['https://0177.0.0.1/', false, 'loopback in octal'],
    ['https://017700000001/', false, 'loopback in octal'],
    ['https://127.1/', false, 'loopback, short'],
    ['https://0/', false, 'zero'],
    ['https://２１３０７０６４３３/', false, 'full-width digits'],
    ['https://①②⑦.⓪.⓪.①/', false, 'circled digits'],
    ['https://[::1]/', false, 'loopback'],
    ['https://[::ffff:127.0.0.1]/', false, 'mapped loopback'],
    ['https://[::ffff:7f00:1]/', false, 'mapped loopback'],
    ['https://[fe80::1]/', false, 'link local'],
    ['https://169.254.169.254/latest/meta-data', false, 'cloud metadata'],
    ['https://2852039166/latest/meta-data', false, 'cloud metadata in decimal'],
    ['https:\\\\loja.example.com\\a', false, 'backslashes'],
    ['https://loja.example.com/a\tb', false, 'a tab'],
    ['https://loja.exam\nple.com/', false, 'a line end'],
    [' https://loja.example.com/', false, 'a space before it'],
    ['loja.example.com', false, 'no scheme'],
    ['//loja.example.com/', false, 'no scheme'],
    ['', false, 'nothing'],
    [`https://loja.example.com/${'a'.repeat(2048)}`, false, 'too long'],
  ])('%s: %s (%s)', (url, allowed) => {
    expect(allowsUrl(addresses, url, live)).toBe(allowed);
  });

  test.each([
    ['https://93.184.216.34/', true],
    ['https://127.0.0.1/', false],
    ['https://2130706433/', false],
    ['https://[::ffff:127.0.0.1]/', false],
    ['http://localhost:4000/', false],
  ])('a test account may name a public address: %s %s', (url, allowed) => {
    expect(allowsUrl(addresses, url, trial)).toBe(allowed);
  });

  test.each([
    ['http://localhost/', true, true],
    ['http://localhost:4000/hook', true, true],
    ['http://shop.localhost:4000/', true, true],
    ['http://127.0.0.1:4000/', true, true],
    ['http://[::1]:4000/', true, true],
    ['http://2130706433:4000/', true, true],
    ['http://127.0.0.1:3000/', true, false],
    ['http://127.0.0.1:5432/', true, false],
    ['http://127.0.0.1:22/', true, false],
    ['http://10.0.0.1:4000/', true, false],
    ['http://loja.example.com/', true, false],
    ['http://localhost:4000/hook', false, false],
    ['https://localhost:4000/hook', false, false],
  ])('insecure local: %s, test account %s: %s', (url, test, allowed) => {
    expect(allowsUrl(local, url, { test })).toBe(allowed);
  });
});

describe('names', () => {
  const answering = (...answers: string[][]) =>
    createAddresses(strict, { lookup: async () => answers.shift() ?? [], ownAddresses });

  test('one address that is not allowed refuses the name', async () => {
    await expect(answering(['93.184.216.34', '10.0.0.1']).resolve('a.example.com', live)).rejects.toThrow(
      AddressRefused,
    );
    await expect(answering(['93.184.216.34', '::1']).resolve('a.example.com', live)).rejects.toThrow(
      AddressRefused,
    );
  });

  test('a name without an address is refused', async () => {
    await expect(answering([]).resolve('a.example.com', live)).rejects.toThrow(AddressRefused);
  });

  test('what answers public first and private later is let through once and refused then', async () => {
    const rebinding = answering(['93.184.216.34'], ['127.0.0.1']);
    expect(await rebinding.resolve('a.example.com', live)).toEqual(['93.184.216.34']);
    await expect(rebinding.resolve('a.example.com', live)).rejects.toThrow(AddressRefused);
  });
});

test.each(['168.63.129.16', '161.26.0.10', '166.9.1.1', '::ffff:168.63.129.16'])(
  'An address of the platform that a machine runs on is no address for webhooks: %s',
  (address) => {
    expect(addresses.allows(address, { test: false })).toBe(false);
  },
);
