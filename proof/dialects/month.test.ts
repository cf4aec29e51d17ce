import { balanceAt, clearingOf, closeDay, closesOf, costsOf, inDays } from '@vintem/testkit/closing-days.ts';
import { type Dialect, type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { providerIdOf, statusOf } from '@vintem/testkit/settlement.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** Thirty days at each provider that charges: what came in, was given back, was paid out and came back, closed each evening. */
const days = 30;

interface Protocol {
  dialect: Dialect;
  refunds: boolean;
  /** Payouts that come back are reported. */
  tellsReturns: boolean;
}

const protocols: Protocol[] = [
  { dialect: 'efi', refunds: true, tellsReturns: true },
  { dialect: 'woovi', refunds: true, tellsReturns: true },
  { dialect: 'inter', refunds: true, tellsReturns: false },
  { dialect: 'stark', refunds: false, tellsReturns: true },
  { dialect: 'asaas', refunds: true, tellsReturns: false },
];

describe.each(protocols)('a month at a provider that charges ($dialect)', (protocol) => {
  let service: Service;
  let merchant: Merchant;
  beforeAll(async () => {
    service = await openService({ dialect: protocol.dialect });
    await service.simulator.behave({ fees: 'on' });
    merchant = await service.newMerchant();
  });
  afterAll(() => service?.close());

  test('closes each day with difference zero, and the books hold what the provider holds to the cent', async () => {
    for (let day = 0; day < days; day++) {
      await moves(service, merchant, protocol, day);
      expect(await closeDay(service, day)).toMatchObject({ waits: false });
    }
    const closes = (await closesOf(service)).filter(({ day }) => (day ?? '') >= inDays(0));
    console.log(
      `${protocol.dialect}: ${closes.length} days closed, differences ${[...new Set(closes.map((one) => one.difference_cents))]}, costs ${await costsOf(service)}`,
    );
    expect(closes).toHaveLength(days);
    expect(closes.filter((one) => one.difference_cents !== '0' || one.incident_id !== null)).toEqual([]);
    expect(await costsOf(service)).toBeGreaterThan(0);
    expect(await clearingOf(service)).toBe(await balanceAt(service));
    expect(await violationsOfBooks(service)).toEqual([]);
  });
});

/** Other amounts each day, with every remainder of a share of a hundred cents among them. */
async function moves(
  service: Service,
  merchant: Merchant,
  { refunds, tellsReturns }: Protocol,
  day: number,
): Promise<void> {
  // Inter delivers nothing of a payout, and the first query of one comes after five seconds: a month of these would be waiting alone.
  const asked = () =>
    service.database.admin(
      `UPDATE intent SET due_at = 'epoch' WHERE state = 'awaiting' AND kind = 'transfer'`,
    );
  const becomes = (id: string, status: string) =>
    until(async () => {
      await asked();
      return (await statusOf(service, id)) === status;
    });
  const charge = await merchant.paidCharge({ amountCents: 12_000 + 7 * day });
  const { body: sent } = await merchant.transfer({ amountCents: 3_000 + 11 * day });
  await becomes(sent.id, 'completed');
  if (refunds && day % 3 === 0) {
    const before = await balanceAt(service);
    const refund = { requestKey: crypto.randomUUID(), amountCents: 101 + day, description: '' };
    await merchant.call('POST', `/payments/${charge}/refunds`, refund);
    await until(async () => (await balanceAt(service)) === before - refund.amountCents);
  }
  if (tellsReturns && day % 5 === 0)
    await service.simulator.control('POST', `/control/payouts/${providerIdOf(sent.id)}/return`, {
      amountCents: 150 + day,
    });
}
