import { type Became, playWeather, type Weather, weathers } from '@vintem/testkit/behaviours.ts';
import { dialectNames, openService, type Service } from '@vintem/testkit/service.ts';
import { violations } from '@vintem/testkit/verified.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

/**
 * The whole behaviour suite in every protocol, and what became of each fate as a table: `npm test` plays a part of it
 * (`settlement-behaviours.test.ts`).
 */
const played = new Map<string, { weather: Weather; became: Became }[]>();
afterAll(() => {
  for (const [dialect, days] of played) console.log(`\n${tableOf(dialect, days)}\n`);
});

describe.each(dialectNames)('in the protocol of %s', (dialect) => {
  let service: Service;
  beforeAll(() => {
    played.set(dialect, []);
  });
  // A service for each: breakers count the failures of half a minute, and those of one weather would close the next one's way.
  beforeEach(async () => {
    service = await openService({ worker: false, dialect });
  });
  afterEach(() => service?.close());

  test.each(weathers)('queries $query, webhooks $webhook, charges $charge', async (weather) => {
    const { became, faults } = await playWeather(service, dialect, weather);
    played.get(dialect)?.push({ weather, became });
    expect(faults).toEqual([]);
    expect(await violations(service), 'invariants, and the provider’s own truth').toEqual([]);
  });
});

/** A line for each fate, a column for what the provider did to queries and webhooks meanwhile. */
function tableOf(dialect: string, days: readonly { weather: Weather; became: Became }[]): string {
  const fates = [...new Set(days.flatMap(({ became }) => [...became.keys()]))].sort();
  const head = days.map(({ weather }) => `queries ${weather.query}, webhooks ${weather.webhook}`);
  const lines = fates.map((fate) => [fate, ...days.map(({ became }) => became.get(fate) ?? '')]);
  return [[dialect, ...head], ['---', ...head.map(() => '---')], ...lines]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}
