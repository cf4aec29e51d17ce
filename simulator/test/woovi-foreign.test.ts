import { expect, test } from 'vitest';
import { differences, foreign } from './foreign.ts';
import { newId, startEndpoint, startProvider, until } from './provider.ts';

/** The Woovi dialect answers and delivers with Woovi's forms: same field names, same types. */

const appId = Buffer.from('client:secret').toString('base64');
const events = [
  'OPENPIX:CHARGE_COMPLETED',
  'OPENPIX:MOVEMENT_CONFIRMED',
  'OPENPIX:MOVEMENT_FAILED',
  'PIX_TRANSACTION_REFUND_RECEIVED_CONFIRMED',
  'PIX_TRANSACTION_REFUND_SENT_CONFIRMED',
  'PIX_TRANSACTION_REFUND_SENT_REJECTED',
];

const sentAs = (name: string, ours: unknown) => expect(differences(foreign(name), ours), name).toEqual([]);

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape are read.
type Json = any;

async function woovi() {
  const { url } = await startProvider();
  const call = async (method: string, path: string, body?: unknown, authorization = appId): Promise<Json> => {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${url}/woovi${path}`, { method, headers: { authorization }, ...init });
    return { status: answer.status, body: await answer.json() };
  };
  return { url, call };
}

test('answers', async () => {
  const { call } = await woovi();
  const request = foreign('woovi/payment-request').body as Json;
  const correlationID = newId();
  const sent = await call('POST', '/api/v1/payment', {
    ...request,
    correlationID,
    destinationAlias: 'stay-pending@simulator.example',
    destinationAliasType: 'EMAIL',
  });
  sentAs('woovi/payment-answer', sent.body);
  sentAs(
    'woovi/payment-duplicate',
    (await call('POST', '/api/v1/payment', { ...request, correlationID })).body,
  );
  await call('POST', `/control/payouts/${correlationID}/complete`);
  sentAs('woovi/payment-confirmed', (await call('GET', `/api/v1/payment/${correlationID}`)).body);
  sentAs('woovi/payment-list', (await call('GET', '/api/v1/payment?skip=0&limit=100')).body);
  const missing = {
    ...request,
    correlationID: newId(),
    destinationAlias: 'pix-key-not-found@simulator.example',
  };
  sentAs('woovi/payment-key-not-found', (await call('POST', '/api/v1/payment', missing)).body);
  const held = {
    ...request,
    correlationID: newId(),
    destinationAlias: 'hold-for-approval@simulator.example',
  };
  sentAs('woovi/payment-without-balance', (await call('POST', '/api/v1/payment', held)).body);
  sentAs('woovi/account-list', (await call('GET', '/api/v1/account/')).body);
  sentAs('woovi/tokens', (await call('GET', '/api/v1/pix-keys/tokens')).body);
  sentAs('woovi/public-keys', (await call('GET', '/api/v1/webhook/public-keys')).body);
  const stranger = await call('GET', '/api/v1/account/', undefined, 'nobody');
  expect(stranger.status).toBe(401);
  sentAs('woovi/app-id-invalid', stranger.body);
  const charge = await call('POST', '/api/v1/charge', { correlationID: newId(), value: 100 });
  const { body: known, ...rest } = foreign('woovi/charge-answer') as Json;
  // Its own page about deliveries shows the fields that this sample lacks.
  const whole = { ...known, charge: { ...known.charge, comment: '', fee: 0, ensureSameTaxID: false } };
  expect(differences({ ...rest, body: whole }, charge.body)).toEqual([]);
});

test('deliveries', async () => {
  const { call } = await woovi();
  const inbox = await startEndpoint();
  for (const event of events) await call('POST', '/api/v1/webhook', { webhook: { event, url: inbox.url } });
  const told = (event: string) =>
    until(
      () => inbox.deliveries.map(({ raw }) => JSON.parse(raw)).find((one) => one.event === event),
      (one) => one !== undefined,
    );
  const correlationID = newId();
  await call('POST', '/api/v1/charge', { correlationID, value: 100 });
  await call('POST', `/control/charges/${correlationID}/pay`);
  sentAs('woovi/delivery-charge-completed', await told('OPENPIX:CHARGE_COMPLETED'));
  const pay = async (destinationAlias: string) => {
    const id = newId();
    const body = {
      value: 100,
      destinationAlias,
      destinationAliasType: 'EMAIL',
      correlationID: id,
      autoApprove: true,
    };
    await call('POST', '/api/v1/payment', body);
    return id;
  };
  const sent = await pay('alguem@exemplo.example');
  sentAs('woovi/delivery-movement-confirmed', await told('OPENPIX:MOVEMENT_CONFIRMED'));
  await pay('refuse-later@simulator.example');
  sentAs('woovi/delivery-movement-failed', await told('OPENPIX:MOVEMENT_FAILED'));
  await call('POST', `/control/payouts/${sent}/return`);
  sentAs('woovi/delivery-refund-received', await told('PIX_TRANSACTION_REFUND_RECEIVED_CONFIRMED'));
  const refund = async (comment: string) => {
    const { transactions } = (await call('GET', `/api/v1/transaction?charge=${correlationID}`)).body as Json;
    const asked = foreign('woovi/refund-request').body as Json;
    const id = newId();
    const transactionEndToEndId = transactions[0].endToEndId;
    const body = { ...asked, transactionEndToEndId, correlationID: id, value: 30, comment };
    sentAs('woovi/refund-answer', (await call('POST', '/api/v1/refund', body)).body);
    return id;
  };
  const given = await refund('Devolução');
  sentAs('woovi/delivery-refund-sent', await told('PIX_TRANSACTION_REFUND_SENT_CONFIRMED'));
  sentAs('woovi/refund', (await call('GET', `/api/v1/refund/${given}`)).body);
  await call('POST', `/control/charges/${correlationID}/dispute`);
  const { body: disputes } = await call('GET', '/api/v1/dispute');
  expect(disputes.disputes).toHaveLength(1);
  sentAs('woovi/dispute-list', disputes);
  await refund('refuse-later@simulator.example');
  sentAs('woovi/delivery-refund-sent-rejected', await told('PIX_TRANSACTION_REFUND_SENT_REJECTED'));
  // One address, no suffix, and a signature on each.
  expect(
    inbox.deliveries.every(
      ({ path, headers }) => path === '/hooks/provider' && headers['x-webhook-signature'],
    ),
  ).toBe(true);
});
