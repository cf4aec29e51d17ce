import { mailsTo, newPerson, openTab, type Tab } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stepMailChoices } from '../../src/panel/people/mail-choices.ts';
import { monthAt, monthDueAt, nextReceivedAt, type Zone, zones } from '../../src/panel/people/mail-times.ts';
import { systemClock } from '../../src/ports/clock.ts';

/** The mails about an account that each of its people chooses: the statement of a finished month, and what was received. */

let service: Service;
let merchant: Merchant;

const at = (owner: Merchant, path: string) => `/accounts/${owner.ownerId}${path}`;
const off = {
  ...{ month: false, received: 'off', quietFrom: 22, quietTo: 7, zone: 'America/Sao_Paulo' },
};
let made = 0;

async function person(
  of: Merchant,
  role: 'owner' | 'viewer' = 'viewer',
): Promise<{ email: string; tab: Tab }> {
  const email = `pessoa${++made}@padaria.example`;
  await newPerson(service, of.ownerId, email, role);
  const tab = openTab(service);
  await tab.signIn(email);
  return { email, tab };
}

const choose = (tab: Tab, of: Merchant, part: object) =>
  tab.call('POST', at(of, '/mail-choice'), { ...off, ...part });

/** As if so much time had passed. */
const step = async (aheadMs: number): Promise<void> => {
  const clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
  while (await stepMailChoices({ ...service.runtime, clock }, 'https://pix.example'));
};
/** Behind every full hour of the next two days, in which no mail is left. */
const aDay = 25 * 3_600_000;

const digestsTo = async (email: string): Promise<string[]> =>
  (await mailsTo(service, email)).filter((mail) => /^Subject: .*Pix receb/m.test(mail));
const monthsTo = async (email: string): Promise<string[]> =>
  (await mailsTo(service, email)).filter((mail) => /^Subject: .*extrato de/m.test(mail));

beforeAll(async () => {
  // Without its own worker, which would be first where an hour ends meanwhile.
  service = await openService({ worker: false });
  merchant = await service.newMerchant();
});
afterAll(() => service?.close());

describe('What was received', () => {
  test('Only who has chosen it gets a digest, with the count and the sum since the choice, and no payer', async () => {
    await merchant.receive(9_900);
    const [chosen, other] = [await person(merchant), await person(merchant)];
    expect((await chosen.tab.call('GET', at(merchant, '/mail-choice'))).body).toEqual(off);
    const { status, body } = await choose(chosen.tab, merchant, { received: 'day' });
    expect([status, body]).toEqual([200, { ...off, received: 'day' }]);
    expect((await chosen.tab.call('GET', at(merchant, '/mail-choice'))).body).toEqual(body);
    await merchant.paidCharge({ amountCents: 1_234, payerName: 'Lia Prado' });
    await merchant.paidCharge({ amountCents: 2_000, payerName: 'Rui Prado' });
    await step(aDay);
    const [mail, ...more] = await digestsTo(chosen.email);
    expect(more).toEqual([]);
    expect(mail).toMatch(/^Subject: .*2 Pix recebidos: R\$ 32,34/m);
    expect(mail).not.toMatch(/Prado/);
    expect(await digestsTo(other.email)).toEqual([]);
  });

  test('What a digest has counted is in no later one, and without anything received there is none', async () => {
    const { email, tab } = await person(merchant);
    await choose(tab, merchant, { received: 'hour', quietFrom: 0, quietTo: 0 });
    await merchant.paidCharge({ amountCents: 1_500 });
    await step(aDay);
    await step(2 * aDay);
    expect(await digestsTo(email)).toHaveLength(1);
    await merchant.paidCharge({ amountCents: 1_600 });
    await step(3 * aDay);
    const [, second, ...more] = await digestsTo(email);
    expect(second).toMatch(/1 Pix recebido: R\$ 16,00/);
    expect(more).toEqual([]);
  });

  test('Two workers at once send it once', async () => {
    const { email, tab } = await person(merchant);
    await choose(tab, merchant, { received: 'hour', quietFrom: 0, quietTo: 0 });
    await merchant.paidCharge({ amountCents: 1_700 });
    // Both have found it due before either has it.
    const tx = await service.cellOf(merchant).sql.begin();
    await tx.run({ name: 'test_hold_choices', text: 'SELECT FROM panel_mail_choice FOR UPDATE' });
    const both = Promise.all([step(aDay), step(aDay)]);
    await until(
      async () =>
        (
          await service.database.admin(
            `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
          )
        ).length === 2,
    );
    await tx.rollback();
    await both;
    expect(await digestsTo(email)).toHaveLength(1);
  });

  test('A change of the pace loses nothing and counts nothing twice; switched off and on it begins anew', async () => {
    const { email, tab } = await person(merchant);
    await choose(tab, merchant, { received: 'hour' });
    await merchant.paidCharge({ amountCents: 1_800 });
    await choose(tab, merchant, { received: 'day' });
    await step(aDay);
    await choose(tab, merchant, { received: 'hour' });
    await step(2 * aDay);
    expect(await digestsTo(email)).toHaveLength(1);
    await choose(tab, merchant, {});
    await merchant.paidCharge({ amountCents: 1_900 });
    await choose(tab, merchant, { received: 'hour' });
    await step(3 * aDay);
    expect(await digestsTo(email)).toHaveLength(1);
  });

  test('Who has left the account gets none, and neither does who chose for another account', async () => {
    const elsewhere = await service.newMerchant();
    const [gone, stranger] = [await person(merchant), await person(elsewhere)];
    await choose(gone.tab, merchant, { received: 'hour', month: true });
    await choose(stranger.tab, elsewhere, { received: 'hour' });
    expect((await choose(stranger.tab, merchant, { received: 'hour' })).status).toBe(404);
    await service.database.admin(
      'DELETE FROM panel_member USING panel_user u WHERE u.id = user_id AND u.email = $1',
      [gone.email],
    );
    await merchant.paidCharge({ amountCents: 2_100 });
    await step(40 * 86_400_000);
    expect([...(await mailsTo(service, gone.email)), ...(await digestsTo(stranger.email))].length).toBe(
      (await mailsTo(service, gone.email)).filter((mail) => /convite|invit/i.test(mail)).length,
    );
  });
});

describe('The statement of a month', () => {
  test('Is announced once, when the month is closed, with its figures and the way to its page', async () => {
    const own = await service.newMerchant();
    const { email, tab } = await person(own);
    await choose(tab, own, { month: true });
    await own.paidCharge({ amountCents: 12_345, payerName: 'Lia Prado' });
    const month = monthAt(systemClock.now());
    const untilDue = monthDueAt(month) - systemClock.now();
    await step(untilDue - 60_000);
    expect(await monthsTo(email)).toEqual([]);
    await Promise.all([step(untilDue + 60_000), step(untilDue + 60_000)]);
    const [mail, ...more] = await monthsTo(email);
    expect(more).toEqual([]);
    const [year, number] = month.split('-');
    expect(mail).toContain(`O mês ${number}/${year} está fechado.`);
    expect(mail).toMatch(/ {2}Entradas +R\$ 123,45/);
    expect(mail).toMatch(/ {2}Saldo final +R\$ /);
    expect(mail).toContain(`https://pix.example/extrato?de=${month}-01&ate=${month}-`);
    expect(mail).not.toContain('Prado');
  });

  test('A month without entries says so', async () => {
    const own = await service.newMerchant();
    const { email, tab } = await person(own);
    await choose(tab, own, { month: true });
    await step(monthDueAt(monthAt(systemClock.now())) - systemClock.now() + 60_000);
    const [mail] = await monthsTo(email);
    expect(mail).toMatch(/está fechado e não teve lançamentos/);
    expect(mail).toMatch(/ {2}Saldo final +R\$ 0,00/);
  });
});

describe('The hours', () => {
  const iso = (ms: number): string => new Date(ms).toISOString();
  const day = { quietFrom: 22, quietTo: 7 };

  test.each<[Zone, string]>([
    ['America/Noronha', '2026-11-29T10:00:00.000Z'],
    ['America/Sao_Paulo', '2026-11-29T11:00:00.000Z'],
    ['America/Manaus', '2026-11-29T12:00:00.000Z'],
    ['America/Rio_Branco', '2026-11-29T13:00:00.000Z'],
  ])('A digest of the day goes out at eight in %s', (zone, due) => {
    expect(iso(nextReceivedAt(Date.parse('2026-11-28T18:30:00Z'), 'day', { ...day, zone }))).toBe(due);
  });

  test.each(zones)('In %s none goes out in the silence, over midnight too', (zone) => {
    const hourOf = (ms: number) =>
      Number(
        new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', hour: 'numeric' }).format(ms),
      );
    for (let hour = 0; hour < 24; hour++) {
      const now = Date.parse('2026-11-28T00:30:00Z') + hour * 3_600_000;
      const due = nextReceivedAt(now, 'hour', { ...day, zone });
      expect(hourOf(due), iso(now)).toSatisfy((one: number) => one >= 7 && one < 22);
      expect(due - now).toBeGreaterThan(0);
    }
  });

  test('Where eight is in the silence, the digest of the day goes out at its end', () => {
    const quiet = { quietFrom: 6, quietTo: 10, zone: 'America/Sao_Paulo' as const };
    expect(iso(nextReceivedAt(Date.parse('2026-11-28T12:30:00Z'), 'day', quiet))).toBe(
      '2026-11-28T13:00:00.000Z',
    );
  });

  test('A month is announced on the second day of the next one, over the end of a year too', () => {
    expect(iso(monthDueAt('2026-12'))).toBe('2027-01-02T11:00:00.000Z');
    expect(monthAt(Date.parse('2027-01-01T02:59:59Z'))).toBe('2026-12');
  });
});
