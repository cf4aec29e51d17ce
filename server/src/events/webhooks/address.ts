import { BlockList, isIP } from 'node:net';
import type { Config } from '../../ground/config.ts';
import type { Net, Route } from '../../ports/net.ts';

/**
 * Where merchants' webhooks may go. A merchant names the address and we make the request, from inside: without these rules an
 * endpoint reads cloud metadata, reaches databases or scans a network.
 *
 * The URL is checked when it is registered and again at every attempt; the addresses of its name are checked whenever a
 * connection is made, and the ones that were checked are the ones connected to (`Route`): a name server that answers
 * otherwise the second time is never asked a second time. A name with one address that is not allowed is refused whole.
 *
 * Refused ranges: the special-purpose registries of IANA for IPv4 and IPv6 (RFC 6890 and its successors). Of IPv6 only
 * 2000::/3 is global unicast; whatever embeds an IPv4 address (mapped, NAT64, 6to4, Teredo) is refused with it.
 */
export interface AddressRules {
  /** Networks that are allowed although they are special: both ends belong to the operator. */
  allowCidrs: readonly string[];
  denyCidrs: readonly string[];
  /** Test accounts may use `http` to this machine's loopback. */
  allowInsecureLocal: boolean;
  /** Where deliveries go out through; null: straight. */
  proxy: URL | null;
  /** Host names of our own. */
  ownHosts: readonly string[];
  ownPort: number;
}

export const addressRulesOf = (config: Config): AddressRules => ({
  allowCidrs: config.webhookAllowCidrs,
  denyCidrs: config.webhookDenyCidrs,
  allowInsecureLocal: config.webhookAllowInsecureLocal,
  proxy: config.webhookProxyUrl === null ? null : new URL(config.webhookProxyUrl),
  ownHosts: [config.host, new URL(config.publicUrl).hostname],
  ownPort: config.port,
});

const specialNetworks = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '255.255.255.255/32',
  // Of clouds: addresses that look public and reach the platform from inside (Azure's agent; IBM Cloud's services).
  '168.63.129.16/32',
  '161.26.0.0/16',
  '166.8.0.0/14',
  // Inside 2000::/3.
  '2001::/32',
  '2001:2::/48',
  '2001:10::/28',
  '2001:20::/28',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
];

/** Of services that speak plain text and would take a request's body for commands. */
const refusedPorts = new Set([2375, 2376, 3306, 5432, 6379, 9200, 11211, 27017]);
const refusedNames = ['localhost', 'local', 'internal', 'home.arpa'];

const special = listOf(specialNetworks);
const globalIpv6 = listOf(['2000::/3']);
const loopback = listOf(['127.0.0.0/8', '::1/128']);

/** Refused: says no more, so that the delivery log is no port scanner. */
export class AddressRefused extends Error {
  override name = 'AddressRefused';
}

export interface Addresses {
  /**
   * Checks what the URL itself says.
   * @throws AddressRefused
   */
  checkUrl(url: string, account: { test: boolean }): void;
  /** Whether `address` may be connected to. */
  allows(address: string, account: { test: boolean }): boolean;
  /**
   * The addresses of a name, every one of them allowed.
   * @throws AddressRefused when one is not; whatever the look-up throws when there is none
   */
  resolve(hostname: string, account: { test: boolean }): Promise<string[]>;
  /** The way on which deliveries of live or test accounts travel. */
  routeOf(account: { test: boolean }): Route;
}

export function createAddresses(rules: AddressRules, net: Pick<Net, 'lookup' | 'ownAddresses'>): Addresses {
  const allowed = listOf(rules.allowCidrs);
  const denied = listOf(rules.denyCidrs);
  const ownHosts = new Set(rules.ownHosts.map((host) => host.toLowerCase()));
  const mayBeLocal = (account: { test: boolean }): boolean => account.test && rules.allowInsecureLocal;

  function allows(address: string, account: { test: boolean }): boolean {
    const version = isIP(address);
    // A zone (`fe80::1%eth0`) names an interface: never global.
    if (version === 0 || address.includes('%')) return false;
    if (holds(denied, address)) return false;
    if (holds(allowed, address)) return true;
    if (mayBeLocal(account) && holds(loopback, address)) return true;
    if (holds(special, address)) return false;
    // `::ffff:a.b.c.d` and all the other forms that carry an IPv4 address lie outside.
    if (version === 6 && !holds(globalIpv6, address)) return false;
    return !net.ownAddresses().includes(address);
  }

  async function resolve(hostname: string, account: { test: boolean }): Promise<string[]> {
    const addresses = await net.lookup(hostname);
    if (addresses.length === 0 || !addresses.every((address) => allows(address, account))) {
      throw new AddressRefused('not allowed');
    }
    return addresses;
  }

  function checkUrl(text: string, account: { test: boolean }): void {
    const fault = faultOf(text, account);
    if (fault !== null) throw new AddressRefused(fault);
  }

  function faultOf(text: string, account: { test: boolean }): string | null {
    // The parser would drop tabs and line ends, and take backslashes for slashes.
    if (text.length > 2048 || !/^[\x21-\x7e\u00a1-\uffff]+$/.test(text) || text.includes('\\')) return 'form';
    if (!URL.canParse(text)) return 'form';
    const url = new URL(text);
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const local = mayBeLocal(account) && isLocalHost(host);
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && local)) return 'scheme';
    if (url.username !== '' || url.password !== '' || /^[a-z]+:\/*[^/?#]*@/i.test(text)) return 'user';
    if (url.hash !== '' || text.includes('#')) return 'fragment';
    const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
    if (refusedPorts.has(port)) return 'port';
    if (port !== 443 && port < 1024 && !(local && port === 80)) return 'port';
    if (local) return port === rules.ownPort ? 'own' : null;
    if (ownHosts.has(host)) return 'own';
    if (isIP(host) !== 0) return account.test && allows(host, account) ? null : 'address';
    // The URL parser has made A-labels of everything (IDNA); what is left is ASCII.
    if (!/^[a-z0-9._-]+$/.test(host) || host.endsWith('.') || !host.includes('.')) return 'name';
    if (refusedNames.some((name) => host === name || host.endsWith(`.${name}`))) return 'name';
    return null;
  }

  const routeFor = (account: { test: boolean }): Route => ({
    resolve: (hostname) => resolve(hostname, account),
    connectTimeoutMs: 5_000,
    proxy: rules.proxy,
    // An endpoint has 64 deliveries under way at most: this bound is for a host that many merchants share.
    connectionsPerOrigin: 1_000,
    connectionLifeMs: 5 * 60_000,
  });
  const live = routeFor({ test: false });
  const test = routeFor({ test: true });
  return { checkUrl, allows, resolve, routeOf: (account) => (account.test ? test : live) };
}

const isLocalHost = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || (isIP(host) !== 0 && holds(loopback, host));

function listOf(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', prefix] = cidr.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

/** A mapped address counts as the IPv4 address that it carries as well. */
const holds = (list: BlockList, address: string): boolean =>
  list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
