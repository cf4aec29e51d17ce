import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openService, type Service, until } from './support/service.ts';

let service: Service;

beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

describe('a transfer', () => {
  test('sends the net, debits the gross, and is completed by the provider', async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(5000);
    expect(await merchant.balanceCents()).toBe(5000);
    const sent = await merchant.transfer({ amountCents: 1000 });
    expect(sent.status).toBe(201);
    expect(sent.body).toMatchObject({
      amountCents: 1000,
      feeCents: 25,
      debitAmountCents: 1000,
      expectedNetAmountCents: 975,
    });
    await until(
      async () => (await merchant.call('GET', `/payments/${sent.body.id}`)).body.status === 'completed',
    );
    expect(await merchant.balanceCents()).toBe(4000);
    expect(await service.simulator.payout(sent.body.id)).toMatchObject({
      amountCents: 975,
      timesAccepted: 1,
      timesReceived: 1,
    });
    const done = await merchant.call('GET', `/payments/${sent.body.id}`);
    expect(done.body).toMatchObject({ netAmountCents: 975, providerFeeCents: 25 });
  });
});
