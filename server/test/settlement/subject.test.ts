import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { violations } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { anonymiseSubject, exportSubject, type SubjectOperator } from '../../src/operate/subject.ts';

/** Stored data about a person is found, given out, and taken away when its time is over; money does not change by it. */

let service: Service;
let merchant: Merchant;
let other: Merchant;
let operator: SubjectOperator;

beforeAll(async () => {
  service = await openService();
  merchant = await service.newMerchant();
  operator = { ...service.cellOf(merchant), actor: 'ana' };
  other = await service.newMerchant(service.cellOf(merchant));
  await Promise.all([merchant.receive(20_000), other.receive(20_000)]);
});
afterAll(() => service?.close());

const byName = (name: string, { ownerId }: Merchant = merchant) => ({
  accountId: ownerId,
  name,
  pixKey: null,
});
const byKey = (pixKey: string) => ({ accountId: merchant.ownerId, name: null, pixKey });

/** The operator of a later year. */
const inYears = (years: number): SubjectOperator => ({
  ...operator,
  clock: { ...operator.clock, now: () => operator.clock.now() + years * 366 * 86_400_000 },
});
const audits = () =>
  service.database.admin<{ action: string; detail: object; text: string }>(
    `SELECT action, detail, audit::text AS text FROM audit WHERE action LIKE 'subject.%' ORDER BY id`,
  );

const ends = (id: string, status: string) =>
  until(async () => (await merchant.call('GET', `/payments/${id}`)).body.status === status);

async function paidCharge(payerName: string): Promise<string> {
  const { body } = await merchant.charge({
    payerName,
    description: `livro de ${payerName}`,
    metadata: { cpf: '1' },
    fiscalDocuments: [{ kind: 'other', key: '7' }],
  });
  await service.simulator.control('POST', `/control/charges/${body.id.replaceAll('-', '')}/pay`);
  await ends(body.id, 'paid');
  return body.id;
}

test('an export holds what payments of this account say about the person, and nothing of others', async () => {
  const id = await paidCharge('Joana Prado');
  await paidCharge('Pedro Prado');
  await other.charge({ payerName: 'Joana Prado' });
  const found = await exportSubject(operator, byName('  joana   PRADO '));
  expect(found).toMatchObject([
    {
      id,
      payerName: 'Joana Prado',
      description: 'livro de Joana Prado',
      metadata: { cpf: '1' },
      fiscalDocuments: [{ kind: 'other', key: '7' }],
      status: 'paid',
    },
  ]);
  expect(await exportSubject(operator, byName('Joana'))).toEqual([]);
});

test('a receiver is found by the Pix key, which stands sealed in the database', async () => {
  const { body } = await merchant.transfer({ pixKey: 'rita@loja.example' });
  await ends(body.id, 'completed');
  expect(await exportSubject(operator, byKey('Rita@loja.example '))).toMatchObject([
    { id: body.id, pixKey: 'rita@loja.example' },
  ]);
});

test('a receiver is found by the name that the provider gave, which goes with the rest', async () => {
  await service.simulator.behave({ webhook: 'drop' });
  const { body } = await merchant.transfer({ pixKey: 'caio@loja.example' });
  await ends(body.id, 'completed');
  await service.simulator.behave({});
  const told = { name: 'Fulano de Tal', taxId: '***.456.789-**', bank: null };
  expect(await exportSubject(operator, byName('fulano de tal'))).toMatchObject([
    { id: body.id, receiver: told },
  ]);
  const done = await anonymiseSubject(inYears(6), byName('Fulano de Tal'), { years: 5, reason: 'asked for' });
  expect(done).toMatchObject({ anonymised: 1 });
  expect(await exportSubject(operator, byName('Fulano de Tal'))).toEqual([]);
  expect(await exportSubject(operator, byKey('caio@loja.example'))).toEqual([]);
});

test('data older than its time names no person any more; journals, hashes and amounts stay', async () => {
  const payments = [await paidCharge('Bia Reis'), await paidCharge('Bia Reis')];
  const journals = () => service.database.admin(`SELECT * FROM journal ORDER BY account_id, chain_id, seq`);
  const refund = await merchant.call('POST', `/payments/${payments[0]}/refunds`, {
    requestKey: crypto.randomUUID(),
    amountCents: 1,
    description: 'troco de Bia Reis',
  });
  const shown = async () => (await merchant.call('GET', `/refunds/${refund.body.id}`)).body;
  await until(async () => (await shown()).status === 'completed');
  const [before, balance] = [await journals(), await merchant.balanceCents()];
  const anonymise = (years: number) =>
    anonymiseSubject(inYears(years), byName('Bia Reis'), { years: 5, reason: 'pedido 17' });

  expect(await anonymise(4)).toEqual({ anonymised: 0, open: 0, kept: 2, keptUntil: expect.any(Number) });
  const found = await exportSubject(operator, byName('Bia Reis'));
  expect(found.flatMap(({ refunds }) => refunds)).toEqual([
    { id: refund.body.id, description: 'troco de Bia Reis' },
  ]);
  expect(found).toHaveLength(2);
  expect(await anonymise(5)).toEqual({ anonymised: 2, open: 0, kept: 0, keptUntil: null });
  expect(await exportSubject(operator, byName('Bia Reis'))).toEqual([]);
  for (const id of payments) {
    const [row] = await service.database.admin(`SELECT * FROM payment WHERE id = $1`, [id]);
    const payer_name = expect.stringMatching(/^anonymised-/);
    expect(row).toMatchObject({ payer_name, description: '', metadata: null, fiscal_documents: null });
    expect(JSON.stringify(row)).not.toContain('Bia');
  }
  expect(await shown()).toMatchObject({ amountCents: 1, description: '' });

  expect(await journals()).toEqual(before);
  expect(await merchant.balanceCents()).toBe(balance);
  expect(await violations(service)).toEqual([]);
});

test('The payer of a charge with a due date is found by document and mail, given out whole, and gone with the rest', async () => {
  const dueDate = new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 10);
  const address = { street: 'Rua Aurora, 7', city: 'Recife', state: 'PE', postalCode: '50030000' };
  const payer = { name: 'Nair Luz', document: '529.982.247-25', email: 'nair@luz.example', address };
  const { body } = await merchant.call('POST', '/pix/due-charges', {
    ...{ amountCents: 5_000, payer, dueDate, requestKey: crypto.randomUUID() },
  });
  await service.simulator.control('POST', `/control/charges/${body.id.replaceAll('-', '')}/pay`);
  await ends(body.id, 'paid');
  const whole = { ...payer, document: '52998224725' };
  for (const subject of [byName('Nair Luz'), byKey('529.982.247-25'), byKey('Nair@luz.example')])
    expect(await exportSubject(operator, subject)).toMatchObject([{ id: body.id, payer: whole }]);
  const done = await anonymiseSubject(inYears(6), byKey('52998224725'), { years: 5, reason: 'r' });
  expect(done).toMatchObject({ anonymised: 1 });
  for (const subject of [byName('Nair Luz'), byKey('52998224725'), byKey('nair@luz.example')])
    expect(await exportSubject(operator, subject)).toEqual([]);
  const [row] = await service.database.admin<{ payer: Buffer; due: { document: string } }>(
    'SELECT payer, due FROM payment WHERE id = $1',
    [body.id],
  );
  expect(row?.due.document).toBe('');
  const left = operator.secrets.open(row?.payer ?? Buffer.alloc(0), body.id).toString();
  expect(JSON.parse(left)).toEqual({ name: expect.stringMatching(/^anonymised-/), document: '' });
  expect((await merchant.call('GET', `/payments/${body.id}`)).body).toMatchObject({
    ...{ status: 'paid', amountPaidCents: 5_000, dueTerms: { payerDocument: '' } },
  });
});

test('The document that a payer of a link typed finds the payment, is given out whole, and is gone with the rest', async () => {
  const order = { title: 'Curso', amountCents: 2_500, requestKey: crypto.randomUUID() };
  const { body: link } = await merchant.call('POST', '/payment-links', {
    ...{ ...order, payerFields: { document: 'required' } },
  });
  const typed = { method: 'pix', payerName: 'Ivo Reis', payerDocument: '168.995.350-09' };
  const made = await fetch(`${service.url}${new URL(link.url).pathname}/charge`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(typed),
  });
  const { id } = (await made.json()) as { id: string };
  await service.simulator.control('POST', `/control/charges/${id.replaceAll('-', '')}/pay`);
  await ends(id, 'paid');
  for (const subject of [byName('Ivo Reis'), byKey('168.995.350-09')])
    expect(await exportSubject(operator, subject)).toMatchObject([
      { id, payer: { document: '16899535009' } },
    ]);
  const done = await anonymiseSubject(inYears(6), byKey('16899535009'), { years: 5, reason: 'r' });
  expect(done).toMatchObject({ anonymised: 1 });
  for (const subject of [byName('Ivo Reis'), byKey('16899535009')])
    expect(await exportSubject(operator, subject)).toEqual([]);
  const [row] = await service.database.admin('SELECT link_payer, payer_document FROM payment WHERE id = $1', [
    id,
  ]);
  expect(row).toEqual({ link_payer: null, payer_document: null });
});

test('a key is replaced too, and the payment is shown as before', async () => {
  const { body } = await merchant.transfer({ pixKey: 'caio@loja.example' });
  await ends(body.id, 'completed');
  expect(
    await anonymiseSubject(inYears(11), byKey('caio@loja.example'), { years: 10, reason: 'r' }),
  ).toMatchObject({ anonymised: 1 });
  expect(await exportSubject(operator, byKey('caio@loja.example'))).toEqual([]);
  expect((await merchant.call('GET', `/payments/${body.id}`)).body).toMatchObject({
    status: 'completed',
    amountCents: 1000,
  });
});

test('what the merchant answered to a dispute is given out, and taken away with the payment', async () => {
  const id = await paidCharge('Nina Sales');
  await service.simulator.control('POST', `/control/charges/${id.replaceAll('-', '')}/dispute`, {});
  await service.database.admin("UPDATE vintem.job SET due_at = 'epoch' WHERE what = 'disputes'");
  const disputeOf = async () =>
    (await merchant.call('GET', '/disputes')).body.disputes.find(
      ({ paymentId }: { paymentId: string }) => paymentId === id,
    );
  await until(async () => (await disputeOf()) !== undefined);
  const { id: disputeId } = await disputeOf();
  const path = `/disputes/${disputeId}/defence`;
  await merchant.call('POST', path, { text: 'Nina Sales assinou o recibo.' });
  const shown = async () => (await merchant.call('GET', path)).body.defence;
  await until(async () => (await shown()).status === 'sent');
  const contents = Buffer.from('%PDF-1.7 recibo de Nina Sales');
  const fileId = crypto.randomUUID();
  await service.database.admin(
    `INSERT INTO dispute_file (account_id, id, dispute_id, operation_id, name, type, size_bytes, sha256, body, created_at)
      SELECT account_id, $2, id, operation_id, 'recibo Nina.pdf', 'application/pdf', $3, sha256($4), $5, now() FROM dispute WHERE id = $1`,
    [disputeId, fileId, contents.length, contents, operator.secrets.seal(contents, fileId)],
  );
  const [found] = await exportSubject(operator, byName('Nina Sales'));
  expect(found?.files).toMatchObject([
    { id: fileId, name: 'recibo Nina.pdf', contents: contents.toString('base64') },
  ]);
  expect(found?.defences).toEqual([{ id: disputeId, text: 'Nina Sales assinou o recibo.' }]);
  await anonymiseSubject(inYears(6), byName('Nina Sales'), { years: 5, reason: 'r' });
  expect(await shown()).toMatchObject({ status: 'sent', text: null });
  const [file] = await service.database.admin('SELECT * FROM dispute_file WHERE id = $1', [fileId]);
  expect(file).toMatchObject({ name: '', body: null, size_bytes: contents.length });
});

test('what has not ended stays, however old it is', async () => {
  await merchant.charge({ payerName: 'Lia Melo' });
  expect(await anonymiseSubject(inYears(7), byName('Lia Melo'), { years: 5, reason: 'r' })).toMatchObject({
    anonymised: 0,
    open: 1,
  });
});

test('fewer than five years are refused, and so is no reason', async () => {
  await expect(anonymiseSubject(operator, byName('X'), { years: 4, reason: 'r' })).rejects.toThrow(
    '5 years at least',
  );
  await expect(anonymiseSubject(operator, byName('X'), { years: 5, reason: ' ' })).rejects.toThrow(
    'a reason has',
  );
});

test('each look and each change is audited, without the name or the key', async () => {
  const rows = await audits();
  expect(new Set(rows.map(({ action }) => action))).toEqual(new Set(['subject.export', 'subject.anonymise']));
  for (const { text } of rows) expect(text).not.toMatch(/joana|bia|rita|caio|nina/i);
});
