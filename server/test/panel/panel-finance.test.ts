import { newPerson, openTab, type Tab } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKey } from '../../src/api/keys/keys.ts';

/** The pages of people in finance: who was paid, who decided, and files in their language. */

let service: Service;
let merchant: Merchant;
let finance: Tab;
let viewer: Tab;

const cpf = '52998224725';

beforeAll(async () => {
  service = await openService();
  merchant = await service.newMerchant();
  await merchant.receive(50_000);
  await newPerson(service, merchant.ownerId, 'bia@padaria.example', 'finance');
  await newPerson(service, merchant.ownerId, 'leo@padaria.example', 'viewer');
  finance = openTab(service);
  await finance.signIn('bia@padaria.example');
  viewer = openTab(service);
  await viewer.signIn('leo@padaria.example');
});
afterAll(() => service?.close());

const account = (tab: Tab, path: string, headers: Record<string, string> = {}) =>
  tab.call('GET', `/accounts/${merchant.ownerId}${path}`, undefined, headers);
const pt = { 'accept-language': 'pt-BR' };

async function completed(fields: object = {}): Promise<string> {
  const { body } = await merchant.transfer(fields);
  await until(async () => (await merchant.call('GET', `/payments/${body.id}`)).body.status === 'completed');
  return body.id;
}

describe('the history of a payment says who caused each state', () => {
  test('an API key by its name, and the provider', async () => {
    const id = await completed();
    const { history } = (await account(finance, `/records/${id}`)).body;
    const [key] = (await account(finance, '/keys')).body.keys;
    expect(history[0].cause).toMatchObject({ by: 'api', actor: 'key', name: key.name });
    expect(history.at(-1).cause).toMatchObject({ actor: null, name: null });
    expect(['answer', 'webhook', 'query']).toContain(history.at(-1).cause.by);
  });

  test('a rule of the service, where nothing was sent', async () => {
    const { body } = await merchant.transfer({ pixKey: '52998224724', pixKeyType: 'CPF' });
    expect(body.code).toBe('pix_key_not_found');
    const { history } = (await account(finance, `/records/${body.paymentId}`)).body;
    expect(
      history.map(({ status, cause }: { status: string; cause: { by: string } }) => [status, cause.by]),
    ).toEqual([
      ['unknown', 'api'],
      ['cancelled', 'rule'],
    ]);
    expect(history[1].cause.actor).toBe('key');
  });

  test('the provider, when it refused', async () => {
    await service.simulator.behave({ payout: 'refuse-in-answer' });
    const { body } = await merchant.transfer();
    await service.simulator.behave({});
    const { history } = (await account(finance, `/records/${body.paymentId}`)).body;
    expect(history.at(-1)).toMatchObject({ status: 'cancelled', cause: { by: 'answer' } });
  });

  test('a person by name, in the panel', async () => {
    const draft = await finance.call('POST', `/accounts/${merchant.ownerId}/drafts`, {
      amountCents: 1_000,
      pixKey: 'maria@loja.example',
      pixKeyType: 'EMAIL',
      description: '',
      requestKey: crypto.randomUUID(),
    });
    expect(draft.status).toBe(201);
    await finance.call('POST', `/accounts/${merchant.ownerId}/drafts/${draft.body.id}/cancel`, {});
    const { history } = (await account(finance, `/records/${draft.body.id}`)).body;
    for (const step of history)
      expect(step.cause).toMatchObject({ by: 'api', actor: 'person', name: 'Ana Prado' });
  });
});

describe("the receiver's key", () => {
  test('stands in lists, whole for who moves money and masked for the others', async () => {
    const id = await completed({ pixKey: cpf, pixKeyType: 'CPF', description: 'Farinha' });
    const of = async (tab: Tab) =>
      (await account(tab, '/records?kind=transfer')).body.records.find((one: { id: string }) => one.id === id)
        .pixKey;
    expect([await of(finance), await of(viewer)]).toEqual([cpf, '***4725']);
    const detail = (tab: Tab) => account(tab, `/records/${id}`).then(({ body }) => body.record.pixKey);
    expect([await detail(finance), await detail(viewer)]).toEqual([cpf, '***4725']);
  });

  test.each(['529.982.247-25', cpf])('is searched for as people write it: %s', async (typed) => {
    const search = encodeURIComponent(typed);
    const { records, searchedTo } = (await account(finance, `/records?kind=transfer&search=${search}`)).body;
    expect(records.map((one: { pixKey: string }) => one.pixKey)).toEqual([cpf]);
    expect(searchedTo).toBeNull();
    // A masked key must not be guessed by searching.
    expect((await account(viewer, `/records?kind=transfer&search=${search}`)).body.records).toEqual([]);
  });

  test('a pair of the merchant is found by its value and stands in the file', async () => {
    const { body } = await merchant.charge({ metadata: { orderId: 'Pedido-77' } });
    const { records } = (await account(viewer, '/records?search=pedido-77')).body;
    expect(records.map((one: { id: string }) => one.id)).toEqual([body.id]);
    const file = await account(finance, '/records.csv?language=en&search=pedido-77');
    expect(file.body).toContain('{""orderId"":""Pedido-77""}');
  });

  test('A fiscal document is found by its key and stands in the file', async () => {
    const key = '35261112ABCD78000195550010000010421123456780';
    const { body } = await merchant.charge({ fiscalDocuments: [{ kind: 'nfe', key }] });
    const { records } = (await account(viewer, `/records?search=${key.toLowerCase()}`)).body;
    expect(records).toMatchObject([{ id: body.id, fiscalDocuments: [{ kind: 'nfe', key }] }]);
    const file = await account(finance, `/records.csv?language=pt-BR&search=${key}`);
    expect(file.body).toContain(`nfe:${key}`);
  });

  test('the journal names payer or receiver and description on each line', async () => {
    const { lines } = (await account(finance, `/journal?operationId=${merchant.operationId}&limit=100`)).body;
    const paid = lines.filter((line: { payment: { pixKey: string } }) => line.payment.pixKey === cpf);
    expect(paid.map((line: { template: string }) => line.template)).toEqual(['complete', 'reserve']);
    expect(paid[0].payment.description).toBe('Farinha');
    expect(lines.at(-1).payment).toMatchObject({ kind: 'deposit', payerName: 'Maria', pixKey: null });
  });

  test('a payment to be confirmed is named at home and in the reconciliation', async () => {
    await service.simulator.behave({ payout: 'lose-answer', webhook: 'drop', query: 'error-500' });
    const { body } = await merchant.transfer({ pixKey: cpf, pixKeyType: 'CPF', description: 'Frete' });
    for (const path of ['/overview', '/reconciliation']) {
      const { unknown } = (await account(finance, path)).body;
      const one = unknown.find((row: { id: string }) => row.id === body.id);
      expect(one.payment, path).toMatchObject({ kind: 'transfer', pixKey: cpf, description: 'Frete' });
    }
    await service.simulator.behave({});
    await service.database.admin('DELETE FROM breaker');
  });
});

describe('files', () => {
  const cells = (text: string, header: string): string[] => {
    const [head = '', ...rows] = text.replace('\ufeff', '').trimEnd().split('\r\n');
    const at = head.split(/[;,]/).indexOf(header);
    expect(at, `${header} in ${head}`).toBeGreaterThanOrEqual(0);
    return rows.map((row) => row.split(';')[at] ?? '');
  };

  test('in Portuguese have Portuguese headers, words, the time of Brasília and Brazilian numbers', async () => {
    const { body } = await account(finance, '/records.csv?kind=transfer', pt);
    expect(cells(body, 'Situação')).toContain('Concluída');
    expect(cells(body, 'Chave do recebedor')).toContain(cpf);
    expect(cells(body, 'Tipo da chave')).toContain('CPF');
    for (const at of cells(body, 'Criado em')) expect(at).toMatch(/^\d{2}\/\d{2}\/\d{4} \d{2}:\d{2}:\d{2}$/);
    for (const amount of cells(body, 'Valor (R$)')) expect(amount).toMatch(/^\d+,\d{2}$/);
    // Of what was refused: no fee, no net, and the reason in words.
    const refused = cells(body, 'Motivo').indexOf('Chave Pix não existe');
    expect(refused).toBeGreaterThanOrEqual(0);
    expect([cells(body, 'Tarifa (R$)')[refused], cells(body, 'Líquido (R$)')[refused]]).toEqual(['', '']);
    expect(body).not.toMatch(/completed|cancelled|pix_key_not_found/);
  });

  test('the panel names the language: a browser of another one changes nothing', async () => {
    const { body } = await account(
      finance,
      `/journal.csv?language=en&operationId=${merchant.operationId}`,
      pt,
    );
    expect(body).toMatch(/^seq,postedAt,kind,payer,receiver,receiverKey,/);
    expect(body).toContain(',complete,,,52998224725,CPF,Farinha,');
  });

  test('keys in a file are masked for viewers', async () => {
    expect((await account(viewer, '/records.csv?kind=transfer', pt)).body).not.toContain(cpf);
  });

  test('charges and transfers have names with account, kind and period', async () => {
    const nameOf = async (query: string) =>
      /filename="([^"]+)"/.exec(
        (await account(finance, `/records.csv?${query}`, pt)).headers.get('content-disposition') ?? '',
      )?.[1];
    const from = '2026-11-01T03:00:00.000Z';
    const to = '2026-11-11T03:00:00.000Z';
    expect(await nameOf(`kind=deposit&from=${from}&to=${to}`)).toMatch(
      /-cobrancas-2026-11-01-a-2026-11-10\.csv$/,
    );
    expect(await nameOf('kind=transfer')).toMatch(/-transferencias-ate-\d{4}-\d{2}-\d{2}\.csv$/);
  });
});

describe('the statement', () => {
  interface Line {
    kind: string;
    amountCents: number;
    balanceCents: number;
    payment: { payerName: string | null; pixKey: string | null; description: string };
  }
  const ofOperation = () => `operationId=${merchant.operationId}`;
  const today = new Intl.DateTimeFormat('sv-SE', { timeZone: 'America/Sao_Paulo' });
  /** A day on each side: the test may run across midnight. */
  const period = () =>
    `from=${today.format(Date.now() - 86_400_000)}&to=${today.format(Date.now() + 86_400_000)}`;
  const page = async (below?: number) => {
    const from = below === undefined ? '' : `&below=${below}`;
    return (await account(finance, `/statement?${ofOperation()}&${period()}&limit=3${from}`)).body;
  };
  const whole = async () => {
    const first = await page();
    const lines: Line[] = [...first.lines];
    for (let below = first.nextBelow; below !== null; ) {
      const next = await page(below);
      lines.push(...next.lines);
      below = next.nextBelow;
    }
    return { ...first, lines };
  };

  test('has one line for a transfer and one for its fee, the newest first, and sums up', async () => {
    const id = await completed({ amountCents: 2_000, description: 'Aluguel' });
    const { lines, totals, openingBalanceCents, closingBalanceCents } = await whole();
    const ofTransfer = lines.filter((line: { paymentId: string }) => line.paymentId === id);
    const { feeCents } = (await merchant.call('GET', `/payments/${id}`)).body;
    expect(ofTransfer.map(({ kind, amountCents }: Line) => [kind, amountCents])).toEqual(
      [
        ['transfer_fee', -feeCents],
        ['transfer', feeCents - 2_000],
      ].filter(([, amount]) => amount !== 0),
    );
    expect(lines.at(-1)).toMatchObject({ kind: 'charge', payment: { payerName: 'Maria' } });
    expect(lines[0].balanceCents).toBe(closingBalanceCents);
    expect(openingBalanceCents).toBe(0);
    const { inCents, outCents, feeCents: fees, refundCents, holdCents } = totals;
    expect(inCents - outCents - fees - refundCents - holdCents).toBe(
      closingBalanceCents - openingBalanceCents,
    );
    const sumOf = (...kinds: string[]) =>
      lines.reduce(
        (sum: number, { kind, amountCents }: Line) => sum + (kinds.includes(kind) ? amountCents : 0),
        0,
      );
    expect(inCents).toBe(sumOf('charge'));
    expect(fees).toBe(0 - sumOf('charge_fee', 'transfer_fee', 'transfer_fee_cancelled'));
    expect(outCents).toBe(0 - sumOf('transfer', 'transfer_cancelled'));
    const { balanceCents } = (await merchant.call('GET', '/account')).body;
    expect(closingBalanceCents).toBe(balanceCents);
  });

  test('is a CSV, an OFX and a PDF file with the same sum, the receiver and a name', async () => {
    const { lines, closingBalanceCents } = await whole();
    const file = (ending: string) =>
      account(finance, `/statement.${ending}?${ofOperation()}&${period()}&language=pt-BR`);
    const csv = await file('csv');
    expect(csv.headers.get('content-disposition')).toMatch(
      /-extrato-\d{4}-\d{2}-\d{2}-a-\d{4}-\d{2}-\d{2}\.csv"$/,
    );
    expect(csv.body).toMatch(/^\ufeff?Data;Lançamento;Pagador ou recebedor;Descrição;Valor \(R\$\);Saldo/);
    expect(csv.body).toContain(';Pix enviado;529.982.247-25;Farinha;');
    expect(csv.body).toContain(';Pix recebido;Maria;');
    const centsOf = (text: string) => Number(text.replace(/[.,]/, ''));
    const rows = csv.body.trimEnd().split('\r\n').slice(1);
    expect(rows.length).toBe(lines.length);
    const sum = (cents: number[]) => cents.reduce((total, one) => total + one, 0);
    expect(sum(rows.map((row: string) => centsOf(row.split(';').at(-6) ?? '')))).toBe(closingBalanceCents);
    const ofx = await file('ofx');
    expect(sum([...ofx.body.matchAll(/<TRNAMT>(.*)\r/g)].map(([, one]) => centsOf(one)))).toBe(
      closingBalanceCents,
    );
    expect(ofx.body).toMatch(/<NAME>529.982.247-25\r\n<MEMO>Pix enviado - 529.982.247-25 - Farinha/);
    const pdf = await file('pdf');
    expect(pdf.body.slice(0, 5)).toBe('%PDF-');
    expect(pdf.headers.get('content-disposition')).toMatch(/\.pdf"$/);
  });

  test('masks the receiver for viewers, and shows no other account anything', async () => {
    const { body } = await account(viewer, `/statement.csv?${ofOperation()}&${period()}&language=pt-BR`);
    expect(body).toContain('***4725');
    expect(body).not.toContain('529.982.247-25');
    const other = await service.newMerchant();
    for (const path of ['/statement', '/statement.csv', '/statement.ofx', '/statement.pdf', '/journal'])
      expect((await account(finance, `${path}?operationId=${other.operationId}`)).status, path).toBe(404);
  });

  test('refuses what is no day', async () => {
    const { status, body } = await account(finance, `/statement?${ofOperation()}&from=2026-02-30`);
    expect([status, body.code]).toEqual([400, 'validation_failed']);
  });
});

describe('what a new account and its developers look for', () => {
  test('home ticks off the first steps, and says why an amount is held', async () => {
    const fresh = await service.newMerchant();
    await newPerson(service, fresh.ownerId, 'rui@feira.example', 'owner');
    const tab = openTab(service);
    await tab.signIn('rui@feira.example');
    const home = async () => (await tab.call('GET', `/accounts/${fresh.ownerId}/overview`)).body;
    expect((await home()).firstSteps).toEqual({ key: true, webhook: false, charge: false, transfer: false });
    await fresh.receive(5_000);
    expect((await home()).firstSteps).toMatchObject({ charge: true, transfer: false });
    await service.database.admin(
      `INSERT INTO hold (account_id, id, operation_id, wanted_cents, reason, placed_by, placed_at)
        VALUES ($1, gen_random_uuid(), $2, 700, 'Ordem judicial 12', 'op', now())`,
      [fresh.ownerId, fresh.operationId],
    );
    expect((await home()).holds).toMatchObject([{ wantedCents: 700, reason: 'Ordem judicial 12' }]);
    await service.database.admin('UPDATE hold SET released_at = now() WHERE account_id = $1', [
      fresh.ownerId,
    ]);
    await service.database.admin('UPDATE balance SET seq = seq + 1000 WHERE account_id = $1', [
      fresh.ownerId,
    ]);
    expect((await home()).firstSteps).toBeNull();
  });

  test('home names keys that end within two weeks, to people who manage keys', async () => {
    const shop = await service.newMerchant();
    await newPerson(service, shop.ownerId, 'edu@feira.example', 'developer');
    await newPerson(service, shop.ownerId, 'nina@feira.example', 'viewer');
    for (const [name, expiresInDays] of [
      ['ERP', 10],
      ['Loja', 40],
    ] as const)
      await createKey(service.cellOf(shop), {
        ...{ accountId: shop.ownerId, name, permissions: ['read'], expiresInDays },
      });
    const named = async (email: string) => {
      const tab = openTab(service);
      await tab.signIn(email);
      const { endingKeys } = (await tab.call('GET', `/accounts/${shop.ownerId}/overview`)).body;
      return endingKeys.map((key: { name: string }) => key.name);
    };
    expect(await named('edu@feira.example')).toEqual(['ERP']);
    expect(await named('nina@feira.example')).toEqual([]);
  });

  test('a request is found by its id, and by its day', async () => {
    const found = async (query: string): Promise<string[]> =>
      (await account(finance, `/requests?${query}`)).body.requests.map(
        (one: { requestId: string }) => one.requestId,
      );
    // The log keeps a few of a second, and the tests before this one may have asked for as many: one of these is kept.
    const asked: string[] = [];
    let id = '';
    await until(async () => {
      const { headers } = await merchant.call('GET', '/account');
      asked.push(headers.get('x-request-id') ?? '');
      id = (await found('')).find((one) => asked.includes(one)) ?? '';
      return id !== '';
    });
    expect(await found(`requestId=${id}`)).toEqual([id]);
    expect(await found(`requestId=${id}&to=2020-01-01`)).toEqual([]);
    expect(await found(`requestId=${id}&from=2020-01-01`)).toEqual([id]);
    expect(await found('requestId=unknown')).toEqual([]);
  });
});

describe('a refund in the panel', () => {
  const paid = async (amountCents: number): Promise<string> => {
    const { body } = await merchant.charge({ amountCents });
    await service.simulator.control('POST', `/control/charges/${body.id}/pay`);
    await until(async () => (await merchant.call('GET', `/payments/${body.id}`)).body.status === 'paid');
    return body.id;
  };
  const ask = (tab: Tab, id: string, fields: object = {}) =>
    tab.call('POST', `/accounts/${merchant.ownerId}/records/${id}/refunds`, {
      requestKey: crypto.randomUUID(),
      ...fields,
    });
  const refunds = async (tab: Tab, id: string) => (await account(tab, `/records/${id}/refunds`)).body;
  const completedRefund = async (id: string) => {
    await until(async () => (await refunds(finance, id)).refunds[0]?.status === 'completed');
    return (await refunds(finance, id)).refunds[0];
  };

  test('gives part of a charge back, says by whom and what is left, and is recorded', async () => {
    const id = await paid(3_000);
    expect(await refunds(finance, id)).toMatchObject({ refunds: [], leftCents: 3_000, closed: null });
    const { status, body } = await ask(finance, id, { amountCents: 1_000, description: 'Pão a menos' });
    expect([status, body.leftCents, body.refunds.length]).toEqual([201, 2_000, 1]);
    const refund = await completedRefund(id);
    expect(refund).toMatchObject({ amountCents: 1_000, description: 'Pão a menos' });
    expect(refund.madeBy).toMatchObject({ by: 'api', actor: 'person', name: 'Ana Prado' });
    const { lines } = (await account(finance, `/records/${id}`)).body;
    expect(lines.map((line: { template: string }) => line.template)).toEqual([
      'credit',
      'refundReserve',
      'refundComplete',
    ]);
    const recorded = await service.database.admin<{ detail: object }>(
      "SELECT detail FROM security_event WHERE kind = 'refund.created'",
    );
    expect(recorded.map(({ detail }) => detail)).toContainEqual({ paymentId: id, refundId: refund.id });
    await ask(finance, id);
    expect(await refunds(finance, id)).toMatchObject({ leftCents: 0, closed: 'nothing_left' });
    expect((await ask(finance, id)).body.code).toBe('refund_exceeds');
  });

  test('asked for again with its key is the same refund, recorded once', async () => {
    const id = await paid(2_000);
    const asked = { amountCents: 500, requestKey: crypto.randomUUID() };
    const first = await ask(finance, id, asked);
    const again = await ask(finance, id, asked);
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body.refunds.length).toBe(1);
    const [recorded] = await service.database.admin<{ count: number }>(
      `SELECT count(*) FROM security_event WHERE kind = 'refund.created' AND detail->>'paymentId' = '${id}'`,
    );
    expect(Number(recorded?.count)).toBe(1);
  });

  test('is named by payer and charge in the journal and on the statement', async () => {
    const id = await paid(2_000);
    const { body } = await ask(finance, id, { amountCents: 700 });
    const { lines } = (await account(finance, `/journal?operationId=${merchant.operationId}&limit=20`)).body;
    const reserve = lines.find((line: { template: string }) => line.template === 'refundReserve');
    expect(reserve).toMatchObject({ paymentId: id, payment: { kind: 'deposit', payerName: 'Maria' } });
    const statement = (await account(finance, `/statement?operationId=${merchant.operationId}`)).body.lines;
    const line = statement.find((one: { kind: string }) => one.kind === 'refund');
    expect(line).toMatchObject({ amountCents: -700, paymentId: id, payment: { payerName: 'Maria' } });
    expect(body.refunds[0].paymentId).toBe(id);
  });

  test('has a receipt once it is completed, and none before or elsewhere', async () => {
    const id = await paid(2_000);
    await ask(finance, id, { amountCents: 900 });
    const refund = await completedRefund(id);
    const receipt = (tab: Tab, payment: string, of: string) =>
      account(tab, `/records/${payment}/refunds/${of}/receipt.pdf`);
    const file = await receipt(viewer, id, refund.id);
    expect([file.status, file.headers.get('content-type')]).toEqual([200, 'application/pdf']);
    const other = await paid(1_000);
    expect((await receipt(viewer, other, refund.id)).body.code).toBe('refund_not_found');
    await service.simulator.behave({ refund: 'stay-pending' });
    const { body } = await ask(finance, other, { amountCents: 100 });
    await service.simulator.behave({});
    expect((await receipt(viewer, other, body.refunds[0].id)).body.code).toBe('receipt_not_yet');
  });

  test("is for owners, administrators and finance, and not of a charge that is open or a stranger's", async () => {
    const id = await paid(2_000);
    expect((await ask(viewer, id)).body.code).toBe('role_denied');
    const { body } = await merchant.charge();
    expect(await refunds(viewer, body.id)).toMatchObject({
      leftCents: 0,
      closed: 'not_received',
      until: null,
    });
    expect((await ask(finance, body.id)).body.code).toBe('payment_not_refundable');
    const stranger = await service.newMerchant();
    const foreign = (await stranger.charge()).body.id;
    expect((await ask(finance, foreign)).body.code).toBe('payment_not_found');
    expect((await account(finance, `/records/${foreign}/refunds`)).body.code).toBe('payment_not_found');
    expect((await refunds(finance, id)).refunds).toEqual([]);
  });
});

test('a list and its file begin with the oldest when asked, page by page, and a cursor holds for its order', async () => {
  type Page = { records: { id: string; createdAt: string }[]; nextCursor: string | null };
  const all = async (query: string): Promise<string[]> => {
    const found: string[] = [];
    let cursor = '';
    do {
      const page: Page = (await account(viewer, `/records?limit=2&${query}${cursor}`)).body;
      found.push(...page.records.map(({ id }) => id));
      cursor = page.nextCursor === null ? '' : `&cursor=${page.nextCursor}`;
    } while (cursor !== '');
    return found;
  };
  for (const filter of ['', 'kind=transfer&', 'status=paid,completed&']) {
    const newest = await all(filter);
    expect(newest.length).toBeGreaterThan(2);
    expect(await all(`${filter}order=oldest`)).toEqual(newest.toReversed());
  }
  const byKey = (order: string) =>
    account(finance, `/records?search=${cpf}&order=${order}`).then(({ body }) =>
      body.records.map((one: { id: string }) => one.id),
    );
  await completed({ pixKey: cpf, pixKeyType: 'CPF' });
  expect((await byKey('oldest')).length).toBeGreaterThan(1);
  expect(await byKey('oldest')).toEqual((await byKey('newest')).toReversed());

  const { nextCursor } = (await account(viewer, '/records?limit=2')).body;
  const other = await account(viewer, `/records?limit=2&order=oldest&cursor=${nextCursor}`);
  expect(other.status).toBe(400);
  const idsOf = async (order: string) =>
    (await account(viewer, `/records.csv?language=en&order=${order}`)).body
      .trim()
      .split(/\r?\n/)
      .slice(1)
      .map((line: string) => line.slice(0, 36));
  expect(await idsOf('oldest')).toEqual((await idsOf('newest')).toReversed());
});

test('a list and its file go by the day of payment when asked, and a list by the amount, page by page', async () => {
  type Listed = { id: string; status: string; amountCents: number; settledAt: string | null };
  type Page = { records: Listed[]; nextCursor: string | null; searchedTo: string | null };
  const of = await service.newMerchant();
  await newPerson(service, of.ownerId, 'rui@padaria.example', 'finance');
  const tab = openTab(service);
  await tab.signIn('rui@padaria.example');
  const read = (path: string) => tab.call('GET', `/accounts/${of.ownerId}${path}`);
  const all = async (query: string): Promise<Listed[]> => {
    const found: Listed[] = [];
    let cursor = '';
    do {
      const { status, body } = await read(`/records?limit=2&${query}${cursor}`);
      expect(status, query).toBe(200);
      const page: Page = body;
      found.push(...page.records);
      cursor = page.nextCursor === null ? '' : `&cursor=${page.nextCursor}`;
    } while (cursor !== '');
    return found;
  };
  const idsOf = (records: readonly Listed[]): string[] => records.map(({ id }) => id);
  // Paid in another order than that of their creation; one is not paid, and one is of another operation.
  const charges = [];
  for (const amountCents of [3_000, 9_000, 4_000, 8_000])
    charges.push((await of.charge({ amountCents })).body.id as string);
  const [a, b, c, unpaid] = charges as [string, string, string, string];
  for (const id of [c, a, b]) {
    await service.simulator.control('POST', `/control/charges/${id.replaceAll('-', '')}/pay`, {});
    await until(async () => (await of.call('GET', `/payments/${id}`)).body.status === 'paid');
  }
  const { body: sent } = await of.transfer({ amountCents: 1_000, pixKey: cpf, pixKeyType: 'CPF' });
  await until(async () => (await of.call('GET', `/payments/${sent.id}`)).body.status === 'completed');
  const second = (await of.call('POST', '/operations', { name: 'Filial', requestKey: crypto.randomUUID() }))
    .body.id;
  const away = await of.paidCharge({ amountCents: 5_000 }, second);

  const paid = [c, a, b, sent.id, away];
  const oldest = await all('by=paid&order=oldest');
  expect(idsOf(oldest)).toEqual(paid);
  expect(oldest.map(({ settledAt }) => settledAt)).toEqual(oldest.map(({ settledAt }) => settledAt).sort());
  expect(idsOf(await all('by=paid'))).toEqual(paid.toReversed());
  expect(idsOf(await all('by=paid&kind=deposit&order=oldest'))).toEqual([c, a, b, away]);
  expect(idsOf(await all(`by=paid&operationId=${of.operationId}&order=oldest`))).toEqual(paid.slice(0, 4));
  expect(idsOf(await all('by=paid&minimumCents=4000&order=oldest'))).toEqual([c, b, away]);
  expect(await all('by=paid&status=pending')).toEqual([]);

  // From the moment at which one was paid, and before that of another.
  const [from, to] = [oldest[1]?.settledAt ?? '', oldest[3]?.settledAt ?? ''];
  const within = `by=paid&from=${from}&to=${to}&order=oldest`;
  expect(idsOf(await all(within))).toEqual([a, b]);
  expect(idsOf(await all(within.replace('oldest', 'newest')))).toEqual([b, a]);
  const file = (await read(`/records.csv?language=en&${within}`)).body.trim().split(/\r?\n/);
  expect(file.slice(1).map((line: string) => line.slice(0, 36))).toEqual([a, b]);

  expect(idsOf(await all('order=largest'))).toEqual([b, unpaid, away, c, a, sent.id]);
  expect(idsOf(await all('by=paid&order=smallest'))).toEqual([sent.id, a, c, away, b]);
  expect(idsOf(await all(`by=paid&from=${from}&to=${to}&order=largest`))).toEqual([b, a]);

  // By key, each way.
  const { body: later } = await of.transfer({ amountCents: 2_000, pixKey: cpf, pixKeyType: 'CPF' });
  await until(async () => (await of.call('GET', `/payments/${later.id}`)).body.status === 'completed');
  const byKey = async (query: string) => idsOf(await all(`search=${cpf}&${query}`));
  expect(await byKey('by=paid')).toEqual([later.id, sent.id]);
  expect(await byKey('by=paid&order=oldest')).toEqual([sent.id, later.id]);
  expect(await byKey('order=smallest')).toEqual([sent.id, later.id]);
  expect(await byKey('by=paid&order=largest')).toEqual([later.id, sent.id]);

  // A cursor holds for its order and its date, and a file has no order by amount.
  for (const query of ['by=paid', 'order=largest', '']) {
    const { nextCursor } = (await read(`/records?limit=2&${query}`)).body;
    for (const other of ['by=paid', 'order=largest', ''].filter((one) => one !== query))
      expect((await read(`/records?limit=2&${other}&cursor=${nextCursor}`)).body.code).toBe('invalid_cursor');
  }
  expect((await read('/records.csv?order=largest')).status).toBe(400);
});
