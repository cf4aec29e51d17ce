import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { startSimulator } from '../src/main.ts';

/** A client of the provider, and what the tests need around it. Everything ends with its test. */

export const key = 'recebedor@loja.example';
export const secret = 's3cret:with-a-colon';

// biome-ignore lint/suspicious/noExplicitAny: the tests read answers of every shape, wrong ones included.
type Json = any;

export type Answer = { status: number; type: string; body: Json };

export function temporaryState(): string {
  const folder = mkdtempSync(join(tmpdir(), 'simulator-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export async function startProvider(stateDir = temporaryState()) {
  const simulator = await startSimulator({ host: '127.0.0.1', port: 0, stateDir });
  onTestFinished(() => simulator.stop());
  return { ...clientOf(simulator.url), stop: () => simulator.stop(), stateDir };
}

/** The provider as a process of its own, to be killed. */
export async function spawnProvider(stateDir: string) {
  const child = spawn(process.execPath, [fileURLToPath(new URL('../src/main.ts', import.meta.url))], {
    env: { ...process.env, SIMULATOR_PORT: '0', SIMULATOR_STATE: stateDir },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const url = await new Promise<string>((done, failed) => {
    child.once('exit', (code) => failed(new Error(`the simulator ended with ${code}`)));
    child.stdout.once('data', (text) => done(/http:\S+/.exec(String(text))?.[0] ?? ''));
  });
  return { ...clientOf(url), kill: () => ended(child, 'SIGKILL'), terminate: () => ended(child, 'SIGTERM') };
}

export async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  const exit = new Promise<number | null>((done) => child.once('exit', done));
  child.kill(signal);
  return exit;
}

export function clientOf(url: string, id = 'client') {
  let token: Promise<string> | undefined;

  const obtainToken = async () => {
    const response = await fetch(`${url}/oauth/token`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ grant_type: 'client_credentials' }),
    });
    return ((await response.json()) as { access_token: string }).access_token;
  };

  /** A call of the client. Rejects when the provider ends the connection. */
  const call = async (
    method: string,
    path: string,
    body?: unknown,
    signal?: AbortSignal,
  ): Promise<Answer> => {
    token ??= obtainToken();
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${await token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    const type = response.headers.get('content-type') ?? '';
    const text = await response.text();
    return { status: response.status, type, body: type.includes('json') ? JSON.parse(text) : text };
  };

  const control = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const response = await fetch(`${url}/control${path}`, {
      method,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return {
      status: response.status,
      type: response.headers.get('content-type') ?? '',
      body: await response.json(),
    };
  };

  return {
    url,
    call,
    control,
    useToken: (given: string) => {
      token = Promise.resolve(given);
    },
    token: () => (token ??= obtainToken()),
    putCharge: (txid: string, body: unknown = chargeBody()) => call('PUT', `/v2/cob/${txid}`, body),
    putPayout: (idEnvio: string, pixKey = 'alguem@exemplo.example', signal?: AbortSignal) =>
      call('PUT', `/v3/gn/pix/${idEnvio}`, payoutBody(pixKey), signal),
    payout: (idEnvio: string) => call('GET', `/v2/gn/pix/enviados/id-envio/${idEnvio}`),
    behave: (behaviour: Record<string, unknown>) => control('PUT', '/behaviour', behaviour),
    state: async (query = '') => (await control('GET', `/state${query}`)).body,
    payoutState: async (idEnvio: string) =>
      (await control('GET', `/state?idEnvio=${idEnvio}`)).body.payouts[0] as
        | {
            status?: string;
            timesReceived: number;
            timesAccepted: number;
            amountCents: number;
            pixKey: string;
          }
        | undefined,
  };
}

export type Provider = ReturnType<typeof clientOf>;

export function chargeBody(change: Record<string, unknown> = {}) {
  return { calendario: { expiracao: 3600 }, valor: { original: '12.34' }, chave: key, ...change };
}

export function payoutBody(pixKey = 'alguem@exemplo.example', change: Record<string, unknown> = {}) {
  return {
    valor: '9.75',
    pagador: { chave: key, infoPagador: 'Saque' },
    favorecido: { chave: pixKey },
    ...change,
  };
}

let numbered = 0;

/** A fresh id, good for a charge and for a payout. */
export function newId(): string {
  return `test${String(++numbered).padStart(28, '0')}`;
}

/** Gives a call up that gets no answer, and not before the provider has taken it. */
export async function expectNoAnswer(
  call: (givenUp: AbortSignal) => Promise<Answer>,
  taken: () => Promise<unknown>,
): Promise<void> {
  const caller = new AbortController();
  const end = call(caller.signal).then(
    () => 'answered',
    () => 'given up',
  );
  await taken();
  const quiet = new Promise((done) => setTimeout(() => done('quiet'), 300));
  expect(await Promise.race([end, quiet])).toBe('quiet');
  caller.abort();
  expect(await end).toBe('given up');
}

/** Waits until the real state shows it. */
export async function until<T>(
  look: () => T | Promise<T>,
  good: (seen: T) => boolean,
  waitMs = 120_000,
): Promise<T> {
  const end = Date.now() + waitMs;
  for (;;) {
    const seen = await look();
    if (good(seen)) return seen;
    if (Date.now() > end)
      throw new Error(`not reached within ${waitMs} ms; last seen ${JSON.stringify(seen)}`);
    await new Promise((next) => setTimeout(next, 5));
  }
}

export type Received = { path: string; headers: IncomingHttpHeaders; raw: string; pix: Json[]; at: number };

/** A client's endpoint: keeps every delivery and answers with `status` (or what `decide` says). */
export async function startEndpoint(decide: (count: number) => number = () => 200, port = 0) {
  const deliveries: Received[] = [];
  const server = createServer((request, response) => {
    let raw = '';
    request.on('data', (part) => {
      raw += part;
    });
    request.on('end', () => {
      deliveries.push({
        path: request.url ?? '',
        headers: request.headers,
        raw,
        pix: JSON.parse(raw).pix,
        at: Date.now(),
      });
      response.writeHead(decide(deliveries.length)).end();
    });
  });
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(close);
  const { port: taken } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${taken}/hooks/provider`;
  return {
    url,
    port: taken,
    deliveries,
    close,
    items: () => deliveries.flatMap((delivery) => delivery.pix),
    register: (provider: Provider) => provider.call('PUT', `/v2/webhook/${key}`, { webhookUrl: url }),
  };
}

export function expectedSignature(header: string, raw: string, withSecret = secret): string {
  const seconds = /^t=(\d+),/.exec(header)?.[1] ?? '';
  const mac = createHmac('sha256', withSecret).update(`${seconds}.${raw}`).digest('hex');
  return `t=${seconds},v1=${mac}`;
}
