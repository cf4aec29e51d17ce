import { expect, test } from 'vitest';
import { withCalls } from './calls.ts';
import { heldProvider } from './held.ts';
import type { Provider } from './provider.ts';

const sends = [
  ...['createCharge', 'cancelCharge', 'createStaticCode', 'sendPayout', 'confirmPayout', 'sendRefund'],
  ...['cards.create', 'cards.expire', 'disputes.defend'],
  ...['dueCharges.create', 'dueCharges.cancel', 'dueCharges.change'],
];
const asks = [
  ...['queryCharge', 'listCharges', 'queryPayout', 'listPayouts', 'queryRefund', 'statement', 'listReturns'],
  ...['listCosts', 'requestDayReport', 'readDayReport', 'findPix', 'lookUpReceiver'],
  ...['cards.query', 'cards.listPayouts', 'disputes.list', 'dueCharges.query', 'dueCharges.list'],
];
const demands = ['registerWebhook', 'balance'];

type Calls = Record<string, (() => Promise<unknown>) | Record<string, () => Promise<unknown>>>;

/** A provider that has every call, and notes which are made. */
function providerWith(names: readonly string[], made: string[]): Provider {
  const calls: Calls = { connection: 'bank' as never };
  for (const name of names) {
    const work = async () => void made.push(name);
    const [group = '', call] = name.split('.');
    if (call === undefined) calls[group] = work;
    else calls[group] = { ...(calls[group] as Record<string, () => Promise<unknown>>), [call]: work };
  }
  return calls as unknown as Provider;
}

const callOf = (provider: Provider, name: string): (() => Promise<unknown>) => {
  const [group = '', call] = name.split('.');
  const found = (provider as unknown as Calls)[group];
  return call === undefined
    ? (found as () => Promise<unknown>)
    : ((found as Record<string, () => Promise<unknown>>)[call] as () => Promise<unknown>);
};

test('A held provider makes no call: what would send certainly sends nothing, and a question has no answer', async () => {
  const made: string[] = [];
  const held = heldProvider(providerWith([...sends, ...asks, ...demands], made));
  for (const name of sends) expect(await callOf(held, name)(), name).toMatchObject({ outcome: 'notSent' });
  for (const name of asks) expect(await callOf(held, name)(), name).toMatchObject({ outcome: 'unclear' });
  for (const name of demands) await expect(callOf(held, name)(), name).rejects.toThrow('is held');
  expect(made).toEqual([]);
});

test('A provider that stands behind another work gets no call that it has not', () => {
  const few = withCalls(providerWith(['sendPayout', 'dueCharges.query'], []), (_call, work) => work);
  expect(Object.keys(few).sort()).toEqual(['connection', 'dueCharges', 'sendPayout']);
  expect(Object.keys(few.dueCharges ?? {})).toEqual(['query']);
});
