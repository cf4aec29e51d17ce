import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endPrograms, type Running, run } from '@vintem/testkit/command.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { intentOf, journalsOf, later, leave, reservedCents, statusOf } from '@vintem/testkit/settlement.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFollowUp } from '../../src/flow/follow-up.ts';
import type { Provider } from '../../src/provider/provider.ts';

/**
 * A real worker process is stopped in the middle of a send for longer than its lease, and then continues. A relay between it and
 * the simulator can hold an answer back, so that the process is stopped at the exact moment that matters.
 */
interface Relay {
  url: string;
  /** From now on answers to paths like this are held back until `release`. */
  hold(path: RegExp): void;
  held(): number;
  release(): void;
  close(): void;
}

async function relayTo(target: string): Promise<Relay> {
  let holding: RegExp | null = null;
  const waiting: (() => void)[] = [];
  const pass = (incoming: IncomingMessage, response: ServerResponse) => {
    const { hostname, port } = new URL(target);
    const onward = request(
      { hostname, port, path: incoming.url, method: incoming.method, headers: incoming.headers },
      (answer) => {
        const give = () => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        };
        if (holding?.test(incoming.url ?? '')) waiting.push(give);
        else give();
      },
    );
    onward.on('error', () => response.destroy());
    response.on('error', () => {});
    incoming.pipe(onward);
  };
  const server: Server = createServer(pass);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold: (path) => {
      holding = path;
    },
    held: () => waiting.length,
    release: () => {
      holding = null;
      for (const give of waiting.splice(0)) give();
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const secret = randomBytes(32).toString('base64');
const open: { service: Service; relay: Relay; worker: Running; merchant: Merchant; folder: string }[] = [];

/** @param held what the worker's provider does not answer from its start on */
async function scene(held: RegExp | null = null) {
  const service = await openService({ worker: false, env: { TRANSFER_WAIT_MS: '0', VINTEM_SECRET: secret } });
  const merchant = await service.newMerchant();
  await merchant.receive(5000);
  const relay = await relayTo(service.simulator.url);
  if (held) relay.hold(held);
  const folder = await mkdtemp(join(tmpdir(), 'vintem-frozen-'));
  const worker = run(['worker'], {
    DATABASE_URL: service.database.url,
    DATA_DIR: folder,
    SIMULATOR_URL: relay.url,
    VINTEM_SECRET: secret,
    LOG_LEVEL: 'warn',
  });
  await worker.line('vintem worker ready');
  const one = { service, relay, worker, merchant, folder };
  open.push(one);
  return one;
}
afterAll(async () => {
  for (const { worker, relay, service, folder } of open) {
    worker.kill('SIGCONT');
    relay.release();
    relay.close();
    worker.kill('SIGKILL');
    await worker.exit;
    await service.close();
    await rm(folder, { recursive: true, force: true });
  }
  await endPrograms();
});

/** The acts of another worker, so many seconds later: taking over, asking, repeating. */
async function meanwhile(service: Service, ...seconds: number[]): Promise<void> {
  const provider = service.runtime.providers.get('simulator') as Provider;
  for (const second of seconds) {
    const followUp = createFollowUp(later(service.runtime, second * 1000), provider);
    await followUp.stepSends();
    await followUp.idle();
    while (await followUp.stepQueries());
    await followUp.idle();
  }
}

/** The lease ends 15 s after the send began: the provider's deadline of 5 s, and 10 s. */
const longerThanALease = 17_000;

describe.concurrent('a worker that was stopped for longer than its lease', () => {
  let before: Awaited<ReturnType<typeof scene>>;
  let after: Awaited<ReturnType<typeof scene>>;
  beforeAll(async () => {
    // One after the other: opening a service holds this thread, and a transaction of another one may wait three seconds at most.
    before = await scene(/oauth/);
    after = await scene();
  });

  test('before it wrote a byte writes none when it wakes: the new owner pays once', async () => {
    const { service, relay, worker, merchant } = before;
    const id = await leave(service, merchant, 'complete');
    // It has committed `sending` and waits for an access token, which other work of it may have asked for before.
    await until(async () => relay.held() > 0 && (await intentOf(service, id))?.state === 'sending');
    worker.kill('SIGSTOP');
    await new Promise((done) => setTimeout(done, longerThanALease));
    await meanwhile(service, 0);
    expect(await intentOf(service, id)).toMatchObject({ state: 'awaiting', attempt: 1 });
    expect((await service.simulator.payout(id))?.timesReceived ?? 0).toBe(0);
    relay.release();
    worker.kill('SIGCONT');
    // It continues with other work. Then it is stopped again: to it the seconds that pass for the new owner have not passed.
    const next = await leave(service, merchant, 'complete');
    await until(async () => (await statusOf(service, next)) === 'completed');
    worker.kill('SIGSTOP');
    expect((await service.simulator.payout(id))?.timesReceived ?? 0).toBe(0);
    // Not found twice, ten seconds apart: the same id goes out once.
    await meanwhile(service, 6, 17, 29, 45);
    await until(async () => (await statusOf(service, id)) === 'completed');
    expect(await service.simulator.payout(id)).toMatchObject({ timesReceived: 1, timesAccepted: 1 });
    expect(await journalsOf(service, id)).toEqual(['reserve', 'complete']);
    expect(await reservedCents(merchant)).toBe(0);
  });

  test('after it wrote judges nothing when it wakes: the query has settled it', async () => {
    const { service, relay, worker, merchant } = after;
    await service.simulator.behave({ webhook: 'drop' });
    relay.hold(/v3\/gn\/pix/);
    const id = await leave(service, merchant, 'complete');
    await until(async () => relay.held() > 0);
    worker.kill('SIGSTOP');
    await new Promise((done) => setTimeout(done, longerThanALease));
    await meanwhile(service, 0, 6);
    expect(await statusOf(service, id)).toBe('completed');
    relay.release();
    worker.kill('SIGCONT');
    // It continues with other work.
    const next = await leave(service, merchant, 'complete');
    await until(async () => (await statusOf(service, next)) === 'completed');
    expect(await statusOf(service, id)).toBe('completed');
    expect(await service.simulator.payout(id)).toMatchObject({ timesReceived: 1, timesAccepted: 1 });
    expect(await journalsOf(service, id)).toEqual(['reserve', 'complete']);
    expect(await reservedCents(merchant)).toBe(0);
  });
});
