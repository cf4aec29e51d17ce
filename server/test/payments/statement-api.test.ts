import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { Ofx } from 'ofx-data-extractor';
import { parseSync } from 'ofx-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { placeHold, releaseHold } from '../../src/operate/accounts/holds.ts';
import { dayOf, localTimeOf } from '../../src/operate/statement/period.ts';
import { mostJournals } from '../../src/operate/statement/statement.ts';
import type { Operator } from '../../src/store/operator.ts';

/** The statement of an operation over HTTP. It only reads: the books are checked at the end as after every other test. */

let service: Service;

beforeAll(async () => {
  service = await openService();
});
afterAll(async () => {
  const wrong = await violationsOfBooks(service);
  await service.close();
  expect(wrong).toEqual([]);
});

const operator = (merchant: Merchant): Operator => ({ ...service.cellOf(merchant), actor: 'tester' });

interface Line {
  id: string;
  seq: number;
  at: string;
  kind: string;
  paymentId: string | null;
  description: string;
  amountCents: number;
  balanceCents: number;
  payerName: string | null;
  endToEnd: string | null;
  requestKey: string | null;
}

const read = (merchant: Merchant, query = '', operationId?: string) =>
  merchant.call('GET', `/statement${query}`, undefined, operationId);

/** Page by page to the end. */
async function readAll(merchant: Merchant, query: Record<string, string> = {}): Promise<Line[]> {
  const lines: Line[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { status, body } = await read(
      merchant,
      `?${new URLSearchParams({ ...query, ...(cursor && { cursor }) })}`,
    );
    expect(status).toBe(200);
    lines.push(...body.lines);
    cursor = body.nextCursor;
  }
  return lines;
}

async function download(merchant: Merchant, path: string, headers: Record<string, string> = {}) {
  const answer = await fetch(`${service.url}/api/v1/public${path}`, {
    headers: { authorization: `Bearer ${merchant.key}`, ...headers },
  });
  return {
    status: answer.status,
    type: answer.headers.get('content-type'),
    bytes: Buffer.from(await answer.arrayBuffer()),
  };
}

async function settled(merchant: Merchant, id: string, status: string): Promise<void> {
  await until(async () => (await merchant.call('GET', `/payments/${id}`)).body.status === status);
}

const sumOf = (lines: readonly { amountCents: number }[]): number =>
  lines.reduce((sum, line) => sum + line.amountCents, 0);

/** Opening + lines = closing, and every balance is the one before and the line's amount. */
function expectRunning(lines: readonly Line[], opening: number, closing: number): void {
  let balance = opening;
  for (const line of lines) {
    balance += line.amountCents;
    expect(line.balanceCents).toBe(balance);
  }
  expect(balance).toBe(closing);
}

test('a merchant’s day: each movement is one line, each fee another, and the last balance is that of the account', async () => {
  const merchant = await service.newMerchant();
  await service.database.admin('UPDATE account SET deposit_fee_cents = 7 WHERE id = $1', [merchant.ownerId]);
  const charge = (
    await merchant.charge({ amountCents: 5000, payerName: 'Maria Silva', description: 'Pedido 1042' })
  ).body;
  await service.simulator.control('POST', `/control/charges/${charge.id.replaceAll('-', '')}/pay`);
  await settled(merchant, charge.id, 'paid');
  const sent = (await merchant.transfer({ amountCents: 2000, description: 'Fornecedor' })).body;
  await settled(merchant, sent.id, 'completed');
  await service.simulator.behave({ payout: 'refuse-in-answer' });
  const refused = (await merchant.transfer({ amountCents: 1000 })).body;
  await service.simulator.behave({});
  expect(refused.paymentId).toBeDefined();
  const held = await placeHold(operator(merchant), {
    operationId: merchant.operationId,
    amountCents: 500,
    reason: 'an order of the court',
  });
  await releaseHold(operator(merchant), held.id);
  await service.simulator.control('POST', `/control/payouts/${sent.id.replaceAll('-', '')}/return`, {
    amountCents: 300,
  });
  await until(async () => (await merchant.balanceCents()) === 5000 - 7 - 2000 + 300);

  const { status, body } = await read(merchant);
  expect(status).toBe(200);
  expect(body.lines.map((line: Line) => [line.kind, line.amountCents, line.paymentId])).toEqual([
    ['charge', 5000, charge.id],
    ['charge_fee', -7, charge.id],
    ['transfer', -1975, sent.id],
    ['transfer_fee', -25, sent.id],
    ['transfer', -975, refused.paymentId],
    ['transfer_fee', -25, refused.paymentId],
    ['transfer_cancelled', 975, refused.paymentId],
    ['transfer_fee_cancelled', 25, refused.paymentId],
    ['hold', -500, null],
    ['hold_released', 500, null],
    ['transfer_returned', 300, sent.id],
  ]);
  expectRunning(body.lines, 0, await merchant.balanceCents());
  expect(body).toMatchObject({ openingBalanceCents: 0, hasMore: false, nextCursor: null });
  expect(body.closingBalanceCents).toBe(await merchant.balanceCents());
  const paid = (await merchant.call('GET', `/payments/${charge.id}`)).body;
  expect(body.lines[0]).toMatchObject({
    id: '1',
    seq: 1,
    description: 'Pedido 1042',
    payerName: 'Maria Silva',
    endToEnd: paid.endToEnd,
    requestKey: charge.requestKey,
  });
  expect(body.lines[1]).toMatchObject({ id: '1-fee', seq: 1 });
  expect(new Set(body.lines.map((line: Line) => line.id)).size).toBe(body.lines.length);
});

test('a transfer under way is in the balance and in the statement, and its end changes no line', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(3000);
  await service.simulator.behave({ payout: 'stay-pending' });
  const { id, status } = (await merchant.transfer({ amountCents: 1000 })).body;
  expect(status).toBe('pending');
  await service.simulator.behave({});
  const before = await readAll(merchant);
  expect(before.map(({ kind }) => kind)).toEqual(['charge', 'transfer', 'transfer_fee']);
  expect(before.at(-1)?.balanceCents).toBe(await merchant.balanceCents());
  await service.simulator.control('POST', `/control/payouts/${id.replaceAll('-', '')}/complete`);
  await settled(merchant, id, 'completed');
  const known = (line: Line) => ({ ...line, endToEnd: null });
  expect((await readAll(merchant)).map(known)).toEqual(before.map(known));
});

test('pages of every size are the same lines, also where a page ends between a movement and its fee', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(9000);
  for (let n = 0; n < 3; n++) await settled(merchant, (await merchant.transfer()).body.id, 'completed');
  const whole = await readAll(merchant);
  expect(whole).toHaveLength(7);
  for (const limit of ['1', '2', '3', '4', '100']) {
    const { body } = await read(merchant, `?limit=${limit}`);
    expect(body.lines.length).toBe(Math.min(Number(limit), 7));
    expect(body.closingBalanceCents).toBe(whole.at(-1)?.balanceCents);
    expect(await readAll(merchant, { limit })).toEqual(whole);
  }
});

test('a journal posted while a person reads is in no page twice and in none left out', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(1000);
  await merchant.receive(2000);
  const first = (await read(merchant, '?limit=1')).body;
  await merchant.receive(3000);
  const rest = (await read(merchant, `?limit=100&cursor=${first.nextCursor}`)).body;
  expect([...first.lines, ...rest.lines].map((line: Line) => line.amountCents)).toEqual([1000, 2000, 3000]);
});

test('days of São Paulo and times cut the same history, and stretches that follow each other share no line', async () => {
  const merchant = await service.newMerchant();
  for (const amountCents of [1000, 1100, 1200, 1300, 1400, 1500]) await merchant.receive(amountCents);
  // tzdata: summer time ended at 2019-02-17T02:00Z, when 2019-02-16 had its hour before midnight a second time.
  const instants = [
    '2019-02-16T01:59:59.999Z',
    '2019-02-16T02:00:00.000Z',
    '2019-02-17T01:30:00.000Z',
    '2019-02-17T02:30:00.000Z',
    '2019-02-17T02:59:59.999Z',
    '2019-02-17T03:00:00.000Z',
  ];
  await movedTo(merchant, instants);
  const amounts = async (from: string, to: string): Promise<number[]> =>
    (await readAll(merchant, { from, to })).map((line) => line.amountCents);
  expect(await amounts('2019-02-15', '2019-02-15')).toEqual([1000]);
  expect(await amounts('2019-02-16', '2019-02-16')).toEqual([1100, 1200, 1300, 1400]);
  expect(await amounts('2019-02-17', '2019-02-17')).toEqual([1500]);
  expect(await amounts('2019-02-16T00:00:00-02:00', '2019-02-17T00:00:00-03:00')).toEqual([
    1100, 1200, 1300, 1400,
  ]);
  expect(await amounts('2019-02-17T02:30:00Z', '2019-02-17T02:30:00.001Z')).toEqual([1300]);
  expect(await amounts('2030-01-01', '2030-12-31')).toEqual([]);
  const middle = (await read(merchant, '?from=2019-02-16&to=2019-02-16')).body;
  expect([middle.openingBalanceCents, middle.closingBalanceCents]).toEqual([1000, 6000]);
  const later = (await read(merchant, '?from=2030-01-01')).body;
  expect([later.openingBalanceCents, later.closingBalanceCents]).toEqual([7500, 7500]);
  await movedBack(merchant);
});

/** Journals never change for the service: the owner of the database puts them elsewhere in time, and back. */
async function movedTo(merchant: Merchant, instants: readonly string[]): Promise<void> {
  await service.database.admin(
    `CREATE TABLE IF NOT EXISTS public.real_times AS SELECT account_id, chain_id, seq, posted_at FROM vintem.journal WHERE false`,
  );
  await service.database.admin(
    'INSERT INTO public.real_times SELECT account_id, chain_id, seq, posted_at FROM journal WHERE account_id = $1',
    [merchant.ownerId],
  );
  await service.database.admin(
    `UPDATE journal j SET posted_at = k.at FROM unnest($2::timestamptz[]) WITH ORDINALITY AS k (at, n)
      WHERE j.account_id = $1 AND j.seq = k.n`,
    [merchant.ownerId, instants],
  );
}

const movedBack = (merchant: Merchant) =>
  service.database.admin(
    `UPDATE journal j SET posted_at = r.posted_at FROM public.real_times r
      WHERE j.account_id = $1 AND r.account_id = j.account_id AND r.chain_id = j.chain_id AND r.seq = j.seq`,
    [merchant.ownerId],
  );

test('a clock that is behind loses no line: consecutive stretches add up whatever the order of the times', async () => {
  const merchant = await service.newMerchant();
  const amounts = Array.from({ length: 12 }, (_, n) => 1000 + n);
  for (const amountCents of amounts) await merchant.receive(amountCents);
  const base = Date.parse('2026-03-10T03:00:00.000Z');
  const offsets = [-900, -100, 40, -30, 10, 5, 300, 290, 310, 1000, 999, 1001];
  await movedTo(
    merchant,
    offsets.map((ms) => new Date(base + ms).toISOString()),
  );
  const cuts = [-1000, -100, 0, 5, 6, 40, 299, 300, 305, 1000, 2000].map((ms) =>
    new Date(base + ms).toISOString(),
  );
  const seen: number[] = [];
  for (let at = 0; at + 1 < cuts.length; at++) {
    const { body } = await read(merchant, `?from=${cuts[at]}&to=${cuts[at + 1]}`);
    expectRunning(body.lines, body.openingBalanceCents, body.closingBalanceCents);
    seen.push(...body.lines.map((line: Line) => line.amountCents));
  }
  expect(seen).toEqual(amounts);
  await movedBack(merchant);
});

test('each operation has its own statement, and a stranger none', async () => {
  const merchant = await service.newMerchant();
  const other = await service.newMerchant();
  const branch = (
    await merchant.call('POST', '/operations', { name: 'Filial', requestKey: crypto.randomUUID() })
  ).body;
  await merchant.receive(1000);
  await merchant.receive(2500, branch.id);
  expect((await read(merchant)).body.lines.map((line: Line) => line.amountCents)).toEqual([1000]);
  const own = (await read(merchant, '', branch.id)).body;
  expect(own.lines.map((line: Line) => line.amountCents)).toEqual([2500]);
  expect((await read(other)).body.lines).toEqual([]);
  for (const path of ['/statement', '/statement.csv', '/statement.ofx', '/statement.pdf']) {
    const stranger = await other.call('GET', path, undefined, branch.id);
    expect([stranger.status, stranger.body.code]).toEqual([404, 'operation_not_found']);
  }
});

test('a deleted operation has no statement any more, nor a page that was begun before', async () => {
  const merchant = await service.newMerchant();
  const { id } = (
    await merchant.call('POST', '/operations', { name: 'Vai embora', requestKey: crypto.randomUUID() })
  ).body;
  await merchant.receive(1000, id);
  await merchant.receive(1000, id);
  const { nextCursor } = (await read(merchant, '?limit=1', id)).body;
  const { body: gone } = await merchant.transfer({ amountCents: 2000 }, id);
  await until(
    async () =>
      (await merchant.call('GET', `/payments/${gone.id}`, undefined, id)).body.status === 'completed',
  );
  await until(async () => (await merchant.call('DELETE', `/operations/${id}`, {})).status === 200);
  for (const query of ['', `?limit=1&cursor=${nextCursor}`]) {
    const answer = await read(merchant, query, id);
    expect([answer.status, answer.body.code]).toEqual([404, 'operation_not_found']);
  }
});

test('bad input gets a documented error', async () => {
  const merchant = await service.newMerchant();
  const other = await service.newMerchant();
  await merchant.receive(1000);
  await merchant.receive(1000);
  await other.receive(1000);
  await other.receive(1000);
  const fieldOf = async (query: string, path = '/statement') => {
    const { status, body } = await merchant.call('GET', `${path}?${query}`);
    expect([status, body.code]).toEqual([400, 'validation_failed']);
    return body.details[0];
  };
  for (const path of ['/statement', '/statement.csv', '/statement.ofx', '/statement.pdf']) {
    expect(await fieldOf('from=2026-02-30', path)).toEqual({ field: 'from', code: 'not_a_day_or_time' });
    expect(await fieldOf('to=yesterday', path)).toEqual({ field: 'to', code: 'not_a_day_or_time' });
    expect(await fieldOf('from=2026-11-02&to=2026-11-01', path)).toEqual({
      field: 'to',
      code: 'not_after_from',
    });
    expect((await fieldOf('month=2026-11', path)).code).toBe('unknown_parameter');
  }
  expect((await fieldOf('limit=0')).code).toBe('out_of_range');
  expect((await fieldOf('limit=101')).code).toBe('out_of_range');
  expect((await fieldOf('separator=tab', '/statement.csv')).code).toBe('not_one_of');

  const own = (await read(merchant, '?limit=1')).body.nextCursor;
  const foreign = (await read(other, '?limit=1')).body.nextCursor;
  const payments = (await merchant.call('GET', '/payments?limit=1')).body.nextCursor;
  for (const query of [
    `cursor=${foreign}`,
    `cursor=${payments}`,
    'cursor=abc',
    `cursor=${own}&from=2026-01-01`,
  ]) {
    const { status, body } = await read(merchant, `?${query}`);
    expect([status, body.code]).toEqual([400, 'invalid_cursor']);
  }
});

test('it needs `read`: what a key creates does not show it the balance', async () => {
  const merchant = await service.newMerchant();
  const call = service.as(await service.newKey(merchant.ownerId, ['charges', 'transfers']));
  for (const path of ['/statement', '/statement.csv', '/statement.ofx', '/statement.pdf']) {
    const { status, body } = await call('GET', path);
    expect([status, body.code]).toEqual([403, 'permission_denied']);
  }
});

test('the table has every line, numbers as numbers and no formula', async () => {
  const merchant = await service.newMerchant();
  const charge = (
    await merchant.charge({ amountCents: 1000, payerName: '=cmd|calc', description: '"a"; b,c' })
  ).body;
  await service.simulator.control('POST', `/control/charges/${charge.id.replaceAll('-', '')}/pay`);
  await settled(merchant, charge.id, 'paid');
  const [line] = await readAll(merchant);
  const at = localTimeOf(Date.parse(line?.at ?? ''));
  const plain = await download(merchant, '/statement.csv');
  expect([plain.status, plain.type]).toEqual([200, 'text/csv; charset=utf-8']);
  expect(plain.bytes.toString()).toBe(
    'id,seq,at,kind,paymentId,payerName,description,endToEnd,requestKey,amount,balance,metadata,cause,fiscalDocuments\r\n' +
      `1,1,${at},charge,${charge.id},'=cmd|calc,"""a""; b,c",${line?.endToEnd},${charge.requestKey},10.00,10.00,,,\r\n`,
  );
  const brazilian = await download(merchant, '/statement.csv?separator=semicolon&bom=yes');
  expect(brazilian.bytes.toString()).toContain(';10,00;10,00;;;\r\n');
  expect(brazilian.bytes.subarray(0, 3)).toEqual(Buffer.from([0xef, 0xbb, 0xbf]));
});

test('two independent readers of OFX find the same lines, ids and balance', async () => {
  const merchant = await service.newMerchant();
  const charge = (
    await merchant.charge({
      amountCents: 5000,
      payerName: 'João & Irmãos <Ltda>',
      description: 'Ação nº 7 – 漢字',
    })
  ).body;
  await service.simulator.control('POST', `/control/charges/${charge.id.replaceAll('-', '')}/pay`);
  await settled(merchant, charge.id, 'paid');
  await settled(merchant, (await merchant.transfer({ amountCents: 2000 })).body.id, 'completed');
  const lines = await readAll(merchant);
  const { status, type, bytes } = await download(merchant, '/statement.ofx', { 'accept-language': 'pt-BR' });
  expect([status, type]).toEqual([200, 'application/x-ofx']);
  const text = bytes.toString('latin1');
  expect(text).toMatch(/^OFXHEADER:100\r\nDATA:OFXSGML\r\nVERSION:102\r\n/);
  expect(/[^\r\n\x20-\x7e]/.test(text)).toBe(false);

  const parsed = parseSync(text);
  const statement = parsed.OFX.BANKMSGSRSV1.STMTTRNRS.STMTRS;
  const transactions = statement.BANKTRANLIST.STMTTRN as Record<string, string>[];
  const centsOf = (amount: string | undefined) => Math.round(Number(amount) * 100);
  expect(transactions.map((one) => [one.FITID, one.TRNTYPE, centsOf(one.TRNAMT)])).toEqual([
    ['1', 'CREDIT', 5000],
    ['2', 'DEBIT', -1975],
    ['2-fee', 'FEE', -25],
  ]);
  expect(transactions[0]).toMatchObject({
    NAME: 'Joao & Irmaos <Ltda>',
    MEMO: 'Pix recebido - Joao & Irmaos <Ltda> - Acao no 7 ? ??',
    REFNUM: charge.id.replaceAll('-', ''),
  });
  expect(statement.CURDEF).toBe('BRL');
  expect(statement.BANKACCTFROM.ACCTID).toMatch(/^\d{22}$/);
  expect(centsOf(statement.LEDGERBAL.BALAMT)).toBe(await merchant.balanceCents());
  const local = localTimeOf(Date.parse(lines[0]?.at ?? ''));
  expect(transactions[0]?.DTPOSTED).toBe(`${local.slice(0, 19).replaceAll(/[-T:]/g, '')}[-3:BRT]`);

  const other = new Ofx(text);
  const found = other.toNormalized();
  expect(found.transactions.map((one) => [one.fitId, centsOf(String(one.amount))])).toEqual(
    lines.map((line) => [line.id, line.amountCents]),
  );
  expect(other.validate()).toMatchObject({ isValid: true });
  expect(other.getWarnings()).toEqual([]);
});

test('A file for accounting programs ends now where its period ends on a day that has not come', async () => {
  const merchant = await service.newMerchant();
  const { bytes } = await download(merchant, '/statement.ofx?from=2024-02-01&to=2099-12-31');
  const dates = [...bytes.toString().matchAll(/<DT(?:START|END|ASOF)>(\d{8})/g)].map(([, day]) =>
    Number(day),
  );
  expect(dates).toHaveLength(3);
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10).replaceAll('-', '');
  for (const day of dates) expect(day).toBeLessThan(Number(tomorrow));
});

test('a month without lines is a file as well', async () => {
  const merchant = await service.newMerchant();
  const { bytes } = await download(merchant, '/statement.ofx?from=2024-02-01&to=2024-02-29');
  const statement = parseSync(bytes.toString()).OFX.BANKMSGSRSV1.STMTTRNRS.STMTRS;
  expect(statement.LEDGERBAL).toEqual({ BALAMT: '0.00', DTASOF: '20240301000000[-3:BRT]' });
  expect(statement.BANKTRANLIST).toEqual({
    DTSTART: '20240201000000[-3:BRT]',
    DTEND: '20240301000000[-3:BRT]',
  });
  const csv = await download(merchant, '/statement.csv?from=2024-02-01&to=2024-02-29');
  expect(csv.bytes.toString().split('\r\n')).toHaveLength(2);
});

test('the month to print is a PDF in the language of the caller', async () => {
  const merchant = await service.newMerchant();
  for (let n = 0; n < 3; n++) await merchant.receive(1000 + n);
  for (const language of ['pt-BR', 'en']) {
    const { status, type, bytes } = await download(merchant, '/statement.pdf', {
      'accept-language': language,
    });
    expect([status, type]).toEqual([200, 'application/pdf']);
    expect(bytes.subarray(0, 5).toString()).toBe('%PDF-');
    expect(bytes.subarray(-6).toString().trim()).toBe('%%EOF');
    expect(bytes.toString('latin1')).toContain(`/Lang (${language})`);
  }
});

test('a period above the limit of a file is refused, and one with more room has all of it', async () => {
  const merchant = await service.newMerchant();
  const today = dayOf(service.runtime.clock.now());
  await merchant.receive(1000);
  const { ownerId, operationId } = merchant;
  const most = mostJournals.pdf;
  // Copies of the first journal, for the time of this test.
  await service.database.admin(
    `INSERT INTO journal SELECT (jsonb_populate_record(j, jsonb_build_object('seq', n, 'subject', gen_random_uuid(), 'pix', NULL))).*
      FROM journal j, generate_series(2, $3) n WHERE j.account_id = $1 AND j.chain_id = $2 AND j.seq = 1`,
    [ownerId, operationId, most + 1],
  );
  const setSeq = (seq: number) =>
    service.database.admin('UPDATE balance SET seq = $3 WHERE account_id = $1 AND operation_id = $2', [
      ownerId,
      operationId,
      seq,
    ]);
  await setSeq(most + 1);
  const { status, body } = await merchant.call('GET', `/statement.pdf?from=${today}`);
  expect([status, body.code]).toEqual([400, 'statement_too_large']);
  expect(body.message).toContain(String(most));
  const table = await download(merchant, `/statement.csv?from=${today}`);
  expect(table.bytes.toString().split('\r\n')).toHaveLength(most + 3);
  await service.database.admin('DELETE FROM journal WHERE account_id = $1 AND chain_id = $2 AND seq = $3', [
    ownerId,
    operationId,
    most + 1,
  ]);
  await setSeq(most);
  const printed = await download(merchant, `/statement.pdf?from=${today}`);
  expect([printed.status, printed.bytes.subarray(0, 5).toString()]).toEqual([200, '%PDF-']);
  await service.database.admin('DELETE FROM journal WHERE account_id = $1 AND chain_id = $2 AND seq > 1', [
    ownerId,
    operationId,
  ]);
  await setSeq(1);
});

test('the lines of the whole history add up to what the journal says, for every operation of this file', async () => {
  const chains = await service.database.admin<{ account_id: string; chain_id: string; balance: string }>(
    `SELECT j.account_id, j.chain_id, sum(j.available + j.receivable) AS balance FROM journal j
      JOIN operation o ON o.account_id = j.account_id AND o.id = j.chain_id WHERE o.deleted_at IS NULL GROUP BY 1, 2`,
  );
  expect(chains.length).toBeGreaterThan(5);
  for (const { account_id, chain_id, balance } of chains) {
    const call = service.as(await service.newKey(account_id, ['read']));
    const lines: Line[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body } = await call('GET', `/statement${cursor && `?cursor=${cursor}`}`, undefined, chain_id);
      lines.push(...body.lines);
      cursor = body.nextCursor;
    }
    expect(sumOf(lines)).toBe(Number(balance));
    expectRunning(lines, 0, Number(balance));
  }
});
