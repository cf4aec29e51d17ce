import {
  inspect,
  openBrowser,
  openWindow,
  screenshots,
  signInAt,
  type Window,
} from '@vintem/testkit/browser.ts';
import { hasFocus } from '@vintem/testkit/keyboard.ts';
import { newPerson, openTab, password } from '@vintem/testkit/panel.ts';
import { openService, type Service, until } from '@vintem/testkit/service.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAccount } from '../../src/operate/connections/directory.ts';
import { invite } from '../../src/panel/people/members.ts';

/** Payment links and static codes as a shop owner uses them: in a real browser, without a command line. */

const dayMs = 24 * 3_600_000;

let service: Service;
let browser: Browser;
let window: Window;
let page: Page;
let shop: { ownerId: string; operationId: string };

beforeAll(async () => {
  [service, browser] = await Promise.all([openService(), openBrowser()]);
  window = await openWindow(browser);
  page = window.page;
  shop = await createAccount(service.runtime, {
    name: 'Ateliê Barro Vivo',
    test: true,
    connection: 'simulator',
  });
  await page.goto(`${service.url}/entrar`);
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name });
/** The page behind a public address, on the port that the test listens on. */
const here = (url: string): string => service.url + new URL(url).pathname;

/** In both languages’ shared looks: light and dark, at both widths, by axe. */
async function inspectBoth(name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await inspect(page, `${name}-${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

describe('a shop owner', () => {
  test('An invited owner reaches the first paid link without a command line', async () => {
    const email = 'dona@barro.example';
    const { token } = await invite(service.runtime, { accountId: shop.ownerId, email, role: 'owner' });
    await service.database.admin(
      `INSERT INTO merchant_profile (account_id, display_name, updated_at) VALUES ($1, 'Barro & Forno', now())`,
      [shop.ownerId],
    );
    await page.goto(`${service.url}/convite#${token}`);
    await heading('Convite para Barro & Forno').waitFor();
    await page.getByText('Conta: Ateliê Barro Vivo. Seu papel: Proprietário.').waitFor();
    // Each lack is said below its field, in the language of the page, and the first field has the focus.
    const complained = page.evaluate(
      `new Promise((resolve) => document.addEventListener('invalid', (event) => setTimeout(() => resolve(event.defaultPrevented)), { once: true, capture: true }))`,
    );
    await page.getByLabel('Senha', { exact: true }).fill('curta');
    await page.getByRole('button', { name: 'Aceitar convite' }).click();
    expect(await complained).toBe(true);
    await page.getByText('Preencha este campo.').waitFor();
    await page.getByText('A senha precisa de ao menos 12 caracteres.').waitFor();
    expect(await page.getByText('Ao menos 12 caracteres.', { exact: true }).count()).toBe(0);
    await until(() => hasFocus(page.getByLabel('Seu nome')));
    await inspectBoth('invitation-lacking');
    await page.getByLabel('Seu nome').fill('Rita Barro');
    await until(async () => (await page.getByText('Preencha este campo.').count()) === 0);
    await page.getByLabel('Senha', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Aceitar convite' }).click();
    // The password that was chosen now is that of the sign-in.
    await heading('Início').waitFor();
    await service.database.admin('DELETE FROM merchant_profile WHERE account_id = $1', [shop.ownerId]);

    await page.getByRole('navigation').getByRole('link', { name: 'Links', exact: true }).click();
    await page.getByText('Nenhum link de pagamento ainda').waitFor();
    await inspectBoth('links-empty');
    await page.getByRole('link', { name: 'Novo link' }).click();
    await page.getByLabel('Título').fill('Curso de cerâmica, turma de março');
    await page.getByRole('textbox', { name: 'Valor' }).pressSequentially('25000');
    await page.getByText('Mais opções').click();
    await inspectBoth('links-new');
    await page.getByRole('button', { name: 'Criar link' }).click();
    await heading('Curso de cerâmica, turma de março').waitFor();
    const url = (await page.getByTestId('link-url').textContent()) ?? '';
    const whatsapp = await page.getByRole('link', { name: 'Enviar por WhatsApp' }).getAttribute('href');
    expect(decodeURIComponent(whatsapp ?? '')).toContain(url);
    const mail = await page.getByRole('link', { name: 'Enviar por e-mail' }).getAttribute('href');
    expect(decodeURIComponent(mail ?? '')).toContain(url);

    const payer = await window.context.newPage();
    await payer.goto(here(url));
    await payer.getByLabel('Seu nome').fill('João da Silva');
    await payer.getByRole('button', { name: 'Pagar com Pix' }).click();
    await payer.getByRole('textbox', { name: 'Pix Copia e Cola' }).waitFor();
    const { body } = await service.simulator.control('GET', '/control/state');
    await service.simulator.control('POST', `/control/charges/${body.charges.at(-1).txid}/pay`);
    await payer.getByRole('heading', { name: 'Pagamento recebido' }).waitFor();
    await payer.close();

    // By the news of the account, without a press.
    await page.getByTestId('paid-of').getByText('1 de 1').waitFor();
    await page
      .getByRole('region', { name: 'Link de pagamento' })
      .getByText('Pago', { exact: true })
      .waitFor();
    // Nothing more can be paid by it: it is not offered for sending.
    await page.getByRole('heading', { name: 'Este link não recebe mais pagamentos' }).waitFor();
    expect(await page.getByRole('link', { name: 'Enviar por WhatsApp' }).count()).toBe(0);
    await page.getByRole('link', { name: 'João da Silva' }).waitFor();
    await inspectBoth('links-paid');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Exportar CSV' }).click(),
    ]);
    const chunks: Buffer[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).toString()).toContain(';250,00;');
    expect(download.suggestedFilename()).toMatch(/^atelie-barro-vivo.*cobrancas.*\.csv$/);
  });

  test('A link with an open amount is stopped and opened again by a press', async () => {
    await page.getByRole('navigation').getByRole('link', { name: 'Links', exact: true }).click();
    await page.getByRole('link', { name: 'Novo link' }).click();
    await page.getByLabel('Título').fill('Vaquinha do forno');
    await page.getByRole('radio', { name: 'O pagador escolhe' }).check({ force: true });
    await page.getByRole('radio', { name: 'Um número' }).check({ force: true });
    await page.getByLabel('Número de pagamentos').fill('12');
    await page.getByRole('button', { name: 'Criar link' }).click();
    await page.getByTestId('paid-of').getByText('0 de 12').waitFor();
    await page.getByRole('button', { name: 'Parar de receber' }).click();
    await page.getByRole('button', { name: 'Sim, parar' }).click();
    await page.getByText('Parado').waitFor();
    await page.getByRole('button', { name: 'Reabrir' }).click();
    await page.getByText('Ativo').waitFor();
    await page.getByRole('link', { name: 'Imprimir cartaz' }).click();
    await page.getByRole('article', { name: 'Cartaz' }).waitFor();
    await inspect(page, 'links-poster');
    await page.getByRole('navigation').getByRole('link', { name: 'Links', exact: true }).click();
    await page.getByRole('link', { name: 'Vaquinha do forno' }).waitFor();
    await inspectBoth('links');
  });
});

describe('a static code', () => {
  test('A code is made, printed on three papers, and shows each Pix with its payment', async () => {
    await page.getByRole('navigation').getByRole('link', { name: 'QR fixos' }).click();
    await page.getByRole('link', { name: 'Novo QR fixo' }).click();
    await page.getByLabel('Nome').fill('Balcão 1');
    await inspect(page, 'codes-new');
    await page.getByRole('button', { name: 'Criar QR fixo' }).click();
    await heading('Balcão 1').waitFor();
    const text = (await page.getByTestId('copy-paste').textContent()) ?? '';
    const identifier = /62290525(S[A-Z2-7]{24})/.exec(text)?.[1];
    await service.simulator.control('POST', '/control/static', { identifier, amountCents: 1_250 });
    await page.getByRole('cell', { name: 'R$ 12,50' }).first().waitFor();
    await inspectBoth('codes-one');
    await page.getByRole('link', { name: 'Imprimir cartaz' }).click();
    for (const [name, paper, width] of [
      ['A6', 'a6', 397],
      ['A4', 'a4', 794],
      ['80 mm', 'roll', 302],
    ] as const) {
      await page.getByRole('radio', { name }).check({ force: true });
      await inspect(page, `codes-poster-${paper}`);
      // As the printer has it: nothing of the panel, one sheet.
      await page.emulateMedia({ media: 'print' });
      await page.setViewportSize({ width, height: Math.round(width * 1.41) });
      await page.screenshot({ path: `${screenshots}codes-print-${paper}.png`, fullPage: true });
      const sheet = await page.pdf({ preferCSSPageSize: true, printBackground: true });
      const pages = sheet.toString('latin1').match(/\/Type\s*\/Page\b/g)?.length;
      const [, , , wide, high] = /\/MediaBox\s*\[([\d.]+) ([\d.]+) ([\d.]+) ([\d.]+)\]/.exec(
        sheet.toString('latin1'),
      ) ?? [0, 0, 0, 0, 0];
      expect({ paper, pages, wide: Math.round(Number(wide)) }).toEqual({
        paper,
        pages: 1,
        wide: { a6: 298, a4: 595, roll: 227 }[paper],
      });
      expect(Number(high)).toBeGreaterThan(400);
      await page.emulateMedia({ media: 'screen' });
    }
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByRole('navigation').getByRole('link', { name: 'QR fixos' }).click();
    await page.getByRole('link', { name: 'Balcão 1' }).click();
    await page.getByRole('button', { name: 'Desativar' }).click();
    await page.getByRole('button', { name: 'Sim, desativar' }).click();
    await page.getByText('Desativado').waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'QR fixos' }).click();
    await page.getByRole('link', { name: 'Balcão 1' }).waitFor();
    await inspectBoth('codes');
    expect(window.complaints).toEqual([]);
  });
});

/** A Tuesday of July, a month without holidays of banks, at least two weeks ahead. */
const dueDate = (() => {
  for (let at = Date.now() + 14 * dayMs; ; at += dayMs) {
    const day = new Date(at).toISOString().slice(0, 10);
    if (new Date(day).getUTCDay() === 2 && day.slice(5, 7) === '07') return day;
  }
})();
const fromDue = (days: number): string =>
  new Date(Date.parse(dueDate) + days * dayMs).toISOString().slice(0, 10);
const shown = (day: string): string => day.split('-').reverse().join('/');

describe('a charge with a due date', () => {
  test('A charge with a due date is made by a form, is paid late with the parts that the bank names, and shows the document masked', async () => {
    await page.goto(`${service.url}/cobrancas`);
    await page.getByRole('link', { name: 'Com vencimento' }).click();
    await page.getByRole('textbox', { name: 'Valor', exact: true }).pressSequentially('10000');
    await page.getByLabel('Pagador', { exact: true }).fill('Maria das Dores');
    await page.getByLabel('CPF ou CNPJ do pagador').fill('111.444.777-34');
    await page.getByLabel('E-mail do pagador').fill('maria@dores.example');
    await page.getByLabel('Lembretes por e-mail').check();
    await page.getByLabel('Vencimento', { exact: true }).fill(dueDate);
    await page.getByText('Multa, juros e descontos').click();
    await page.getByLabel('Multa', { exact: true }).selectOption('Percentual');
    await page.getByLabel('Multa: valor').pressSequentially('200');
    await page.getByLabel('Juros', { exact: true }).selectOption('Percentual ao mês');
    await page.getByLabel('Juros: valor').pressSequentially('300');
    await page.getByLabel('Desconto', { exact: true }).selectOption('Valor em reais');
    await page.getByLabel('Desconto 1: até o dia').fill(fromDue(-5));
    await page.getByLabel('Desconto 1: valor').pressSequentially('500');
    const late = page.getByRole('row', { name: shown(fromDue(10)) });
    await late.getByText('R$ 103,00').waitFor();
    await inspectBoth('due-new');
    await page.getByRole('button', { name: 'Criar cobrança' }).click();
    await page.getByText('Confira o CPF ou CNPJ.').waitFor();
    await page.getByLabel('CPF ou CNPJ do pagador').fill('111.444.777-35');
    await page.getByRole('button', { name: 'Criar cobrança' }).click();
    await page.getByText(`O app do banco mostra o valor do dia.`).waitFor();
    await page.getByText('***.444.777-**').waitFor();
    await page.getByText('Lembretes por e-mail').waitFor();
    await page.getByText(`5,00 até ${shown(fromDue(-5))}`).waitFor();
    await inspectBoth('due-open');

    const { body } = await service.simulator.control('GET', '/control/state');
    await service.simulator.behave({ components: 'sent' });
    await service.simulator.control('POST', `/control/charges/${body.charges.at(-1).txid}/pay`, {
      on: fromDue(10),
    });
    await page.getByText('Multa paga').waitFor();
    await service.simulator.behave({});
    await page.locator('.big', { hasText: 'R$ 103,00' }).waitFor();
    expect(await page.content()).not.toContain('11144477735');
    await inspectBoth('due-paid');
    await page.getByRole('link', { name: 'Comprovante' }).click();
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.getByText('R$ 103,00').first().waitFor();
  });

  test('An open charge gets another amount and day by a form that shows what changes, and a refusal by the bank says so', async () => {
    await page.goto(`${service.url}/cobrancas/vencimento`);
    await page.getByRole('textbox', { name: 'Valor', exact: true }).pressSequentially('8000');
    await page.getByLabel('Pagador', { exact: true }).fill('Ana do Pão');
    await page.getByLabel('CPF ou CNPJ do pagador').fill('11144477735');
    await page.getByLabel('Vencimento', { exact: true }).fill(dueDate);
    await page.getByText('Multa, juros e descontos').click();
    await page.getByLabel('Multa', { exact: true }).selectOption('Percentual');
    await page.getByLabel('Multa: valor').pressSequentially('200');
    await page.getByRole('button', { name: 'Criar cobrança' }).click();
    await page.getByText('O app do banco mostra o valor do dia.').waitFor();

    await page.getByRole('button', { name: 'Alterar cobrança' }).click();
    const dialog = page.getByRole('dialog');
    const confirm = dialog.getByRole('button', { name: 'Confirmar alteração' });
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByRole('textbox', { name: 'Valor', exact: true }).fill('9050');
    await dialog.getByLabel('Vencimento', { exact: true }).fill(fromDue(7));
    await dialog.getByText('Multa, juros e descontos').click();
    await dialog.getByLabel('Multa', { exact: true }).selectOption('Sem');
    const preview = dialog.getByTestId('due-preview');
    await preview.getByText(/^de R\$\s80,00 para R\$\s90,50$/).waitFor();
    await preview.getByText(`de ${shown(dueDate)} para ${shown(fromDue(7))}`).waitFor();
    await preview.getByText('deixa de valer').waitFor();
    await inspectBoth('due-change');
    await service.simulator.behave({ change: 'refuse' });
    await confirm.click();
    await dialog.getByRole('alert').getByText('O provedor recusou a alteração.').waitFor();
    await inspectBoth('due-change-refused');
    await service.simulator.behave({});
    await confirm.click();
    await dialog.waitFor({ state: 'detached' });
    // The amount stands twice, and each part of the page asks for itself.
    const amounts = page.locator('.big');
    await amounts.nth(1).filter({ hasText: 'R$ 90,50' }).waitFor();
    await amounts.nth(0).filter({ hasText: 'R$ 90,50' }).waitFor();
    await page
      .getByText(`vence em ${shown(fromDue(7))}`)
      .first()
      .waitFor();
    const { body } = await service.simulator.control('GET', '/control/state');
    expect(body.charges.at(-1).amountCents).toBe(9_050);
  });

  test('The list says when an open charge is due and when its day was, and a press cancels it', async () => {
    await page.goto(`${service.url}/cobrancas/vencimento`);
    await page.getByRole('textbox', { name: 'Valor', exact: true }).pressSequentially('2500');
    await page.getByLabel('Pagador', { exact: true }).fill('José da Feira');
    await page.getByLabel('CPF ou CNPJ do pagador').fill('11144477735');
    await page.getByLabel('Vencimento', { exact: true }).fill(dueDate);
    await page.getByRole('button', { name: 'Criar cobrança' }).click();
    await page.getByText('O app do banco mostra o valor do dia.').waitFor();
    await page.goto(`${service.url}/cobrancas`);
    const row = page.getByRole('row', { name: /José da Feira/ });
    await row.getByText(`vence em ${shown(dueDate)}`).waitFor();
    await page
      .getByRole('row', { name: /Maria das Dores/ })
      .getByText('R$ 103,00')
      .first()
      .waitFor();
    await service.database.admin(
      `UPDATE payment SET due = jsonb_set(due, '{dueDate}', '"2026-01-15"') WHERE payer_name = 'José da Feira'`,
    );
    await page.reload();
    await row.getByText('venceu em 15/01/2026').waitFor();
    await inspectBoth('due-list');
    await row.getByRole('link').click();
    await page.getByRole('button', { name: 'Cancelar cobrança' }).click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /cancelar/i })
      .last()
      .click();
    await page.getByText('Falhou').first().waitFor();
    expect(window.complaints).toEqual([]);
  });
});

describe('the counter', () => {
  test('A locked counter charges, sounds when it is paid, asks for no balance, and gives nothing else without the password', async () => {
    const { page: till, context } = await openWindow(browser, 390);
    await context.addInitScript(
      'window.said = []; window.speechSynthesis.speak = (one) => window.said.push([one.lang, one.text]);',
    );
    const asked: string[] = [];
    await signInAt(till, service.url, 'dona@barro.example');
    await till.getByRole('heading', { level: 1, name: 'Início' }).waitFor();
    await till.goto(`${service.url}/balcao`);
    await till.getByRole('button', { name: 'Trancar nesta tela' }).click();
    till.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await till.goto(`${service.url}/extrato`);
    await till.waitForURL(/\/balcao$/);
    for (const digit of ['1', '2', '00'])
      await till.getByRole('button', { name: digit, exact: true }).click();
    await till.getByRole('button', { name: 'Apagar' }).click();
    await till.keyboard.press('Tab');
    await till.locator('h1').click();
    await till.keyboard.type('5');
    await till.getByLabel('Valor da cobrança').getByText('R$ 12,05').waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await till.emulateMedia({ colorScheme });
      await inspect(till, `counter-${colorScheme}`);
    }
    await till.getByRole('button', { name: 'Cobrar' }).click();
    await till.getByRole('img', { name: 'QR code do Pix copia e cola' }).waitFor();
    const { body } = await service.simulator.control('GET', '/control/state');
    const charge = body.charges.at(-1);
    await service.simulator.control('POST', `/control/charges/${charge.txid}/pay`);
    await till.getByText('Pagamento recebido').waitFor();
    await inspect(till, 'counter-paid');
    expect(await till.evaluate('window.said')).toEqual([['pt-BR', 'Pagamento recebido: R$\u00a012,05']]);
    await till.getByRole('button', { name: 'Próxima cobrança' }).click();
    await till.getByLabel('Valor da cobrança').getByText('R$ 0,00').waitFor();
    expect(asked.filter((path) => /overview|records|statement|journal|operations/.test(path))).toEqual([]);

    await till.getByRole('button', { name: 'Sair do modo balcão' }).click();
    await till.getByRole('textbox', { name: 'Senha' }).fill('not the password');
    await till.getByRole('button', { name: 'Confirmar' }).click();
    await till.getByRole('alert').waitFor();
    await till.getByRole('textbox', { name: 'Senha' }).fill(password);
    await till.getByRole('button', { name: 'Confirmar' }).click();
    await till.getByRole('heading', { level: 1, name: 'Início' }).waitFor();
    await context.close();
  });
});

describe('the panel’s calls of links and codes', () => {
  test('A viewer reads links and their charges and makes none; another account reads nothing', async () => {
    await newPerson(service, shop.ownerId, 'leitora@barro.example', 'viewer');
    const viewer = openTab(service);
    await viewer.signIn('leitora@barro.example');
    const ours = `/accounts/${shop.ownerId}`;
    const { body } = await viewer.call('GET', `${ours}/payment-links`);
    const link = body.paymentLinks[0];
    const made = await viewer.call('POST', `${ours}/payment-links`, {
      title: 'Doação',
      requestKey: crypto.randomUUID(),
    });
    expect(made.status).toBe(403);
    expect(
      (await viewer.call('PATCH', `${ours}/payment-links/${link.id}`, { status: 'disabled' })).status,
    ).toBe(403);
    const records = `/payment-links/${link.id}/records?operationId=${shop.operationId}`;
    expect((await viewer.call('GET', ours + records)).status).toBe(200);

    const other = await createAccount(service.runtime, {
      name: 'Outra',
      test: true,
      connection: 'simulator',
    });
    await newPerson(service, other.ownerId, 'alheia@outra.example', 'owner');
    const stranger = openTab(service);
    await stranger.signIn('alheia@outra.example');
    const theirs = `/accounts/${other.ownerId}`;
    expect((await stranger.call('GET', theirs + records)).body.code).toBe('operation_not_found');
    const own = records.replace(shop.operationId, other.operationId);
    expect((await stranger.call('GET', theirs + own)).body.code).toBe('payment_link_not_found');
    const file = own.replace('/records', '/records.csv');
    expect((await stranger.call('GET', theirs + file)).body.code).toBe('payment_link_not_found');
    expect((await stranger.call('GET', ours + records)).status).toBe(404);
  });
});

test('With all operations chosen, links and codes of each are listed with its name', async () => {
  const key = await service.newKey(shop.ownerId);
  const call = service.as(key);
  const named = (name: string) => ({ name, requestKey: crypto.randomUUID() });
  const branch = (await call('POST', '/operations', named('Feira do Largo'))).body.id;
  const link = { title: 'Oficina de sábado', amountCents: 9_000, requestKey: crypto.randomUUID() };
  expect((await call('POST', '/payment-links', link, branch)).status).toBe(201);
  expect((await call('POST', '/static-codes', named('Barraca'), branch)).status).toBe(201);
  for (const [path, ofMain, ofBranch] of [
    ['/links', 'Vaquinha do forno', 'Oficina de sábado'],
    ['/qr-fixos', 'Balcão 1', 'Barraca'],
  ] as const) {
    await page.goto(`${service.url}${path}`);
    await page.getByRole('row', { name: new RegExp(`${ofBranch}.*Feira do Largo`) }).waitFor();
    await page.getByRole('row', { name: new RegExp(`${ofMain}.*Principal`) }).waitFor();
    await inspectBoth(`${path.slice(1)}-of-all`);
  }
});
