import { playWeather, type Weather, weathers } from '@vintem/testkit/behaviours.ts';
import { type Dialect, openService, type Service } from '@vintem/testkit/service.ts';
import { violations } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** Each protocol under what is most unlike in it; the rig `dialects` plays every weather in every protocol. */
const days: { dialect: Dialect; weathers: readonly Weather[] }[] = [
  { dialect: 'efi', weathers: weathers.filter(({ query }) => query === 'answer' || query === 'stale') },
  { dialect: 'woovi', weathers: weathers.filter(({ query }) => query === 'not-found') },
  { dialect: 'inter', weathers: weathers.filter(({ query }) => query === 'not-found') },
  { dialect: 'asaas', weathers: weathers.filter(({ query }) => query === 'not-found') },
  { dialect: 'stark', weathers: weathers.filter(({ query }) => query === 'not-found') },
  { dialect: 'sicredi', weathers: weathers.filter(({ query }) => query === 'stale') },
];

describe.each(days)('in the protocol of $dialect', ({ dialect, weathers }) => {
  let service: Service;
  beforeAll(async () => {
    service = await openService({ worker: false, dialect });
  });
  afterAll(() => service?.close());

  test.each(weathers)('queries $query, webhooks $webhook, charges $charge', async (weather) => {
    expect((await playWeather(service, dialect, weather)).faults).toEqual([]);
  });

  test('afterwards every invariant holds, and the provider’s own truth agrees', async () => {
    expect(await violations(service)).toEqual([]);
  });
});
