import { BlockList, isIP } from 'node:net';

/** `localhost` and the addresses of this machine alone. @param hostname as `URL.hostname`: IPv6 in brackets */
export const isLoopbackHost = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname);

/** RFC 1122 (this host), 1918, 3927, 6598, 4193, 4291. */
const privateNetworks = new BlockList();
for (const [address, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const)
  privateNetworks.addSubnet(address, prefix, 'ipv4');
privateNetworks.addAddress('::', 'ipv6');
privateNetworks.addAddress('::1', 'ipv6');
privateNetworks.addSubnet('fc00::', 7, 'ipv6');
privateNetworks.addSubnet('fe80::', 10, 'ipv6');

/**
 * Whether strangers may reach it: any name with a dot, but those that never leave a network (RFC 6761, 6762, 8375, ICANN's `.internal`),
 * and any address that is not private.
 * @param hostname as `URL.hostname`: lower case, IPv6 in brackets
 */
export function isPublicHost(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '');
  const version = isIP(address);
  if (version !== 0) return !privateNetworks.check(address, version === 4 ? 'ipv4' : 'ipv6');
  return hostname.includes('.') && !/\.(?:localhost|local|internal|home\.arpa)$/.test(hostname);
}
