import { Writable } from 'node:stream';
import { cardDataIn } from '@vintem/testkit/card-data.ts';
import { cardDay, findCardData } from '@vintem/testkit/card-day.ts';
import { openService, type Service } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** A day of payments by card: books and acquirer agree to the cent, and no data of a card stands anywhere. */

const lines: string[] = [];
let service: Service;
beforeAll(async () => {
  const logTo = new Writable({
    write: (line, _encoding, done) => {
      lines.push(String(line));
      done();
    },
  });
  service = await openService({ logTo });
});
afterAll(() => service?.close());

test('A day of payments by card at Asaas agrees to the cent at both connections', async () => {
  const asaas = await openService();
  try {
    const day = await cardDay(asaas, { adapter: 'asaas-checkout', payments: 22, seed: 1 });
    expect(day.faults).toEqual([]);
    expect(Math.min(...Object.values(day.fates))).toBeGreaterThan(0);
  } finally {
    await asaas.close();
  }
}, 300_000);

test('A day of payments by card agrees to the cent at both connections, and leaves no card data behind', async () => {
  const day = await cardDay(service, { adapter: 'stripe-checkout', payments: 44, seed: 1 });
  expect(day.faults).toEqual([]);
  expect(day.closes.map(({ connection }) => connection).sort()).toEqual(['cartoes', 'simulator']);
  expect(Math.min(...Object.values(day.fates))).toBeGreaterThan(0);
  await service.runtime.mail.send({
    to: 'maria@example.com',
    ...{ 'pt-BR': { subject: 'Um aviso', text: 'Olá' }, en: { subject: 'A notice', text: 'Hello' } },
  });
  service.runtime.log.trace('the day is over');
  expect(lines.length).toBeGreaterThan(0);
  expect(await findCardData(service, lines)).toEqual([]);

  // Leaks that the scan has to find.
  const number = '4242 4242 4242 4242';
  service.runtime.log.trace({ answer: { text: number } }, 'a planted leak');
  await service.runtime.mail.send({
    to: 'maria@example.com',
    ...{ 'pt-BR': { subject: 'Cartão', text: number }, en: { subject: 'Card', text: number } },
  });
  expect(new Set(await findCardData(service, lines))).toEqual(
    new Set([`a mail: ${number}`, `a line of the log: ${number}`]),
  );
}, 300_000);

test('Card data is a number that passes its check, however it is grouped, or a token of a card', () => {
  for (const leak of [
    '4242424242424242',
    '4242.4242.4242.4242',
    'card_4242-4242-4242-4242',
    '"3782 822463 10005"',
    '{"creditCardToken":"76496073-536f-4835-80db-c45d00f33695"}',
    'tok_1NirD82eZvKYlo2CIvbtLWuY',
  ])
    expect(cardDataIn(leak), leak).not.toEqual([]);
  for (const none of [
    '4242424242424243',
    '1764315000000',
    'a4242424242424242',
    '50.6359080000002',
    '59.975619999997434',
    '{"creditCardToken":null}',
  ])
    expect(cardDataIn(none), none).toEqual([]);
});
