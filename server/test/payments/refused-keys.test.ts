import { newDraft } from '@vintem/testkit/draft.ts';
import { newPerson, openTab } from '@vintem/testkit/panel.ts';
import { type Answer, type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { setRates } from '../../src/operate/accounts/rates.ts';

/**
 * A merchant that names Pix keys which do not exist: each costs the directory tokens of the connection that all merchants share. Thirty an
 * hour are thirty, whatever is asked at once, over however many keys, and whichever process sends.
 */

const limits = { RATE_LIMITS: 'transfers=999/999,account=9999/9999,charges=999/999,reads=999/999' };
let service: Service;
beforeAll(async () => {
  service = await openService({ env: limits });
});
afterAll(() => service?.close());

async function rich(of: Service = service): Promise<Merchant> {
  const merchant = await of.newMerchant();
  await merchant.receive(200_000);
  return merchant;
}

/** The simulator's directory has no such key. */
const missing = (merchant: Merchant): Promise<Answer> =>
  merchant.transfer({ amountCents: 1_000, pixKey: 'pix-key-not-found@simulator.example' });

async function sentOf(merchant: Merchant, of: Service = service): Promise<number> {
  const rows = await of.database.admin<{ id: string }>(
    `SELECT id FROM payment WHERE account_id = $1 AND kind = 'transfer'`,
    [merchant.ownerId],
  );
  const seen = await Promise.all(rows.map(({ id }) => of.simulator.payout(id)));
  return seen.filter((one) => (one?.timesReceived ?? 0) > 0).length;
}

const countOf = (answers: readonly Answer[], status: number): number =>
  answers.filter((one) => one.status === status).length;

test('120 transfers at once with three API keys cost thirty look-ups, and a person’s confirmation is the thirty-first', async () => {
  const merchant = await rich();
  const keys = await Promise.all([1, 2, 3].map(() => service.newKey(merchant.ownerId)));
  const body = () => ({
    amountCents: 1_000,
    pixKey: 'pix-key-not-found@simulator.example',
    pixKeyType: 'EMAIL',
    description: '',
    requestKey: crypto.randomUUID(),
  });
  const answers = await Promise.all(
    Array.from({ length: 120 }, (_, at) =>
      service.as(keys[at % 3] as string)('POST', '/pix/transfers', body()),
    ),
  );
  expect([countOf(answers, 400), countOf(answers, 429)]).toEqual([30, 90]);
  expect(await sentOf(merchant)).toBe(30);
  const refused = answers.find(({ status }) => status === 429);
  expect(refused?.body.details).toEqual([{ policy: 'refused-keys' }]);
  const waitSeconds = Number(refused?.headers.get('retry-after'));
  expect(waitSeconds > 3_400 && waitSeconds <= 3_600).toBe(true);

  const draft = await newDraft(service, merchant);
  await newPerson(service, merchant.ownerId, 'bia@feira.example', 'finance');
  const bia = openTab(service);
  await bia.signIn('bia@feira.example');
  const confirmed = await bia.call('POST', `/accounts/${merchant.ownerId}/drafts/${draft}/confirm`, {
    code: '000000',
  });
  expect([confirmed.status, confirmed.body.details]).toEqual([429, [{ policy: 'refused-keys' }]]);
});

test('Two accounts that ask at the same moment have their own places: a hundred of both cost thirty look-ups of each', async () => {
  const merchants = await Promise.all([rich(), rich()]);
  await Promise.all(
    merchants.map(async (merchant) => {
      const answers = await Promise.all(Array.from({ length: 50 }, () => missing(merchant)));
      expect([countOf(answers, 400), countOf(answers, 429)]).toEqual([30, 20]);
    }),
  );
});

test('A key that exists gives its place back: an account pays sixty new keys one after the other', async () => {
  const merchant = await rich();
  for (let at = 0; at < 60; at++) {
    const answer = await merchant.transfer({ amountCents: 1_000, pixKey: `loja-${at}@feira.example` });
    expect(answer.status).toBe(201);
    await until(
      async () => (await merchant.call('GET', `/payments/${answer.body.id}`)).body.status === 'completed',
    );
  }
});

test('What is refused before it is sent takes no place', async () => {
  const merchant = await rich();
  for (let at = 0; at < 40; at++) {
    const answer = await merchant.transfer({ amountCents: 1, pixKey: `loja-${at}@feira.example` });
    expect(answer.status).toBe(400);
  }
  const tooMuch = { amountCents: 200_000, pixKey: 'loja@feira.example' };
  await merchant.transfer({ amountCents: 1_000 });
  for (let at = 0; at < 40; at++)
    expect((await merchant.transfer(tooMuch)).body.code).toBe('insufficient_balance');
  expect((await missing(merchant)).body.code).toBe('pix_key_not_found');
});

test('An account’s own limit counts in the place of the installation’s', async () => {
  const merchant = await rich();
  await setRates({ ...service.runtime, actor: 'test' }, merchant.ownerId, {
    'refused-keys': { perSecond: 0.1, burst: 2 },
  });
  const answers = await Promise.all(Array.from({ length: 6 }, () => missing(merchant)));
  expect([countOf(answers, 400), countOf(answers, 429)]).toEqual([2, 4]);
});

test('With TRANSFER_WAIT_MS=0 the misses that a worker finds count: eighty transfers cost thirty look-ups', async () => {
  const late = await openService({ env: { ...limits, TRANSFER_WAIT_MS: '0' } });
  try {
    const merchant = await rich(late);
    const answers: Answer[] = [];
    for (let at = 0; at < 80; at++) answers.push(await missing(merchant));
    expect([countOf(answers, 201), countOf(answers, 429)]).toEqual([30, 50]);
    await until(async () => (await sentOf(merchant, late)) === 30);
  } finally {
    await late.close();
  }
});
