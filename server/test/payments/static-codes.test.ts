import { inflateSync } from 'node:zlib';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { verified } from '@vintem/testkit/verified.ts';
import { parsePix } from 'pix-utils';
import { PNG } from 'pngjs';
import decodeQR from 'qr/decode.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bookUnmatched, unmatchedLine, unmatchedOf } from '../../src/flow/unmatched.ts';
import { setConditions } from '../../src/operate/accounts/conditions.ts';
import { resolveIncident } from '../../src/operate/incidents/incident.ts';
import type { Provider, StatementLine } from '../../src/provider/provider.ts';

/** Codes that merchants print: who is paid by them, whatever reports it, how often and in which order. */

let service: Service;

beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

interface Code {
  id: string;
  identifier: string;
}

async function newCode(merchant: Merchant, body: object = {}): Promise<Code & Record<string, unknown>> {
  const order = { name: 'Balcão 1', requestKey: crypto.randomUUID(), ...body };
  const made = await merchant.call('POST', '/static-codes', order);
  expect(made.status).toBe(201);
  return made.body;
}

const payCode = async (identifier: string, amountCents: number): Promise<string> =>
  (await service.simulator.control('POST', '/control/static', { identifier, amountCents })).body.endToEnd;

async function posterOf(merchant: Merchant, id: string, query = '', language = 'pt-BR') {
  const answer = await fetch(`${service.url}/api/v1/public/static-codes/${id}/poster.pdf${query}`, {
    headers: { authorization: `Bearer ${merchant.key}`, 'accept-language': language },
  });
  const text = Buffer.from(await answer.arrayBuffer()).toString('latin1');
  return { status: answer.status, type: answer.headers.get('content-type'), text };
}

/** The squares that a PDF draws, as an image: four pixels a module, with white around. */
function qrOfPdf(pdf: string): { width: number; height: number; data: Uint8Array } {
  const streams = [...pdf.matchAll(/stream\n([\s\S]*?)\nendstream/g)].map(([, body = '']) => {
    try {
      return inflateSync(Buffer.from(body, 'latin1')).toString('latin1');
    } catch {
      return '';
    }
  });
  const squares = streams.flatMap((text) =>
    [...text.matchAll(/^([\d.]+) ([\d.]+) ([\d.]+) ([\d.]+) re$/gm)].map((found) =>
      found.slice(1).map(Number),
    ),
  ) as [number, number, number, number][];
  const [left, top] = [Math.min(...squares.map(([x]) => x)), Math.min(...squares.map(([, y]) => y))];
  const side = squares[0]?.[2] as number;
  const places = squares.map(
    ([x, y]) => [Math.round((x - left) / side), Math.round((y - top) / side)] as const,
  );
  const size = Math.max(...places.flat()) + 1;
  const width = (size + 8) * 4;
  const data = new Uint8Array(width * width * 4).fill(255);
  for (const [x, y] of places)
    for (let row = 0; row < 4; row++)
      for (let column = 0; column < 4; column++)
        data.fill(
          0,
          (((y + 4) * 4 + row) * width + (x + 4) * 4 + column) * 4,
          (((y + 4) * 4 + row) * width + (x + 4) * 4 + column) * 4 + 3,
        );
  return { width, height: width, data };
}

const paymentsOf = async (merchant: Merchant, id: string) =>
  (await merchant.call('GET', `/static-codes/${id}/payments`)).body.payments as Record<string, unknown>[];

const line = (identifier: string, endToEnd: string, amountCents = 1500): StatementLine => ({
  ...{ id: endToEnd, rtrId: null, at: Date.now(), kind: 'received', amountCents, endToEnd },
  providerId: identifier,
});

const newEndToEnd = (): string =>
  `E99999999202611270500${crypto.randomUUID().replaceAll('-', '').slice(0, 11)}`;

const openIncidents = (pix: string) =>
  service.database.admin<{ kind: string; detail: object }>(
    `SELECT kind, detail FROM incident WHERE detail ->> 'pix' = $1`,
    [pix],
  );

describe('a static code', () => {
  test('says the same to pix-utils and to a decoder of its image, and carries an identifier of its own', async () => {
    const merchant = await service.newMerchant();
    const code = await newCode(merchant, { amountCents: 1234 });
    expect(code).toMatchObject({
      name: 'Balcão 1',
      amountCents: 1234,
      status: 'active',
      paidCount: 0,
      paidCents: 0,
    });
    expect(code.identifier).toMatch(/^S[A-Z2-7]{24}$/);
    expect(parsePix(code.copyPaste as string)).toMatchObject({
      ...{ type: 'STATIC', transactionAmount: 12.34, txid: code.identifier, merchantCity: 'BRASIL' },
    });
    const image = PNG.sync.read(Buffer.from((code.qrCodeBase64 as string).split(',')[1] as string, 'base64'));
    expect(decodeQR(image)).toBe(code.copyPaste);
  });

  test('has a poster of one page for each paper, whose QR code is its text, in the language of the caller', async () => {
    const merchant = await service.newMerchant();
    const code = await newCode(merchant, { name: `${'Balcão da Joana '.repeat(4)}`.trim().slice(0, 64) });
    const papers = { a4: '595.28 841.89', a6: '297.64 419.53', '80mm': '226.77 425.2' };
    for (const [size, sides] of Object.entries(papers))
      for (const language of ['pt-BR', 'en']) {
        const { status, type, text } = await posterOf(merchant, code.id, `?size=${size}`, language);
        expect([status, type]).toEqual([200, 'application/pdf']);
        expect(text).toContain(`/Lang (${language})`);
        expect(text.match(/\/Type \/Page\n/g)).toHaveLength(1);
        expect(text).toContain(`/MediaBox [0 0 ${sides}]`);
        expect(decodeQR(qrOfPdf(text))).toBe(code.copyPaste);
      }
    expect((await posterOf(merchant, code.id)).text).toContain(`/MediaBox [0 0 ${papers.a6}]`);
  });

  test('has no poster for a stranger, for a paper that does not exist, or once it is retired', async () => {
    const merchant = await service.newMerchant();
    const code = await newCode(merchant);
    const stranger = await service.newMerchant();
    expect((await posterOf(stranger, code.id)).text).toContain('static_code_not_found');
    expect((await posterOf(merchant, code.id, '?size=a3')).text).toContain('validation_failed');
    expect((await posterOf(merchant, code.id, '?colour=red')).text).toContain('validation_failed');
    await merchant.call('PATCH', `/static-codes/${code.id}`, { status: 'retired' });
    const retired = await posterOf(merchant, code.id);
    expect([retired.status, retired.text]).toEqual([404, expect.stringContaining('static_code_not_found')]);
  });

  test('is made once for a request key, and another body under it is refused', async () => {
    const merchant = await service.newMerchant();
    const requestKey = crypto.randomUUID();
    const first = await newCode(merchant, { requestKey });
    const again = await merchant.call('POST', '/static-codes', { name: 'Balcão 1', requestKey });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body).toEqual(first);
    const other = await merchant.call('POST', '/static-codes', { name: 'Balcão 2', requestKey });
    expect(other.body.code).toBe('idempotency_conflict');
    const charge = await merchant.charge({ requestKey });
    expect(charge.body.code).toBe('idempotency_conflict');
  });

  test('is seen by its own operation alone, and a list has pages', async () => {
    const [merchant, other] = [await service.newMerchant(), await service.newMerchant()];
    const codes = [await newCode(merchant), await newCode(merchant), await newCode(merchant)];
    const page = (await merchant.call('GET', '/static-codes?limit=2')).body;
    expect(page).toMatchObject({ hasMore: true });
    const rest = (await merchant.call('GET', `/static-codes?limit=2&cursor=${page.nextCursor}`)).body;
    const listed = [...page.staticCodes, ...rest.staticCodes].map(({ id }: Code) => id);
    expect(listed).toEqual(codes.map(({ id }) => id).reverse());
    for (const path of ['', '/payments'])
      expect((await other.call('GET', `/static-codes/${codes[0]?.id}${path}`)).body.code).toBe(
        'static_code_not_found',
      );
    const stolen = await other.call('PATCH', `/static-codes/${codes[0]?.id}`, { status: 'retired' });
    expect(stolen.status).toBe(404);
  });
});

describe('a Pix of a static code', () => {
  test('becomes a paid charge of its merchant, once, however often it is delivered and listed', async () => {
    const merchant = await service.newMerchant();
    const code = await newCode(merchant, { metadata: { store: 'centro' } });
    await service.simulator.behave({ webhook: 'duplicate' });
    const endToEnd = await payCode(code.identifier, 1500);
    await until(async () => (await paymentsOf(merchant, code.id)).length > 0);
    await service.simulator.behave({});
    const listed = unmatchedLine(line(code.identifier.toLowerCase(), endToEnd));
    await bookUnmatched(service.runtime, 'simulator', [listed, listed], true);
    expect(await paymentsOf(merchant, code.id)).toEqual([
      expect.objectContaining({
        ...{ kind: 'deposit', status: 'paid', amountCents: 1500, netAmountCents: 1500, endToEnd },
        ...{ staticCodeId: code.id, metadata: { store: 'centro' } },
      }),
    ]);
    expect(await merchant.balanceCents()).toBe(1500);
    expect((await merchant.call('GET', `/static-codes/${code.id}`)).body).toMatchObject({
      paidCount: 1,
      paidCents: 1500,
    });
    const { events } = (await merchant.call('GET', '/events?type=charge.paid')).body;
    expect(events).toHaveLength(1);
    expect(await openIncidents(endToEnd)).toEqual([]);
  });

  test('is found by the statement alone, and its webhook changes nothing afterwards', async () => {
    const merchant = await service.newMerchant();
    const code = await newCode(merchant);
    const endToEnd = newEndToEnd();
    const pix = { endToEnd, amountCents: 1500, paidAt: Date.now(), txid: code.identifier, returns: [] };
    // Banks change letters to other cases.
    const fromList = unmatchedLine(line(code.identifier.toLowerCase(), endToEnd));
    const fromDelivery = unmatchedOf({ received: [pix], payouts: [] }, Date.now());
    await bookUnmatched(service.runtime, 'simulator', [fromList], true);
    await bookUnmatched(service.runtime, 'simulator', fromDelivery, true);
    expect(await paymentsOf(merchant, code.id)).toHaveLength(1);
    expect(await merchant.balanceCents()).toBe(1500);
  });

  test('goes to the merchant whose identifier it carries, although both share the Pix key', async () => {
    const [baker, florist] = [await service.newMerchant(), await service.newMerchant()];
    const [bread, roses] = [await newCode(baker), await newCode(florist)];
    await Promise.all([payCode(bread.identifier, 700), payCode(roses.identifier, 9900)]);
    await until(async () => (await florist.balanceCents()) === 9900 && (await baker.balanceCents()) === 700);
    expect((await paymentsOf(baker, bread.id)).map((one) => one.amountCents)).toEqual([700]);
  });

  test('under an identifier that no account has stands in suspense until a person decides', async () => {
    const identifier = `S${'A'.repeat(24)}`;
    const endToEnd = await payCode(identifier, 4200);
    await until(async () => (await openIncidents(endToEnd)).length > 0);
    expect(await openIncidents(endToEnd)).toMatchObject([{ kind: 'unmatched', detail: { believed: true } }]);
  });

  test('of another amount than the code names is credited as it came, with a notice and no incident', async () => {
    const merchant = await service.newMerchant();
    const code = await newCode(merchant, { amountCents: 1000 });
    await payCode(code.identifier, 999);
    await until(async () => (await merchant.balanceCents()) === 999);
    const [payment] = await paymentsOf(merchant, code.id);
    expect(payment).toMatchObject({ amountCents: 999, status: 'paid' });
    expect(payment?.notice).toMatch(/another amount/);
  });

  test('of a retired code is credited, since paper cannot be taken back', async () => {
    const merchant = await service.newMerchant();
    const code = await newCode(merchant);
    const retired = await merchant.call('PATCH', `/static-codes/${code.id}`, { status: 'retired' });
    expect(retired.body.status).toBe('retired');
    await payCode(code.identifier, 800);
    await until(async () => (await merchant.balanceCents()) === 800);
    expect((await paymentsOf(merchant, code.id))[0]?.notice).toMatch(/retired/);
  });

  test('below the fee pays the fee alone', async () => {
    const merchant = await service.newMerchant();
    await setConditions({ ...service.cellOf(merchant), actor: 'tester' }, merchant.ownerId, {
      depositFeeCents: 50,
    });
    const code = await newCode(merchant);
    await payCode(code.identifier, 30);
    await until(async () => (await paymentsOf(merchant, code.id)).length > 0);
    expect((await paymentsOf(merchant, code.id))[0]).toMatchObject({ feeCents: 30, netAmountCents: 0 });
    expect(await merchant.balanceCents()).toBe(0);
  });

  test('is given back by a refund as any paid charge is', async () => {
    const merchant = await service.newMerchant();
    const code = await newCode(merchant);
    await payCode(code.identifier, 1500);
    await until(async () => (await merchant.balanceCents()) === 1500);
    const [payment] = await paymentsOf(merchant, code.id);
    const refund = await merchant.call('POST', `/payments/${payment?.id}/refunds`, {
      amountCents: 600,
      requestKey: crypto.randomUUID(),
    });
    expect(refund.status).toBe(201);
    await until(
      async () => (await merchant.call('GET', `/refunds/${refund.body.id}`)).body.status === 'completed',
    );
    expect(await merchant.balanceCents()).toBe(900);
    expect((await merchant.call('GET', `/payments/${payment?.id}`)).body.refundedCents).toBe(600);
  });

  test('that the provider takes back debits the merchant once', async () => {
    const merchant = await service.newMerchant();
    const code = await newCode(merchant);
    const endToEnd = await payCode(code.identifier, 1500);
    await until(async () => (await merchant.balanceCents()) === 1500);
    const back = await service.simulator.control('POST', `/control/charges/${code.identifier}/return`, {
      ...{ endToEnd, amountCents: 400 },
    });
    await until(async () => (await merchant.balanceCents()) === 1100);
    const { id, rtrId } = back.body;
    const debited = { ...line(code.identifier, endToEnd, 400), kind: 'debited', id, rtrId } as const;
    await bookUnmatched(service.runtime, 'simulator', [unmatchedLine(debited)], true);
    expect(await merchant.balanceCents()).toBe(1100);
  });

  test('that a list named without its identifier before stays what it was, and a person looks', async () => {
    const merchant = await service.newMerchant();
    const code = await newCode(merchant);
    const endToEnd = newEndToEnd();
    const nameless = { ...line(code.identifier, endToEnd), providerId: null };
    await bookUnmatched(service.runtime, 'simulator', [unmatchedLine(nameless)], true);
    await bookUnmatched(service.runtime, 'simulator', [unmatchedLine(line(code.identifier, endToEnd))], true);
    expect(await merchant.balanceCents()).toBe(0);
    expect(await openIncidents(endToEnd)).toMatchObject([{ kind: 'unmatched', detail: { believed: false } }]);
  });

  test('of a code that a restore has lost waits in suspense, until a repeat of the request makes the same code again', async () => {
    const merchant = await service.newMerchant();
    const requestKey = crypto.randomUUID();
    const code = await newCode(merchant, { requestKey });
    const { cell } = service.cellOf(merchant);
    for (const text of [
      `DELETE FROM ${cell}.static_code WHERE account_id = $1`,
      `DELETE FROM ${cell}.request_key WHERE account_id = $1`,
      'DELETE FROM vintem.static_identifier WHERE account_id = $1',
    ])
      await service.database.admin(text, [merchant.ownerId]);
    const totals = async () => {
      const [row] = await service.database.admin<{ clearing: string; suspense: string }>(
        'SELECT sum(clearing) AS clearing, sum(suspense) AS suspense FROM journal',
      );
      return { clearing: Number(row?.clearing), suspense: Number(row?.suspense) };
    };
    const before = await totals();
    const endToEnd = await payCode(code.identifier, 1500);
    await until(async () => (await openIncidents(endToEnd)).length > 0);
    expect(await newCode(merchant, { requestKey })).toMatchObject({
      ...{ id: code.id, identifier: code.identifier, copyPaste: code.copyPaste },
    });
    // The paper is the merchant's again, and a Pix that came meanwhile as soon as a list names it: once.
    for (let read = 0; read < 2; read++)
      await bookUnmatched(
        service.runtime,
        'simulator',
        [unmatchedLine(line(code.identifier, endToEnd))],
        true,
      );
    expect(await merchant.balanceCents()).toBe(1500);
    const [incident] = await service.database.admin<{ id: string }>(
      `SELECT id FROM incident WHERE detail ->> 'pix' = $1`,
      [endToEnd],
    );
    const operator = { ...service.runtime, actor: 'tester' };
    await resolveIncident(operator, incident?.id ?? '', { action: 'credit', reason: 'the code is back' });
    // Of the two bookings the one of suspense is taken back, and nothing is given again.
    const after = await totals();
    expect([after.clearing - before.clearing, after.suspense - before.suspense]).toEqual([-1500, 0]);
    await payCode(code.identifier, 700);
    await until(async () => (await merchant.balanceCents()) === 2200);
  });

  test('that came over another connection than its code pays into is not its, and stands in suspense', async () => {
    const merchant = await service.newMerchant();
    const code = await newCode(merchant);
    const endToEnd = newEndToEnd();
    const providers = service.runtime.providers as Map<string, Provider>;
    providers.set('elsewhere', { ...(providers.get('simulator') as Provider), connection: 'elsewhere' });
    await bookUnmatched(service.runtime, 'elsewhere', [unmatchedLine(line(code.identifier, endToEnd))], true);
    providers.delete('elsewhere');
    expect(await paymentsOf(merchant, code.id)).toEqual([]);
    expect(await openIncidents(endToEnd)).toMatchObject([{ kind: 'unmatched', detail: { believed: true } }]);
  });

  test('is not made by the word of a delivery that proves nothing', async () => {
    const merchant = await service.newMerchant();
    const code = await newCode(merchant);
    await bookUnmatched(
      service.runtime,
      'simulator',
      [unmatchedLine(line(code.identifier, newEndToEnd()))],
      false,
    );
    expect(await paymentsOf(merchant, code.id)).toEqual([]);
  });
});

test('Invariants hold over the books of all merchants with static codes, and a wrong count or a stranger’s code breaks them', async () => {
  const merchant = await service.newMerchant();
  const code = await newCode(merchant);
  await payCode(code.identifier, 1500);
  await until(async () => (await merchant.balanceCents()) === 1500);
  const faults = async () =>
    (await verified(service, { accountId: merchant.ownerId })).checks.filter((one) => !one.ok);
  expect(await faults()).toEqual([]);
  await service.database.admin(
    `UPDATE ${service.cellOf(merchant).cell}.static_code SET paid_count = 2 WHERE id = $1`,
    [code.id],
  );
  expect(await faults()).toHaveLength(1);
  await service.database.admin(
    `UPDATE ${service.cellOf(merchant).cell}.static_code SET paid_count = 1, connection = $2 WHERE id = $1`,
    [code.id, 'live'],
  );
  expect(await faults()).toHaveLength(1);
  await service.database.admin(
    `UPDATE ${service.cellOf(merchant).cell}.static_code SET connection = $2 WHERE id = $1`,
    [code.id, 'simulator'],
  );
});
