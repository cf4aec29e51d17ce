import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finish } from '@vintem/testkit/command.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { violations } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDraft, expireDrafts, resendCode } from '../../src/api/transfers/draft.ts';
import { sixDigits } from '../../src/api/transfers/draft-code.ts';
import type { Caller } from '../../src/ground/caller.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';

/** Transfers that a person confirms with a code from their mail. */

const ids = systemIds(systemClock);
let service: Service;
let dataDir: string;
/** The same for the service and the command line. */
const secret = ids.bytes(32).toString('base64');

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'vintem-drafts-'));
  service = await openService({ env: { DATA_DIR: dataDir, VINTEM_SECRET: secret } });
});
afterAll(async () => {
  await service?.close();
  await rm(dataDir, { recursive: true, force: true });
});

async function callerOf(merchant: Merchant): Promise<Caller> {
  const [row] = await service.database.admin<{ number: string }>('SELECT number FROM account WHERE id = $1', [
    merchant.ownerId,
  ]);
  return {
    accountId: merchant.ownerId,
    accountNumber: Number(row?.number),
    test: true,
    connection: 'simulator',
    keyId: null,
    permissions: new Set(['transfers']),
    requestId: 'a person',
    operationId: merchant.operationId,
    operationNamed: true,
  };
}

/** Every mail, the newest last. */
async function mails(): Promise<string[]> {
  const folder = join(dataDir, 'mail');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.eml')).sort();
  return Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
}

async function codeOf(paymentId: string): Promise<string> {
  const mail = (await mails()).filter((text) => text.includes(paymentId)).at(-1) ?? '';
  return /^Código: (\d{6})$/m.exec(mail)?.[1] ?? '';
}

const cellOf = ({ accountId }: Caller) => service.cellOf({ ownerId: accountId });

/** A merchant with R$ 50,00 and a draft of R$ 10,00. */
async function newDraft(fields: object = {}, receivedCents = 5000) {
  const merchant = await service.newMerchant();
  if (receivedCents > 0) await merchant.receive(receivedCents);
  const caller = await callerOf(merchant);
  const request = {
    amountCents: 1000,
    pixKey: 'maria@loja.example',
    pixKeyType: 'EMAIL' as const,
    description: 'Repasse',
    requestKey: ids.uuid(),
    ...fields,
  };
  const draft = await createDraft(cellOf(caller), caller, request, 'ana@empresa.example');
  const path = `/pix/transfers/${draft.id}`;
  const confirm = (code: string, operationId?: string) =>
    merchant.call('POST', `${path}/confirm`, { code }, operationId);
  const cancel = (operationId?: string) => merchant.call('POST', `${path}/cancel`, {}, operationId);
  const get = async () => (await merchant.call('GET', `/payments/${draft.id}`)).body;
  const summary = async () => (await merchant.call('GET', '/account')).body;
  return { merchant, caller, request, id: draft.id, confirm, cancel, get, summary };
}

const otherThan = (code: string): string => (code === '000000' ? '111111' : '000000');

test('a draft reserves nothing, is shown as a draft with its fee, and never reaches the provider', async () => {
  const { id, get, summary } = await newDraft();
  expect(await get()).toMatchObject({
    id,
    kind: 'transfer',
    status: 'draft',
    amountCents: 1000,
    feeCents: 25,
    debitAmountCents: 1000,
    expectedNetAmountCents: 975,
  });
  expect(await summary()).toMatchObject({ balanceCents: 5000, reservedWithdrawalCents: 0 });
  expect(await service.simulator.payout(id)).toBeUndefined();
});

test('confirming with the code from the mail sends it like any other transfer [3e, 4.10, 9.3]', async () => {
  const { id, confirm, get, merchant } = await newDraft();
  const answer = await confirm(await codeOf(id));
  expect(answer.status).toBe(200);
  expect(['pending', 'unknown', 'completed']).toContain(answer.body.status);
  expect(answer.headers.get('deprecation')).toMatch(/^@\d+$/);
  expect(answer.headers.get('link')).toContain('rel="deprecation"');
  await until(async () => (await get()).status === 'completed');
  expect(await merchant.balanceCents()).toBe(4000);
  expect(await service.simulator.payout(id)).toMatchObject({ amountCents: 975, timesAccepted: 1 });
  const again = await confirm(await codeOf(id));
  expect(again.body).toMatchObject({ statusCode: 400, code: 'not_a_draft', paymentId: id });
});

test('confirmed many times at once, it reserves and sends once', async () => {
  const { id, confirm, merchant, get } = await newDraft();
  const code = await codeOf(id);
  const answers = await Promise.all(Array.from({ length: 8 }, () => confirm(code)));
  expect(answers.filter((one) => one.status === 200)).toHaveLength(1);
  expect(answers.filter((one) => one.body.code === 'not_a_draft')).toHaveLength(7);
  await until(async () => (await get()).status === 'completed');
  expect(await merchant.balanceCents()).toBe(4000);
  expect((await service.simulator.payout(id))?.timesReceived).toBe(1);
});

test('cancelling ends it without a movement, and it stays cancelled [3e]', async () => {
  const { id, confirm, cancel, summary, merchant } = await newDraft();
  const answer = await cancel();
  expect(answer.status).toBe(200);
  expect(answer.body).toMatchObject({ id, status: 'cancelled', reasonCode: 'draft_cancelled' });
  expect(answer.headers.get('deprecation')).toMatch(/^@\d+$/);
  expect(await summary()).toMatchObject({ balanceCents: 5000, reservedWithdrawalCents: 0 });
  expect((await confirm(await codeOf(id))).body.code).toBe('not_a_draft');
  expect((await cancel()).body.code).toBe('not_a_draft');
  const events = await service.database.admin<{ type: string }>(
    'SELECT type FROM event WHERE payment_id = $1 AND account_id = $2',
    [id, merchant.ownerId],
  );
  expect(events).toEqual([{ type: 'transfer.cancelled' }]);
});

test('confirmed and cancelled at once, one of the two happens', async () => {
  for (let round = 0; round < 5; round++) {
    const { id, confirm, cancel, get, merchant } = await newDraft();
    const code = await codeOf(id);
    const [confirmed, cancelled] = await Promise.all([confirm(code), cancel()]);
    expect([confirmed.status, cancelled.status].sort()).toEqual([200, 400]);
    if (confirmed.status === 200) {
      await until(async () => (await get()).status === 'completed');
      expect(await merchant.balanceCents()).toBe(4000);
    } else {
      expect(await service.simulator.payout(id)).toBeUndefined();
      expect(await merchant.balanceCents()).toBe(5000);
    }
  }
});

test('four wrong codes leave the right one good, the fifth ends the draft', async () => {
  const { id, confirm, get } = await newDraft();
  const code = await codeOf(id);
  const wrong = otherThan(code);
  for (const triesLeft of [4, 3, 2, 1]) {
    const answer = await confirm(wrong);
    expect(answer.body).toMatchObject({ statusCode: 400, code: 'invalid_code', details: [{ triesLeft }] });
  }
  expect((await get()).status).toBe('draft');
  expect((await confirm(wrong)).body).toMatchObject({ code: 'invalid_code', details: [{ triesLeft: 0 }] });
  expect(await get()).toMatchObject({ status: 'cancelled', reasonCode: 'draft_locked' });
  expect((await confirm(code)).body.code).toBe('not_a_draft');

  const other = await newDraft();
  for (let at = 0; at < 4; at++) await other.confirm(otherThan(await codeOf(other.id)));
  expect((await other.confirm(await codeOf(other.id))).status).toBe(200);
});

test('wrong codes that come at once are all counted', async () => {
  const { id, confirm, get } = await newDraft();
  const wrong = otherThan(await codeOf(id));
  const answers = await Promise.all(Array.from({ length: 9 }, () => confirm(wrong)));
  expect(answers.filter((one) => one.body.code === 'invalid_code')).toHaveLength(5);
  expect(answers.filter((one) => one.body.code === 'not_a_draft')).toHaveLength(4);
  expect((await get()).status).toBe('cancelled');
});

test('a code is good for ten minutes and for its own draft [5.10]', async () => {
  const { id, confirm, get, caller } = await newDraft();
  const [stored] = await service.database.admin<{ life: number }>(
    `SELECT extract(epoch FROM code_expires_at - p.created_at)::int AS life FROM draft JOIN payment p ON p.id = payment_id
     WHERE payment_id = $1`,
    [id],
  );
  expect(stored?.life).toBe(600);
  const other = await newDraft();
  const [mine, theirs] = [await codeOf(id), await codeOf(other.id)];
  if (mine !== theirs) expect((await confirm(theirs)).body.code).toBe('invalid_code');
  await service.database.admin(
    `UPDATE draft SET code_expires_at = now() - interval '1 s' WHERE payment_id = $1`,
    [id],
  );
  expect((await confirm(mine)).body).toMatchObject({ statusCode: 400, code: 'code_expired' });
  expect((await get()).status).toBe('draft');
  await resendCode(cellOf(caller), caller, id);
  expect((await confirm(await codeOf(id))).status).toBe(200);
});

test('another code ends the one before, and three are mailed at most', async () => {
  const { id, confirm, caller } = await newDraft();
  const first = await codeOf(id);
  await resendCode(cellOf(caller), caller, id);
  const second = await codeOf(id);
  if (first !== second) expect((await confirm(first)).body.code).toBe('invalid_code');
  await resendCode(cellOf(caller), caller, id);
  await expect(resendCode(cellOf(caller), caller, id)).rejects.toThrow('rate_limited');
  expect((await mails()).filter((text) => text.includes(id))).toHaveLength(3);
});

test('a draft lives thirty minutes; then a worker cancels it, and confirming comes too late', async () => {
  const { id, get, merchant } = await newDraft();
  const [stored] = await service.database.admin<{ life: number }>(
    `SELECT extract(epoch FROM d.expires_at - p.created_at)::int AS life FROM draft d JOIN payment p ON p.id = payment_id
     WHERE payment_id = $1`,
    [id],
  );
  expect(stored?.life).toBe(1800);
  await service.database.admin(`UPDATE draft SET expires_at = now() - interval '1 s' WHERE payment_id = $1`, [
    id,
  ]);
  await until(async () => (await get()).status === 'cancelled');
  expect((await get()).reasonCode).toBe('draft_expired');
  expect(await merchant.balanceCents()).toBe(5000);

  const late = await newDraft();
  const code = await codeOf(late.id);
  await service.database.admin(`UPDATE draft SET expires_at = now() - interval '1 s' WHERE payment_id = $1`, [
    late.id,
  ]);
  expect(['code_expired', 'not_a_draft']).toContain((await late.confirm(code)).body.code);
  expect((await late.get()).status).toBe('cancelled');
  await expireDrafts(cellOf(late.caller));
});

test('the balance is asked for when it is confirmed: too little leaves the draft and its code', async () => {
  const { id, confirm, get, merchant } = await newDraft({}, 0);
  const code = await codeOf(id);
  expect((await confirm(code)).body).toMatchObject({ statusCode: 400, code: 'insufficient_balance' });
  expect((await get()).status).toBe('draft');
  await merchant.receive(1000);
  expect((await confirm(code)).status).toBe(200);
});

test('what stops an automatic transfer stops a confirmation, before the code is looked at', async () => {
  const { id, confirm, merchant, get } = await newDraft();
  const code = await codeOf(id);
  const set = (column: string, value: boolean) =>
    service.database.admin(`UPDATE account SET ${column} = $2 WHERE id = $1`, [merchant.ownerId, value]);
  for (const [column, value, refusal] of [
    ['enabled', false, 'account_disabled'],
    ['withdrawals_blocked', true, 'withdrawals_blocked'],
  ] as const) {
    await set(column, value);
    const answer = await confirm(otherThan(code));
    expect(answer.body).toMatchObject({ statusCode: 403, code: refusal });
    await set(column, !value);
  }
  await service.database.admin(
    'UPDATE account SET minimum_withdrawal_cents = 2000, maximum_withdrawal_cents = 3000 WHERE id = $1',
    [merchant.ownerId],
  );
  expect((await confirm(code)).body.code).toBe('amount_out_of_limits');
  await service.database.admin('UPDATE account SET minimum_withdrawal_cents = 1000 WHERE id = $1', [
    merchant.ownerId,
  ]);
  expect((await get()).status).toBe('draft');
  expect((await confirm(code)).status).toBe(200);
});

test('its fee is the one of the day it was written', async () => {
  const { id, confirm, merchant, get } = await newDraft();
  await service.database.admin('UPDATE account SET withdrawal_fee_cents = 90 WHERE id = $1', [
    merchant.ownerId,
  ]);
  expect((await confirm(await codeOf(id))).body).toMatchObject({ feeCents: 25, expectedNetAmountCents: 975 });
  await until(async () => (await get()).status === 'completed');
  expect((await service.simulator.payout(id))?.amountCents).toBe(975);
});

test('a refusal in the answer to a confirmation is a 400 and gives everything back', async () => {
  const { id, confirm, get, summary } = await newDraft({ pixKey: 'refuse-in-answer@simulator.example' });
  const answer = await confirm(await codeOf(id));
  expect(answer.body).toMatchObject({ statusCode: 400, code: 'provider_refused', paymentId: id });
  expect((await get()).status).toBe('cancelled');
  expect(await summary()).toMatchObject({ balanceCents: 5000, reservedWithdrawalCents: 0 });

  const impossible = await newDraft({ pixKey: '12345678901', pixKeyType: 'CPF' });
  const refused = await impossible.confirm(await codeOf(impossible.id));
  expect(refused.body).toMatchObject({ statusCode: 400, code: 'pix_key_not_found' });
  expect(await impossible.summary()).toMatchObject({ balanceCents: 5000, reservedWithdrawalCents: 0 });
  expect(await service.simulator.payout(impossible.id)).toBeUndefined();
});

test('a request key of a draft is no automatic transfer’s, nor anything else’s, before and after it ended [4.1.3]', async () => {
  const { merchant, request, id, cancel, caller } = await newDraft();
  const { requestKey } = request;
  const all = () =>
    Promise.all([
      merchant.transfer(request),
      merchant.charge({ requestKey }),
      merchant.call('POST', '/operations', { name: 'Outra', requestKey }),
    ]);
  for (const answer of await all()) {
    expect(answer.body).toMatchObject({ statusCode: 400, code: 'idempotency_conflict', paymentId: id });
  }
  await cancel();
  for (const answer of await all()) expect(answer.body.code).toBe('idempotency_conflict');
  const sent = await merchant.transfer();
  expect(sent.status).toBe(201);
  const [row] = await service.database.admin<{ request_key: string }>(
    'SELECT request_key FROM payment WHERE id = $1',
    [sent.body.id],
  );
  const again = { ...request, requestKey: row?.request_key ?? '' };
  await expect(createDraft(cellOf(caller), caller, again, 'x@y.example')).rejects.toThrow(
    'idempotency_conflict',
  );
});

test('the mail names what it would send, from where it was asked for, and what to do if it was not you', async () => {
  const { caller, request } = await newDraft();
  const again = {
    ...request,
    requestKey: ids.uuid(),
    amountCents: 123_456,
    pixKey: '12345678909',
    pixKeyType: 'CPF' as const,
  };
  const { id } = await createDraft(cellOf(caller), caller, again, 'ana@empresa.example', '203.0.113.9');
  const mail = (await mails()).find((text) => text.includes(id)) ?? '';
  for (const part of [
    'R$ 1.234,56',
    'R$ 1.234,31',
    'R$ 0,25',
    '***8909 (CPF)',
    'Principal',
    '203.0.113.9',
    'Se não foi você',
  ]) {
    expect(mail).toContain(part);
  }
  expect(mail).not.toContain('12345678909');
});

test('written again with its key it is the same draft, and no second code is mailed', async () => {
  const { caller, request, id } = await newDraft();
  const again = await createDraft(cellOf(caller), caller, request, 'ana@empresa.example');
  expect(again.id).toBe(id);
  expect((await mails()).filter((text) => text.includes(id))).toHaveLength(1);
});

test('a draft blocks the deletion of its operation until it has ended [4.9.2a]', async () => {
  const merchant = await service.newMerchant();
  const operation = (await merchant.call('POST', '/operations', { name: 'Filial', requestKey: ids.uuid() }))
    .body;
  const caller = { ...(await callerOf(merchant)), operationId: operation.id };
  const request = {
    amountCents: 1000,
    pixKey: 'maria@loja.example',
    pixKeyType: 'EMAIL' as const,
    description: '',
    requestKey: ids.uuid(),
  };
  const { id } = await createDraft(cellOf(caller), caller, request, 'ana@empresa.example');
  const remove = () => merchant.call('DELETE', `/operations/${operation.id}`, {});
  expect((await remove()).body.code).toBe('operation_has_unfinished_payments');
  expect((await merchant.call('POST', `/pix/transfers/${id}/cancel`, {}, operation.id)).status).toBe(200);
  expect((await remove()).body).toEqual({ ok: true });
  await expect(
    createDraft(cellOf(caller), caller, { ...request, requestKey: ids.uuid() }, 'x@y.z'),
  ).rejects.toThrow('operation_not_found');
});

test('a draft is known in its own operation and account only [4.10]', async () => {
  const { id, merchant, confirm, cancel } = await newDraft();
  const stranger = await service.newMerchant();
  const operation = (await merchant.call('POST', '/operations', { name: 'Filial', requestKey: ids.uuid() }))
    .body;
  const answers = [
    await confirm('123456', operation.id),
    await cancel(operation.id),
    await stranger.call('POST', `/pix/transfers/${id}/confirm`, { code: '123456' }),
    await stranger.call('POST', `/pix/transfers/${id}/cancel`, {}),
    await merchant.call('POST', `/pix/transfers/${ids.uuid()}/cancel`, {}),
  ];
  for (const answer of answers) {
    expect(answer.body).toMatchObject({ statusCode: 404, code: 'payment_not_found' });
  }
  const charge = await merchant.charge();
  expect((await merchant.call('POST', `/pix/transfers/${charge.body.id}/cancel`, {})).status).toBe(404);
});

test('a code has six digits, nothing else goes', async () => {
  const { id, merchant } = await newDraft();
  const confirm = (body: object) => merchant.call('POST', `/pix/transfers/${id}/confirm`, body);
  for (const code of ['12345', '1234567', '12345a', '', '１２３４５６', 123456, null]) {
    expect((await confirm({ code })).body).toMatchObject({ statusCode: 400, code: 'validation_failed' });
  }
  expect((await confirm({})).body.details).toEqual([{ field: 'code', code: 'required' }]);
  expect((await confirm({ code: '123456', x: 1 })).body.details).toEqual([
    { field: 'x', code: 'unknown_property' },
  ]);
  const cancel = await merchant.call('POST', `/pix/transfers/${id}/cancel`, { why: 'x' });
  expect(cancel.body.details).toEqual([{ field: 'why', code: 'unknown_property' }]);
});

test('six digits come from all of the million equally', () => {
  const drawn = [0xffff_ffff, 4_294_000_000, 4_293_999_999, 7];
  const given = { uuid: () => '', bytes: () => Buffer.alloc(4) };
  const next = () => {
    const buffer = Buffer.alloc(4);
    buffer.writeUInt32BE(drawn.shift() ?? 0);
    return buffer;
  };
  // Numbers of the incomplete last million are drawn again.
  expect(sixDigits({ ...given, bytes: next })).toBe('999999');
  expect(sixDigits({ ...given, bytes: next })).toBe('000007');
});

test('the code stands in the mail, hashed in the database, and in no log; the mail masks the Pix key', async () => {
  const env = {
    DATABASE_URL: service.database.url,
    DATA_DIR: dataDir,
    LOG_LEVEL: 'trace',
    VINTEM_SECRET: secret,
  };
  const merchant = await service.newMerchant();
  const words = [
    '--operation',
    merchant.operationId,
    '--amount-cents',
    '1000',
    '--pix-key',
    'Maria.Souza@Loja.example',
  ];
  const more = [
    '--pix-key-type',
    'EMAIL',
    '--description',
    'Repasse',
    '--email',
    'ana@empresa.example',
    '--json',
  ];
  const { code, stdout, stderr } = await finish(['transfer', 'draft', ...words, ...more], env);
  expect(code, stderr).toBe(0);
  const made = JSON.parse(stdout);
  expect(made).toEqual({ id: expect.any(String), requestKey: expect.any(String) });
  const digits = await codeOf(made.id);
  expect(digits).toMatch(/^\d{6}$/);
  const mail = (await mails()).filter((text) => text.includes(made.id)).join();
  expect(mail).toContain('To: ana@empresa.example');
  expect(mail).toContain('R$ 10,00');
  expect(mail).toContain('ma***@loja.example');
  expect(mail).not.toContain('maria.souza');
  expect(mail.split('\r\n\r\n')[0]).not.toContain(digits);
  expect(stdout + stderr).not.toContain(digits);
  expect(stdout + stderr).not.toContain('maria.souza');
  const [row] = await service.database.admin<{ text: string }>(
    'SELECT row_to_json(d)::text || row_to_json(p)::text AS text FROM draft d JOIN payment p ON p.id = payment_id WHERE payment_id = $1',
    [made.id],
  );
  expect(row?.text).not.toContain('ana@empresa');
  expect(row?.text).not.toContain(`"${digits}"`);
  const shown = await merchant.call('GET', `/payments/${made.id}`);
  expect(shown.body.status).toBe('draft');

  const wrong = await finish(['transfer', 'draft', ...words.with(3, '999'), ...more], env);
  expect([wrong.code, wrong.stdout]).toEqual([1, '']);
  expect(wrong.stderr).toContain('amountCents must be an integer between 1000 and 1000000');
});

test('afterwards every invariant holds, and the provider’s own truth agrees', async () => {
  expect(await violations(service)).toEqual([]);
});
