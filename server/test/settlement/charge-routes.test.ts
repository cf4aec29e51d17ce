import { freePort } from '@vintem/testkit/free-port.ts';
import { type Merchant, openService, type Service, simulatorAt, until } from '@vintem/testkit/service.ts';
import { intentOf, journalsOf, providerIdOf, reservedCents } from '@vintem/testkit/settlement.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startSend } from '../../src/flow/send.ts';
import { buildMove } from '../../src/flow/send-commands.ts';
import { readConfig } from '../../src/ground/config.ts';
import { providersOf as providersWith } from '../../src/main/runtime.ts';
import type { Intent } from '../../src/money/intent.ts';
import {
  type ConnectionDeps,
  createConnection,
  retireConnection,
  routeCharges,
  setConnection,
} from '../../src/operate/connections/connections.ts';
import type { Provider } from '../../src/provider/provider.ts';
import { intents } from '../../src/store/rows/intents.sql.ts';

/**
 * A charge goes to the next connection of its account's list only where its creation was certainly not sent: while the breaker is open,
 * nothing is committed; and while no connection can be made, no byte of what was committed left. What was sent stays where it is,
 * whatever became of it. A payout has one connection.
 */

let service: Service;
let deps: ConnectionDeps;
let merchant: Merchant;
let poor: Merchant;
const desks = { simulator: '', reserva: '/woovi', segunda: '/inter' };

beforeAll(async () => {
  service = await openService();
  deps = {
    ...service.runtime,
    actor: 'tester',
    config: { simulatorUrl: service.simulator.url, hooksUrl: service.url, provider: null },
  };
  for (const [name, adapter] of [
    ['reserva', 'woovi'],
    ['segunda', 'inter'],
  ] as const)
    await createConnection(deps, {
      name,
      adapter,
      mode: 'shared',
      url: null,
      credentials: null,
      simulated: true,
    });
  await until(
    async () => service.runtime.providers.has('reserva') && service.runtime.providers.has('segunda'),
  );
  merchant = await service.newMerchant();
  poor = await service.newMerchant();
  await routeCharges(deps, merchant.ownerId, ['reserva', 'segunda']);
  await merchant.receive(5_000);
});
afterAll(async () => {
  const balances = new Map<string, number>();
  for (const [name, provider] of service.runtime.providers)
    balances.set(name, (await provider.balance()).availableCents);
  const wrong = await violationsOfBooks(service, {
    provider: { payouts: [], charges: [], balanceCents: null, balances },
  });
  await service.close();
  expect(wrong).toEqual([]);
});
beforeEach(async () => {
  await service.database.admin('DELETE FROM breaker');
  for (const path of Object.values(desks)) await simulatorAt(service.simulator.url + path).behave({});
});

/** Refuses every call of a kind: its probe is not due. */
const opened = (connection: string, call: string) =>
  service.database.admin(
    `INSERT INTO breaker (connection, call, open, probe_at, changed_at) VALUES ($1, $2, true, now() + interval '1 h', now())`,
    [connection, call],
  );

/** Which providers have a charge with this id. */
async function providersOf(id: string): Promise<string[]> {
  const names: string[] = [];
  for (const [name, path] of Object.entries(desks)) {
    const { body } = await simulatorAt(service.simulator.url + path).control(
      'GET',
      `/control/state?txid=${providerIdOf(id)}`,
    );
    if (body.charges.length > 0) names.push(name);
  }
  return names;
}

const connectionOf = async (id: string): Promise<string | undefined> =>
  (
    await service.database.admin<{ connection: string }>('SELECT connection FROM payment WHERE id = $1', [id])
  )[0]?.connection;

describe('a charge', () => {
  test('goes to the account’s own connection while that takes it', async () => {
    const { body } = await merchant.charge();
    expect([await connectionOf(body.id), await providersOf(body.id)]).toEqual(['simulator', ['simulator']]);
  });

  test('goes to the next one while the breaker is open, remembers it, and is paid there', async () => {
    await opened('simulator', 'charge');
    const { status, body } = await merchant.charge({ amountCents: 700 });
    expect([status, body.status]).toEqual([201, 'pending']);
    expect([await connectionOf(body.id), await providersOf(body.id)]).toEqual(['reserva', ['reserva']]);
    await service.database.admin('DELETE FROM breaker');
    const reserva = simulatorAt(service.simulator.url + desks.reserva);
    await reserva.control('POST', `/control/charges/${providerIdOf(body.id)}/pay`);
    await until(async () => (await merchant.call('GET', `/payments/${body.id}`)).body.status === 'paid');
    const journals = await service.database.admin<{ connection: string }>(
      'SELECT connection FROM journal WHERE subject = $1',
      [body.id],
    );
    expect(journals).toEqual([{ connection: 'reserva' }]);
  });

  test('moves to the one after it, in the order of the list, and is refused where all are down', async () => {
    await opened('simulator', 'charge');
    await opened('reserva', 'charge');
    const { body } = await merchant.charge();
    expect(await connectionOf(body.id)).toBe('segunda');
    await opened('segunda', 'charge');
    const refused = await merchant.charge();
    expect([refused.status, refused.body.code]).toEqual([503, 'provider_unavailable']);
  });

  test('of an account without a list is refused', async () => {
    await opened('simulator', 'charge');
    expect((await poor.charge()).body.code).toBe('provider_unavailable');
  });

  test('asked for again under its request key is found where it is, whichever connection is open by then', async () => {
    const requestKey = crypto.randomUUID();
    const { body: first } = await merchant.charge({ requestKey });
    await opened('simulator', 'charge');
    const again = await merchant.charge({ requestKey });
    expect(again.body.id).toBe(first.id);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await providersOf(first.id)).toEqual(['simulator']);
  });

  test.each(['lose-request', 'lose-answer', 'error-500', 'refuse', 'refuse-unknown', 'hang'])(
    'whose creation ended with %s never reaches another connection',
    async (charge) => {
      await service.simulator.behave({ charge });
      const requestKey = crypto.randomUUID();
      const { body } = await merchant.charge({ requestKey });
      const id = body.id ?? body.paymentId;
      expect(await connectionOf(id)).toBe('simulator');
      // The breaker opens afterwards, and the merchant asks again.
      await opened('simulator', 'charge');
      await merchant.charge({ requestKey });
      expect(await connectionOf(id)).toBe('simulator');
      expect((await providersOf(id)).filter((name) => name !== 'simulator')).toEqual([]);
    },
  );
});

test('a payout is refused while the breaker is open, and reserves nothing', async () => {
  await opened('simulator', 'payout');
  const refused = await merchant.transfer();
  expect([refused.status, refused.body.code]).toEqual([503, 'provider_unavailable']);
  expect(await reservedCents(merchant)).toBe(0);
  await service.database.admin('DELETE FROM breaker');
  const { body } = await merchant.transfer();
  expect(await connectionOf(body.id)).toBe('simulator');
  await until(async () => (await journalsOf(service, body.id)).includes('complete'));
});

describe('a charge that was committed', () => {
  let reached: Provider;
  let closed: Provider;
  beforeAll(async () => {
    reached = service.runtime.providers.get('simulator') as Provider;
    const config = readConfig({ SIMULATOR_URL: `http://127.0.0.1:${await freePort()}` });
    closed = providersWith({ ...service.runtime, config }).get('simulator') as Provider;
  });
  beforeEach(async () => {
    connect(reached);
    // One call that goes through: what failed in other tests does not add up to an open breaker.
    expect((await poor.charge()).status).toBe(201);
  });

  /** Every process of this service reaches the simulator's connection as this one does. */
  const connect = (provider: Provider) =>
    (service.runtime.providers as Map<string, Provider>).set('simulator', provider);

  const movesOf = async (id: string): Promise<string[]> => {
    const [row] = await service.database.admin<{ moves: string[] }>(
      `SELECT ARRAY(SELECT step -> 'cause' ->> 'from' FROM jsonb_array_elements(history) step
        WHERE step -> 'cause' ->> 'by' = 'route') AS moves FROM payment WHERE id = $1`,
      [id],
    );
    return row?.moves ?? [];
  };

  /** Of an account without a list, so that it stays where nothing could be sent. */
  const unsent = async (): Promise<{ owner: Merchant; id: string }> => {
    const owner = await service.newMerchant();
    connect(closed);
    const { status, body } = await owner.charge({ amountCents: 900 });
    expect([status, body.status]).toEqual([201, 'unknown']);
    return { owner, id: body.id };
  };

  /** The state that the mover has seen. */
  const seen = (owner: Merchant, paymentId: string) =>
    ({
      accountId: owner.ownerId,
      paymentId,
      operationId: owner.operationId,
      connection: 'simulator',
      kind: 'deposit',
    }) as const;

  const move = (owner: Merchant, id: string) =>
    service.runtime.till.submit(
      buildMove({
        moving: seen(owner, id),
        candidates: ['reserva'],
        token: service.runtime.ids.uuid(),
        deadlineMs: service.runtime.clock.monotonicMs() + 60_000,
      }),
    );

  /** Takes it out of sight of every worker, between two attempts. */
  const setAside = (id: string, state = 'known = known') =>
    until(async () => {
      const rows = await service.database.admin(
        `UPDATE intent SET due_at = now() + interval '1 h', ${state} WHERE payment_id = $1 AND state = 'ready' RETURNING 1`,
        [id],
      );
      return rows.length === 1;
    });

  test('and of which nothing could be sent moves to the next connection, says so, and is paid there', async () => {
    connect(closed);
    const { status, body } = await merchant.charge({ amountCents: 800 });
    expect([status, body.status]).toEqual([201, 'pending']);
    expect(body.copyPaste).not.toBe(null);
    expect([await connectionOf(body.id), await providersOf(body.id)]).toEqual(['reserva', ['reserva']]);
    expect(await movesOf(body.id)).toEqual(['simulator']);
    connect(reached);
    const reserva = simulatorAt(service.simulator.url + desks.reserva);
    await reserva.control('POST', `/control/charges/${providerIdOf(body.id)}/pay`);
    await until(async () => (await merchant.call('GET', `/payments/${body.id}`)).body.status === 'paid');
    expect(await journalsOf(service, body.id)).toEqual(['credit']);
    expect(await providersOf(body.id)).toEqual(['reserva']);
  });

  test('passes over a connection whose breaker is open', async () => {
    connect(closed);
    await opened('reserva', 'charge');
    const { body } = await merchant.charge();
    expect([await connectionOf(body.id), await movesOf(body.id)]).toEqual(['segunda', ['simulator']]);
    expect(await providersOf(body.id)).toEqual(['segunda']);
  });

  test('stays where there is no list, and is sent once when the connection can be made again', async () => {
    const { id } = await unsent();
    connect(reached);
    await until(async () => (await intentOf(service, id))?.state === 'awaiting');
    expect([await connectionOf(id), await movesOf(id), await providersOf(id)]).toEqual([
      'simulator',
      [],
      ['simulator'],
    ]);
  });

  test('and whose process ended before it moved is moved by a worker, and made once', async () => {
    const { owner, id } = await unsent();
    await routeCharges(deps, owner.ownerId, ['reserva']);
    await until(async () => (await intentOf(service, id))?.state === 'awaiting');
    expect([await connectionOf(id), await movesOf(id)]).toEqual(['reserva', ['simulator']]);
    expect(await providersOf(id)).toEqual(['reserva']);
  });

  test('waits for no probe of an open breaker where it may move', async () => {
    const { owner, id } = await unsent();
    await opened('simulator', 'charge');
    await routeCharges(deps, owner.ownerId, ['reserva']);
    connect(reached);
    await until(async () => (await intentOf(service, id))?.state === 'awaiting');
    expect([await connectionOf(id), await providersOf(id)]).toEqual(['reserva', ['reserva']]);
  });

  test('whose process ended after it had moved and before it was sent is sent once, by a worker', async () => {
    const { owner, id } = await unsent();
    await until(async () => (await move(owner, id)) !== null);
    // Who comes later finds it gone from where it was.
    expect(await move(owner, id)).toBe(null);
    connect(reached);
    await until(async () => (await intentOf(service, id))?.state === 'awaiting');
    expect([await connectionOf(id), await movesOf(id)]).toEqual(['reserva', ['simulator']]);
    expect(await providersOf(id)).toEqual(['reserva']);
  });

  test('is not sent by a worker that found it before it moved', async () => {
    const { owner, id } = await unsent();
    await setAside(id);
    const [found] = await intents.read(service.database.sql, [owner.ownerId + id]);
    expect((await move(owner, id))?.connection).toBe('reserva');
    connect(reached);
    expect(await startSend(service.runtime, { ...(found as Intent), connection: 'simulator' })).toBe(null);
    await until(async () => (await intentOf(service, id))?.state === 'awaiting');
    expect(await providersOf(id)).toEqual(['reserva']);
  });

  test.each<[string, string]>([
    [
      'a process is sending it',
      `state = 'sending', attempt = 1, lease_until = now() + interval '1 h', identity = 'an account'`,
    ],
    [
      'its owner is gone',
      `state = 'awaiting', attempt = 1, attempt_ended_at = now(), identity = 'an account'`,
    ],
    ['the provider knows its id', `known = true`],
    ['a repeat of it was refused', `refused = true`],
    ['it has moved already', `connection = 'segunda'`],
  ])('does not move while %s', async (_name, state) => {
    const { owner, id } = await unsent();
    await setAside(id, state);
    expect(await move(owner, id)).toBe(null);
    expect([await connectionOf(id), await movesOf(id)]).toEqual(['simulator', []]);
    expect(await providersOf(id)).toEqual([]);
  });

  test('does not move after a restore: its id may have gone out in the time that was lost', async () => {
    const { owner, id } = await unsent();
    await setAside(id);
    await service.database.admin('UPDATE installation SET restored_at = now()');
    expect(await move(owner, id)).toBe(null);
    await service.database.admin('UPDATE installation SET restored_at = NULL');
    expect((await move(owner, id))?.connection).toBe('reserva');
  });

  test('is a payout: it stays, and is sent where it is when that can be reached', async () => {
    connect(closed);
    const { body } = await merchant.transfer();
    const id = body.id ?? body.paymentId;
    expect(body.status).toBe('unknown');
    connect(reached);
    await until(async () => (await journalsOf(service, id)).includes('complete'));
    expect([await connectionOf(id), await movesOf(id)]).toEqual(['simulator', []]);
  });
});

describe('the list', () => {
  test.each<[string, string[], string]>([
    ['the own connection', ['simulator'], 'bound to simulator already'],
    ['a connection twice', ['reserva', 'reserva'], 'named twice'],
    ['one that does not exist', ['nenhuma'], 'no connection nenhuma'],
    ['too many', ['a', 'b', 'c', 'd', 'e'], 'at most 4'],
  ])('does not take %s', async (_name, names, message) => {
    await expect(routeCharges(deps, merchant.ownerId, names)).rejects.toThrow(message);
  });

  test('holds its connections: none is retired or given to one account while it is in a list', async () => {
    await expect(retireConnection(deps, 'reserva')).rejects.toThrow('in their list for charges');
    await expect(setConnection(deps, 'reserva', { mode: 'own' })).rejects.toThrow(
      'in their list for charges',
    );
    const own = {
      name: 'propria',
      adapter: 'efi',
      mode: 'own',
      url: null,
      credentials: null,
      simulated: true,
    } as const;
    await createConnection(deps, own);
    await expect(routeCharges(deps, merchant.ownerId, ['propria'])).rejects.toThrow('its mode is own');
    await routeCharges(deps, poor.ownerId, ['reserva']);
    await routeCharges(deps, poor.ownerId, []);
    await retireConnection(deps, 'propria');
    await expect(routeCharges(deps, poor.ownerId, ['propria'])).rejects.toThrow('is retired');
  });
});

test('A connection that was just made is taken up by the first request of an account of it, and not by the next look alone', async () => {
  const fresh = { name: 'nova', adapter: 'inter', mode: 'shared', url: null, credentials: null } as const;
  await createConnection(deps, { ...fresh, simulated: true });
  const first = await service.newMerchant();
  await service.database.admin(`UPDATE account SET connection = 'nova' WHERE id = $1`, [first.ownerId]);
  const { status, body } = await first.charge({ amountCents: 1_000 });
  expect([status, body.code]).toEqual([201, undefined]);
});
