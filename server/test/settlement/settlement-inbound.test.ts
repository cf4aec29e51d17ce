import { connect } from 'node:net';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import {
  deliver,
  incidentsOf,
  journalsOf,
  later,
  payoutItem,
  providerIdOf,
  receivedItem,
  reservedCents,
  returnItem,
  signatureOf,
  statusOf,
  webhookTokenOf,
} from '@vintem/testkit/settlement.ts';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFollowUp } from '../../src/flow/follow-up.ts';
import { createInbound } from '../../src/flow/inbound.ts';
import { createAccount } from '../../src/operate/connections/directory.ts';
import { changeWebhookAddress } from '../../src/operate/webhook-address.ts';
import { createEfiProvider, simulatorLimits } from '../../src/provider/efi/efi.ts';
import type { Provider } from '../../src/provider/provider.ts';

/** Deliveries at our address: what they may do, and what they may not. Nothing else works here: no worker asks meanwhile. */

let service: Service;
beforeAll(async () => {
  service = await openService({ worker: false });
});
afterAll(() => service?.close());

const open = 'stay-pending@simulator.example';

async function sent(): Promise<{ merchant: Merchant; id: string }> {
  const merchant = await service.newMerchant();
  await merchant.receive(5000);
  const { body } = await merchant.transfer({ pixKey: open });
  return { merchant, id: body.id };
}
async function charged(amountCents = 1500): Promise<{ merchant: Merchant; id: string }> {
  const merchant = await service.newMerchant();
  return { merchant, id: (await merchant.charge({ amountCents })).body.id };
}
const becomes = (id: string, status: string) => until(async () => (await statusOf(service, id)) === status);
const left = async (): Promise<number> =>
  (
    await service.database.admin<{ n: number }>(
      'SELECT count(*)::int AS n FROM inbound WHERE applied_at IS NULL AND authentic',
    )
  )[0]?.n ?? -1;
const applied = () => until(async () => (await left()) === 0);
const suspense = (reference: string) =>
  service.database.admin<{ suspense: string }>(
    `SELECT suspense FROM journal WHERE reference = $1 AND template = 'bookToSuspense'`,
    [reference],
  );

describe('a delivery', () => {
  test('that says the same thing twice in one body books it once', async () => {
    const { merchant, id } = await sent();
    const item = payoutItem(id, open, { devolucoes: [returnItem('twice', 975)] });
    expect(await deliver(service, [item, item])).toBe(200);
    await applied();
    expect(await journalsOf(service, id)).toEqual(['reserve', 'complete', 'return']);
    expect(await incidentsOf(service, id)).toEqual([]);
    expect(await merchant.balanceCents()).toBe(4975);
    const charge = await charged();
    const odd = receivedItem(charge.id, 700, 'Etwice');
    await deliver(service, [odd, odd]);
    await applied();
    expect(await suspense('Etwice')).toEqual([{ suspense: '700' }]);
  });

  test('that cannot be applied does not stop other deliveries', async () => {
    const { id: transfer } = await sent();
    const { merchant, id } = await charged();
    // A received Pix under a transfer's id, and one of nothing at all: neither is the other delivery's business.
    await deliver(service, [receivedItem(transfer, 1000, 'Eunder'), receivedItem(id, 0, 'Ezero')]);
    await deliver(service, [receivedItem(id, 1500, 'Egood')]);
    await becomes(id, 'paid');
    expect(await merchant.balanceCents()).toBe(1500);
    expect(await suspense('Eunder')).toEqual([{ suspense: '1000' }]);
    expect(await statusOf(service, transfer)).toBe('pending');
    await applied();
  });

  test('left by a process that died is applied by the next one, past those that never can be', async () => {
    const { id } = await charged();
    const { runtime } = service;
    const stored = async (body: string, sealedFor?: string) => {
      const rowId = runtime.ids.uuid();
      await service.database.admin(
        `INSERT INTO inbound (id, connection, received_at, body, authentic, next_at)
         VALUES ($1, 'simulator', now() - interval '1 minute', $2, true, now() - interval '30 seconds')`,
        [rowId, runtime.secrets.seal(Buffer.from(body), sealedFor ?? rowId)],
      );
      return rowId;
    };
    const poison = await stored('{}', runtime.ids.uuid());
    await stored(JSON.stringify({ pix: [receivedItem(id, 1500, 'Eleft')] }));
    const inbound = createInbound(runtime);
    await inbound.stepLeft();
    expect(await statusOf(service, id)).toBe('paid');
    // A delivery that cannot be opened waits longer each time and is not looked at again at once.
    expect(await inbound.stepLeft()).toBe(false);
    const [row] = await service.database.admin<{ tries: number }>('SELECT tries FROM inbound WHERE id = $1', [
      poison,
    ]);
    expect(row?.tries).toBe(1);
    await service.database.admin('UPDATE inbound SET applied_at = now() WHERE id = $1', [poison]);
  });

  test('of a connection that is no longer configured waits, and is not claimed', async () => {
    await service.database.admin(
      `INSERT INTO connection (id, webhook_token, query_bucket_at) VALUES ('gone', 't', now()) ON CONFLICT DO NOTHING`,
    );
    await service.database.admin(
      `INSERT INTO inbound (id, connection, received_at, body, authentic, next_at)
       VALUES ($1, 'gone', now(), '\\x00', true, now() - interval '30 seconds')`,
      [service.runtime.ids.uuid()],
    );
    expect(await createInbound(service.runtime).stepLeft()).toBe(false);
    expect(await left()).toBe(1);
    await service.database.admin(`DELETE FROM inbound WHERE connection = 'gone'`);
  });

  test('is stored sealed before it is applied, from any sender', async () => {
    const { id } = await charged();
    const signature = `t=${Math.floor(Date.now() / 1000)},v1=${'0'.repeat(64)}`;
    expect(await deliver(service, [receivedItem(id, 1500, 'Eforged')], { signature })).toBe(401);
    const rows = await service.database.admin<{ body: Buffer; authentic: boolean; applied_at: Date | null }>(
      'SELECT body, authentic, applied_at FROM inbound ORDER BY received_at DESC LIMIT 1',
    );
    expect(rows[0]).toMatchObject({ authentic: false, applied_at: null });
    expect(rows[0]?.body.includes(providerIdOf(id))).toBe(false);
    expect(await statusOf(service, id)).toBe('pending');
  });

  test('is believed once: an old one that is played again is refused, and a young one changes nothing', async () => {
    const { merchant, id } = await charged();
    const item = receivedItem(id, 1500, 'Eplayed');
    const raw = JSON.stringify({ pix: [item] });
    const seconds = Math.floor(Date.now() / 1000);
    const signature = signatureOf(service.runtime.secrets, raw, seconds);
    expect(await deliver(service, [item], { signature })).toBe(200);
    await becomes(id, 'paid');
    expect(await deliver(service, [item], { signature })).toBe(200);
    await applied();
    expect(await merchant.balanceCents()).toBe(1500);
    expect(await incidentsOf(service, id)).toEqual([]);
    // The same bytes with the signature of half an hour ago: a recorded delivery cannot be replayed.
    expect(await deliver(service, [item], { ageSeconds: 1800 })).toBe(401);
    expect(await deliver(service, [item], { ageSeconds: -1800 })).toBe(401);
  });

  test('that comes before the answer to the send it speaks of is applied, and the answer changes nothing', async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(5000);
    const requestKey = crypto.randomUUID();
    const answering = merchant.transfer({ pixKey: 'hang@simulator.example', requestKey });
    const found = () =>
      service.database.admin<{ id: string; state: string }>(
        `SELECT p.id, i.state FROM payment p LEFT JOIN intent i ON i.payment_id = p.id WHERE p.request_key = $1`,
        [requestKey],
      );
    await until(async () => (await found()).length === 1);
    const [row] = await found();
    const id = row?.id ?? '';
    await deliver(service, [payoutItem(id, 'hang@simulator.example')]);
    await becomes(id, 'completed');
    const { status, body } = await answering;
    expect(status).toBe(201);
    expect(body).toMatchObject({ id, status: 'completed' });
    expect(await journalsOf(service, id)).toEqual(['reserve', 'complete']);
  });

  test('reported in the wrong order ends in the same place: the return first, then the Pix that it returns', async () => {
    const { merchant, id } = await sent();
    await deliver(service, [payoutItem(id, open, { devolucoes: [returnItem('early', 400)] })]);
    await becomes(id, 'completed');
    await deliver(service, [payoutItem(id, open, { status: 'EM_PROCESSAMENTO' })]);
    await deliver(service, [payoutItem(id, open)]);
    await applied();
    expect(await statusOf(service, id)).toBe('completed');
    expect(await journalsOf(service, id)).toEqual(['reserve', 'complete', 'return']);
    expect(await merchant.balanceCents()).toBe(4400);
  });

  test('of money that came back and was never ours undoes what it had put into suspense', async () => {
    const item = receivedItem(crypto.randomUUID(), 5000, 'Estranger');
    await deliver(service, [{ ...item, devolucoes: [returnItem('Rstranger', 5000)] }]);
    await applied();
    expect(await suspense('Estranger')).toEqual([{ suspense: '5000' }]);
    expect(await suspense('DRstranger')).toEqual([{ suspense: '-5000' }]);
  });

  test('under ids of another connection settles nothing', async () => {
    const { runtime } = service;
    const live = liveProvider();
    (runtime.providers as Map<string, Provider>).set('live', live);
    await service.database.admin(
      `INSERT INTO connection (id, webhook_token, query_bucket_at) VALUES ('live', 't', now()) ON CONFLICT DO NOTHING`,
    );
    const account = await createAccount(runtime, { name: 'Viva', test: false, connection: 'live' });
    const call = service.as(await service.newKey(account.ownerId, ['charges', 'read']));
    const requestKey = crypto.randomUUID();
    const { body } = await call('POST', '/pix/charges', {
      amountCents: 1000,
      payerName: 'Maria',
      description: '',
      requestKey,
    });
    await deliver(service, [receivedItem(body.id, 1000, 'Elive')]);
    await applied();
    (runtime.providers as Map<string, Provider>).delete('live');
    expect(await statusOf(service, body.id)).not.toBe('paid');
    expect((await call('GET', '/account')).body.balanceCents).toBe(0);
    // It is still money: it goes to suspense, with an incident.
    expect(await suspense('Elive')).toEqual([{ suspense: '1000' }]);
  });
});

describe('the address', () => {
  test('that was changed leaves the one before good, until the next change; strangers know none', async () => {
    const [first, { id }] = [await webhookTokenOf(service), await charged()];
    const change = () => changeWebhookAddress({ ...service.runtime, actor: 'tester' }, 'simulator');
    await change();
    const second = await webhookTokenOf(service);
    const item = receivedItem(id, 1500, 'Eaddress');
    expect(await deliver(service, [item], { token: first })).toBe(200);
    await becomes(id, 'paid');
    expect(await deliver(service, [item], { token: second })).toBe(200);
    await change();
    expect(await deliver(service, [item], { token: second })).toBe(200);
    expect(await deliver(service, [item])).toBe(200);
    expect(await deliver(service, [item], { token: first })).toBe(404);
    await expect(changeWebhookAddress({ ...service.runtime, actor: 'tester' }, 'missing')).rejects.toThrow(
      'no connection',
    );
    const audit = await service.database.admin(
      `SELECT actor, subject FROM audit WHERE action = 'webhook_address.change'`,
    );
    expect(audit).toEqual([1, 2].map(() => ({ actor: 'tester', subject: 'simulator' })));
    // A running service does this by itself within half a minute.
    const { providers } = service.runtime;
    await providers
      .get('simulator')
      ?.registerWebhook(`${service.url}/hooks/providers/simulator/${await webhookTokenOf(service)}`);
  });
});

describe('a flood', () => {
  test('of duplicates, strangers and forgeries is taken while merchants are served, and books each cent once', async () => {
    const { merchant, id } = await charged();
    const item = receivedItem(id, 1500, 'Eflood');
    const unknown = crypto.randomUUID();
    const forged = `t=${Math.floor(Date.now() / 1000)},v1=${'a'.repeat(64)}`;
    const count = 600;
    let [flooding, answered, served] = [true, 0, 0];
    const serving = (async () => {
      while (flooding) {
        expect((await merchant.call('GET', '/account')).status).toBe(200);
        if (answered < count) served++;
      }
    })();
    const token = await webhookTokenOf(service);
    const one = (n: number) => {
      if (n % 3 === 0) return deliver(service, [item, item], { token });
      if (n % 3 === 1) return deliver(service, [receivedItem(unknown, 100, `Estrange${n % 30}`)], { token });
      return deliver(service, [item], { token, signature: forged });
    };
    const answers = await Promise.all(
      Array.from({ length: count }, (_, n) => one(n).finally(() => answered++)),
    );
    flooding = false;
    await serving;
    expect(answers.filter((status) => status === 200)).toHaveLength(400);
    expect(answers.filter((status) => status === 401)).toHaveLength(200);
    await until(async () => (await left()) === 0);
    expect(await merchant.balanceCents()).toBe(1500);
    expect(await journalsOf(service, id)).toEqual(['credit']);
    const [sum] = await service.database.admin<{ n: number; cents: string }>(
      `SELECT count(*)::int AS n, sum(suspense) AS cents FROM journal WHERE reference LIKE 'Estrange%' AND reference <> 'Estranger'`,
    );
    expect(sum).toEqual({ n: 10, cents: '1000' });
    expect(served).toBeGreaterThan(0);
  });

  test('that arrives faster than it can be applied is stored, and later applied once; what comes for another account meanwhile does not wait for it', async () => {
    const { merchant, id } = await charged();
    const other = await charged();
    const token = await webhookTokenOf(service);
    const busy = new pg.Client({ connectionString: service.database.url, options: '-c search_path=vintem' });
    await busy.connect();
    await busy.query('BEGIN');
    await busy.query('SELECT FROM balance WHERE operation_id = $1 FOR UPDATE', [merchant.operationId]);
    const item = receivedItem(id, 1500, 'Efaster');
    for (let round = 0; round < 6; round++) {
      const answers = await Promise.all(
        Array.from({ length: 200 }, () => deliver(service, [item], { token })),
      );
      expect(new Set(answers)).toEqual(new Set([200]));
    }
    await deliver(service, [receivedItem(other.id, 1500, 'Ebeside')], { token });
    await busy.query('ROLLBACK');
    await busy.end();
    await Promise.all([id, other.id].map((one) => becomes(one, 'paid')));
    // Half of a thousand were under way; what came then waits for a worker.
    await until(async () => (await left()) === 700);
    const worker = createInbound(later(service.runtime, 30_000));
    while (await worker.stepLeft());
    expect(await left()).toBe(0);
    expect(await journalsOf(service, id)).toEqual(['credit']);
    expect(await merchant.balanceCents()).toBe(1500);
  });

  test('of bodies that never end keeps no more memory than it may, and ends with them', async () => {
    const { hostname, port } = new URL(service.url);
    const token = await webhookTokenOf(service);
    const allButOne = '1'.repeat(1024 * 1024 - 1);
    const sockets = Array.from({ length: 40 }, () => connect(Number(port), hostname));
    const refused: string[] = [];
    for (const socket of sockets) {
      socket.on('error', () => {});
      socket.on('data', (data) => refused.push(data.toString().slice(0, 12)));
      socket.write(
        `POST /hooks/providers/simulator/${token}/pix HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${1024 * 1024}\r\n\r\n${allButOne}`,
      );
    }
    // 32 MiB are let in, so 32 of the 40 at most.
    await until(async () => refused.length >= 8);
    expect(new Set(refused)).toEqual(new Set(['HTTP/1.1 503']));
    const { id } = await charged();
    const item = receivedItem(id, 1500, 'Emuch');
    for (const socket of sockets) socket.destroy();
    await until(async () => (await deliver(service, [item], { token })) === 200);
    await becomes(id, 'paid');
  });

  test('of one enormous body is refused before it is stored', async () => {
    const token = await webhookTokenOf(service);
    const before = await service.database.admin('SELECT count(*) FROM inbound');
    const answer = await fetch(`${service.url}/hooks/providers/simulator/${token}/pix`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: 'x'.repeat(1024 * 1024 + 1),
    }).catch(() => null);
    if (answer) expect(answer.status).toBe(413);
    expect(await service.database.admin('SELECT count(*) FROM inbound')).toEqual(before);
  });
});

/** The same simulator as another connection, or as one that signs nothing. */
function liveProvider(connection = 'live'): Provider {
  const { runtime } = service;
  return createEfiProvider({
    connection,
    test: connection !== 'live',
    baseUrl: service.simulator.url,
    clientId: 'vintem',
    clientSecret: runtime.secrets.derive('simulator client').toString('hex'),
    pixKey: 'vintem@simulator.example',
    webhook: { trust: 'path' },
    limits: simulatorLimits,
    net: runtime.net,
    clock: runtime.clock,
    log: runtime.log,
  });
}

describe('where only the address protects deliveries, money moves by a query', () => {
  const simulate = (path: string, body?: object) =>
    service.simulator.control('POST', `/control/${path}`, body);
  let provider: Provider;
  let trusted: Provider;
  beforeAll(() => {
    trusted = service.runtime.providers.get('simulator') as Provider;
    provider = liveProvider('simulator');
    (service.runtime.providers as Map<string, Provider>).set('simulator', provider);
  });
  afterAll(() => {
    (service.runtime.providers as Map<string, Provider>).set('simulator', trusted);
  });
  /** Lets a worker do what is due now. */
  const asks = async () => {
    const followUp = createFollowUp(later(service.runtime, 1_000), provider);
    while (await followUp.stepQueries());
    await followUp.idle();
  };

  test('a return of a transfer that had completed', async () => {
    const { merchant, id } = await sent();
    await simulate(`payouts/${providerIdOf(id)}/complete`);
    await until(async () => {
      await asks();
      return (await statusOf(service, id)) === 'completed';
    });
    expect(await reservedCents(merchant)).toBe(0);
    await simulate(`payouts/${providerIdOf(id)}/return`);
    await until(async () => (await merchant.balanceCents()) === 4975);
    expect(await journalsOf(service, id)).toEqual(['reserve', 'complete', 'return']);
  });

  test('a payment of a charge that had expired, and a second one', async () => {
    const { merchant, id } = await charged();
    await service.database.admin(`UPDATE payment SET status = 'expired' WHERE id = $1`, [id]);
    await service.database.admin('DELETE FROM intent WHERE payment_id = $1', [id]);
    await simulate(`charges/${providerIdOf(id)}/pay`);
    await becomes(id, 'paid');
    expect(await merchant.balanceCents()).toBe(1500);
    await simulate(`charges/${providerIdOf(id)}/pay`);
    await until(async () => (await incidentsOf(service, id)).length === 1);
    expect(await incidentsOf(service, id)).toMatchObject([{ kind: 'second_payment', amount_cents: '1500' }]);
    expect(await merchant.balanceCents()).toBe(1500);
  });

  test('a report that the provider does not confirm moves no money; one that matches no payment opens an incident', async () => {
    const { merchant, id } = await charged();
    await deliver(
      service,
      [receivedItem(id, 1500, 'Elie'), receivedItem(crypto.randomUUID(), 900, 'Eliestranger')],
      {
        signature: '',
      },
    );
    await until(
      async () =>
        (await service.database.admin(`SELECT 1 FROM incident WHERE reference = 'unmatched:Eliestranger'`))
          .length === 1,
    );
    await asks();
    expect(await statusOf(service, id)).toBe('pending');
    expect(await merchant.balanceCents()).toBe(0);
    expect(await suspense('Eliestranger')).toEqual([]);
  });
});
