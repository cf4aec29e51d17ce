import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { startSimulator } from '@vintem/simulator';
import { type Simulator, simulatorAt } from '@vintem/testkit/service.ts';

/**
 * Banks with an address each, and behind each address one account for every holder that shows its credentials. Each account is a simulator of its own, because the
 * ids of one mean nothing to another, as at a real provider: a simulator alone knows an id once, whatever account it came for.
 */
export interface Banks {
  /** The addresses. */
  urls: readonly string[];
  /** The account of a holder behind an address, made when it is first asked for. */
  account(url: string, holder: string): Promise<Account>;
  /** Every account that was ever asked for. */
  accounts(): Promise<Account[]>;
  close(): Promise<void>;
}

export interface Account {
  url: string;
  holder: string;
  simulator: Simulator;
}

/** The holder is what stands before the dash: credentials may be renewed without another account. */
export const clientOf = (holder: string, issue: number): string => `${holder}-${issue}`;
const holderOf = (clientId: string): string => clientId.split('-')[0] ?? clientId;

const clientKey = 'cd'.repeat(32);
export const clientSecretOf = (clientId: string): string =>
  createHmac('sha256', Buffer.from(clientKey, 'hex')).update(clientId).digest('hex');

/** @param listLagMs how old the content of their lists is */
export async function openBanks(
  addresses: number,
  stateDir: string,
  { listLagMs }: { listLagMs: number },
): Promise<Banks> {
  const open = new Map<string, Promise<Account & { stop(): Promise<void> }>>();
  /** The account of each access token. */
  const tokens = new Map<string, Account>();
  const account = (url: string, holder: string) => {
    const name = `${new URL(url).port}-${holder}`;
    const known = open.get(name);
    if (known) return known;
    const opened = startSimulator({ host: '127.0.0.1', port: 0, stateDir: join(stateDir, name), clientKey });
    const made = opened.then(async ({ url: own, stop }) => {
      const simulator = simulatorAt(own);
      await simulator.behave({ listLagMs });
      return { url, holder, simulator, stop };
    });
    open.set(name, made);
    return made;
  };
  const bank = async () => {
    const server = createServer((incoming, response) => {
      const parts: Buffer[] = [];
      incoming.on('data', (part: Buffer) => parts.push(part));
      incoming.on('end', () => {
        const { port } = server.address() as AddressInfo;
        forward(`http://127.0.0.1:${port}`, incoming, Buffer.concat(parts), response).catch(() =>
          response.destroy(),
        );
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    return server;
  };

  async function forward(url: string, incoming: IncomingMessage, body: Buffer, response: ServerResponse) {
    const [scheme = '', value = ''] = (incoming.headers.authorization ?? '').split(' ');
    const [clientId = ''] = Buffer.from(value, 'base64').toString().split(':');
    const asked = scheme === 'Basic' ? await account(url, holderOf(clientId)) : tokens.get(value);
    if (!asked) return void response.writeHead(401).end();
    const target = new URL(incoming.url ?? '/', asked.simulator.url);
    const { host: _, ...headers } = incoming.headers;
    const onward = request(target, { method: incoming.method, headers }, (answer) => {
      const said: Buffer[] = [];
      answer.on('data', (part: Buffer) => said.push(part));
      answer.on('error', () => response.destroy());
      answer.on('end', () => {
        const text = Buffer.concat(said);
        if (scheme === 'Basic' && answer.statusCode === 200)
          tokens.set((JSON.parse(text.toString()) as { access_token: string }).access_token, asked);
        response.writeHead(answer.statusCode ?? 502, answer.headers).end(text);
      });
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    onward.end(body);
  }

  const servers = await Promise.all(Array.from({ length: addresses }, bank));
  return {
    urls: servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    account,
    accounts: () => Promise.all(open.values()),
    close: async () => {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
      for (const { stop } of await Promise.all(open.values())) await stop();
    },
  };
}
