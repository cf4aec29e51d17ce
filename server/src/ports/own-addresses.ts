import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';

/**
 * The addresses of this machine. The system's call needs a socket of AF_NETLINK, which a sandbox may forbid; the kernel says the same
 * in two files. Where neither may be read the answer is empty: no webhook would leave otherwise, and the addresses that are not
 * public are refused by their ranges.
 */
export function ownAddresses(
  interfaces: typeof networkInterfaces = networkInterfaces,
  read: (path: string) => string = (path) => readFileSync(path, 'utf8'),
): string[] {
  try {
    return Object.values(interfaces()).flatMap((own) => (own ?? []).map(({ address }) => address));
  } catch {
    return [...ipv4Of(textOf(read, '/proc/net/fib_trie')), ...ipv6Of(textOf(read, '/proc/net/if_inet6'))];
  }
}

function textOf(read: (path: string) => string, path: string): string {
  try {
    return read(path);
  } catch {
    return '';
  }
}

/** The routing table: an address of our own is followed by `/32 host LOCAL`. */
const ipv4Of = (table: string): string[] => [
  ...new Set(
    [...table.matchAll(/\|-- (\d+\.\d+\.\d+\.\d+)\n\s*\/32 host LOCAL/g)].map(
      ([, address]) => address as string,
    ),
  ),
];

/** A line each: the address in hex, then what is known of its interface. */
const ipv6Of = (lines: string): string[] =>
  [...lines.matchAll(/^([0-9a-f]{32}) /gm)].map(([, hex]) => {
    const groups = (hex as string).match(/.{4}/g) as string[];
    // As the system writes it, with the longest run of zeros left out.
    return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
  });
