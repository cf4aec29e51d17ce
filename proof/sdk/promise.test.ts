import { openService, type Service } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { keepPromise } from './promise.ts';
import { faults } from './proxy.ts';

/** The quick part of `npm run proof -- --only sdk`. */

let service: Service;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

test('behind a proxy that spoils two of five requests, nothing is paid twice and nothing is reported wrongly', async () => {
  const { key } = await service.newMerchant();
  const figures = await keepPromise({
    url: service.url,
    apiKey: key,
    simulatorUrl: service.simulator.url,
    transfers: 400,
    seed: 7,
    say: () => {},
  });
  expect(figures.faults).toEqual([]);
  expect(figures).toMatchObject({ transfers: 400, paidTwice: 0 });
  expect(figures.made + figures.refused).toBe(400);
  // Every kind of fault took place, and some calls ended with an open outcome.
  for (const fault of faults) expect([fault, figures.faulty[fault] > 0]).toEqual([fault, true]);
  expect(figures.open).toBeGreaterThan(0);
  // At how many places depends on how many calls are repeated, and so on the machine: the rig reports the figure.
  expect(figures.cut.answers).toBeGreaterThan(1);
});
