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
    autoApprove: true,
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
    autoApprove: true,
  };
  sentAs('woovi/payment-without-balance', (await call('POST', '/api/v1/payment', held)).body);
  const prepared = newId();
  const made = await call('POST', '/api/v1/payment', { ...request, correlationID: prepared });
  sentAs('woovi/payment-answer-created', made.body);
  await call('PUT', '/control/behaviour', { overdraft: 'refuse' });
  const approve = () => call('POST', '/api/v1/payment/approve', { correlationID: prepared });
  sentAs('woovi/payment-approve-without-balance', (await approve()).body);
  await call('PUT', '/control/behaviour', { overdraft: 'allow' });
  sentAs('woovi/payment-approve-answer', (await approve()).body);
  expect(await approve()).toMatchObject({ status: 400 });
  sentAs('woovi/account-list', (await call('GET', '/api/v1/account/')).body);
  const look = (pixKey: string) => call('POST', '/api/v1/pix-keys/check', { pixKey });
  sentAs('woovi/look-up-answer', (await look('52998224725')).body);
  const unknown = await look(missing.destinationAlias);
  expect(unknown.status).toBe(404);
  sentAs('woovi/look-up-unknown', unknown.body);
  // 500, less one for the key that was found and twenty for the other.
  expect((await call('GET', '/api/v1/pix-keys/tokens')).body.tokens).toBe(479);
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
  const asked = { ...(foreign('woovi/charge-overdue-request').body as Json), additionalInfo: [] };
  const overdue = await call('POST', '/api/v1/charge', { ...asked, correlationID: newId() });
  const sample = foreign('woovi/charge-overdue-answer') as Json;
  // The OpenAPI document has its due date.
  const dated = { comment: '', fee: 0, ensureSameTaxID: false, dueDate: '2023-03-04T02:59:59.999Z' };
  const shown = { ...sample.body, charge: { ...sample.body.charge, ...dated } };
  expect(differences({ ...sample, body: shown } as never, overdue.body)).toEqual([]);
  const { address: _, ...nowhere } = asked.customer;
  for (const wrong of [
    { customer: nowhere },
    { daysForDueDate: 0 },
    { interests: { value: 1, type: 'FIXED' } },
  ])
    expect(
      await call('POST', '/api/v1/charge', { ...asked, ...wrong, correlationID: newId() }),
    ).toMatchObject({
      status: 400,
    });
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

test('an event about a refund is about that one, also while another is open', async () => {
  const { call } = await woovi();
  const inbox = await startEndpoint();
  for (const event of events) await call('POST', '/api/v1/webhook', { webhook: { event, url: inbox.url } });
  const correlationID = newId();
  await call('POST', '/api/v1/charge', { correlationID, value: 100 });
  await call('POST', `/control/charges/${correlationID}/pay`);
  const { transactions } = (await call('GET', `/api/v1/transaction?charge=${correlationID}`)).body as Json;
  const [first, second] = [newId(), newId()];
  for (const [id, value] of [
    [first, 30],
    [second, 40],
  ] as const)
    await call('POST', '/api/v1/refund', {
      transactionEndToEndId: transactions[0].endToEndId,
      correlationID: id,
      value,
      comment: 'stay-pending@simulator.example',
    });
  await call('POST', `/control/refunds/${first}/complete`);
  const told = () =>
    inbox.deliveries
      .map(({ raw }) => JSON.parse(raw))
      .filter(({ event }) => event === 'PIX_TRANSACTION_REFUND_SENT_CONFIRMED')
      .map(({ refundTransaction }) => refundTransaction.value);
  await until(told, (values) => values.length > 0);
  expect(told()).toEqual([30]);
});

test('what went back is listed without its Pix, and its deliveries are sent again on request; a deleted charge is in no list', async () => {
  const { call } = await woovi();
  const inbox = await startEndpoint();
  for (const event of events) await call('POST', '/api/v1/webhook', { webhook: { event, url: inbox.url } });
  const [paid, removed] = [newId(), newId()];
  for (const correlationID of [paid, removed])
    await call('POST', '/api/v1/charge', { correlationID, value: 100 });
  await call('DELETE', `/api/v1/charge/${removed}`);
  const listed = (await call('GET', '/api/v1/charge')).body.charges.map((one: Json) => one.correlationID);
  expect(listed).toEqual([paid]);
  await call('POST', `/control/charges/${paid}/pay`);
  await call('PUT', '/control/behaviour', { webhook: 'drop' });
  const { body: returned } = await call('POST', `/control/charges/${paid}/return`, { amountCents: 60 });
  const list = (await call('GET', '/api/v1/transaction?type=REFUND')).body.transactions;
  expect(list).toMatchObject([{ type: 'REFUND', value: 60, endToEndId: returned.rtrId }]);
  expect(JSON.stringify(list)).not.toContain(paid);
  await call('PUT', '/control/behaviour', { webhook: 'send' });
  expect((await call('POST', `/control/charges/${paid}/resend`)).status).toBe(200);
  const told = await until(
    () => inbox.deliveries.map(({ raw }) => JSON.parse(raw)).find((one) => one.refundTransaction),
    (one) => one !== undefined,
  );
  expect(told.refundTransaction.endToEndId).toBe(returned.rtrId);
  expect((await call('POST', `/control/payouts/${newId()}/resend`)).status).toBe(404);
});

test('evidence of a dispute: files are stored once, and become part of it', async () => {
  const { url, call } = await woovi();
  const dispute = async (): Promise<string> => {
    const correlationID = newId();
    await call('POST', '/api/v1/charge', { correlationID, value: 100 });
    await call('POST', `/control/charges/${correlationID}/pay`);
    return (await call('POST', `/control/charges/${correlationID}/dispute`)).body.id;
  };
  const upload = async (changes: Record<string, string | Blob> = {}): Promise<Json> => {
    const form = new FormData();
    const image = new Blob([Buffer.from('89504e470d0a1a0a00ff0d0a2d2d', 'hex')], { type: 'image/png' });
    const fields = { file: image, purpose: 'DISPUTE_EVIDENCE', correlationID: 'evidence-1', ...changes };
    for (const [name, value] of Object.entries(fields)) {
      if (typeof value === 'string') form.set(name, value);
      else form.set(name, value, 'evidence.png');
    }
    const init = { method: 'POST', headers: { authorization: appId }, body: form };
    const answer = await fetch(`${url}/woovi/api/v1/files`, init);
    return { status: answer.status, body: await answer.json() };
  };
  const first = await upload();
  expect([first.status, first.body.file.size]).toEqual([201, 14]);
  sentAs('woovi/file-answer', first.body);
  const again = await upload();
  expect([again.status, again.body.file.id]).toEqual([200, first.body.file.id]);
  const refused = await upload({ purpose: 'HOLIDAY' });
  expect(refused.status).toBe(400);
  sentAs('woovi/file-refused', refused.body);
  expect((await upload({ file: new Blob(['<html>'], { type: 'image/png' }) })).status).toBe(415);

  const id = await dispute();
  const { documents } = foreign('woovi/evidence-request').body as Json;
  const given = { documents: [{ ...documents[0], fileId: first.body.file.id }] };
  const evidence = (of: string) => call('POST', `/api/v1/dispute/${of}/evidence`, given);
  sentAs('woovi/evidence-answer', (await evidence(id)).body);
  await evidence(id);
  const state = (await call('GET', '/control/state')).body;
  expect(state.disputes[0].defence.files).toHaveLength(1);
  await call('PUT', '/control/behaviour', { defence: 'refuse' });
  const notAllowed = await evidence(await dispute());
  expect(notAllowed.status).toBe(403);
  sentAs('woovi/evidence-not-allowed', notAllowed.body);
  await call('POST', `/control/disputes/${id}/accept`);
  const late = await evidence(id);
  expect([late.status, late.body]).toEqual([400, foreign('woovi/evidence-refused-ended').body]);
});

test('Charges, payouts and refunds whose client gave UUIDs are shown and steered by them', async () => {
  const { call } = await woovi();
  const [charge, payout, refund] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()];
  await call('PUT', '/control/behaviour', { payout: 'stay-pending', refund: 'stay-pending' });
  await call('POST', '/api/v1/charge', { correlationID: charge, value: 5_000 });
  expect((await call('POST', `/control/charges/${charge}/pay`)).status).toBe(200);
  const asked = { correlationID: refund, value: 500, comment: '' };
  expect((await call('POST', `/api/v1/charge/${charge}/refund`, asked)).body.refund.correlationID).toBe(
    refund,
  );
  expect((await call('POST', `/control/refunds/${refund}/complete`)).status).toBe(200);
  const { refunds } = (await call('GET', '/api/v1/refund')).body;
  expect(refunds).toMatchObject([{ correlationID: refund, status: 'REFUNDED' }]);
  expect((await call('GET', `/api/v1/charge/${charge}/refund`)).body.refunds).toEqual(refunds);
  const to = { destinationAlias: 'fulano@example.com', destinationAliasType: 'EMAIL', autoApprove: true };
  await call('POST', '/api/v1/payment', { ...to, correlationID: payout, value: 1_000 });
  expect((await call('POST', `/control/payouts/${payout}/complete`)).status).toBe(200);
  const state = (await call('GET', `/control/state?txid=${charge}&idEnvio=${payout}`)).body;
  expect(state.charges).toMatchObject([{ txid: charge, status: 'paid' }]);
  expect(state.payouts).toMatchObject([{ idEnvio: payout, status: 'completed' }]);
});

test('An event that is taken off an address is not registered any more, and the others are', async () => {
  const { call } = await woovi();
  const register = async (event: string) =>
    (await call('POST', '/api/v1/webhook', { webhook: { event, url: 'http://127.0.0.1:9/x' } })).body.webhook;
  const [first] = [await register(events[0] ?? ''), await register(events[1] ?? '')];
  expect((await call('DELETE', `/api/v1/webhook/${first.id}`)).status).toBe(200);
  const { webhooks } = (await call('GET', '/api/v1/webhook')).body;
  expect(webhooks).toMatchObject([{ event: events[1] }]);
  expect((await call('DELETE', `/api/v1/webhook/${first.id}`)).status).toBe(400);
});
