import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { parsePix } from 'pix-utils';
import { PNG } from 'pngjs';
import decodeQR from 'qr/decode.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseBrCode } from '../../src/provider/br-code.ts';

/** Money that comes in, in every way in which a provider and a payer can make it come. */

let service: Service;

beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

const txid = (id: string): string => id.replaceAll('-', '');
const pay = (id: string, body?: object) =>
  service.simulator.control('POST', `/control/charges/${txid(id)}/pay`, body);
const statusOf = async (merchant: Merchant, id: string): Promise<string> =>
  (await merchant.call('GET', `/payments/${id}`)).body.status;

async function incidents(merchant: Merchant) {
  return service.database.admin<{ kind: string; amount_cents: string; state: string }>(
    'SELECT kind, amount_cents, state FROM incident WHERE account_id = $1 ORDER BY opened_at',
    [merchant.ownerId],
  );
}

async function suspenseCents(merchant: Merchant): Promise<number> {
  const [row] = await service.database.admin<{ sum: string }>(
    'SELECT COALESCE(sum(suspense), 0) AS sum FROM journal WHERE account_id = $1',
    [merchant.ownerId],
  );
  return Number(row?.sum);
}

describe('a charge', () => {
  test('carries a dynamic BR Code whose QR image says the same [2.1d, 3c, 4.2b]', async () => {
    const merchant = await service.newMerchant();
    const { status, body } = await merchant.charge({ amountCents: 12_345, description: 'Pedido 7' });
    expect(status).toBe(201);
    expect(body).toMatchObject({ kind: 'deposit', status: 'pending', amountCents: 12_345, feeCents: 0 });
    expect(body.expiresAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(parsePix(body.copyPaste)).toMatchObject({ type: 'DYNAMIC' });
    expect(parseBrCode(body.copyPaste)).toMatchObject({ amount: '123.45' });
    expect(body.qrCodeBase64).toMatch(/^data:image\/png;base64,/);
    const image = PNG.sync.read(Buffer.from(body.qrCodeBase64.split(',')[1], 'base64'));
    expect(decodeQR(image)).toBe(body.copyPaste);
  });

  test('is paid by the payer alone, and credits the operation once however often that is reported [1.5a]', async () => {
    const merchant = await service.newMerchant();
    const { body } = await merchant.charge({ amountCents: 2500 });
    await service.simulator.behave({ webhook: 'duplicate' });
    const { endToEnd } = (await pay(body.id)).body;
    await until(async () => (await statusOf(merchant, body.id)) === 'paid');
    await service.simulator.behave({});
    const paid = (await merchant.call('GET', `/payments/${body.id}`)).body;
    expect(paid).toMatchObject({ endToEnd, netAmountCents: 2500, providerFeeCents: 0 });
    expect(paid.copyPaste).toBeUndefined();
    expect(await merchant.balanceCents()).toBe(2500);
    expect(await incidents(merchant)).toEqual([]);
  });

  test('repeated with the same key returns the same code; with other data it is refused [4.2c]', async () => {
    const merchant = await service.newMerchant();
    const requestKey = crypto.randomUUID();
    const first = await merchant.charge({ requestKey });
    const again = await merchant.charge({ requestKey });
    expect(again.status).toBe(201);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    const other = await merchant.charge({ requestKey, payerName: 'João' });
    expect(other.body).toMatchObject({
      statusCode: 400,
      code: 'idempotency_conflict',
      paymentId: first.body.id,
    });
  });

  test('keeps the pairs of its request, shows them everywhere, and is another request with other pairs', async () => {
    const merchant = await service.newMerchant();
    const requestKey = crypto.randomUUID();
    const { body } = await merchant.charge({ requestKey, metadata: { orderId: '1042', store: 'centro' } });
    expect(body.metadata).toEqual({ orderId: '1042', store: 'centro' });
    const again = await merchant.charge({ requestKey, metadata: { store: 'centro', orderId: '1042' } });
    expect([again.status, again.body.id]).toEqual([201, body.id]);
    for (const metadata of [undefined, {}, { orderId: '1042' }, { orderId: '1042', store: 'Centro' }])
      expect((await merchant.charge({ requestKey, metadata })).body.code).toBe('idempotency_conflict');

    const plain = (await merchant.charge({ metadata: {} })).body;
    expect(plain).not.toHaveProperty('metadata');
    const listed = async (query: string) =>
      (await merchant.call('GET', `/payments?metadata=${query}`)).body.payments;
    expect(await listed('store:centro')).toMatchObject([{ id: body.id, metadata: body.metadata }]);
    expect(await listed('store:centr')).toEqual([]);
    expect(await listed('orderid:1042')).toEqual([]);
    expect((await merchant.call('GET', `/payments/${body.id}`)).body.metadata).toEqual(body.metadata);

    await pay(body.id);
    await until(async () => (await statusOf(merchant, body.id)) === 'paid');
    const paid = async () =>
      (await merchant.call('GET', `/events?paymentId=${body.id}&type=charge.paid`)).body.events;
    await until(async () => (await paid()).length === 1);
    expect((await paid())[0].data.metadata).toEqual(body.metadata);
    const { lines } = (await merchant.call('GET', '/statement')).body;
    expect(lines[0]).toMatchObject({ paymentId: body.id, metadata: body.metadata });
  });

  test('keeps its fiscal documents, shows them everywhere, and is another request with other ones', async () => {
    const merchant = await service.newMerchant();
    const requestKey = crypto.randomUUID();
    const invoice = { kind: 'nfe', key: '35261112ABCD78000195550010000010421123456780' };
    const waybill = { kind: 'cte', key: '35261112345678000195570010000000071123456789' };
    const asked = { requestKey, fiscalDocuments: [invoice, waybill] };
    const { body } = await merchant.charge(asked);
    expect(body.fiscalDocuments).toEqual([waybill, invoice]);
    const again = await merchant.charge({ requestKey, fiscalDocuments: [waybill, invoice, invoice] });
    expect([again.status, again.body.id]).toEqual([201, body.id]);
    for (const fiscalDocuments of [undefined, [], [invoice]])
      expect((await merchant.charge({ requestKey, fiscalDocuments })).body.code).toBe('idempotency_conflict');
    expect((await merchant.charge({ fiscalDocuments: [] })).body).not.toHaveProperty('fiscalDocuments');

    await pay(body.id);
    await until(async () => (await statusOf(merchant, body.id)) === 'paid');
    const paid = async () =>
      (await merchant.call('GET', `/events?paymentId=${body.id}&type=charge.paid`)).body.events;
    await until(async () => (await paid()).length === 1);
    const shown = { fiscalDocuments: [waybill, invoice] };
    expect((await paid())[0].data).toMatchObject(shown);
    expect((await merchant.call('GET', `/payments/${body.id}`)).body).toMatchObject(shown);
    expect((await merchant.call('GET', '/payments?status=paid')).body.payments).toMatchObject([shown]);
    expect((await merchant.call('GET', '/statement')).body.lines[0]).toMatchObject(shown);
  });

  test('paid with another amount stays open, and the money waits in suspense for a person', async () => {
    const merchant = await service.newMerchant();
    const { body } = await merchant.charge({ amountCents: 2500 });
    await pay(body.id, { amountCents: 2400 });
    await until(async () => (await incidents(merchant)).length === 1);
    expect(await incidents(merchant)).toMatchObject([
      { kind: 'amount_mismatch', amount_cents: '2400', state: 'open' },
    ]);
    expect(await statusOf(merchant, body.id)).toBe('pending');
    expect(await merchant.balanceCents()).toBe(0);
    expect(await suspenseCents(merchant)).toBe(2400);
  });

  test('paid twice is credited once, and the second Pix waits in suspense', async () => {
    const merchant = await service.newMerchant();
    const { body } = await merchant.charge({ amountCents: 2500 });
    await pay(body.id);
    await until(async () => (await statusOf(merchant, body.id)) === 'paid');
    await pay(body.id);
    await until(async () => (await incidents(merchant)).length === 1);
    expect(await incidents(merchant)).toMatchObject([{ kind: 'second_payment', amount_cents: '2500' }]);
    expect(await merchant.balanceCents()).toBe(2500);
    expect(await suspenseCents(merchant)).toBe(2500);
  });

  test('that the provider removed has failed, without a cent moved', async () => {
    const merchant = await service.newMerchant();
    const { body } = await merchant.charge();
    await service.simulator.control('POST', `/control/charges/${txid(body.id)}/remove`);
    await until(async () => (await statusOf(merchant, body.id)) === 'failed');
    expect((await merchant.call('GET', `/payments/${body.id}`)).body.reasonCode).toBe('provider_refused');
    expect(await merchant.balanceCents()).toBe(0);
  });

  test('lives as long as its request says, also where the request is sent twice, and is another request with another life', async () => {
    const merchant = await service.newMerchant();
    const requestKey = crypto.randomUUID();
    const lifeOf = ({ createdAt, expiresAt }: { createdAt: string; expiresAt: string }) =>
      Math.round((Date.parse(expiresAt) - Date.parse(createdAt)) / 60_000);
    const { body } = await merchant.charge({ requestKey, expiresInMinutes: 7 });
    expect(lifeOf(body)).toBe(7);
    for (const expiresInMinutes of [undefined, 8])
      expect((await merchant.charge({ requestKey, expiresInMinutes })).body.code).toBe(
        'idempotency_conflict',
      );
    await service.simulator.behave({ charge: 'lose-request' });
    const { body: lost } = await merchant.charge({ expiresInMinutes: 10_080 });
    await service.simulator.behave({});
    await until(async () => (await statusOf(merchant, lost.id)) === 'pending');
    expect(lifeOf((await merchant.call('GET', `/payments/${lost.id}`)).body)).toBe(10_080);
    for (const expiresInMinutes of [0, 10_081, 1.5, '7', null])
      expect((await merchant.charge({ expiresInMinutes })).status).toBe(400);
  });

  test('expires by the word of the provider, and a late payment still counts [2.1c]', async () => {
    const merchant = await service.newMerchant();
    const { body } = await merchant.charge({ amountCents: 900 });
    await service.simulator.control('POST', `/control/charges/${txid(body.id)}/expire`);
    await until(async () => (await statusOf(merchant, body.id)) === 'expired');
    await pay(body.id);
    await until(async () => (await statusOf(merchant, body.id)) === 'paid');
    expect(await merchant.balanceCents()).toBe(900);
    const events = await service.database.admin<{ type: string; body: string }>(
      'SELECT type, body FROM event WHERE account_id = $1 ORDER BY created_at',
      [merchant.ownerId],
    );
    expect(events.map((event) => event.type)).toEqual(['charge.expired', 'charge.paid']);
    expect(JSON.parse(events[1]?.body ?? '')).toMatchObject({
      change: { from: 'expired', to: 'paid' },
      livemode: false,
      data: { id: body.id, operationId: merchant.operationId, status: 'paid' },
    });
  });
});

describe('creating a charge when the provider', () => {
  test('refuses is a failed charge, and its repeat the same', async () => {
    await service.simulator.behave({ charge: 'refuse' });
    const merchant = await service.newMerchant();
    const requestKey = crypto.randomUUID();
    const { status, body } = await merchant.charge({ requestKey });
    await service.simulator.behave({});
    expect(status).toBe(201);
    expect(body).toMatchObject({ status: 'failed', reasonCode: 'provider_refused' });
    expect((await merchant.charge({ requestKey })).body).toMatchObject({ id: body.id, status: 'failed' });
  });

  test.each(['lose-answer', 'hang'])(
    'leaves it unclear (%s) is unknown first, then pending with its code [3c]',
    async (charge) => {
      await service.simulator.behave({ charge });
      const merchant = await service.newMerchant();
      const { status, body } = await merchant.charge();
      await service.simulator.behave({});
      expect(status).toBe(201);
      expect(body.status).toBe('unknown');
      await until(async () => (await statusOf(merchant, body.id)) === 'pending');
      expect((await merchant.call('GET', `/payments/${body.id}`)).body.copyPaste).toBeTypeOf('string');
    },
  );

  test('never saw the request is asked twice and then sent the same id again', async () => {
    await service.simulator.behave({ charge: 'lose-request' });
    const merchant = await service.newMerchant();
    const { body } = await merchant.charge();
    await service.simulator.behave({});
    expect(body.status).toBe('unknown');
    await until(async () => (await statusOf(merchant, body.id)) === 'pending');
  });

  test('gives no code is pending without one [2.1d, 4.2b]', async () => {
    await service.simulator.behave({ charge: 'no-code' });
    const merchant = await service.newMerchant();
    const { body } = await merchant.charge();
    await service.simulator.behave({});
    expect(body).toMatchObject({ status: 'pending' });
    expect(body).not.toHaveProperty('copyPaste');
    expect(body).not.toHaveProperty('qrCodeBase64');
  });
});

describe('news of a payment', () => {
  test('that no webhook brings is fetched after five seconds, with no client active [1.6a, 1.6c, 2.3c]', async () => {
    const merchant = await service.newMerchant();
    const { body } = await merchant.charge({ amountCents: 700 });
    await service.simulator.behave({ webhook: 'drop' });
    await pay(body.id);
    const isPaid = async () =>
      (await service.database.admin('SELECT 1 FROM payment WHERE id = $1 AND status = $2', [body.id, 'paid']))
        .length === 1;
    await until(isPaid);
    await service.simulator.behave({});
    expect(await merchant.balanceCents()).toBe(700);
  });

  test('with a forged signature, under a wrong address or of unknown ids changes nothing', async () => {
    const merchant = await service.newMerchant();
    const { body } = await merchant.charge({ amountCents: 700 });
    const [row] = await service.database.admin<{ webhook_token: string }>(
      `SELECT webhook_token FROM connection WHERE id = 'simulator'`,
    );
    const forged = JSON.stringify({
      pix: [
        {
          endToEndId: `E00000000202611200000${'a'.repeat(11)}`,
          txid: txid(body.id),
          chave: 'vintem@simulator.example',
          valor: '7.00',
          horario: new Date().toISOString(),
        },
      ],
    });
    const deliver = (path: string, headers: Record<string, string> = {}) =>
      fetch(service.url + path, {
        method: 'POST',
        body: forged,
        headers: { 'content-type': 'application/json', ...headers },
      });
    expect((await deliver(`/hooks/providers/simulator/${row?.webhook_token}/pix`)).status).toBe(401);
    const signature = `t=${Math.floor(Date.now() / 1000)},v1=${'0'.repeat(64)}`;
    expect(
      (
        await deliver(`/hooks/providers/simulator/${row?.webhook_token}/pix`, {
          'x-simulator-signature': signature,
        })
      ).status,
    ).toBe(401);
    expect((await deliver('/hooks/providers/simulator/guess/pix')).status).toBe(404);
    expect(await statusOf(merchant, body.id)).toBe('pending');
    expect(await merchant.balanceCents()).toBe(0);
  });
});
