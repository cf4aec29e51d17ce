import { BlockList, isIP, type Socket, SocketAddress } from 'node:net';
import type { FastifyRequest } from 'fastify';

/**
 * Where a request comes from, in the one form that is compared, counted, shown and kept: IPv4 as `192.0.2.1`, IPv6 as RFC 5952 writes it,
 * without port, brackets, quotes or zone. Behind trusted proxies it is the last entry of X-Forwarded-For that none of them wrote of
 * another. Nothing else of the service reads `request.ip`, which is that entry as it came: Azure Application Gateway, IIS and some load
 * balancers write a port into it, so that each connection looks like another caller.
 * @returns the connection's own address where the entry is no address
 */
export const callerAddress = (request: FastifyRequest): string =>
  plainAddress(request.ip) ?? peerAddress(request.socket) ?? '';

/** The other end of a connection, whatever it forwards. @returns null: it is gone */
export const peerAddress = (socket: Socket): string | null => plainAddress(socket.remoteAddress ?? '');

/** By what one caller is counted: the address, of IPv6 the 64 bits that one customer is given, as `2001:db8:0:1::/64`. */
export const callerNetwork = (request: FastifyRequest): string => countedBy(callerAddress(request));

/** @param address as `callerAddress` gives it */
export function countedBy(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array<string>(8 - before.length - after.length).fill('0');
  return `${[...before, ...(tail === undefined ? [] : zeros), ...after].slice(0, 4).join(':')}::/64`;
}

/** One entry as proxies write it: `192.0.2.1:4711`, `"[2001:db8::1]:4711"`, `::ffff:192.0.2.1`. @returns null: no address */
export function plainAddress(entry: string): string | null {
  if (isIP(entry) === 4) return entry;
  const text = entry.trim().replace(/^"(.*)"$/, '$1');
  const bare = /^\[([^[\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text;
  const address = bare.split('%', 1)[0] as string;
  const version = isIP(address);
  if (version === 0) return null;
  if (version === 4) return address;
  const canonical = new SocketAddress({ address, family: 'ipv6' }).address;
  // A socket that listens on both families shows IPv4 as ::ffff:192.0.2.1.
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(canonical)?.[1] ?? canonical;
}

/**
 * Which entries of X-Forwarded-For are of our own proxies. Fastify's own check takes an entry with a port for a stranger's, and every
 * caller for that proxy.
 * @param networks of TRUSTED_PROXIES; empty: no forwarded header counts
 */
export function trustOf(networks: readonly string[]): false | ((entry: string) => boolean) {
  if (networks.length === 0) return false;
  const trusted = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    trusted.addSubnet(address, Number(prefix ?? (family === 'ipv4' ? 32 : 128)), family);
  }
  return (entry) => {
    const address = plainAddress(entry);
    return address !== null && trusted.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
  };
}
