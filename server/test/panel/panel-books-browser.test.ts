import {
  inspect,
  openBrowser,
  openWindow,
  overfullCells,
  signInAt,
  type Window,
} from '@vintem/testkit/browser.ts';
import { newPerson } from '@vintem/testkit/panel.ts';
import { openReceiver, type Receiver } from '@vintem/testkit/receiver.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { fillQueryLimit } from '@vintem/testkit/settlement.ts';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** A merchant's look-ups in a real browser: amounts, the payer's view, the event log, reconciliation, files. */

let service: Service;
let merchant: Merchant;
let receiver: Receiver;
let browser: Browser;
let window: Window;
let page: Page;

const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name });
const open = async (path: string, title: string) => {
  await page.goto(service.url + path);
  await heading(title).waitFor();
};

beforeAll(async () => {
  service = await openService({ env: { WEBHOOK_ALLOW_INSECURE_LOCAL: 'true' } });
  merchant = await service.newMerchant();
  receiver = await openReceiver();
  await merchant.call('POST', '/webhooks', {
    url: receiver.url,
    events: ['*'],
    description: 'Loja',
    requestKey: crypto.randomUUID(),
  });
  await merchant.receive(123_456);
  await merchant.receive(12_300);
  await newPerson(service, merchant.ownerId, 'ana@padaria.example');
  browser = await openBrowser();
  window = await openWindow(browser);
  page = window.page;
  // The first visit may have to build the pages.
  await page.goto(`${service.url}/entrar`);
  await signInAt(page, service.url, 'ana@padaria.example');
  await heading('Início').waitFor();
});
afterAll(async () => {
  await browser?.close();
  await receiver?.stop();
  await service?.close();
});

describe('charges', () => {
  test.each([
    ['1.234,56', 'R$ 1.234,56'],
    ['R$ 123', 'R$ 123,00'],
    ['123.00', 'R$ 123,00'],
  ])('are found by the amount %s', async (typed, shown) => {
    await open('/cobrancas', 'Cobranças');
    await page.getByLabel('Buscar').fill(typed);
    await page.waitForURL(/q=/);
    await until(async () => (await page.locator('tbody tr').count()) === 1);
    await page.locator('tbody strong', { hasText: shown }).waitFor();
  });

  test('have a view for the payer, which changes to paid and shows nothing else of the account', async () => {
    const { body } = await merchant.charge({ amountCents: 4_200 });
    await open(`/pagamentos/${body.id}`, 'Cobrança');
    await page.getByRole('link', { name: 'Visão do pagador' }).click();
    await heading(/^Pagar para /).waitFor();
    await page.getByRole('img', { name: 'QR code do Pix copia e cola' }).waitFor();
    expect(await page.getByRole('navigation').count()).toBe(0);
    await inspect(page, 'pagador-aberto');
    await service.simulator.control('POST', `/control/charges/${body.id.replaceAll('-', '')}/pay`);
    await page.getByText('Pagamento recebido').waitFor();
  });
});

describe('a list of endpoints', () => {
  test('has a button whose words stand in its middle', async () => {
    await open('/integracoes/webhooks', 'Webhooks');
    const button = page.getByRole('link', { name: 'Ver entregas' });
    const [outer, inner] = await Promise.all([
      button.boundingBox(),
      button.getByText('Ver entregas').boundingBox(),
    ]);
    if (!outer || !inner) throw new Error('the button is not shown');
    expect(Math.abs(inner.x + inner.width / 2 - (outer.x + outer.width / 2))).toBeLessThan(2);
    expect(Math.abs(inner.y + inner.height / 2 - (outer.y + outer.height / 2))).toBeLessThan(2);
  });
});

describe('the event log', () => {
  test('shows each event with its payload and deliveries, and sends one again', async () => {
    await open('/cobrancas', 'Cobranças');
    await page.locator('tbody a').first().click();
    await heading('Cobrança').waitFor();
    await page.getByRole('link', { name: 'Ver eventos' }).click();
    await heading('Eventos').waitFor();
    const events = page.getByRole('list', { name: 'Eventos' });
    await events.getByRole('button', { name: /charge\.paid/ }).click();
    await page.getByText('"type": "charge.paid"').waitFor();
    await page.getByText('Entregue').waitFor();
    const paymentId = new URL(page.url()).searchParams.get('pagamento');
    const sent = () =>
      receiver.got.filter(({ body }) => body.type === 'charge.paid' && body.data.id === paymentId).length;
    await until(async () => sent() === 1);
    await page.getByRole('button', { name: 'Reenviar agora' }).click();
    await until(async () => sent() === 2);
    await inspect(page, 'eventos-de-um-pagamento');
    await page.getByRole('combobox', { name: 'Tipo' }).selectOption('charge.expired');
    await page.getByText('Nenhum evento com estes filtros.').waitFor();
    await page.getByRole('button', { name: 'Limpar filtros' }).click();
    await until(async () => (await events.getByRole('button').count()) > 2);
  });
});

describe('reconciliation', () => {
  test('lists what is not confirmed, and asks the provider at a press', async () => {
    // Sent and accepted, but every answer is lost: the outcome is unknown.
    await service.simulator.behave({ payout: 'lose-answer', webhook: 'drop', query: 'error-500' });
    const { body } = await merchant.transfer({ amountCents: 1_777 });
    expect(body.status).toBe('unknown');
    // The follow-up comes tomorrow, and the limit of queries is full: what is asked is asked by the press.
    const leaveToPress = async () => {
      await service.database.admin(
        `UPDATE intent SET due_at = now() + interval '1 day' WHERE payment_id = $1`,
        [body.id],
      );
      await fillQueryLimit(service);
    };
    await leaveToPress();
    await open('/conciliacao', 'Conciliação');
    const unknown = page.getByRole('region', { name: 'A confirmar' });
    await unknown.getByText('R$ 17,77').waitFor();
    await page.getByText('Os saldos batem com os lançamentos.').waitFor();
    await inspect(page, 'conciliacao-a-confirmar');
    await unknown.getByRole('button', { name: 'Consultar agora' }).click();
    await page.getByText('O serviço continua consultando.').waitFor();
    await leaveToPress();
    await service.simulator.behave({});
    await service.database.admin('DELETE FROM breaker');
    await unknown.getByRole('button', { name: 'Consultar agora' }).click();
    await page.getByText('O pagamento de R$ 17,77 está: Concluída.').waitFor();
    await unknown.getByText('Nenhum pagamento a confirmar.').waitFor();
  });

  test('shows what was decided about an incident, and why', async () => {
    await service.database.admin(
      `INSERT INTO incident (account_id, id, kind, amount_cents, reference, freezes, detail, state, opened_at, resolved_at, resolution)
       VALUES ('${merchant.ownerId}', '${service.runtime.ids.uuid()}', 'second_payment', 900, 'test', false, '{}', 'resolved',
         now(), now(), '{"action": "credit", "reason": "pago duas vezes", "actor": "operador"}')`,
    );
    await open('/conciliacao', 'Conciliação');
    await page.getByText('Cobrança paga de novo').waitFor();
    await page.getByText('Creditado: pago duas vezes').waitFor();
    await page.getByText('Nenhum incidente aberto.').waitFor();
  });
});

describe('the request log', () => {
  test('shows what a program asked for, why it was refused, and leads to the payment and back', async () => {
    const { code } = (await merchant.transfer({ amountCents: 1 })).body;
    await merchant.call('GET', '/account');
    await open('/integracoes/requisicoes', 'Requisições');
    await until(async () => {
      await page.reload();
      await heading('Requisições').waitFor();
      return (await page.getByText(`400 ${code}`).count()) > 0;
    });
    await page.getByRole('combobox', { name: 'Resposta' }).selectOption('Recusadas');
    const requests = page.getByRole('list', { name: 'Requisições' });
    await requests.getByRole('button', { name: new RegExp(code) }).click();
    const request = page.getByRole('region', { name: 'Requisição', exact: true });
    await request.getByText('(string; o valor não é guardado)').first().waitFor();
    await inspect(page, 'requisicoes');
    await page.getByRole('button', { name: 'Limpar filtros' }).click();
    // On a phone the details stand below the list: who chooses is brought there.
    await page.setViewportSize({ width: 390, height: 740 });
    await requests
      .getByRole('button', { name: /pix\/charges 201/ })
      .first()
      .click();
    const isInView = () =>
      request.evaluate(
        (one) => one.getBoundingClientRect().top < one.ownerDocument.defaultView.innerHeight / 2,
      );
    await expect.poll(isInView).toBe(true);
    await page.setViewportSize({ width: 1280, height: 900 });
    await request.getByRole('link').click();
    await heading('Cobrança').waitFor();
    await page.getByRole('link', { name: 'Requisições', exact: true }).last().click();
    await page.getByText('Do pagamento').waitFor();
    await until(async () => (await requests.getByRole('button').count()) === 1);
  });
});

describe('the page of a payment', () => {
  test('says who refused a transfer, and shows neither fee nor net of it', async () => {
    const { code, paymentId } = (await merchant.transfer({ pixKey: '52998224724', pixKeyType: 'CPF' })).body;
    expect(code).toBe('pix_key_not_found');
    await open(`/pagamentos/${paymentId}`, 'Transferência');
    await page
      .getByText(/recusada por uma regra do serviço, antes do envio; pedida por: chave de API/)
      .waitFor();
    expect(await page.getByText('Tarifa', { exact: true }).count()).toBe(0);
    expect(await page.getByText('Líquido', { exact: true }).count()).toBe(0);
    expect(await page.getByText(paymentId).isVisible()).toBe(false);
    await page.getByText('Identificadores técnicos').click();
    await page.getByText(paymentId).waitFor();
    await inspect(page, 'transferencia-recusada');
    await service.simulator.behave({ payout: 'refuse-in-answer' });
    const refused = (await merchant.transfer()).body.paymentId;
    await service.simulator.behave({});
    await open(`/pagamentos/${refused}`, 'Transferência');
    await page.getByText('recusada pelo provedor (resposta do provedor)').waitFor();
    const inspectBoth = async (name: string) => {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await inspect(page, `${name}-${colorScheme}`);
      }
      await page.emulateMedia({ colorScheme: 'light' });
    };
    await inspectBoth('transfer-refused');
    await open('/extrato', 'Extrato');
    await page.getByText('Pix não enviado: valor de volta').first().waitFor();
    await inspectBoth('statement-refused');
    await open('/', 'Início');
    await page.getByText('Pix não enviado: valor de volta').first().waitFor();
    await inspectBoth('home-refused');
  });
});

describe('a refund', () => {
  test('is asked for on the page of its charge, shows its state, and has a receipt', async () => {
    const { body } = await merchant.charge({ amountCents: 5_000 });
    await service.simulator.control('POST', `/control/charges/${body.id}/pay`);
    await open(`/pagamentos/${body.id}`, 'Cobrança');
    await page.getByText('Podem ser reembolsados R$ 50,00').waitFor();
    await page.getByRole('button', { name: 'Reembolsar' }).click();
    const dialog = page.getByRole('dialog', { name: 'Reembolsar o pagador' });
    await dialog.getByLabel('Valor').fill('9000');
    await dialog.getByText('É mais do que resta da cobrança.').waitFor();
    expect(await dialog.getByRole('button', { name: /^Reembolsar R/ }).isDisabled()).toBe(true);
    await dialog.getByLabel('Valor').fill('1990');
    await dialog.getByLabel(/Mensagem ao pagador/).fill('Um item devolvido');
    await inspect(page, 'reembolso-pedir');
    await dialog.getByRole('button', { name: 'Reembolsar R$ 19,90' }).click();
    const list = page.getByRole('list', { name: 'Reembolsos' });
    await list.getByText('Concluído').waitFor();
    await page.getByText('Podem ser reembolsados R$ 30,10').waitFor();
    await list.getByText('Um item devolvido').waitFor();
    await inspect(page, 'cobranca-com-reembolso');
    await list.getByRole('link', { name: 'Comprovante' }).click();
    await heading('Comprovante Pix').waitFor();
    await page.getByText('R$ 19,90').waitFor();
    await inspect(page, 'comprovante-de-reembolso');
  });
});

describe('the statement', () => {
  test('has lines of which each balance follows from the one before', async () => {
    await merchant.transfer({ amountCents: 2_000 });
    await open('/extrato', 'Extrato');
    await page.getByText('com tarifa de').first().waitFor();
    const rows = await page.locator('table.statement tbody tr').all();
    const cents = async (row: Locator, cell: string) => {
      const text = await row.locator(cell).innerText();
      return Number(text.replace(/[^\d]/g, '')) * (/[−-]/.test(text) ? -1 : 1);
    };
    const seen: { change: number; after: number }[] = [];
    for (const row of rows) {
      const change = (await cents(row, '.debit')) + (await cents(row, '.credit'));
      seen.push({ change, after: await cents(row, '.after') });
    }
    expect(seen.length).toBeGreaterThan(3);
    // The newest line comes first.
    for (const [at, { after }] of seen.slice(1).entries())
      expect(after + (seen[at]?.change ?? 0)).toBe(seen[at]?.after);
  });
});

describe('an operation', () => {
  test('is renamed, and its new name stands everywhere', async () => {
    await open('/operacoes', 'Operações');
    await page.getByRole('button', { name: 'Renomear' }).click();
    await page.getByRole('textbox', { name: 'Nome' }).fill('Loja do Centro');
    await page.getByRole('button', { name: 'Salvar' }).click();
    await page.getByRole('region', { name: 'Loja do Centro' }).waitFor();
    await open('/conciliacao', 'Conciliação');
    await page.getByRole('cell', { name: 'Loja do Centro' }).waitFor();
  });
});

describe('files for spreadsheets', () => {
  const links: [path: string, title: string, begins: string][] = [
    ['/cobrancas', 'Cobranças', 'Id;Tipo;Situação;'],
    ['/transferencias', 'Transferências', 'Id;Tipo;Situação;'],
    ['/operacoes', 'Operações', 'Id;Nome;Principal;Disponível (R$);'],
    ['/extrato', 'Extrato', 'Data;Lançamento;Pagador ou recebedor;'],
    ['/extrato/lancamentos', 'Lançamentos', 'Nº;Lançado em;Tipo;'],
    ['/conciliacao', 'Conciliação', 'Id;Tipo;Situação;Valor (R$);'],
    ['/integracoes/chaves', 'Chaves de API', 'Id;Nome;Permissões;'],
    ['/integracoes/eventos', 'Eventos', 'Id;Tipo;Data;'],
    ['/integracoes/requisicoes', 'Requisições', 'Data;Método;Rota;Situação;'],
    ['/pessoas', 'Pessoas', 'Nome;E-mail;Papel;'],
  ];
  const download = async (): Promise<string> => {
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: /^Export(ar)? CSV$/ }).click(),
    ]);
    const chunks: Buffer[] = [];
    for await (const chunk of await file.createReadStream()) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString();
  };

  test.each(links)('%s is one, with all of its lines', async (path, title, begins) => {
    await open(path, title);
    const lines = (await download()).split('\r\n');
    expect(lines[0]).toContain(`\ufeff${begins}`);
    expect(lines.length).toBeGreaterThan(2);
  });

  test('deliveries of an endpoint are one', async () => {
    const { webhooks } = (await merchant.call('GET', '/webhooks')).body;
    await open(`/integracoes/webhooks/${webhooks[0].id}`, 'Loja');
    const text = await download();
    expect(text.startsWith('\ufeffId do evento;Tipo;Situação;Tentativas;')).toBe(true);
    expect(text).toContain(';charge.paid;Entregue;');
  });

  test('in English commas separate and the point is the decimal sign', async () => {
    await page.evaluate(`localStorage.setItem('vintem.language', 'en')`);
    await open('/extrato', 'Statement');
    expect((await download()).split('\r\n')[1]).toMatch(/,\d+\.\d{2},/);
    for (const [path, title] of [
      ['/conciliacao', 'Reconciliation'],
      ['/integracoes/eventos', 'Events'],
      ['/integracoes/requisicoes', 'Requests'],
    ] as const) {
      await open(path, title);
      await page.waitForLoadState('networkidle');
      await inspect(page, `${title.toLowerCase()}-en`);
    }
    await page.evaluate(`localStorage.setItem('vintem.language', 'pt-BR')`);
  });
});

test('the console shows no error', () => {
  expect(window.complaints).toEqual([]);
});

test('A list shows at least 16 rows at 1440 × 900, and the field at the top finds a payment by its amount', async () => {
  for (let at = 0; at < 20; at++)
    await merchant.charge({ amountCents: 10_000 + at, payerName: 'Padaria Vila Mariana e Filhos Ltda' });
  await page.setViewportSize({ width: 1440, height: 900 });
  await open('/cobrancas', 'Cobranças');
  await until(async () => (await page.locator('tbody tr').count()) > 20);
  const inSight = await page.locator('tbody tr').evaluateAll((rows) => {
    const shown = rows.filter((row) => row.getBoundingClientRect().bottom <= 900);
    return shown.length;
  });
  expect(inSight).toBeGreaterThanOrEqual(16);
  expect(await overfullCells(page)).toEqual([]);
  await inspect(page, 'cobrancas-cheia');
  await page.getByRole('searchbox', { name: /^(Localizar um pagamento|Find a payment)$/ }).fill('100,07');
  await page.keyboard.press('Enter');
  await heading(/^(Pagamentos|Payments)$/).waitFor();
  await until(async () => (await page.locator('tbody tr').count()) === 1);
  await inspect(page, 'pagamentos-busca');
});

test('A press adds up all charges that match, page by page, and not only those that are shown', async () => {
  for (let at = 0; at < 110; at++) await merchant.charge({ amountCents: 500 + at });
  const { body } = await merchant.call('GET', '/payments?kind=deposit&status=paid&limit=100');
  const paid: { amountPaidCents?: number; amountCents: number }[] = body.payments;
  const receivedCents = paid.reduce((sum, one) => sum + (one.amountPaidCents ?? one.amountCents), 0);
  expect(receivedCents).toBeGreaterThan(123_456);
  await open('/cobrancas', 'Cobranças');
  const foot = page.locator('.listfoot');
  await foot.getByText(/^30\+ mostrados$/).waitFor();
  await foot.getByRole('button', { name: 'Somar tudo' }).click();
  const received = (receivedCents / 100).toLocaleString('pt-BR', { style: 'currency', currency: 'BRL' });
  const sum = foot
    .getByRole('status')
    .filter({ hasText: `recebido ${received.replace(/\s/, ' ')}, tarifas` });
  await sum.getByText(/^\d{3} somados/).waitFor();
  await foot.getByRole('button', { name: 'Somar de novo' }).waitFor();
  await inspect(page, 'cobrancas-somadas');
  await page.getByLabel('Buscar').fill('5,07');
  await foot.getByText(/^1 mostrado$/).waitFor();
  expect(await foot.getByRole('button', { name: /Somar/ }).count()).toBe(0);
});
