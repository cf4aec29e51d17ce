import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { keyIdOf } from '../../src/api/keys/key.ts';
import { revokeKey } from '../../src/api/keys/keys.ts';

let service: Service;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service.close());

interface Listening {
  status: number;
  text(): string;
  events(): { id: number; type: string; data: { id: string; data: { name: string } } }[];
  ended(): boolean;
  stop(): void;
}

async function listen(key: string, query = '', lastEventId?: number): Promise<Listening> {
  const stopping = new AbortController();
  const response = await fetch(`${service.url}/api/v1/public/events/stream${query}`, {
    headers: {
      authorization: `Bearer ${key}`,
      ...(lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }),
    },
    signal: stopping.signal,
  });
  let text = '';
  let over = false;
  const read = async () => {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body ?? [])
        text += decoder.decode(chunk as Uint8Array, { stream: true });
    } catch {}
    over = true;
  };
  void read();
  return {
    status: response.status,
    text: () => text,
    ended: () => over,
    stop: () => stopping.abort(),
    events: () =>
      text
        .split('\n\n')
        .map((block) => /^id: (\d+)\nevent: (.*)\ndata: (.*)$/.exec(block))
        .filter((found) => found !== null)
        .map(([, id, type, data]) => ({
          id: Number(id),
          type: type as string,
          data: JSON.parse(data as string),
        })),
  };
}

const rename = (merchant: Merchant, name: string) =>
  merchant.call('PATCH', `/operations/${merchant.operationId}`, { name });

test('a stream carries what happens from now on, and resumes behind the last event that was seen', async () => {
  const merchant = await service.newMerchant();
  await rename(merchant, 'Loja A');
  await until(async () => (await merchant.call('GET', '/events')).body.events.length === 1);
  await until(async () => (await published(merchant)) === 1);
  const stream = await listen(merchant.key);
  expect(stream.status).toBe(200);
  await rename(merchant, 'Loja B');
  await rename(merchant, 'Loja C');
  await until(async () => stream.events().length === 2);
  expect(stream.events().map(({ id, data }) => [id, data.data.name])).toEqual([
    [2, 'Loja B'],
    [3, 'Loja C'],
  ]);
  stream.stop();
  await rename(merchant, 'Loja D');
  const resumed = await listen(merchant.key, '', 2);
  await until(async () => resumed.events().length === 2);
  expect(resumed.events().map(({ id, data }) => [id, data.data.name])).toEqual([
    [3, 'Loja C'],
    [4, 'Loja D'],
  ]);
  resumed.stop();
});

const published = async (merchant: Merchant): Promise<number> =>
  (
    await service.database.admin<{ n: number }>(
      'SELECT coalesce(max(last_seq), 0)::int AS n FROM event_sequence WHERE account_id = $1',
      [merchant.ownerId],
    )
  )[0]?.n ?? 0;

test('the log has no gaps, whatever the number of writers', async () => {
  const merchant = await service.newMerchant();
  const operations = await Promise.all(
    [0, 1, 2, 3, 4].map((n) =>
      merchant.call('POST', '/operations', { name: `Filial ${n}`, requestKey: crypto.randomUUID() }),
    ),
  );
  const stream = await listen(merchant.key, '', 0);
  await Promise.all(
    operations.flatMap(({ body }) =>
      [0, 1, 2, 3].map((n) =>
        merchant.call('PATCH', `/operations/${body.id}`, { name: `Nome ${n} ${body.id.slice(-4)}` }),
      ),
    ),
  );
  await until(async () => stream.events().length >= 25);
  const seen = stream.events();
  expect(seen.map(({ id }) => id)).toEqual(Array.from({ length: seen.length }, (_, at) => at + 1));
  expect(new Set(seen.map(({ data }) => data.id)).size).toBe(seen.length);
  stream.stop();
});

test('a stream carries its own account and the types that were asked for', async () => {
  const [merchant, other] = [await service.newMerchant(), await service.newMerchant()];
  const all = await listen(merchant.key);
  const paid = await listen(merchant.key, '?types=charge.paid');
  await rename(other, 'Loja X');
  await rename(merchant, 'Loja Y');
  await merchant.receive(2000);
  await until(async () => paid.events().length === 1 && all.events().length === 2);
  expect(all.events().map(({ type }) => type)).toEqual(['operation.updated', 'charge.paid']);
  expect(all.text()).not.toContain('Loja X');
  for (const stream of [all, paid]) stream.stop();
});

test('it needs read or webhooks, and a place that can be one', async () => {
  const merchant = await service.newMerchant();
  const charges = await listen(await service.newKey(merchant.ownerId, ['charges']));
  expect(charges.status).toBe(403);
  expect((await listen('vtm_test_nothing')).status).toBe(401);
  const answer = await fetch(`${service.url}/api/v1/public/events/stream`, {
    headers: { authorization: `Bearer ${merchant.key}`, 'last-event-id': '7; DROP' },
  });
  expect([answer.status, await answer.json()]).toMatchObject([400, { code: 'invalid_cursor' }]);
});

test('an account has five streams at once, and a place is free again when one ends', async () => {
  const merchant = await service.newMerchant();
  const streams = await Promise.all([0, 1, 2, 3, 4].map(() => listen(merchant.key)));
  expect(streams.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  expect((await listen(merchant.key)).status).toBe(429);
  streams[0]?.stop();
  await until(async () => {
    const stream = await listen(merchant.key);
    if (stream.status === 200) streams.push(stream);
    else stream.stop();
    return stream.status === 200;
  });
  for (const stream of streams) stream.stop();
});

test('A stream ends when its key may not read events any more', async () => {
  const merchant = await service.newMerchant();
  const key = await service.newKey(merchant.ownerId, ['read', 'charges']);
  const stream = await listen(key);
  await service.database.admin(`UPDATE api_key SET permissions = '{charges}' WHERE id = $1`, [keyIdOf(key)]);
  await until(async () => stream.ended());
});

test('a stream ends when its key is revoked', async () => {
  const merchant = await service.newMerchant();
  const key = await service.newKey(merchant.ownerId, ['webhooks']);
  const stream = await listen(key);
  await revokeKey(service.cellOf(merchant), keyIdOf(key) as string);
  await until(async () => stream.ended());
});

test.each([
  [
    'its key is suspended for want of use',
    (key: string, _merchant: Merchant) => [
      `UPDATE api_key SET created_at = created_at - interval '181 days', last_used_at = NULL WHERE id = $1`,
      keyIdOf(key),
    ],
  ],
  [
    'its account is disabled',
    (_key: string, { ownerId }: Merchant) => ['UPDATE account SET enabled = false WHERE id = $1', ownerId],
  ],
  [
    'its account is moved to another connection',
    (_key: string, { ownerId }: Merchant) => [
      `UPDATE account SET connection = 'elsewhere' WHERE id = $1`,
      ownerId,
    ],
  ],
] as const)('A stream ends when %s', async (_what, change) => {
  const merchant = await service.newMerchant();
  const key = await service.newKey(merchant.ownerId, ['read', 'transfers']);
  const [stream, other] = [await listen(key), await listen((await service.newMerchant()).key)];
  const [statement, value] = change(key, merchant);
  await service.database.admin(statement as string, [value]);
  await until(async () => stream.ended());
  expect(other.ended()).toBe(false);
  other.stop();
});
