import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endPrograms, finish, run } from '@vintem/testkit/command.ts';
import { freePort } from '@vintem/testkit/free-port.ts';
import {
  type Answer,
  type Call,
  callWith,
  type Merchant,
  openService,
  type Service,
  until,
} from '@vintem/testkit/service.ts';
import { violations } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';

/** Several processes of the real program over one database: what one allows, all together allow once. */

const ids = systemIds(systemClock);
const secret = ids.bytes(32).toString('base64');
let service: Service;
let env: Record<string, string>;
const urls: string[] = [];

beforeAll(async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'vintem-processes-'));
  service = await openService({ env: { VINTEM_SECRET: secret } });
  env = {
    DATABASE_URL: service.database.url,
    DATA_DIR: dataDir,
    VINTEM_SECRET: secret,
    SIMULATOR_URL: service.simulator.url,
    SIMULATOR_PORT: 'off',
    LOG_LEVEL: 'error',
  };
  while (urls.length < 3) {
    const PORT = String(await freePort());
    const program = run(['api'], { ...env, PORT, RATE_LIMITS: 'off' });
    urls.push((await program.line('vintem api ready')).split(' ').at(-1) as string);
  }
});
afterAll(async () => {
  await endPrograms();
  await service?.close();
  await rm(env.DATA_DIR as string, { recursive: true, force: true });
});

/** The merchant's calls at each process. */
const callsOf = (merchant: Merchant): Call[] =>
  urls.map((url) => callWith(`${url}/api/v1/public`, merchant.key));

/** `times` calls, spread over the processes, all at once. */
const spread = (merchant: Merchant, times: number, send: (call: Call, at: number) => Promise<Answer>) => {
  const calls = callsOf(merchant);
  return Promise.all(Array.from({ length: times }, (_, at) => send(calls[at % calls.length] as Call, at)));
};

const codes = (answers: Answer[]): Record<string, number> => {
  const counted: Record<string, number> = {};
  for (const { status, body } of answers) {
    const name = status < 300 ? String(status) : body.code;
    counted[name] = (counted[name] ?? 0) + 1;
  }
  return counted;
};

const create = (name: string, requestKey = ids.uuid()) => ({ name, requestKey });

test('ten operations and no eleventh, however many processes create at once [4.7b]', async () => {
  const merchant = await service.newMerchant();
  const answers = await spread(merchant, 18, (call, at) => call('POST', '/operations', create(`Loja ${at}`)));
  expect(codes(answers)).toEqual({ 201: 9, operation_limit_reached: 9 });
  expect((await merchant.call('GET', '/operations')).body.operations).toHaveLength(10);
});

test('one operation is left, whichever processes delete all of them at once [4.9.1]', async () => {
  const merchant = await service.newMerchant();
  const made = await spread(merchant, 5, (call, at) => call('POST', '/operations', create(`Loja ${at}`)));
  const all = [merchant.operationId, ...made.map(({ body }) => body.id as string)];
  const answers = await spread(merchant, all.length, (call, at) =>
    call('DELETE', `/operations/${all[at]}`, {}),
  );
  expect(codes(answers)).toEqual({ 200: 5, last_operation: 1 });
  const [left, ...more] = (await merchant.call('GET', '/operations')).body.operations;
  expect([left.isDefault, more]).toEqual([true, []]);
});

test('deleted in two processes at once, the main operation hands over once, to the oldest [4.9.4]', async () => {
  const merchant = await service.newMerchant();
  const oldest = (await merchant.call('POST', '/operations', create('Primeira'))).body.id;
  await merchant.call('POST', '/operations', create('Segunda'));
  const answers = await spread(merchant, 6, (call) =>
    call('DELETE', `/operations/${merchant.operationId}`, {}),
  );
  expect(codes(answers)).toEqual({ 200: 6 });
  for (const call of callsOf(merchant)) {
    expect((await call('GET', '/account')).body.operationId).toBe(oldest);
    expect((await call('GET', '/operations')).body.operations).toHaveLength(2);
  }
});

test('one request key in three processes is one transfer, one reserve and one send [4.1.1]', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(50_000);
  for (let round = 0; round < 4; round++) {
    const request = {
      amountCents: 1000,
      pixKey: 'maria@loja.example',
      pixKeyType: 'EMAIL',
      description: '',
      requestKey: ids.uuid(),
    };
    const answers = await spread(merchant, 12, (call) => call('POST', '/pix/transfers', request));
    expect(codes(answers)).toEqual({ 201: 12 });
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1);
    const { id } = answers[0]?.body ?? {};
    await until(async () => (await merchant.call('GET', `/payments/${id}`)).body.status === 'completed');
    expect(await service.simulator.payout(id)).toMatchObject({ timesReceived: 1, timesAccepted: 1 });
    expect(await merchant.balanceCents()).toBe(50_000 - 1000 * (round + 1));
  }
});

test('one request key with other data in every process belongs to the first request', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(20_000);
  const requestKey = ids.uuid();
  const answers = await spread(merchant, 9, (call, at) =>
    call('POST', '/pix/transfers', {
      amountCents: 1000 + at,
      pixKey: 'maria@loja.example',
      pixKeyType: 'EMAIL',
      description: '',
      requestKey,
    }),
  );
  expect(codes(answers)).toEqual({ 201: 1, idempotency_conflict: 8 });
  const winner = answers.find(({ status }) => status === 201)?.body;
  for (const { status, body } of answers) if (status === 400) expect(body.paymentId).toBe(winner.id);
  expect((await merchant.call('GET', '/payments?kind=transfer')).body.payments).toHaveLength(1);
});

test('one request key for a charge, a transfer and an operation at once is one of them [4.1.4]', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(5000);
  for (let round = 0; round < 5; round++) {
    const requestKey = ids.uuid();
    const transfer = { pixKey: 'maria@loja.example', pixKeyType: 'EMAIL', description: '' };
    const answers = await spread(merchant, 3, (call, at) =>
      at === 0
        ? call('POST', '/pix/charges', { amountCents: 500, payerName: 'Maria', requestKey })
        : at === 1
          ? call('POST', '/pix/transfers', { amountCents: 1000, ...transfer, requestKey })
          : call('POST', '/operations', create(`Loja ${round}`, requestKey)),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const { status, body } of answers) {
      if (status !== 201) expect(['idempotency_conflict', 'insufficient_balance']).toContain(body.code);
    }
  }
});

test('a balance is never overdrawn by several processes together [3d]', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(10_500);
  const answers = await spread(merchant, 30, (call) =>
    call('POST', '/pix/transfers', {
      amountCents: 1000,
      pixKey: 'maria@loja.example',
      pixKeyType: 'EMAIL',
      description: '',
      requestKey: ids.uuid(),
    }),
  );
  expect(codes(answers)).toEqual({ 201: 10, insufficient_balance: 20 });
  const summary = async () => (await merchant.call('GET', '/account')).body;
  await until(async () => (await summary()).reservedWithdrawalCents === 0);
  expect((await summary()).balanceCents).toBe(500);
});

test('a charge and the deletion of its operation at once: either it was deleted or it is charged [4.9.2b]', async () => {
  const merchant = await service.newMerchant();
  for (let round = 0; round < 6; round++) {
    const { id } = (await merchant.call('POST', '/operations', create(`Loja ${round}`))).body;
    const [charged, deleted] = await spread(merchant, 2, (call, at) =>
      at === 0
        ? call('POST', '/pix/charges', { amountCents: 500, payerName: 'Maria', requestKey: ids.uuid() }, id)
        : call('DELETE', `/operations/${id}`, {}),
    );
    if (deleted?.status === 200) {
      expect(charged?.body).toMatchObject({ statusCode: 404, code: 'operation_not_found' });
    } else {
      expect(charged?.status).toBe(201);
      expect(deleted?.body.code).toBe('operation_has_unfinished_payments');
      await service.simulator.control(
        'POST',
        `/control/charges/${charged?.body.id.replaceAll('-', '')}/remove`,
      );
      const status = async () =>
        (await merchant.call('GET', `/payments/${charged?.body.id}`, undefined, id)).body.status;
      await until(async () => (await status()) === 'failed');
      expect((await merchant.call('DELETE', `/operations/${id}`, {})).body).toEqual({ ok: true });
    }
  }
});

test('a transfer and the deletion of its operation at once never lose the money between them [4.9.2b]', async () => {
  const merchant = await service.newMerchant();
  const { id } = (await merchant.call('POST', '/operations', create('Filial'))).body;
  await merchant.receive(1000, id);
  const [sent, deleted] = await spread(merchant, 2, (call, at) =>
    at === 0
      ? call(
          'POST',
          '/pix/transfers',
          {
            amountCents: 1000,
            pixKey: 'stay-pending@simulator.example',
            pixKeyType: 'EMAIL',
            description: '',
            requestKey: ids.uuid(),
          },
          id,
        )
      : call('DELETE', `/operations/${id}`, {}),
  );
  expect(sent?.status).toBe(201);
  expect(['operation_has_balance', 'operation_has_unfinished_payments']).toContain(deleted?.body.code);
  const refused = await merchant.call('DELETE', `/operations/${id}`, {});
  expect(refused.body.code).toBe('operation_has_unfinished_payments');
  await service.simulator.control('POST', `/control/payouts/${sent?.body.id.replaceAll('-', '')}/complete`);
  const status = async () =>
    (await merchant.call('GET', `/payments/${sent?.body.id}`, undefined, id)).body.status;
  await until(async () => (await status()) === 'completed');
  expect((await merchant.call('DELETE', `/operations/${id}`, {})).body).toEqual({ ok: true });
});

test('renamed in one process and repeated in another, a creation returns the same operation [4.7a]', async () => {
  const merchant = await service.newMerchant();
  const requestKey = ids.uuid();
  const answers = await spread(merchant, 9, (call) =>
    call('POST', '/operations', create('Filial', requestKey)),
  );
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
  const { id } = answers[0]?.body ?? {};
  const [first, second] = callsOf(merchant) as [Call, Call];
  await first('PATCH', `/operations/${id}`, { name: 'Outra' });
  expect((await second('POST', '/operations', create('Filial', requestKey))).body).toMatchObject({
    id,
    name: 'Outra',
  });
});

test('a key revoked on the command line sends no more money anywhere, at once, and reads nothing within a second [5.6]', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(5000);
  const calls = callsOf(merchant);
  for (const call of calls) expect((await call('GET', '/account')).status).toBe(200);
  const { keys } = JSON.parse(
    (await finish(['key', 'list', '--account', merchant.ownerId, '--json'], env)).stdout,
  );
  const revoked = await finish(['key', 'revoke', keys[0].id, '--json'], env);
  expect(revoked.code, revoked.stderr).toBe(0);
  for (const call of calls) {
    const answer = await call('POST', '/pix/transfers', {
      amountCents: 1000,
      pixKey: 'maria@loja.example',
      pixKeyType: 'EMAIL',
      description: '',
      requestKey: ids.uuid(),
    });
    expect([answer.status, answer.body.code]).toEqual([401, 'api_key_invalid']);
  }
  for (const call of calls) await until(async () => (await call('GET', '/account')).status === 401);
});

test('a key made, rolled and limited on the command line works as it says', async () => {
  const { ownerId } = await service.newMerchant();
  const json = async (...words: string[]) => {
    const { code, stdout, stderr } = await finish([...words, '--json'], env);
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout);
  };
  const made = await json(
    ...['key', 'create', '--account', ownerId, '--name', 'loja', '--permissions', 'read'],
    ...['--expires-in-days', '30', '--ips', '127.0.0.1,10.1.0.0/16'],
  );
  const away = await json(
    ...[
      'key',
      'create',
      '--account',
      ownerId,
      '--name',
      'fora',
      '--permissions',
      'read',
      '--ips',
      '192.0.2.0/24',
    ],
  );
  const call = (key: string) => callWith(`${urls[0]}/api/v1/public`, key)('GET', '/account');
  expect((await call(made.key)).status).toBe(200);
  expect((await call(away.key)).body).toMatchObject({ statusCode: 403, code: 'ip_not_allowed' });
  const rolled = await json('key', 'roll', made.id, '--overlap', 'now');
  await until(async () => (await call(made.key)).body.code === 'api_key_expired');
  expect((await call(rolled.key)).status).toBe(200);
  const { keys } = await json('key', 'list', '--account', ownerId);
  expect(keys.find((key: { id: string }) => key.id === made.id)).toMatchObject({
    name: 'loja',
    ips: ['127.0.0.1', '10.1.0.0/16'],
    rolledTo: rolled.id,
    lastUsedIp: '127.0.0.1',
  });
  expect((await finish(['key', 'roll', rolled.id, '--overlap', '2h'], env)).code).toBe(2);
  expect((await finish(['key', 'wake', rolled.id], env)).code).toBe(0);
  const wide = await finish(
    ['key', 'create', '--account', ownerId, '--name', 'x', '--permissions', 'read', '--ips', '0.0.0.0/0'],
    env,
  );
  expect([wide.code, wide.stderr]).toEqual([1, expect.stringContaining('0.0.0.0/0 is no address')]);
  const { own, rates } = await json('account', 'rates', ownerId, '--set', 'reads=7/9');
  expect([own, rates.reads, rates.charges]).toEqual([
    { reads: { perSecond: 7, burst: 9 } },
    { perSecond: 7, burst: 9 },
    { perSecond: 50, burst: 100 },
  ]);
  expect((await json('account', 'rates', ownerId, '--set', 'default')).own).toEqual({});
  expect((await finish(['account', 'rates', ownerId, '--set', 'x'], env)).code).toBe(2);
});

test('the log of a process, every level of it, holds no key, no Pix key, no name and no code', async () => {
  const port = await freePort();
  const program = run(['api'], { ...env, PORT: String(port), RATE_LIMITS: 'on', LOG_LEVEL: 'trace' });
  await program.line('vintem api ready');
  const merchant = await service.newMerchant();
  await merchant.receive(5000);
  const call = callWith(`http://127.0.0.1:${port}/api/v1/public`, merchant.key);
  const secrets = [
    merchant.key.slice(-49),
    'zacarias.unico@loja.example',
    'Zacarias Unico',
    'Segredo de estado',
  ];
  const charged = await call('POST', '/pix/charges', {
    amountCents: 500,
    payerName: 'Zacarias Unico',
    description: 'Segredo de estado',
    requestKey: ids.uuid(),
  });
  expect(charged.status).toBe(201);
  for (const pixKey of ['zacarias.unico@loja.example', 'zacarias.unico@loja.example\u0001']) {
    const body = { amountCents: 1000, pixKey, pixKeyType: 'EMAIL', description: 'Segredo de estado' };
    await call('POST', '/pix/transfers', { ...body, requestKey: ids.uuid() });
  }
  await callWith(`http://127.0.0.1:${port}/api/v1/public`, `${merchant.key}x`)('GET', '/account');
  await call('GET', `/payments?cursor=${merchant.key}`);
  program.kill('SIGTERM');
  await program.exit;
  expect(program.stderr()).toContain('/pix/transfers');
  for (const secret of [...secrets, charged.body.copyPaste]) expect(program.stderr()).not.toContain(secret);
});

test('two processes limit together: a key that floods both has its quota once [7f]', async () => {
  const flooded: string[] = [];
  for (let at = 0; at < 2; at++) {
    const port = await freePort();
    const program = run(['api'], { ...env, PORT: String(port), RATE_LIMITS: 'reads=0.01/400' });
    await program.line('vintem api ready');
    flooded.push(`http://127.0.0.1:${port}/api/v1/public`);
  }
  const { key } = await service.newMerchant();
  const read = async (at: number) => (await callWith(flooded[at] as string, key)('GET', '/account')).status;
  let [first, other] = [0, 0];
  for (let refused = false; !refused; ) {
    const statuses = await Promise.all(Array.from({ length: 20 }, () => read(0)));
    first += statuses.filter((status) => status === 200).length;
    refused = statuses.includes(429);
  }
  expect(first).toBeGreaterThanOrEqual(400);
  // The other process learns of it, and refuses long before it has given a burst of its own.
  await until(async () => {
    const status = await read(1);
    if (status === 200) other++;
    return status === 429;
  });
  expect(other).toBeLessThan(400);
  const refused = await callWith(flooded[0] as string, key)('GET', '/account');
  expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
});

test('afterwards every invariant holds, and the provider’s own truth agrees', async () => {
  expect(await violations(service)).toEqual([]);
});
