import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Log } from '../ground/log.ts';
import { openFilesMost } from '../ports/open-files.ts';
import { countedBy, peerAddress, trustOf } from './caller-address.ts';

/** 10,000 payers' pages hold a stream each, and merchants have places beside them. Some 20 kB each while idle: 300 MB. */
const wanted = 15_000;

/** Of the process; beyond it a connection is closed at once. Three quarters of what it may have open, since each answer may need a second one. */
export const connectionsFor = (openFiles: number | null): number =>
  openFiles === null ? 5_000 : Math.min(wanted, Math.floor((3 * openFiles) / 4));

export const connectionsMost = connectionsFor(openFilesMost());

/**
 * Of one caller, by IPv4 address or IPv6 /64. A pool of a large merchant has some 100 connections, a provider that delivers a backlog some
 * hundreds. Rejected: 500, which cut 600 deliveries at once, and a share of the free places, which changes with the others.
 */
export const connectionsOfCaller = Math.min(1_500, Math.floor((3 * connectionsMost) / 10));

const warnEveryMs = 60_000;

/**
 * Bounds the connections of the process, and in it those of each caller: without a share the silent connections of one
 * address, opened in some seconds, keep all others out. A trusted proxy has no share: its connections are those of all callers.
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
