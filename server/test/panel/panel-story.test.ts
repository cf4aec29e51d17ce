import { newPerson, openTab, type Tab } from '@vintem/testkit/panel.ts';
import { textOfPdf } from '@vintem/testkit/pdf-text.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { fillQueryLimit, later } from '@vintem/testkit/settlement.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stepDisputes } from '../../src/jobs/poll.ts';
import { dayAfter, endsAt } from '../../src/operate/closes/day.ts';
import { closeDays } from '../../src/operate/closes/step.ts';
import { type IncidentView, listIncidents, resolveIncident } from '../../src/operate/incidents/incident.ts';
import { dayOf } from '../../src/operate/statement/period.ts';
import { putProfile } from '../../src/store/rows/profile.sql.ts';

/** The pages of a person: everything that happened to a payment, and everything of all operations. */

let service: Service;
let merchant: Merchant;
let tab: Tab;
let branch: string;
/** In the second operation: paid, and disputed for a part. */
let disputed: string;

const control = (path: string, body?: object) => service.simulator.control('POST', `/control${path}`, body);
const txid = (id: string): string => id.replaceAll('-', '');
const account = async (path: string) => (await tab.call('GET', `/accounts/${merchant.ownerId}${path}`)).body;

async function readDisputes(): Promise<void> {
  const provider = service.runtime.providers.get('simulator');
  if (!provider) throw new Error('no simulator');
  await service.database.admin("UPDATE job SET due_at = 'epoch' WHERE what = 'disputes'");
  await fillQueryLimit(service);
  await stepDisputes(service.runtime, provider);
}

interface Line {
  kind: string;
  amountCents: number;
  payment: { payerName: string | null } | null;
}

const pdfOf = async (path: string): Promise<string> => {
  const answer = await fetch(`${service.url}/panel/api/accounts/${merchant.ownerId}${path}`, {
    headers: { cookie: tab.cookie() },
  });
  return textOfPdf(Buffer.from(await answer.arrayBuffer()));
};

const openIncident = async (): Promise<IncidentView | undefined> =>
  (await listIncidents(service.cellOf(merchant), merchant.ownerId)).find(({ state }) => state === 'open');

beforeAll(async () => {
  service = await openService();
  merchant = await service.newMerchant();
  await newPerson(service, merchant.ownerId, 'bia@padaria.example', 'finance');
  tab = openTab(service);
  await tab.signIn('bia@padaria.example');
  const asked = { name: 'Loja virtual', requestKey: crypto.randomUUID() };
  branch = (await merchant.call('POST', '/operations', asked)).body.id;
  await merchant.receive(10_000);
  disputed = await merchant.paidCharge({ amountCents: 5_000, payerName: 'Lia Prado' }, branch);
  await merchant.receive(20_000);
  await control(`/charges/${txid(disputed)}/dispute`, { amountCents: 3_000 });
  await until(async () => {
    await readDisputes();
    return (await account('/operation-disputes')).disputes.length === 1;
  });
});
afterAll(() => service?.close());

describe('Without an operation a page shows all of them', () => {
  test('Disputes of every operation are listed, each with its operation', async () => {
    const { disputes } = await account('/operation-disputes');
    expect(disputes).toMatchObject([
      { operationId: branch, amountCents: 3_000, payment: { payerName: 'Lia Prado' } },
    ]);
    expect((await account(`/operation-disputes?operationId=${merchant.operationId}`)).disputes).toEqual([]);
  });

  test('A statement of all operations has the lines of each, page by page, and a balance of them together', async () => {
    const whole = await account('/statement?limit=100');
    const operations = whole.lines.map((line: { operationId: string }) => line.operationId);
    expect(new Set(operations)).toEqual(new Set([merchant.operationId, branch]));
    const balances = [await merchant.balanceCents(), await merchant.balanceCents(branch)];
    expect(whole.closingBalanceCents).toBe((balances[0] ?? 0) + (balances[1] ?? 0));
    let after = whole.closingBalanceCents;
    for (const { amountCents, balanceCents } of whole.lines) {
      expect(balanceCents).toBe(after);
      after -= amountCents;
    }
    expect(after).toBe(whole.openingBalanceCents);
    const pages: unknown[] = [];
    for (let below: string | null = ''; below !== null; ) {
      const page = await account(`/statement?limit=1${below && `&below=${below}`}`);
      pages.push(...page.lines);
      below = page.nextBelow;
    }
    expect(pages).toEqual(whole.lines);
  });

  test.each([
    ['figure=holdCents', (line: Line) => line.kind === 'hold'],
    ['search=lia+PRADO', (line: Line) => line.payment?.payerName === 'Lia Prado'],
    ['amountCents=3000', (line: Line) => Math.abs(line.amountCents) === 3_000],
    [
      'figure=inCents&search=lia',
      (line: Line) => line.kind === 'charge' && line.payment?.payerName === 'Lia Prado',
    ],
  ])(
    'A statement with %s has exactly the lines that it names, with their balances, page by page',
    async (filter, isWanted) => {
      const whole = (await account('/statement?limit=100')).lines.filter(isWanted);
      expect(whole).not.toEqual([]);
      const pages: unknown[] = [];
      for (let below: string | null = ''; below !== null; ) {
        const page = await account(`/statement?limit=1&${filter}${below && `&below=${below}`}`);
        pages.push(...page.lines);
        expect(page.lookedBackTo === null).toBe(page.nextBelow === null);
        below = page.nextBelow;
      }
      expect(pages).toEqual(whole);
    },
  );

  test('A search that finds nothing gives no line and ends', async () => {
    expect(await account('/statement?limit=1&search=inexistente')).toMatchObject({
      lines: [],
      nextBelow: null,
    });
  });

  test('The journal and the file of a statement have every operation too', async () => {
    const { lines } = await account('/journal?limit=100');
    expect(new Set(lines.map((line: { operationId: string }) => line.operationId)).size).toBe(2);
    const file: string = await account('/statement.csv?language=en');
    const [header, ...rows] = file.replace('\ufeff', '').trimEnd().split('\r\n');
    expect(header).toMatch(/,operation$/);
    expect(rows.filter((row) => row.endsWith(',Loja virtual')).length).toBeGreaterThan(1);
  });

  test('A place that no page has given is refused, and another account is not shown', async () => {
    const other = await service.newMerchant();
    const status = async (path: string) =>
      (await tab.call('GET', `/accounts/${merchant.ownerId}${path}`)).status;
    expect(await status('/statement?below=7')).toBe(400);
    for (const path of ['/statement', '/journal', '/closes', '/operation-disputes'])
      expect(await status(`${path}?operationId=${other.operationId}`), path).toBe(404);
    const forged = await account(`/statement?below=${other.operationId}.9`);
    expect(forged.lines).toEqual([]);
  });
});

describe('The page of a payment shows everything that happened to it', () => {
  test('A dispute stands on its payment and at home, with deadline and what is held', async () => {
    const shown = { amountCents: 3_000, heldCents: 3_000, status: 'open', answerable: true, endedAt: null };
    const detail = await account(`/records/${disputed}`);
    expect(detail.disputes).toMatchObject([shown]);
    expect(detail.disputes[0].deadlineAt).not.toBeNull();
    expect((await account('/overview')).disputes).toMatchObject([
      { ...shown, operationId: branch, payment: { payerName: 'Lia Prado' } },
    ]);
    expect((await account(`/overview?operationId=${merchant.operationId}`)).disputes).toEqual([]);
  });

  test('A refund stands on its charge, from the request to the settlement', async () => {
    const id = await merchant.paidCharge({ amountCents: 4_000 });
    await merchant.call('POST', `/payments/${id}/refunds`, {
      amountCents: 1_500,
      requestKey: crypto.randomUUID(),
    });
    await until(async () => (await account(`/records/${id}`)).refunds[0]?.status === 'completed');
    const { refunds, returns } = await account(`/records/${id}`);
    expect(refunds).toMatchObject([{ amountCents: 1_500, reason: 'requested' }]);
    expect(refunds[0].settledAt).not.toBeNull();
    // A return that a refund of ours asked for is listed once.
    expect(returns).toEqual([]);
  });

  test('Odd money stands on its charge with its amount, and with the decision once there is one', async () => {
    const { body } = await merchant.charge({ amountCents: 10_000 });
    await control(`/charges/${txid(body.id)}/pay`, { amountCents: 9_000 });
    await until(async () => (await account(`/records/${body.id}`)).incidents.length === 1);
    const before = await account(`/records/${body.id}`);
    expect(before.incidents).toMatchObject([
      { kind: 'amount_mismatch', amountCents: 9_000, resolvedAt: null, action: null },
    ]);
    const incident = await openIncident();
    await resolveIncident({ ...later(service.cellOf(merchant), 0), actor: 'tester' }, incident?.id ?? '', {
      action: 'credit',
      reason: 'agreed with the payer',
    });
    const after = await account(`/records/${body.id}`);
    expect(after.incidents).toMatchObject([{ amountCents: 9_000, action: 'credit' }]);
    expect(after.incidents[0].resolvedAt).not.toBeNull();
    expect(Date.parse(after.record.updatedAt)).toBeGreaterThan(Date.parse(before.record.updatedAt));
  });

  test('A transfer that its receiver gave back says so', async () => {
    const { body } = await merchant.transfer({ amountCents: 2_000 });
    await until(async () => (await account(`/records/${body.id}`)).record.status === 'completed');
    expect((await control(`/payouts/${txid(body.id)}/return`, { amountCents: 500 })).status).toBe(200);
    await until(async () => (await account(`/records/${body.id}`)).returns.length === 1);
    expect((await account(`/records/${body.id}`)).returns).toMatchObject([{ amountCents: 500 }]);
  });
});

describe('A list says what came of each payment', () => {
  const listed = async (query: string) =>
    new Map<string, string[]>(
      (await account(`/records?${query}`)).records.map((one: { id: string; marks: string[] }) => [
        one.id,
        one.marks,
      ]),
    );

  test('A disputed charge, a refunded one, odd money and a returned transfer are marked and found by their mark', async () => {
    const all = await listed('limit=100');
    expect(all.get(disputed)).toEqual(['disputed']);
    for (const [mark, own] of [
      ['disputed', 'disputed'],
      ['refunded', 'partly_refunded'],
      ['returned', 'returned'],
    ] as const) {
      const found = await listed(`mark=${mark}`);
      expect([...found.values()], mark).toEqual([[own]]);
    }
    const { body } = await merchant.charge({ amountCents: 700 });
    await control(`/charges/${txid(body.id)}/pay`, { amountCents: 600 });
    await until(async () => (await listed('mark=odd')).has(body.id));
  });

  test('The file of payments has what was refunded, what a dispute took and the marks', async () => {
    const file: string = await account('/records.csv?language=pt-BR&mark=refunded');
    const [header, ...rows] = file.replace('\ufeff', '').trimEnd().split('\r\n');
    expect(header).toMatch(/;Reembolsado \(R\$\);Debitado em contestação \(R\$\);Depois$/);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatch(/;15,00;0,00;Reembolsada em parte$/);
  });
});

test('The PDF of a statement carries the letterhead with the CNPJ, the legal name, and a number on each page', async () => {
  const { sql } = service.cellOf(merchant);
  await putProfile(sql, merchant.ownerId, {
    displayName: 'Padaria Vila Mariana',
    legalName: 'Vila Mariana Pães e Doces Ltda.',
    cnpj: '11222333000181',
    colour: null,
    updatedAt: Date.now(),
  });
  const text = await pdfOf(`/statement.pdf?operationId=${merchant.operationId}&language=pt-BR`);
  expect(text).toContain('11.222.333/0001-81');
  expect(text).toContain('Padaria Vila Mariana');
  expect(text).toContain('Vila Mariana Pães e Doces Ltda.');
  expect(text).toContain('Página 1/');
  const lines = text.split('\n');
  for (const column of ['Data', 'Histórico', 'Doc.', 'Débito (R$)', 'Crédito (R$)', 'Saldo (R$)'])
    expect(lines).toContain(column);
  // A fee stands on the row of its Pix, and in its debit.
  expect(text).toMatch(/inclui tarifa de\s+R\$\s0,25/);
  expect(lines).toContain('-20,00');
  expect(text).not.toContain('Tarifa de transferência');
});

test('Home, statement, closes, CSV, OFX and the PDF of the closes give the same figures to the cent, with refunds, a lost and a won dispute, a return and odd money', async () => {
  const lost = await merchant.paidCharge({ amountCents: 7_800 });
  const won = await merchant.paidCharge({ amountCents: 1_100 });
  const provider = await Promise.all(
    [lost, won].map(async (id) => (await control(`/charges/${txid(id)}/dispute`, {})).body.id),
  );
  await readDisputes();
  await control(`/disputes/${provider[0]}/accept`);
  await control(`/disputes/${provider[1]}/reject`);
  await readDisputes();
  await control(`/charges/${txid(lost)}/return`, {});
  await until(async () => (await account(`/records/${lost}`)).disputes[0].debitedCents === 7_800);
  await until(async () => (await account(`/records/${won}`)).disputes[0].heldCents === 0);

  const ids = [merchant.operationId, branch];
  const { totals, openingBalanceCents, closingBalanceCents } = await account('/statement?limit=1');
  const { inCents, outCents, feeCents, refundCents, holdCents } = totals;
  const balances = await Promise.all(ids.map((id) => merchant.balanceCents(id)));
  const sum = (cents: number[]) => cents.reduce((all, one) => all + one, 0);
  expect([openingBalanceCents, closingBalanceCents]).toEqual([0, sum(balances)]);
  expect(inCents - outCents - feeCents - refundCents - holdCents).toBe(closingBalanceCents);
  // Of what is disputed only the open one is held; the lost one is a loss.
  expect(holdCents).toBe(3_000);
  expect(outCents).toBeGreaterThanOrEqual(7_800);

  const { days } = await account('/overview');
  expect(sum(days.map((day: { inCents: number }) => day.inCents))).toBe(inCents);
  expect(sum(days.map((day: { outCents: number }) => day.outCents))).toBe(outCents + feeCents + refundCents);

  // Today and the day after it, should the test pass midnight: the flows of both, and the balances in which the last one ends.
  const now = service.runtime.clock.now();
  const day = dayAfter(dayOf(now));
  await closeDays(service.runtime, dayOf(now - 86_400_000), endsAt(day) + 3_600_000);
  const { closes } = await account('/closes');
  const flow = (name: string) => sum(closes.map((one: Record<string, number>) => one[name] ?? 0));
  const last = closes.filter((one: { day: string }) => one.day === day);
  expect(last).toHaveLength(ids.length);
  expect(['inCents', 'outCents', 'feeCents', 'refundCents', 'holdCents'].map(flow)).toEqual([
    inCents,
    outCents,
    feeCents,
    refundCents,
    holdCents,
  ]);
  expect(sum(last.map((one: { closingCents: number }) => one.closingCents))).toBe(closingBalanceCents);

  const paper = await pdfOf(`/closes.pdf?month=${day.slice(0, 7)}&language=en`);
  const text = new Intl.NumberFormat('pt-BR', { minimumFractionDigits: 2 });
  expect(paper).toContain('All operations');
  // Should the month end tonight, the flows of today are on another paper.
  if (dayOf(now).slice(0, 7) === day.slice(0, 7))
    for (const cents of [inCents, -outCents, -feeCents, -refundCents, -holdCents, closingBalanceCents])
      expect(paper.split('\n')).toContain(text.format(cents / 100));

  const file: string = await account('/statement.csv?language=en');
  const [header = '', ...rows] = file.replace('\ufeff', '').trimEnd().split('\r\n');
  const at = header.split(',').indexOf('amount');
  expect(sum(rows.map((row) => Math.round(Number(row.split(',')[at]) * 100)))).toBe(closingBalanceCents);
  const ofx = await Promise.all(ids.map((id) => account(`/statement.ofx?operationId=${id}`)));
  const amounts = ofx.flatMap((text: string) => [...text.matchAll(/<TRNAMT>(.*)\r/g)]);
  expect(sum(amounts.map(([, one]) => Math.round(Number(one) * 100)))).toBe(closingBalanceCents);
});
