import { BlockList, isIP, isIPv4 } from 'node:net';
import { plainAddress } from '../../edge/caller-address.ts';

/** From where a key may be used: addresses and networks. */
export const addressesPerKey = 20;

/** Wider networks are no restriction: half of a provider's customers are in them. */
const widest = { 4: 16, 6: 32 } as const;

/**
 * One address or network (CIDR) in its usual form, without bits below its prefix.
 * @returns null for what is none, or for a network wider than IPv4 /16 or IPv6 /32
 */
export function networkOf(text: string): string | null {
  const [address = '', prefix, ...rest] = text.trim().split('/');
  const version = isIP(address) as 0 | 4 | 6;
  if (version === 0 || rest.length > 0) return null;
  const most = version === 4 ? 32 : 128;
  if (prefix === undefined) return plainAddress(address);
  if (!/^\d{1,3}$/.test(prefix) || Number(prefix) > most || Number(prefix) < widest[version]) return null;
  return `${address.toLowerCase()}/${Number(prefix)}`;
}

/** @param networks as `networkOf` gives them; empty: from everywhere */
export function allowList(networks: readonly string[]): (address: string) => boolean {
  if (networks.length === 0) return () => true;
  const allowed = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    allowed.addSubnet(address, Number(prefix ?? (family === 'ipv4' ? 32 : 128)), family);
  }
  return (address) => {
    const plain = plainAddress(address);
    return plain !== null && allowed.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6');
  };
}
