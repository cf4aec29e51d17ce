import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLog } from '../../server/src/ground/log.ts';
import { systemClock } from '../../server/src/ports/clock.ts';
import { createUndiciNet } from '../../server/src/ports/undici-net.ts';
import type { DueTerms } from '../../server/src/provider/due-terms.ts';
import { createEfiProvider } from '../../server/src/provider/efi/efi.ts';
import type { Provider } from '../../server/src/provider/provider.ts';
import { installedPackages } from '../judges.ts';
import { type Recorder, startRecorder } from './recorder.ts';

/**
 * The providers' own clients and schemas judge adapters and simulator: otherwise both could share one wrong picture of a provider, and every test would
 * pass. Nothing in `clients/` is ours, and it is installed when this runs.
 */

let clients: string;

let recorder: Recorder;
let url: string;
const net = createUndiciNet();

beforeAll(async () => {
  clients = await installedPackages(new URL('clients/', import.meta.url));
  recorder = await startRecorder();
  url = recorder.url;
});
afterAll(async () => {
  await net.close();
  await recorder?.stop();
});
beforeEach(() => recorder.forget());

const clientFile = (path: string): string => join(clients, path);

const control = (path: string, body?: object) => recorder.control(path, body);

async function until<T>(find: () => Promise<T>, is: (found: T) => boolean): Promise<T> {
  for (;;) {
    const found = await find();
    if (is(found)) return found;
    await systemClock.sleep(20);
  }
}

const idOf = (letter: string): string => letter.repeat(32);
const window = () => ({ fromMs: Date.now() - 3_600_000, toMs: Date.now() + 60_000 });

// ------------------------------------------------------------------------------------------------------------------------- Efí

/** The schema of Efí's client for each call: of its body, and of its answer. `theirs`: our adapter does not make it. */
const efiSchemas: readonly { call: RegExp; body?: string; answer?: string; theirs?: true }[] = [
  { call: /^PUT \/v2\/cob\/\w+$/, body: 'PixCreateChargeBody', answer: 'PixCreateChargeResponse' },
  {
    call: /^POST \/v2\/cob$/,
    body: 'PixCreateImmediateChargeBody',
    answer: 'PixCreateImmediateChargeResponse',
    theirs: true,
  },
  { call: /^GET \/v2\/webhook\?/, answer: 'PixListWebhookResponse', theirs: true },
  { call: /^GET \/v2\/gn\/config$/, answer: 'ListAccountConfigResponse', theirs: true },
  { call: /^PUT \/v2\/gn\/config$/, body: 'UpdateAccountConfigBody', theirs: true },
  { call: /^POST \/v2\/gn\/webhook\/reenviar$/, body: 'PixResendWebhookBody', theirs: true },
  { call: /^GET \/v2\/cob\/\w+$/, answer: 'PixDetailChargeResponse' },
  { call: /^GET \/v2\/cob\?/, answer: 'PixListChargesResponse' },
  { call: /^PUT \/v2\/cobv\/\w+$/, body: 'PixCreateDueChargeBody', answer: 'PixCreateDueChargeResponse' },
  { call: /^GET \/v2\/cobv\/\w+$/, answer: 'PixDetailDueChargeResponse' },
  { call: /^GET \/v2\/cobv\?/, answer: 'PixListDueChargesResponse' },
  { call: /^GET \/v2\/pix\?/, answer: 'PixListReceivedResponse' },
  { call: /^GET \/v2\/pix\/\w+$/, answer: 'PixDetailReceivedResponse' },
  {
    call: /^PUT \/v2\/pix\/\w+\/devolucao\/\w+$/,
    body: 'PixDevolutionBody',
    answer: 'PixDevolutionResponse',
  },
  { call: /^GET \/v2\/pix\/\w+\/devolucao\/\w+$/, answer: 'PixDetailDevolutionResponse' },
  { call: /^PUT \/v3\/gn\/pix\/\w+$/, body: 'PixSendBody', answer: 'PixSendResponse' },
  { call: /^GET \/v2\/gn\/pix\/enviados\/id-envio\/\w+$/, answer: 'PixSendDetailIdResponse' },
  { call: /^GET \/v2\/gn\/pix\/enviados\/\w+$/, answer: 'PixSendDetailResponse' },
  { call: /^GET \/v2\/gn\/pix\/enviados\?/, answer: 'PixSendListResponse' },
  { call: /^PUT \/v2\/webhook\//, body: 'PixConfigWebhookBody', answer: 'PixConfigWebhookResponse' },
  { call: /^GET \/v2\/webhook\//, answer: 'PixDetailWebhookResponse' },
  { call: /^GET \/v2\/gn\/saldo/, answer: 'GetAccountBalanceResponse' },
  { call: /^GET \/v2\/gn\/chaves\/balde$/, answer: 'PixKeysBucketResponse' },
  { call: /^GET \/v2\/gn\/infracoes\?/, answer: 'MedListResponse' },
  { call: /^POST \/v2\/gn\/infracoes\/[\w-]+\/defesa$/, body: 'MedSubmitDefenseBody' },
  {
    call: /^POST \/v2\/gn\/relatorios\/extrato-conciliacao$/,
    body: 'CreateReportBody',
    answer: 'CreateReportResponse',
  },
];

/**
 * The documentation's samples of sent Pix name their receiver under `favorecido.identificacao` (`contract/provider-bodies/efi/sent.json`); the strict
 * schema of the client does not. The samples go before it.
 */
const withoutReceiver = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value ?? null), (name, member) =>
    name === 'identificacao' ? undefined : member,
  );

interface Schema {
  safeParse(value: unknown): { success: boolean; error?: { issues: { path: unknown[]; message: string }[] } };
}

/** The misfits, a line for each, and the kinds of calls that were judged. */
async function judgedByEfi(): Promise<{ bodies: number; misfits: string[]; judged: Set<string> }> {
  const schemas: Record<string, Schema> = await import(clientFile('sdk-node-apis-efi/dist/esm/types/pix.js'));
  const misfits = new Set<string>();
  const judged = new Set<string>();
  let bodies = 0;
  for (const { method, path, body, status, answer } of recorder.calls()) {
    if (path === '/oauth/token' || status >= 300) continue;
    const known = efiSchemas.find(({ call }) => call.test(`${method} ${path}`));
    if (!known) {
      misfits.add(`${method} ${path}: no schema is named for this call`);
      continue;
    }
    judged.add(known.call.source);
    for (const [part, name, value] of [
      ['body', known.body, body],
      ['answer', known.answer, withoutReceiver(answer)],
    ] as const) {
      if (name === undefined) continue;
      bodies++;
      const { error } = (schemas[`${name}Schema`] as Schema).safeParse(value);
      for (const issue of error?.issues ?? [])
        misfits.add(
          `${name} ${part} ${issue.path.map((one) => (typeof one === 'number' ? '[]' : one)).join('.')}: ${issue.message}`,
        );
    }
  }
  return { bodies, misfits: [...misfits].sort(), judged };
}

/** A day of a merchant: received, given back, paid out, come back, contested. */
async function dayAtEfi(provider: Provider): Promise<void> {
  const [txid, sent] = [idOf('a'), idOf('b')];
  await provider.registerWebhook(`${recorder.simulatorUrl}/nowhere`);
  const charge = {
    txid,
    amountCents: 12_345,
    payerName: 'João',
    description: 'Pedido nº 1',
    expirySeconds: 3600,
  };
  expect(await provider.createCharge(charge)).toMatchObject({ outcome: 'accepted' });
  const { endToEnd = '' } = await control(`/control/charges/${txid}/pay`);
  const refund = { endToEnd, providerId: idOf('c'), amountCents: 345, description: 'Devolução' };
  expect(await provider.sendRefund(refund)).toMatchObject({ outcome: 'accepted' });
  await until(
    () => provider.queryRefund(endToEnd, refund.providerId),
    (one) => one.outcome === 'found' && one.report.status === 'completed',
  );
  const payout = {
    providerId: sent,
    amountCents: 975,
    pixKey: 'fulano@example.com',
    pixKeyType: 'EMAIL',
  } as const;
  expect(await provider.sendPayout({ ...payout, description: 'Saque' })).toMatchObject({
    outcome: 'accepted',
  });
  await until(
    () => provider.queryPayout(sent),
    (one) => one.outcome === 'found' && one.report.status === 'completed',
  );
  await control(`/control/payouts/${sent}/return`, { amountCents: 100 });
  const back = await provider.queryPayout(sent);
  expect(back).toMatchObject({ report: { returns: [{ amountCents: 100, status: 'settled' }] } });
  const { id } = await control(`/control/charges/${txid}/dispute`, { amountCents: 1_234 });
  expect(await provider.disputes?.list(window())).toMatchObject({
    reports: [{ providerId: id, amountCents: 1_234, status: 'open' }],
  });
  const defence = { disputeId: id ?? '', text: 'O pedido foi entregue.', files: [] };
  expect(await provider.disputes?.defend?.(defence)).toMatchObject({ outcome: 'accepted' });
  expect(await provider.queryCharge(txid)).toMatchObject({ report: { status: 'paid' } });
  for (const list of [provider.listCharges, provider.listPayouts, provider.statement])
    expect(await list(window())).toMatchObject({ outcome: 'listed', complete: true, unread: [] });
  for (const pix of [endToEnd, back.outcome === 'found' ? (back.report.endToEnd ?? '') : ''])
    expect(await provider.findPix(pix)).toMatchObject({ outcome: 'found' });
  await dueChargeAtEfi(provider);
  await provider.balance();
  await provider.diagnose({ webhookUrl: `${recorder.simulatorUrl}/nowhere` });
  const yesterday = new Date(Date.now() - 2 * 86_400_000).toISOString().slice(0, 10);
  expect(await provider.requestDayReport(yesterday)).toMatchObject({ outcome: 'requested' });
}

async function dueChargeAtEfi({ dueCharges }: Provider): Promise<void> {
  const [txid, day] = [idOf('f'), (days: number) => new Date(Date.now() + days * 86_400_000)];
  const dayText = (days: number) => day(days).toISOString().slice(0, 10);
  const address = { street: 'Rua A, 1', city: 'Recife', state: 'PE', postalCode: '50030000' };
  const terms: DueTerms = {
    dueDate: dayText(10),
    validAfterDue: 30,
    rebate: { type: 'fixed', value: 100 },
    fine: { type: 'percent', value: 200 },
    discounts: [{ until: dayText(8), type: 'fixed', value: 50 }],
    interest: { type: 'percent_month', value: 100, days: 'calendar' },
  };
  const payer = { name: 'Maria', document: '11144477735', email: 'maria@example.com', address };
  const asked = { txid, amountCents: 10_000, terms, payer, description: 'Mensalidade' };
  expect(await dueCharges?.create(asked)).toMatchObject({ outcome: 'accepted' });
  await control(`/control/charges/${txid}/pay`, { on: dayText(20) });
  expect(await dueCharges?.query(txid)).toMatchObject({ report: { status: 'paid' } });
  expect(await dueCharges?.list?.(window())).toMatchObject({ outcome: 'listed', complete: true, unread: [] });
}

describe('Efí', () => {
  test('Every body of the adapter and every answer of the simulator fits the schemas of Efí’s own client', async () => {
    const provider = createEfiProvider({
      ...{ connection: 'foreign', test: true, baseUrl: url, clientId: 'vintem', clientSecret: 'a secret' },
      ...{ pixKey: 'recebedor@vintem.example', webhook: { trust: 'signed', secret: 'a secret' } },
      ...{ net, clock: systemClock, log: createLog('silent') },
    });
    await dayAtEfi(provider);
    const { bodies, misfits, judged } = await judgedByEfi();
    console.log(`Efí: ${bodies} bodies compared, misfits ${misfits.length}`);
    expect(misfits).toEqual([]);
    expect(efiSchemas.filter(({ call, theirs }) => !theirs && !judged.has(call.source))).toEqual([]);
  });

  test('Efí’s own client runs a day of a merchant against the simulator', async () => {
    const { default: EfiPay } = await import(clientFile('sdk-node-apis-efi/dist/esm/index.js'));
    const { endpoints } = await import(clientFile('sdk-node-apis-efi/dist/esm/constants/endpoints.js'));
    // It has no setting for the address.
    endpoints.APIS.PIX.URL.SANDBOX = url;
    const certificate = { certificate: 'AAAA', cert_base64: true };
    const efi = new EfiPay({
      sandbox: true,
      client_id: 'cliente',
      client_secret: 'um segredo',
      ...certificate,
    });
    const [txid, idEnvio] = [idOf('d'), idOf('e')];
    const chave = 'cliente@loja.example';
    const cob = { calendario: { expiracao: 3600 }, valor: { original: '50.00' }, chave };
    expect(await efi.pixCreateCharge({ txid }, cob)).toMatchObject({ status: 'ATIVA' });
    const { endToEnd: e2eId } = await control(`/control/charges/${txid}/pay`);
    expect(await efi.pixDetailCharge({ txid })).toMatchObject({ status: 'CONCLUIDA' });
    expect(await efi.pixDevolution({ e2eId, id: 'dev1' }, { valor: '5.00' })).toMatchObject({
      status: 'EM_PROCESSAMENTO',
    });
    const send = { valor: '9.75', pagador: { chave }, favorecido: { chave: 'fulano@example.com' } };
    expect(await efi.pixSend({ idEnvio }, send)).toMatchObject({ status: 'EM_PROCESSAMENTO' });
    await until(
      () => efi.pixSendDetailId({ idEnvio }) as Promise<{ status: string }>,
      ({ status }) => status === 'REALIZADO',
    );
    const inicio = new Date(window().fromMs).toISOString();
    const fim = new Date(window().toMs).toISOString();
    expect((await efi.pixReceivedList({ inicio, fim })).pix).toHaveLength(1);
    expect((await efi.pixSendList({ inicio, fim })).pix).toHaveLength(1);
    await control(`/control/charges/${txid}/dispute`);
    const [infracao] = (await efi.medList({ inicio, fim })).infracoes;
    expect(infracao).toMatchObject({ valor: 50, status: 'ABERTA' });
    expect(await efi.getAccountBalance({ bloqueios: true })).toMatchObject({ saldo: expect.any(String) });
    // The provider chooses the id of this one; its documentation begins with it.
    const devedor = { cpf: '11144477735', nome: 'Maria' };
    expect((await efi.pixCreateImmediateCharge({}, { ...cob, devedor })).txid).toMatch(/^\w{26,35}$/);
    const received = { txidObrigatorio: false, qrCodeEstatico: { recusarTodos: false } };
    const pix = { receberSemChave: true, chaves: { [chave]: { recebimento: received } } };
    await efi.updateAccountConfig({}, { pix });
    expect(await efi.listAccountConfig({})).toEqual({ pix });
    await efi.pixConfigWebhook({ chave }, { webhookUrl: `${recorder.simulatorUrl}/nowhere` });
    expect((await efi.pixListWebhook({ inicio, fim })).webhooks).toMatchObject([{ chave }]);
    await efi.pixResendWebhook({}, { tipo: 'PIX_RECEBIDO', e2eids: [e2eId] });
    expect(recorder.calls().filter(({ status }) => status >= 400)).toEqual([]);
    expect((await judgedByEfi()).misfits).toEqual([]);
  });
});

// ----------------------------------------------------------------------------------------------------------------------- Woovi

test('Woovi’s own client runs a day of a merchant against the simulator', async () => {
  const { createClient } = await import(clientFile('@woovi/node-sdk/dist/index.mjs'));
  const appId = Buffer.from('loja:um segredo').toString('base64');
  const woovi = createClient({ appId, baseUrl: `${url}/woovi` });
  // As Woovi advises: a UUID.
  const [correlationID, payment, refund] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()];
  const customer = {
    name: 'Maria Silva',
    taxID: '52998224725',
    email: 'maria@loja.example',
    phone: '+5511999999999',
  };
  const { charge } = await woovi.charge.create({ correlationID, value: 5_000, customer });
  expect(charge).toMatchObject({ correlationID, status: 'ACTIVE', value: 5_000 });
  const { endToEnd } = await control(`/woovi/control/charges/${correlationID}/pay`);
  expect((await woovi.charge.get({ id: correlationID })).charge.status).toBe('COMPLETED');
  expect((await woovi.transactions.get({ id: endToEnd })).transaction).toMatchObject({ value: 5_000 });
  const given = { value: 500, transactionEndToEndId: endToEnd, correlationID: refund };
  expect((await woovi.refund.create(given)).refund).toMatchObject({ correlationID: refund });
  expect((await woovi.refund.get({ id: refund })).pixTransactionRefund).toMatchObject({ value: 500 });
  const ofCharge = { chargeId: correlationID, value: 100, correlationID: crypto.randomUUID() };
  expect((await woovi.chargeRefund.create(ofCharge)).refund).toMatchObject({ value: 100 });
  expect((await woovi.chargeRefund.list({ chargeId: correlationID })).refunds).toHaveLength(2);
  const key = { destinationAlias: 'fulano@example.com', destinationAliasType: 'EMAIL' };
  const made = await woovi.payment.create({ ...key, value: 1_000, correlationID: payment });
  expect(made.payment).toMatchObject({ correlationID: payment, status: 'CREATED' });
  expect((await woovi.payment.approve({ correlationID: payment })).payment.status).toMatch(
    /^(APPROVED|CONFIRMED)$/,
  );
  await until(
    () => woovi.payment.get({ id: payment }) as Promise<{ payment: { status: string } }>,
    (one) => one.payment.status === 'CONFIRMED',
  );
  const [account] = (await woovi.account.list()).accounts;
  expect(account.balance.total).toBe(5_000 - 500 - 100 - 1_000);
  for (const list of [woovi.charge, woovi.payment, woovi.transactions, woovi.refund, woovi.pixQrCode])
    expect((await list.list()).pageInfo).toMatchObject({ skip: 0, totalCount: expect.any(Number) });
  const webhook = {
    name: 'loja',
    event: 'OPENPIX:CHARGE_COMPLETED',
    url: `${recorder.simulatorUrl}/nowhere`,
    isActive: true,
  };
  const registered = (await woovi.webhook.create({ webhook })).webhook;
  expect(registered).toMatchObject({ event: webhook.event, createdAt: expect.any(String) });
  await woovi.webhook.delete({ id: registered.id });
  expect((await woovi.webhook.list()).webhooks).toEqual([]);
  await expect(woovi.subscription.get({ id: 'x' })).rejects.toMatchObject({ error: expect.any(String) });
  expect(recorder.calls().filter(({ status }) => status >= 500)).toEqual([]);
});
