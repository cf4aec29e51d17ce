import { newDraft } from '@vintem/testkit/draft.ts';
import { newPerson, openTab } from '@vintem/testkit/panel.ts';
import { type Answer, type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKeyPlaces } from '../../src/api/transfers/key-places.ts';
import { refuse } from '../../src/ground/errors.ts';
import type { Payment } from '../../src/money/payment.ts';
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
  const refused = await missing(merchant);
  expect(refused.body.details).toEqual([{ policy: 'refused-keys' }]);
  const waitSeconds = Number(refused.headers.get('retry-after'));
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

test('A burst to keys that exist waits for places and is never refused: a hundred transfers at once to a hundred new keys are all sent', async () => {
  const merchant = await rich();
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, at) =>
      merchant.transfer({ amountCents: 1_000, pixKey: `folha-${at}@feira.example` }),
    ),
  );
  expect(countOf(answers, 201)).toBe(100);
});

const placesOf = (merchant: Merchant, burst: number) =>
  setRates({ ...service.runtime, actor: 'test' }, merchant.ownerId, {
    'refused-keys': { perSecond: burst / 3600, burst },
  });

test('A transfer that waits for a place is sent when one becomes free, and slows no merchant beside it', async () => {
  const [merchant, beside] = await Promise.all([rich(), rich()]);
  await placesOf(merchant, 1);
  const first = await merchant.transfer({ pixKey: 'stay-pending@simulator.example' });
  let isAnswered = false;
  const second = merchant.transfer({ pixKey: 'loja-2@feira.example' }).finally(() => {
    isAnswered = true;
  });
  const other = await beside.transfer({ pixKey: 'loja-3@feira.example' });
  expect([first.status, other.status, isAnswered]).toEqual([201, 201, false]);
  await service.database.admin(`UPDATE key_place SET places = '{}' WHERE account_id = $1`, [
    merchant.ownerId,
  ]);
  expect((await second).status).toBe(201);
});

test('A transfer that finds no place in the time of its request is refused with 429, and nothing of it is sent', async () => {
  const merchant = await rich();
  await placesOf(merchant, 1);
  await merchant.transfer({ pixKey: 'stay-pending@simulator.example' });
  const late = await merchant.transfer({ pixKey: 'loja-2@feira.example' });
  expect([late.status, late.body.details]).toEqual([429, [{ policy: 'refused-keys' }]]);
  expect(late.headers.get('retry-after')).toBe('5');
  expect(await sentOf(merchant)).toBe(1);
});

test('A transfer without a clear answer counts for two minutes, and an account has no more than twice its places without one', async () => {
  const merchant = await rich();
  await placesOf(merchant, 1);
  const twoMinutesLater = () =>
    service.database.admin(
      `UPDATE key_place SET places = (SELECT jsonb_object_agg(key, value::bigint - 121000) FROM jsonb_each(places))
        WHERE account_id = $1`,
      [merchant.ownerId],
    );
  const unclear = () => merchant.transfer({ pixKey: 'error-500@simulator.example' });
  expect((await unclear()).body.status).toBe('unknown');
  await twoMinutesLater();
  expect((await unclear()).body.status).toBe('unknown');
  await twoMinutesLater();
  expect((await merchant.transfer({ pixKey: 'loja@feira.example' })).status).toBe(429);
});

test('Two processes share the thirty places of an account, and one takes the place that the other gives back', async () => {
  const merchant = await rich();
  const processes = [1, 2].map(() =>
    createKeyPlaces({ ...service.cellOf(merchant), enabled: true, quotas: {} }),
  );
  const under: (() => void)[] = [];
  const sends = Array.from({ length: 40 }, (_, at) =>
    processes[at % 2]
      ?.send(
        { accountId: merchant.ownerId, id: crypto.randomUUID(), key: null, arrivedMs: undefined },
        () =>
          new Promise<Payment>((_sent, refused) => {
            under.push(() => refused(refuse('insufficient_balance')));
          }),
        (payment) => payment,
      )
      .catch(({ code }) => code),
  );
  await until(async () => under.length >= 30);
  await service.runtime.clock.sleep(0);
  expect(under.length).toBe(30);
  for (let at = 0; at < 40; at++) {
    await until(async () => under[at] !== undefined);
    under[at]?.();
  }
  expect(new Set(await Promise.all(sends))).toEqual(new Set(['insufficient_balance']));
});

test('A refusal that follows another writes nothing, and a payment that has a place keeps it', async () => {
  const merchant = await rich();
  const cell = service.cellOf(merchant);
  // The second after a refusal never ends here, however slow the machine is.
  const clock = { ...cell.clock, monotonicMs: () => 0 };
  const places = createKeyPlaces({ ...cell, clock, enabled: true, quotas: {} });
  const ask = (id: string = crypto.randomUUID()) =>
    places.lookUp(
      merchant.ownerId,
      id,
      async () => 'asked',
      () => true,
    );
  const first = crypto.randomUUID();
  expect(await ask(first)).toBe('asked');
  for (let at = 1; at < 30; at++) expect(await ask()).toBe('asked');
  expect(await ask()).toBe(null);
  const mark = () =>
    service.database.admin(`SELECT xmin::text, xmax::text FROM key_place WHERE account_id = $1`, [
      merchant.ownerId,
    ]);
  const before = await mark();
  for (let at = 0; at < 5; at++) expect(await ask()).toBe(null);
  expect(await mark()).toEqual(before);
  expect(await ask(first)).toBe('asked');
});

test('A transfer that is refused before it is sent takes no place', async () => {
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
