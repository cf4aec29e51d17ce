import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Log } from '../ground/log.ts';
import { countedBy, peerAddress, trustOf } from './caller-address.ts';

/** Some 20 kB each while idle; beyond it a connection is closed at once. Half of the 10,000 descriptors that systems commonly allow. */
const connectionsMost = 5_000;
/**
 * Of one caller, by IPv4 address or IPv6 /64. A pool of a large merchant has some 100 connections, a provider that delivers a backlog some
 * hundreds. Rejected: a tenth, which cut 600 deliveries at once, and a share of the free places, which changes with the others.
 */
export const connectionsOfCaller = (3 * connectionsMost) / 10;

const warnEveryMs = 60_000;

/**
 * Bounds the connections of the process, and in it those of each caller: without a share 5,000 silent connections of one
 * address, opened in three seconds, keep all others out. A trusted proxy has no share: its connections are those of all callers.
 */
export function shareConnections(
  server: Server,
  { log, trustedProxies, now }: { log: Log; trustedProxies: readonly string[]; now(): number },
): void {
  server.maxConnections = connectionsMost;
  const isProxy = trustOf(trustedProxies);
  const open = new Map<string, number>();
  let warnedAt = Number.NEGATIVE_INFINITY;

  server.on('connection', (socket: Socket) => {
    const address = peerAddress(socket);
    // Gone already, or one of our own proxies.
    if (address === null || (isProxy && isProxy(address))) return;
    const caller = countedBy(address);
    const others = open.get(caller) ?? 0;
    if (others >= connectionsOfCaller) {
      socket.destroy();
      if (now() - warnedAt < warnEveryMs) return;
      warnedAt = now();
      log.warn({ caller }, 'a caller has its whole share of connections: more are closed at once');
      return;
    }
    open.set(caller, others + 1);
    socket.once('close', () => {
      const left = (open.get(caller) ?? 1) - 1;
      if (left === 0) open.delete(caller);
      else open.set(caller, left);
    });
  });
}
