import { balanceAt, clearingOf, closeDay, closesOf, costsOf, inDays } from '@vintem/testkit/closing-days.ts';
import { payOut } from '@vintem/testkit/pay-out.ts';
import {
  type Dialect,
  type Merchant,
  openService,
  type Service,
  simulatorAt,
  until,
} from '@vintem/testkit/service.ts';
import { fillQueryLimit, spendQueryLimit, statusOf } from '@vintem/testkit/settlement.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  keepMovements,
  movementsOfCosts,
  postMovements,
  stepConnectionMovements,
} from '../../src/flow/connection-movements.ts';
import { createFollowUp } from '../../src/flow/follow-up.ts';
import { bookUnmatched, type Unmatched, unmatchedLine, unmatchedOf } from '../../src/flow/unmatched.ts';
import { stepStatement } from '../../src/jobs/statement.ts';
import { setAside, stepStatementLines } from '../../src/jobs/statement-lines.ts';
import { setConditions } from '../../src/operate/accounts/conditions.ts';
import { bookMovement, listMovements } from '../../src/operate/book-movement.ts';
import { endsAt } from '../../src/operate/closes/day.ts';
import { createConnection } from '../../src/operate/connections/connections.ts';
import { createAccount } from '../../src/operate/connections/directory.ts';
import { findForeignAccounts, setHolder } from '../../src/operate/connections/holders.ts';
import { listIncidents } from '../../src/operate/incidents/incident.ts';
import { resolveOwnIncidents } from '../../src/operate/own-incidents.ts';
import { reconcile } from '../../src/operate/reconcile.ts';
import { dayOf } from '../../src/operate/statement/period.ts';
import { listUnread, stepUnread } from '../../src/operate/unread/unread-items.ts';
import type { Provider } from '../../src/provider/provider.ts';
import { unreadItem } from '../../src/provider/unread.ts';
import { createTill } from '../../src/store/till.ts';

/** Costs of the provider, and movements of the company itself: booked once, so that each day closes with nothing unexplained. */

const dayMs = 24 * 3_600_000;

async function movesMoney(service: Service, merchant: Merchant): Promise<void> {
  await merchant.receive(100_000);
  await merchant.receive(2_345);
  const { body } = await merchant.transfer({ amountCents: 30_000 });
  await until(async () => (await statusOf(service, body.id)) === 'completed');
}

describe.each(['efi', 'woovi', 'inter', 'stark', 'asaas'] as const)(
  'days at a provider that charges (%s)',
  (dialect: Dialect) => {
    let service: Service;
    let merchant: Merchant;
    beforeAll(async () => {
      service = await openService({ dialect });
      await service.simulator.behave({ fees: 'on' });
      merchant = await service.newMerchant();
    });
    afterAll(() => service?.close());

    test('each of five days closes with difference zero, and shows what the provider charged', async () => {
      for (let day = 0; day < 5; day++) {
        await movesMoney(service, merchant);
        const { waits } = await closeDay(service, day);
        expect(waits).toBe(false);
      }
      const closes = await closesOf(service);
      expect(closes.map((one) => [one.difference_cents, one.incident_id])).toEqual(
        closes.map(() => ['0', null]),
      );
      // The worker may have closed yesterday.
      expect(closes.filter(({ day }) => (day ?? '') >= inDays(0))).toHaveLength(5);
      // Money of a later day is posted now: the closes after the first have it as what moved since.
      expect(await costsOf(service)).toBeGreaterThan(0);
      expect(await clearingOf(service)).toBe(await balanceAt(service));
      expect(await violationsOfBooks(service)).toEqual([]);
    });

    // At Asaas nothing leaves that the books do not have.
    const sendsItself = dialect !== 'asaas';
    test.runIf(sendsItself)(
      'what the company sends itself minutes before a close is its own movement, and the day closes with difference zero',
      async () => {
        const before = await balanceAt(service);
        await ownPayout(service, dialect, 4_321);
        await until(async () => (await balanceAt(service)) <= before - 4_321);
        expect(await closeDay(service, 5)).toMatchObject({ waits: false });
        expect((await closesOf(service)).at(-1)).toMatchObject({ difference_cents: '0', incident_id: null });
        const own = await service.database.admin<{ cents: string }>(
          `SELECT amount_cents AS cents FROM connection_movement WHERE kind = 'own' AND posted_as IS NOT NULL`,
        );
        expect(own).toEqual([{ cents: '-4321' }]);
        expect(await violationsOfBooks(service)).toEqual([]);
      },
    );

    test.runIf(sendsItself)(
      'and so it does where the balance took the last query of the shared limit',
      async () => {
        const before = await balanceAt(service);
        await ownPayout(service, dialect, 1_234, 'aluguelDaLoja2');
        await until(async () => (await balanceAt(service)) <= before - 1_234);
        const { runtime } = service;
        const provider = runtime.providers.get('simulator') as Provider;
        const greedy = new Proxy(provider, {
          get: (of, name) => (name === 'balance' ? spendingBalance : Reflect.get(of, name)),
        });
        const spendingBalance = async () => {
          const balance = await provider.balance();
          await spendQueryLimit(service);
          return balance;
        };
        const providers = new Map(runtime.providers).set('simulator', greedy);
        const closed = await closeDay({ ...service, runtime: { ...runtime, providers } }, 6);
        await fillQueryLimit(service);
        expect(closed).toMatchObject({ waits: false });
        expect((await closesOf(service)).at(-1)).toMatchObject({ difference_cents: '0', incident_id: null });
      },
    );

    test.runIf(dialect === 'woovi')(
      'the evening’s withdrawal of the whole balance is the company’s own movement, and the payout of the next morning waits for its approval, once',
      async () => {
        const merchant = await service.newMerchant();
        await merchant.receive(5_000);
        const { body: swept } = await service.simulator.control('POST', '/control/sweep');
        expect(await balanceAt(service)).toBe(0);
        expect(await closeDay(service, 7)).toMatchObject({ waits: false });
        expect((await closesOf(service)).at(-1)).toMatchObject({ difference_cents: '0', incident_id: null });
        const [own] = await service.database.admin<{ cents: string }>(
          `SELECT amount_cents AS cents FROM connection_movement WHERE kind = 'own' AND reference LIKE '%' || $1 || '%'`,
          [swept.endToEnd],
        );
        expect(own).toEqual({ cents: String(-swept.amountCents) });

        await service.simulator.behave({ fees: 'on', overdraft: 'refuse' });
        const { body: payout } = await merchant.transfer({ amountCents: 1_000 });
        await until(async () => (await statusOf(service, payout.id)) === 'pending');
        expect((await service.simulator.payout(payout.id))?.timesAccepted).toBe(1);
        expect(await violationsOfBooks(service)).toEqual([]);
      },
    );
  },
);

describe('days at acquirers that charge', () => {
  const acquirers = { cartoes: 'stripe-checkout', parcelas: 'asaas-checkout' } as const;
  const desks = { cartoes: 'stripe', parcelas: 'asaas' } as const;
  type Name = keyof typeof acquirers;
  const names = Object.keys(acquirers) as Name[];
  let service: Service;
  const merchants = new Map<Name, Merchant>();

  beforeAll(async () => {
    service = await openService();
    const operator = { ...service.runtime, actor: 'ana' };
    const config = { simulatorUrl: service.simulator.url, hooksUrl: service.url, provider: null };
    for (const name of names) {
      await createConnection(
        { ...operator, config },
        {
          ...{ name, adapter: acquirers[name], mode: 'shared' },
          ...{ url: null, credentials: null, simulated: true },
        },
      );
      await until(async () => service.runtime.providers.has(name));
      await simulatorAt(`${service.simulator.url}/${desks[name]}`).behave({ fees: 'on' });
      const merchant = await service.newMerchant();
      const conditions = { cardConnection: name, cardFeeCents: 99, cardFeeBps: 499 };
      await setConditions({ ...service.cellOf(merchant), actor: 'ana' }, merchant.ownerId, conditions);
      merchants.set(name, merchant);
    }
  });
  afterAll(() => service?.close());

  const act = async (id: string, action: string, fields: object = {}) => {
    const path = `/control/cards/${id.replaceAll('-', '')}/${action}`;
    const { status, body } = await service.simulator.control('POST', path, fields);
    expect({ action, status, body }).toMatchObject({ status: 200 });
  };
  const becomes = (merchant: Merchant, id: string, what: object) =>
    expect
      .poll(async () => (await merchant.call('GET', `/payments/${id}`)).body, {
        timeout: 60_000,
        interval: 50,
      })
      .toMatchObject(what);
  const paidBy = async (merchant: Merchant, amountCents: number): Promise<string> => {
    const order = { amountCents, payerName: 'Maria Silva', description: 'Pedido' };
    const { body } = await merchant.call('POST', '/card/checkouts', {
      ...{ ...order, requestKey: crypto.randomUUID() },
    });
    await act(body.id, 'approve');
    await becomes(merchant, body.id, { status: 'paid' });
    return body.id;
  };

  /** A day of one shop: sold, released, given back in part, and charged back. */
  async function sells(merchant: Merchant, day: number): Promise<void> {
    const [held, released, back] = (await Promise.all(
      [7_777, 10_001, 5_005].map((cents) => paidBy(merchant, cents + day)),
    )) as [string, string, string];
    await act(released, 'release');
    await becomes(merchant, released, { cardSettlementStatus: 'available' });
    const asked = { amountCents: 1_111, requestKey: crypto.randomUUID() };
    const { body } = await merchant.call('POST', `/payments/${held}/refunds`, asked);
    await expect
      .poll(async () => (await merchant.call('GET', `/refunds/${body.id}`)).body.status, { timeout: 60_000 })
      .toBe('completed');
    await act(back, 'chargeback');
    const disputes = async () => (await merchant.call('GET', '/disputes')).body.disputes;
    const status = async () =>
      (await disputes()).find((one: { paymentId: string }) => one.paymentId === back)?.status;
    await expect.poll(status, { timeout: 60_000 }).toBe('open');
    await act(back, day % 2 === 0 ? 'win' : 'lose');
    await expect.poll(status, { timeout: 60_000 }).toBe(day % 2 === 0 ? 'rejected' : 'accepted');
  }

  test('each of five days closes with difference zero at both, and their fees are costs of the company', async () => {
    for (let day = 0; day < 5; day++) {
      await Promise.all([...merchants.values()].map((merchant) => sells(merchant, day)));
      expect((await closeDay(service, day)).waits).toBe(false);
    }
    for (const name of names) {
      const closes = (await closesOf(service)).filter(({ connection }) => connection === name);
      expect([name, closes.map((one) => [one.difference_cents, one.incident_id])]).toEqual([
        name,
        closes.map(() => ['0', null]),
      ]);
      expect(closes.filter(({ day }) => (day ?? '') >= inDays(0))).toHaveLength(5);
      const [books] = await service.database.admin<{ cents: string; cost: string }>(
        'SELECT -sum(clearing) AS cents, -sum(provider_cost) AS cost FROM journal WHERE connection = $1',
        [name],
      );
      expect(Number(books?.cents)).toBe((await service.runtime.providers.get(name)?.balance())?.totalCents);
      expect(Number(books?.cost)).toBeGreaterThan(0);
    }
    expect(await violationsOfBooks(service)).toEqual([]);
  });

  test('what an acquirer takes for an anticipation is a cost of its own, and the day closes with difference zero', async () => {
    const merchant = merchants.get('parcelas') as Merchant;
    const id = await paidBy(merchant, 20_000);
    for (const _ of ['asked for', 'credited']) await act(id, 'anticipate');
    await becomes(merchant, id, { cardSettlementStatus: 'available' });
    expect((await closeDay(service, 5)).waits).toBe(false);
    const close = (await closesOf(service)).findLast(({ connection }) => connection === 'parcelas');
    expect(close).toMatchObject({ difference_cents: '0', incident_id: null });
    const fees = await service.database.admin<{ cents: string }>(
      `SELECT amount_cents AS cents FROM connection_movement WHERE connection = 'parcelas' AND kind = 'cost'`,
    );
    // 2.5 % of what is left of it after the fee of the payment.
    expect(fees).toEqual([{ cents: '-484' }]);
    expect(await violationsOfBooks(service)).toEqual([]);
  });
});

/** As a person in the bank's own program sends it, or another program of the company. */
async function ownPayout(
  service: Service,
  dialect: Dialect,
  amountCents: number,
  providerId = 'aluguelDaLoja1',
): Promise<void> {
  if (dialect !== 'inter') {
    const receiver = { pixKey: 'dona@loja.example', pixKeyType: 'EMAIL', description: '' } as const;
    const provider = service.runtime.providers.get('simulator') as Provider;
    await payOut(provider, { providerId, amountCents, ...receiver });
    return;
  }
  const { url } = service.simulator;
  const secret = service.runtime.secrets.derive('simulator client').toString('hex');
  const form = { grant_type: 'client_credentials', client_id: 'vintem', client_secret: secret };
  const token = await fetch(`${url}/oauth/v2/token`, { method: 'POST', body: new URLSearchParams(form) });
  const { access_token } = (await token.json()) as { access_token: string };
  const answer = await fetch(`${url}/banking/v2/pix`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${access_token}`,
      'content-type': 'application/json',
      'x-id-idempotente': crypto.randomUUID(),
    },
    body: JSON.stringify({
      valor: amountCents / 100,
      descricao: 'aluguel',
      destinatario: { tipo: 'CHAVE', chave: 'dona@loja.example' },
    }),
  });
  expect(answer.status).toBe(200);
}

describe('a payout that the statement of Inter shows without our id', () => {
  let service: Service;
  let merchant: Merchant;
  beforeAll(async () => {
    service = await openService({ dialect: 'inter', worker: false });
    merchant = await service.newMerchant();
    await merchant.receive(100_000);
  });
  afterAll(() => service?.close());

  /** Whether Inter repeats a description whole is not published. */
  const cutOff = (): Provider => {
    const provider = service.runtime.providers.get('simulator') as Provider;
    return {
      ...provider,
      statement: async (window) => {
        const listed = await provider.statement(window);
        if (listed.outcome !== 'listed') return listed;
        const cut = listed.reports.map((line) =>
          line.kind === 'sent' ? { ...line, providerId: null } : line,
        );
        return { ...listed, reports: cut };
      },
    };
  };

  const readStatement = async (): Promise<void> => {
    await service.database.admin(`UPDATE job SET due_at = 'epoch' WHERE what = 'statement'`);
    await service.database.admin(`UPDATE connection SET statement_read_to = now() - interval '1 hour'`);
    await fillQueryLimit(service);
    await stepStatement(service.runtime, cutOff());
  };

  const lookAgain = async (): Promise<void> => {
    await service.database.admin(`UPDATE statement_line SET next_at = 'epoch'`);
    await fillQueryLimit(service);
    await stepStatementLines(service.runtime, cutOff());
  };

  /** Queries the transfer until it has left. */
  const follow = async (id: string): Promise<void> => {
    const followUp = createFollowUp(service.runtime, service.runtime.providers.get('simulator') as Provider);
    await until(async () => {
      await service.database.admin(`UPDATE intent SET due_at = 'epoch' WHERE state = 'awaiting'`);
      await followUp.stepQueries();
      return (await statusOf(service, id)) === 'completed';
    });
  };

  const booked = () =>
    service.database.admin<{ cents: string }>(
      `SELECT amount_cents AS cents FROM connection_movement WHERE kind = 'own' ORDER BY amount_cents`,
    );

  const lines = () =>
    service.database.admin<{ problem: string | null }>('SELECT problem FROM statement_line');

  test('waits while one of its amount is under way, and is no movement of the company when that was it', async () => {
    await service.simulator.behave({ settleAfterMs: 0 });
    const { body } = await merchant.transfer({ amountCents: 30_000 });
    await until(async () => (await balanceAt(service)) < 100_000);
    await readStatement();
    expect(await booked()).toEqual([]);
    expect(await lines()).toEqual([{ problem: null }]);
    await lookAgain();
    expect(await lines()).toEqual([{ problem: expect.stringContaining('under way') }]);
    await follow(body.id);
    await lookAgain();
    expect(await lines()).toEqual([]);
    await readStatement();
    expect([await booked(), await lines()]).toEqual([[], []]);
  });

  test('is the company’s own where the books have neither its Pix nor one of its amount under way', async () => {
    await ownPayout(service, 'inter', 1_500);
    await until(async () => (await balanceAt(service)) === 100_000 - 29_975 - 1_500);
    await readStatement();
    await readStatement();
    expect(await booked()).toEqual([{ cents: '-1500' }]);
    await postMovements(service.runtime, 'simulator');
    expect(await violationsOfBooks(service)).toEqual([]);
  });

  test('waits for a person while payouts of a lost time were not compared', async () => {
    await service.database.admin(`UPDATE installation SET uncompared_connections = '{simulator}'`);
    await ownPayout(service, 'inter', 1_600);
    await until(async () => (await balanceAt(service)) === 100_000 - 29_975 - 3_100);
    await readStatement();
    await lookAgain();
    expect(await booked()).toEqual([{ cents: '-1500' }]);
    expect(await lines()).toEqual([{ problem: expect.stringContaining('provider compared') }]);
    await service.database.admin(`UPDATE installation SET uncompared_connections = '{}'`);
    await lookAgain();
    expect([await booked(), await lines()]).toEqual([[{ cents: '-1600' }, { cents: '-1500' }], []]);
  });

  test('waits for a person where a person has ended a payout of its amount whose Pix the books do not know', async () => {
    await service.simulator.behave({ payout: 'refuse-in-answer', settleAfterMs: 0 });
    const { body } = await merchant.transfer({ amountCents: 2_025 });
    expect(await statusOf(service, body.paymentId)).toBe('cancelled');
    await service.simulator.behave({});
    await service.database.admin(
      `INSERT INTO incident (account_id, id, kind, payment_id, operation_id, amount_cents, reference, freezes, detail, state, opened_at, resolved_at, resolution)
        SELECT account_id, gen_random_uuid(), 'undecided', id, operation_id, 2000, 'undecided:' || id, false, '{}', 'resolved', now(), now(),
          '{"action": "credit", "reason": "it did not leave", "actor": "root", "command": "c"}'
        FROM payment WHERE id = $1`,
      [body.paymentId],
    );
    await ownPayout(service, 'inter', 2_000);
    await until(async () => (await balanceAt(service)) === 100_000 - 29_975 - 5_100);
    await readStatement();
    await lookAgain();
    expect((await booked()).length).toBe(2);
    expect(await lines()).toEqual([{ problem: expect.stringContaining('a person ended') }]);
  });
});

describe('a cost', () => {
  let service: Service;
  beforeAll(async () => {
    service = await openService({ worker: false });
    await service.newMerchant();
  });
  afterAll(() => service?.close());

  const keep = (reference: string, amountCents: number, source: 'delivery' | 'report' = 'delivery') =>
    keepMovements(
      service.runtime,
      'simulator',
      movementsOfCosts([{ reference, amountCents, at: Date.now() }], source),
    );

  test('that a delivery and the report of the day name is posted once', async () => {
    await keep('received:E1', 119);
    await postMovements(service.runtime, 'simulator');
    await keep('received:E1', 119, 'report');
    await postMovements(service.runtime, 'simulator');
    expect(await costsOf(service)).toBe(119);
    expect(await violationsOfBooks(service)).toEqual([]);
  });

  test('is posted once by processes that post at the same time, and many are one journal', async () => {
    const before = await costsOf(service);
    await Promise.all(Array.from({ length: 50 }, (_, at) => keep(`received:many${at}`, 7)));
    const tills = [1, 2, 3].map(() => ({ ...service.runtime, till: createTill(service.runtime) }));
    const posted = await Promise.all(tills.map((deps) => postMovements(deps, 'simulator')));
    expect(posted.reduce((sum, one) => sum + one, 0)).toBe(50);
    expect(await costsOf(service)).toBe(before + 350);
    const journals = await service.database.admin(
      `SELECT FROM journal WHERE template = 'providerCost' AND provider_cost = -350`,
    );
    expect(journals).toHaveLength(1);
    expect(await violationsOfBooks(service)).toEqual([]);
  });

  test('that the provider gave back is a journal of its own', async () => {
    const before = await costsOf(service);
    await keep('received:E2', 100);
    await keep('received back:E2', -100);
    await stepConnectionMovements(service.runtime, service.runtime.providers.get('simulator') as never);
    expect(await costsOf(service)).toBe(before);
    expect(await violationsOfBooks(service)).toEqual([]);
  });

  test('that is reported with another amount keeps the first one, and is an incident with both, once', async () => {
    const before = await costsOf(service);
    await keep('received:E3', 10);
    for (let n = 0; n < 2; n++) await keep('received:E3', 12, 'report');
    await postMovements(service.runtime, 'simulator');
    expect(await costsOf(service)).toBe(before + 10);
    const different = (await listIncidents(service.runtime, null)).filter(
      ({ kind }) => kind === 'movement_mismatch',
    );
    expect(different).toMatchObject([
      { amountCents: 12, freezes: false, detail: { movement: 'cost', reportedCents: -12, bookedCents: -10 } },
    ]);
  });

  test('that cannot be read is kept for a person, is an incident after an hour, and ends when it can be read', async () => {
    const { runtime } = service;
    const before = await costsOf(service);
    const line = { id: 'fee-1', value: 'a lot', endToEndId: 'E4' };
    const given = (listCosts: Provider['listCosts']) =>
      ({ ...(runtime.providers.get('simulator') as Provider), listCosts }) as Provider;
    const read = { reference: 'line:fee-2', amountCents: 5, at: Date.now() };
    const unread = given(async () => ({
      ...{ outcome: 'listed', reports: [read], complete: true },
      unread: [unreadItem('cost', line)],
    }));
    const turn = async (provider: Provider) => {
      await fillQueryLimit(service);
      await service.database.admin(`UPDATE job SET due_at = 'epoch' WHERE what = 'costs'`);
      await stepConnectionMovements(runtime, provider);
      await fillQueryLimit(service);
      await service.database.admin(`UPDATE unread_item SET next_at = 'epoch'`);
      await stepUnread(runtime, provider);
    };
    const incidents = async () =>
      (await listIncidents(runtime, null)).flatMap(({ kind, state, detail }) =>
        kind === 'unread' ? [[state, (detail as { items: string }).items]] : [],
      );

    await turn(unread);
    // The other line is booked.
    expect(await costsOf(service)).toBe(before + 5);
    expect(await listUnread(runtime)).toMatchObject([{ kind: 'cost', reference: 'fee-1' }]);
    expect(await incidents()).toEqual([]);
    await service.database.admin(`UPDATE unread_item SET incident_due_at = 'epoch'`);
    await turn(unread);
    expect(await incidents()).toEqual([['open', 'cost']]);

    const now = { reference: 'line:fee-1', amountCents: 9, at: Date.now() };
    await turn(given(async () => ({ outcome: 'listed', reports: [read, now], unread: [], complete: true })));
    expect(await costsOf(service)).toBe(before + 14);
    expect(await listUnread(runtime)).toEqual([]);
    expect(await incidents()).toEqual([['resolved', 'cost']]);
    expect(await violationsOfBooks(service)).toEqual([]);
  });

  test('that a person books is booked once under its request key, and stands in the audit log', async () => {
    const before = await costsOf(service);
    const operator = { ...service.runtime, actor: 'ana' };
    const wanted = {
      ...{ connection: 'simulator', kind: 'cost' as const, amountCents: 990, at: Date.now() },
      ...{ requestKey: 'monthly-2026-11', reason: 'monthly fee of the account' },
    };
    expect(await bookMovement(operator, wanted)).toMatchObject({ repeated: false });
    expect(await bookMovement(operator, wanted)).toMatchObject({ repeated: true });
    await expect(bookMovement(operator, { ...wanted, amountCents: 991 })).rejects.toThrow(/something else/);
    await expect(bookMovement(operator, { ...wanted, connection: 'none' })).rejects.toThrow(/no connection/);
    await expect(bookMovement(operator, { ...wanted, amountCents: 0 })).rejects.toThrow(/other than zero/);
    expect(await costsOf(service)).toBe(before + 990);
    const audit = await service.database.admin(
      `SELECT actor, subject, reason FROM audit WHERE action = 'connection.cost'`,
    );
    expect(audit).toEqual([{ actor: 'ana', subject: 'simulator', reason: 'monthly fee of the account' }]);
    const [line] = await listMovements(operator, 'simulator', { fromMs: 0, toMs: Date.now() + dayMs });
    expect(line).toMatchObject({ kind: 'cost', unposted: 0 });
    expect(await violationsOfBooks(service)).toEqual([]);
  });
});

describe('a shared connection that moves money', () => {
  let service: Service;
  beforeAll(async () => {
    service = await openService({ worker: false });
  });
  afterAll(() => service?.close());

  test('is named where accounts of another company than its holder use it', async () => {
    const { runtime, database } = service;
    await database.admin(
      `INSERT INTO connection (id, webhook_token, query_bucket_at) VALUES ('live', 'w', now())`,
    );
    for (const cnpj of ['11222333000181', '11222333000262', '11444777000161']) {
      const { ownerId } = await createAccount(runtime, { name: 'Loja', test: false, connection: 'live' });
      await database.admin(
        'INSERT INTO merchant_profile (account_id, cnpj, updated_at) VALUES ($1, $2, now())',
        [ownerId, cnpj],
      );
    }
    expect(await findForeignAccounts(runtime.sql)).toEqual([
      { connection: 'live', holderCnpj: null, accounts: 1 },
    ]);
    const operator = { ...runtime, actor: 'ana' };
    await setHolder(operator, 'live', '11.444.777/0001-61');
    expect(await findForeignAccounts(runtime.sql)).toEqual([
      { connection: 'live', holderCnpj: '11444777000161', accounts: 2 },
    ]);
    await expect(setHolder(operator, 'live', '11.444.777/0001-62')).rejects.toThrow(/no CNPJ/);
    await expect(setHolder(operator, 'none', null)).rejects.toThrow(/no connection/);
    await database.admin(`UPDATE connection SET mode = 'own' WHERE id = 'live'`);
    expect(await findForeignAccounts(runtime.sql)).toEqual([]);
  });
});

describe('money that is missing at the provider', () => {
  let service: Service;
  beforeAll(async () => {
    service = await openService({ worker: false });
  });
  afterAll(() => service?.close());

  test('of the amount of a transfer that waits there does not agree', async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(100_000);
    await service.simulator.behave({ payout: 'stay-pending' });
    const { body } = await merchant.transfer({ amountCents: 50_000 });
    expect(await statusOf(service, body.id)).toBe('pending');
    // A person takes the same amount out of the provider's account, which no list shows: 500.00 less the fee of the transfer.
    const unlisted = { webhook: 'drop', listLagMs: 3_600_000 };
    await service.simulator.behave({ payout: 'complete', settleAfterMs: 0, ...unlisted });
    const provider = service.runtime.providers.get('simulator') as Provider;
    await payOut(provider, {
      ...{ providerId: 'taken1', amountCents: 49_975, pixKey: 'x@y.example', pixKeyType: 'EMAIL' },
      description: '',
    });
    await until(async () => (await balanceAt(service)) === 100_000 - 49_975);
    expect(await closeDay(service, 0)).toMatchObject({ waits: true });
    expect(await closesOf(service)).toEqual([]);
    // When the transfer has no end for twelve hours the day is closed all the same, and says what it took for granted.
    await closeDay(service, 0, endsAt(inDays(0)) + dayMs / 2);
    expect(await closesOf(service)).toMatchObject([
      {
        difference_cents: '0',
        in_transit_cents: '49975',
        transit_settled_cents: '0',
        transit_pending_cents: '49975',
        transit_unsent_cents: '0',
      },
    ]);
  });
});

describe("the company's own Pix", () => {
  let service: Service;
  beforeAll(async () => {
    service = await openService({ worker: false });
    await service.simulator.behave({ settleAfterMs: 0 });
  });
  afterAll(() => service?.close());

  /** Under a txid that the company chose itself, in another program. */
  async function ownPix(amountCents: number): Promise<void> {
    const txid = `LOJA${crypto.randomUUID().replaceAll('-', '').slice(0, 24)}`;
    const provider = service.runtime.providers.get('simulator');
    const instruction = { txid, amountCents, payerName: 'Ana', description: 'x', expirySeconds: 3_600 };
    await provider?.createCharge(instruction);
    const { status } = await service.simulator.control('POST', `/control/charges/${txid}/pay`);
    expect(status).toBe(200);
  }

  const incidents = () => service.database.admin<{ kind: string }>('SELECT kind FROM incident');
  const reconcileNow = () =>
    reconcile(service.runtime, { ...service.runtime, actor: 'ana' }, { accountId: null, sinceMs: null });

  test('opens no incident whatever reports it, and is one line a day with total and count', async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(10_000);
    await service.simulator.behave({ webhook: 'drop' });
    for (let at = 0; at < 300; at++) await ownPix(1_250);
    const provider = service.runtime.providers.get('simulator') as Provider;
    await payOut(provider, {
      ...{ providerId: 'lucro1', amountCents: 5_000, pixKey: 'x@y.example', pixKeyType: 'EMAIL' },
      description: '',
    });
    await until(async () => (await balanceAt(service)) === 10_000 + 300 * 1_250 - 5_000);
    await reconcileNow();
    expect(await incidents()).toEqual([]);
    // The statement reads the same lines again, and a delivery that comes late names one of them.
    await service.runtime.sql.run({
      name: 'statement due',
      text: `WITH due AS (UPDATE job SET due_at = 'epoch' WHERE what = 'statement') UPDATE connection SET statement_read_to = now() - interval '1 hour'`,
    });
    await stepStatement(service.runtime, provider);
    await service.simulator.behave({ webhook: 'send' });
    await ownPix(10);
    await until(async () => (await openMovements()) > 0);
    await postMovements(service.runtime, 'simulator');
    await reconcileNow();
    await postMovements(service.runtime, 'simulator');
    expect(await incidents()).toEqual([]);
    const lines = await listMovements(service.runtime, 'simulator', { fromMs: 0, toMs: Date.now() + dayMs });
    expect(lines).toEqual([
      { day: dayOf(Date.now()), kind: 'own', inCents: 375_010, outCents: 5_000, count: 302, unposted: 0 },
    ]);
    const journals = await service.database.admin(
      `SELECT clearing FROM journal WHERE template = 'ownMoney' ORDER BY seq`,
    );
    expect(journals.length).toBeLessThan(5);
    await closeDay(service, 0);
    expect(await closesOf(service)).toMatchObject([
      { difference_cents: '0', own_in_cents: '375010', own_out_cents: '5000', in_cents: '385010' },
    ]);
    expect(await violationsOfBooks(service)).toEqual([]);
  });

  const openMovements = async (): Promise<number> =>
    (await service.database.admin('SELECT FROM connection_movement WHERE posted_as IS NULL')).length;

  test('that stands in suspense from before is not booked again, and the close has what is in suspense', async () => {
    const money = {
      named: null,
      pix: 'E-before',
      moved: { amountCents: 700, at: Date.now() },
      returns: [],
      sign: 1,
    } as const;
    await bookUnmatched(service.runtime, 'simulator', [{ ...money, isOwn: false }], true);
    await bookUnmatched(service.runtime, 'simulator', [{ ...money, isOwn: true }], true);
    expect(await openMovements()).toBe(0);
    expect(await incidents()).toEqual([{ kind: 'unmatched' }]);
    await closeDay(service, 1);
    // The provider never had it: the books have 7.00 more, and the close says so.
    expect((await closesOf(service)).at(-1)).toMatchObject({ in_cents: '700', difference_cents: '-700' });
  });

  test('that has an incident from before is resolved with the others, when the provider says that it is under no id of ours', async () => {
    const [own] = await ownEndToEnds();
    const merchant = await service.newMerchant();
    const charge = await merchant.paidCharge();
    const [ours] = await service.database.admin<{ pix: string }>(
      'SELECT end_to_end AS pix FROM payment WHERE id = $1',
      [charge],
    );
    const of = (pix: string) => ({
      pix,
      moved: { amountCents: 5, at: Date.now() },
      returns: [],
      sign: 1 as const,
    });
    await service.database.admin(
      `UPDATE connection_movement SET reference = 'not of this Pix' WHERE reference = $1`,
      [`received:${own}`],
    );
    for (const pix of [own as string, ours?.pix as string])
      await bookUnmatched(service.runtime, 'simulator', [{ ...of(pix), isOwn: false }], true);
    const operator = { ...service.runtime, actor: 'ana' };
    const wanted = { connection: 'simulator', reason: 'our own shop' };
    const { resolved, resolvedCents, left } = await resolveOwnIncidents(service.runtime, operator, wanted);
    expect({ resolved, resolvedCents, left: left.map(({ why }) => why).sort() }).toEqual({
      resolved: 1,
      resolvedCents: 5,
      left: ['it is under an id of our form', 'the provider does not know this Pix'],
    });
    await expect(
      resolveOwnIncidents(service.runtime, operator, { ...wanted, connection: 'none' }),
    ).rejects.toThrow(/no connection/);
  });

  const ownEndToEnds = async (): Promise<string[]> =>
    (
      await service.database.admin<{ pix: string }>(
        `SELECT substr(reference, 10) AS pix FROM connection_movement WHERE reference LIKE 'received:E%' AND amount_cents = 10`,
      )
    ).map(({ pix }) => pix);

  /** The movements of the company's own returns, whatever they are called. */
  const ownReturns = () =>
    service.database.admin<{ reference: string; cents: string }>(
      `SELECT reference, amount_cents AS cents FROM connection_movement WHERE reference LIKE 'back:%' ORDER BY reference`,
    );
  const back = { id: 'D1', rtrId: null, amountCents: 40, at: Date.now(), status: 'settled' as const };
  const pixOfOwn = (endToEnd: string, returns: object[], txid: string | null = null) =>
    unmatchedOf(
      {
        received: [{ endToEnd, amountCents: 100, paidAt: Date.now(), txid, returns: returns as never }],
        payouts: [],
      },
      Date.now(),
    );

  test('that goes back is its own movement, once, in every order and under every name, and opens no incident', async () => {
    const { runtime } = service;
    const before = (await incidents()).length;
    // Deliveries name `id`, lists both, reports `rtrId`; the return may come before its Pix.
    const stories: [string, ...(() => Promise<void>)[]][] = [
      ['E-1', () => book(pixOfOwn('E-1', [])), () => book(pixOfOwn('E-1', [back]))],
      ['E-2', () => book([lineBack('E-2', 'D1', null)]), () => book(pixOfOwn('E-2', []))],
      [
        'E-3',
        () => book([lineBack('E-3', 'R3', 'R3')]),
        () => book(pixOfOwn('E-3', [{ ...back, rtrId: 'R3' }])),
        () => book([lineBack('E-3', 'D1', 'R3')]),
      ],
      ['E-4', () => book(pixOfOwn('E-4', [back])), () => book([lineBack('E-4', 'E-4', null)])],
    ];
    for (const [, ...acts] of stories) for (const act of [...acts, ...acts.toReversed()]) await act();
    expect((await incidents()).length).toBe(before);
    expect(await ownReturns()).toEqual(
      ['E-1/D1', 'E-2/D1', 'E-4/D1', 'R3'].map((name) => ({ reference: `back:${name}`, cents: '-40' })),
    );
    await postMovements(runtime, 'simulator');
    expect(await openMovements()).toBe(0);
    expect(await violationsOfBooks(service)).toEqual([]);
  });

  const book = (all: Unmatched[]) => bookUnmatched(service.runtime, 'simulator', all, true);
  const lineBack = (endToEnd: string, id: string, rtrId: string | null) =>
    unmatchedLine({
      ...{ id, rtrId, endToEnd, kind: 'debited', amountCents: 40, at: Date.now(), providerId: null },
    });

  test('that goes back is an incident where the Pix stands in suspense, or paid a charge of ours', async () => {
    const before = (await incidents()).length;
    await book(pixOfOwn('E-5', []).map((one) => ({ ...one, isOwn: false })));
    await book(pixOfOwn('E-5', [back]));
    const merchant = await service.newMerchant();
    const charge = await merchant.paidCharge();
    const [ours] = await service.database.admin<{ pix: string }>(
      'SELECT end_to_end AS pix FROM payment WHERE id = $1',
      [charge],
    );
    await book([lineBack(ours?.pix as string, 'D1', null)]);
    expect((await incidents()).length).toBe(before + 3);
    expect((await ownReturns()).map(({ reference }) => reference)).not.toContain('back:E-5/D1');
  });

  test('that goes back days later is booked by the report of the day', async () => {
    const { runtime } = service;
    const txid = `LOJA${crypto.randomUUID().replaceAll('-', '').slice(0, 24)}`;
    const provider = runtime.providers.get('simulator') as Provider;
    const instruction = { txid, amountCents: 70, payerName: 'Ana', description: 'x', expirySeconds: 3_600 };
    await provider.createCharge(instruction);
    await service.simulator.control('POST', `/control/charges/${txid}/pay`);
    const charge = await provider.queryCharge(txid);
    const pix = charge.outcome === 'found' ? charge.report.received[0]?.endToEnd : undefined;
    const before = await ownReturns();
    const line = {
      ...{ id: 'R-late', rtrId: 'R-late', endToEnd: pix as string, providerId: null, amountCents: 70 },
      ...{ kind: 'reported' as const, at: Date.now() },
    };
    await setAside(runtime, 'simulator', line, 'a report names it');
    await service.database.admin(`UPDATE statement_line SET next_at = 'epoch'`);
    await stepStatementLines(runtime, provider);
    expect(await service.database.admin('SELECT FROM statement_line')).toEqual([]);
    const after = await ownReturns();
    expect(after).toHaveLength(before.length + 1);
    expect(after).toContainEqual({ reference: 'back:R-late', cents: '-70' });
    await postMovements(runtime, 'simulator');
  });

  test('over an address that proves nothing is not booked until a list names it', async () => {
    const money = {
      named: null,
      pix: 'E-path',
      moved: { amountCents: 900, at: Date.now() },
      returns: [],
      sign: 1,
    } as const;
    await bookUnmatched(service.runtime, 'simulator', [{ ...money, isOwn: true }], false);
    expect(
      await service.database.admin("SELECT FROM connection_movement WHERE reference = 'received:E-path'"),
    ).toEqual([]);
  });
});
