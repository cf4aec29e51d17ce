#!/usr/bin/env node
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { type Dialect, dialects, rootDialect } from './dialects.ts';
import { clientRule } from './oauth.ts';
import { type OpenDesk, openDesk } from './open-desk.ts';
import { createHttpServer } from './server.ts';
import { lockState } from './state-lock.ts';

export type SimulatorOptions = {
  /** Its control calls need no key: outside of this machine only in a network of its own, such as that of a compose file. */
  host: string;
  /** 0 takes any free port. */
  port: number;
  stateDir: string;
  /** Hex: only clients made from it are served (`clientRule`). Default: every client. */
  clientKey?: string;
  /** Names beside `localhost`, `127.0.0.1` and `[::1]` under which it may be asked for, without port. */
  hostNames?: readonly string[];
  log?: (message: string) => void;
};

/**
 * Starts a provider on the truth that is kept in `stateDir`. Rejects with the system's error when the port is taken
 * (`code` EADDRINUSE), and with an Error that says so when another simulator works on `stateDir`. `stop` writes what is waiting and ends every connection.
 */
export async function startSimulator(
  options: SimulatorOptions,
): Promise<{ url: string; stop(): Promise<void> }> {
  const isClient = clientRule(options.clientKey ?? null);
  const desks = new Map<string, OpenDesk>();
  const open = (name: string, dialect: Dialect): OpenDesk => {
    const stateDir = resolve(options.stateDir, name);
    const opened = openDesk({ stateDir, dialect, isClient, log: options.log });
    desks.set(name, opened);
    return opened;
  };
  let stopped = false;
  const server = createHttpServer({
    hostNames: options.hostNames ?? [],
    // A dialect without clients has no state on disk.
    deskAt(name) {
      if (name === '') return desks.get('');
      const dialect = Object.hasOwn(dialects, name) ? dialects[name] : undefined;
      return dialect && (desks.get(name) ?? open(name, dialect));
    },
  });
  await listen(server, options.host, options.port);
  let unlock: () => void;
  try {
    unlock = lockState(options.stateDir);
    open('', rootDialect);
  } catch (error) {
    server.close();
    server.closeAllConnections();
    throw error;
  }

  const { port } = server.address() as AddressInfo;
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  return {
    url: `http://${host}:${port}`,
    async stop() {
      if (stopped) return;
      stopped = true;
      const closed = new Promise((done) => server.close(done));
      await Promise.all([...desks.values()].map((one) => one.stop()));
      server.closeAllConnections();
      await closed;
      for (const one of desks.values()) one.close();
      unlock();
    },
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((done, failed) => {
    server.once('error', failed);
    server.listen({ host, port }, () => {
      server.off('error', failed);
      done();
    });
  });
}

/** The command: `node simulator/src/main.ts`, with the settings of its README. */
async function main(): Promise<void> {
  const given = process.env.SIMULATOR_PORT ?? '4010';
  const port = /^\d{1,5}$/.test(given) ? Number(given) : Number.NaN;
  if (!(port <= 65_535)) {
    process.stderr.write(`SIMULATOR_PORT must be a port number from 0 to 65535, not "${given}"\n`);
    process.exit(2);
  }
  const clientKey = process.env.SIMULATOR_CLIENT_KEY;
  if (clientKey !== undefined && !/^[0-9a-f]{64}$/.test(clientKey)) {
    process.stderr.write('SIMULATOR_CLIENT_KEY must be 32 bytes in hex\n');
    process.exit(2);
  }
  const host = process.env.SIMULATOR_HOST || '127.0.0.1';
  const ownName = URL.parse(process.env.SIMULATOR_URL ?? '')?.hostname;
  const stateDir = process.env.SIMULATOR_STATE ?? './data/simulator';
  try {
    const simulator = await startSimulator({
      host,
      port,
      stateDir,
      ...(clientKey === undefined ? {} : { clientKey }),
      hostNames: ownName === undefined ? [] : [ownName],
      log: (message) => process.stderr.write(`${message}\n`),
    });
    const stop = () => {
      // A hanging call must not hold the exit: 2 s are promised.
      setTimeout(() => process.exit(1), 1_500).unref();
      simulator.stop().then(() => process.exit(0));
    };
    process.once('SIGTERM', stop);
    process.once('SIGINT', stop);
    // Started as a child process: without its parent, nothing would stop it.
    if (process.send !== undefined) {
      if (process.connected) process.once('disconnect', stop);
      else stop();
    }
    process.stdout.write(`vintem simulator ready ${simulator.url}\n`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') {
      process.stderr.write(`port ${port} (SIMULATOR_PORT) is taken on ${host}\n`);
      process.exit(2);
    }
    throw error;
  }
}

if (import.meta.main) await main();
