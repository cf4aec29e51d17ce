import { inspect, openBrowser, openWindow, signInAt, type Window } from '@vintem/testkit/browser.ts';
import { type Desk, newOperator } from '@vintem/testkit/console.ts';
import { newPerson } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stepExaminations } from '../../src/operate/connections/examination.ts';

/** The console's pages about the installation itself in a browser, by keyboard, in both languages, light and dark, at three widths. */

let service: Service;
let browser: Browser;
let window: Window;
let page: Page;
let shop: Merchant;

const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name });

async function inspectBoth(name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await inspect(page, `operator-${name}-${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
}

/** A browser of an operator who is signed in. */
async function windowOf(desk: Desk): Promise<Window> {
  const opened = await openWindow(browser);
  const [name = '', value = ''] = desk.cookie.split('=');
  await opened.context.addCookies([{ name, value, url: service.url }]);
  return opened;
}

beforeAll(async () => {
  // No worker closes the days since those of the test.
  service = await openService({ worker: false });
  shop = await service.newMerchant();
  await shop.receive(250_000);
  await service.database.admin(
    `INSERT INTO connection (id, webhook_token, query_bucket_at, test, simulated, certificate_expires_at, held_since, held_seen_at, held_reason)
     VALUES ('banco-norte', 'w1', now(), true, true, now() + interval '12 days', NULL, NULL, NULL),
       ('banco-sul', 'w2', now(), true, true, now() - interval '2 days', now(), now() + interval '1 day', 'the provider answers with another account than before')`,
  );
  await service.database.admin(
    `INSERT INTO breaker (connection, call, open, probe_at, changed_at) VALUES ('banco-norte', 'payout', true, now() + interval '30 seconds', now())`,
  );
  await service.database.admin(
    `UPDATE connection SET balance_cents = 18234567, balance_read_at = now(), blocked_total_cents = 45000, blocked_med_cents = 45000, blocked_judicial_cents = 0
     WHERE id = 'simulator'`,
  );
  await service.database.admin(
    `INSERT INTO cash_transfer (connection, reference, to_connection, amount_cents, left_at, due_at, found_at)
     VALUES ('banco-norte', 'po_1Q2w3E4r5T', 'simulator', 1250000, now() - interval '3 days', now() - interval '1 day', now()),
       ('banco-norte', 'po_6Y7u8I9o0P', 'simulator', 830000, now(), now() + interval '2 days', now())`,
  );
  // A month of closes: one that differs, one that agrees under an assumption, one that was not compared.
  await service.database.admin(
    `INSERT INTO connection_close (connection, day, previous_day, opening_cents, in_cents, out_cents, refund_cents, fee_cents, held_cents,
        closing_cents, since_cents, in_transit_cents, provider_cents, difference_cents, compared_at, closed_at, head, cost_cents, own_in_cents,
        own_out_cents, blocked_cents, transit_settled_cents, transit_pending_cents, transit_unsent_cents, incident_id)
      SELECT 'simulator', day, CASE WHEN n > 1 THEN day - 1 END, (n - 1) * 60000, 100000, 35000, 5000, 250, 0, n * 60000,
        CASE WHEN n <> 28 THEN 0 END, CASE WHEN n = 29 THEN 45000 WHEN n <> 28 THEN 0 END,
        CASE WHEN n = 29 THEN n * 60000 - 45000 WHEN n = 30 THEN n * 60000 - 1990 WHEN n <> 28 THEN n * 60000 END,
        CASE WHEN n = 30 THEN -1990 WHEN n <> 28 THEN 0 END, CASE WHEN n <> 28 THEN now() END, now(), sha256('x'), 1990, 0, 25000, 0,
        CASE WHEN n <> 28 THEN 0 END, CASE WHEN n = 29 THEN 45000 WHEN n <> 28 THEN 0 END, CASE WHEN n <> 28 THEN 12000 END,
        CASE WHEN n = 30 THEN '01939f3a-7a00-7000-8000-000000000009'::uuid END
      FROM (SELECT n, date '2025-01-01' + n::integer AS day FROM generate_series(1, 30) n) d`,
  );
  browser = await openBrowser();
  window = await windowOf(await newOperator(service, 'treasury'));
  page = window.page;
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

test('Connections are a page of g and c, which says what is held, down and about to end', async () => {
  await page.goto(`${service.url}/operator`);
  await heading('Pendências').waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('c');
  await heading('Conexões').waitFor();
  await page.getByText('bloqueada', { exact: true }).waitFor();
  await page.getByText('provedor fora do ar', { exact: true }).waitFor();
  await page.getByText(/, vencido/).waitFor();
  await page.getByText(/, vence logo/).waitFor();
  await inspectBoth('connections');
  await page.getByRole('link', { name: 'banco-norte' }).press('Enter');
  await heading('banco-norte').waitFor();
  await page.getByText('Recusado por enquanto: transferências').waitFor();
});

test('A press examines a connection as the doctor does, and the page shows what was found', async () => {
  await page.goto(`${service.url}/operator/conexoes/simulator`);
  await heading('simulator').waitFor();
  await page.getByText('R$ 182.345,67').waitFor();
  await page.getByText('po_1Q2w3E4r5T').waitFor();
  await page.getByText('atrasado').waitFor();
  await page.getByRole('link', { name: 'Loja' }).waitFor();
  await page.getByRole('button', { name: 'Examinar agora' }).press('Enter');
  await page.getByText('Exame em andamento').waitFor();
  await stepExaminations(service.runtime);
  await page.getByText(/itens em ordem/).press('Enter');
  await page.getByText('the provider accepts the credentials').waitFor();
  await page.getByText(/pedido por operador\d+@vintem\.example/).waitFor();
  await inspectBoth('connection');
  await page.getByRole('button', { name: 'EN English' }).press('Enter');
  await page.getByRole('heading', { name: 'Money at the provider' }).waitFor();
  await page.getByText(/points in order/).waitFor();
  await page.getByRole('button', { name: 'PT Português' }).press('Enter');
});

test('Closes show the provider’s word beside the books, and a day says on which ground they agree', async () => {
  await page.locator('main').focus();
  await page.keyboard.press('g');
  await page.keyboard.press('f');
  await heading('Fechamentos').waitFor();
  await page.getByText('confere sob hipótese').waitFor();
  await page.getByText('não confere').waitFor();
  await page.getByText('não comparado').waitFor();
  await inspectBoth('closes');
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Baixar CSV' }).press('Enter'),
  ]);
  expect(file.suggestedFilename()).toBe('vintem-closes.csv');
  await page.getByRole('link', { name: '30/01/2025' }).press('Enter');
  await heading('Fechamento de 30/01/2025').waitFor();
  await page.getByText('O provedor não diz que saiu').waitFor();
  await page.getByText('se saiu também o em andamento').waitFor();
  await page.getByRole('button', { name: 'Mostrar as operações' }).press('Enter');
  await page.getByText('Nenhuma operação foi fechada neste dia').waitFor();
  await inspectBoth('close');
});

test('The page of processes shows cells and what waits, and says when no worker runs', async () => {
  await page.locator('main').focus();
  await page.keyboard.press('g');
  await page.keyboard.press('p');
  await heading('Processos e células').waitFor();
  await page.getByText('Nenhum worker no ar').waitFor();
  await page.getByText('em dia', { exact: true }).waitFor();
  await inspectBoth('processes');
});

test('An operator is created by two administrators in two browsers, and the second one sees the link once', async () => {
  const first = await windowOf(await newOperator(service, 'administrator'));
  const second = await windowOf(await newOperator(service, 'administrator'));
  const treasury = page;
  page = first.page;
  await page.goto(`${service.url}/operator/operadores`);
  await heading('Operadores').waitFor();
  await page.getByRole('textbox', { name: 'E-mail' }).fill('nova@vintem.example');
  await page.getByRole('textbox', { name: 'Nome' }).fill('Nova Pessoa');
  await page.getByRole('textbox', { name: 'Motivo' }).fill('entrou na equipe');
  await inspectBoth('operators');
  await page.keyboard.press('Enter');
  await page.getByRole('status').getByRole('link', { name: 'Pedidos' }).waitFor();
  page = second.page;
  await page.goto(`${service.url}/operator/pedidos`);
  await page.getByRole('heading', { name: 'Criar um operador' }).waitFor();
  await page.getByText('Nova Pessoa, nova@vintem.example').waitFor();
  await page.getByRole('button', { name: 'Concordar' }).press('Enter');
  await page.getByRole('button', { name: 'Concordar e executar agora' }).press('Enter');
  await page.getByText('Entregue este link a nova@vintem.example').waitFor();
  await page.getByText('executado', { exact: true }).waitFor();
  await inspectBoth('operator-invited');
  const link = (await page.getByTestId('invitation').textContent())?.trim() ?? '';
  await page.goto(`${service.url}/operator/pedidos`);
  await page.getByText('executado', { exact: true }).waitFor();
  expect(await page.getByTestId('invitation').count()).toBe(0);
  await page.goto(link);
  await page.getByText('Nova Pessoa, seu papel no console é suporte.').waitFor();
  for (const one of [first, second]) expect(one.complaints).toEqual([]);
  page = treasury;
  await first.context.close();
  await second.context.close();
});

test('A notice that support sets shows in a merchant’s panel in the language of its reader, and is closed for the session', async () => {
  const treasury = page;
  const support = await windowOf(await newOperator(service, 'support'));
  page = support.page;
  await page.goto(`${service.url}/operator`);
  await heading('Pendências').waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('n');
  await heading('Aviso aos lojistas').waitFor();
  await page.getByText('Nenhum aviso.').waitFor();
  const pt =
    'Manutenção hoje às 22h: <b>saques</b> ficam parados por cerca de uma hora. Cobranças continuam a ser pagas.';
  await page.getByRole('textbox', { name: 'Texto em português' }).fill(pt);
  await page
    .getByRole('textbox', { name: 'Texto em inglês' })
    .fill('Maintenance today at 22h: withdrawals stop for about an hour.');
  const until = new Date(Date.now() + 86_400_000).toISOString().slice(0, 16);
  await page.getByLabel('Até', { exact: true }).fill(until);
  await page.getByRole('button', { name: 'Mostrar a todas as contas' }).press('Enter');
  await page.getByText('no ar', { exact: true }).waitFor();
  await inspectBoth('notice');
  await newPerson(service, shop.ownerId, 'dona@padaria.example');
  const merchant = await openWindow(browser);
  page = merchant.page;
  await signInAt(page, service.url, 'dona@padaria.example');
  await heading('Início').waitFor();
  const banner = page.getByRole('region', { name: 'Aviso' });
  await banner.getByText('<b>saques</b>').waitFor();
  await inspectBoth('notice-in-panel');
  await page.getByRole('button', { name: 'EN English' }).click();
  await page.getByRole('region', { name: 'Notice' }).getByText('withdrawals stop').waitFor();
  await page.getByRole('button', { name: 'PT Português' }).click();
  await page.getByRole('button', { name: 'Fechar o aviso' }).press('Enter');
  expect(await banner.count()).toBe(0);
  await page.reload();
  await heading('Início').waitFor();
  expect(await banner.count()).toBe(0);
  page = support.page;
  await page.getByRole('button', { name: 'Encerrar agora' }).press('Enter');
  await page.getByText('Nenhum aviso.').waitFor();
  for (const one of [support, merchant]) expect(one.complaints).toEqual([]);
  page = treasury;
  await support.context.close();
  await merchant.context.close();
});

test('A role finds the pages that it has, and money of a connection only where it counts it', async () => {
  const support = await windowOf(await newOperator(service, 'support'));
  await support.page.goto(`${service.url}/operator/conexoes/simulator`);
  await support.page.getByRole('heading', { level: 1, name: 'simulator' }).waitFor();
  await support.page.getByRole('button', { name: 'Examinar agora' }).waitFor();
  expect(await support.page.getByText('R$ 182.345,67').count()).toBe(0);
  expect(await support.page.getByRole('link', { name: 'Fechamentos' }).count()).toBe(0);
  const auditor = await windowOf(await newOperator(service, 'auditor'));
  await auditor.page.goto(`${service.url}/operator/conexoes/simulator`);
  await auditor.page.getByText('R$ 182.345,67').waitFor();
  expect(await auditor.page.getByRole('button', { name: 'Examinar agora' }).count()).toBe(0);
  for (const one of [support, auditor, window]) expect(one.complaints).toEqual([]);
  await support.context.close();
  await auditor.context.close();
});

test('Support sees a merchant’s panel under a grant, read only, and the merchant sees who looks and ends it', async () => {
  const support = await windowOf(await newOperator(service, 'support'));
  await newPerson(service, shop.ownerId, 'socia@padaria.example');
  const merchant = await openWindow(browser);
  page = merchant.page;
  await signInAt(page, service.url, 'socia@padaria.example');
  await heading('Início').waitFor();
  await page.goto(`${service.url}/seguranca`);
  await page.getByText('não permitida').waitFor();
  await page.getByRole('button', { name: 'Permitir', exact: true }).press('Enter');
  await page.getByText('permitida até').waitFor();
  page = support.page;
  await page.goto(`${service.url}/operator/contas/${shop.ownerId}`);
  await page.getByText('Ver o painel desta conta').press('Enter');
  await page.getByLabel('Motivo (o lojista lê)').fill('chamado 4711: cobrança não aparece');
  await inspectBoth('account-view');
  await page.getByRole('button', { name: 'Abrir o painel' }).press('Enter');
  await heading('Início').waitFor();
  await page.getByText('Você vê o painel de').waitFor();
  await page.getByText('R$ 2.500,00').first().waitFor();
  expect(await page.getByText('Maria').count()).toBe(0);
  expect(await page.getByRole('link', { name: 'Nova cobrança' }).count()).toBe(0);
  await inspectBoth('view-home');
  for (const path of [
    'cobrancas',
    'transferencias',
    'extrato',
    'operacoes',
    'contestacoes',
    'conciliacao',
    'empresa',
    'links',
    'qr-fixos',
  ]) {
    await page.goto(`${service.url}/${path}`);
    await page.getByText('Você vê o painel de').waitFor();
    await page.locator('h1').first().waitFor();
  }
  page = merchant.page;
  await page.reload();
  await page.getByText('O suporte está vendo este painel').waitFor();
  await page.getByText('chamado 4711').waitFor();
  await inspectBoth('support-in-security');
  await page.getByRole('button', { name: 'Encerrar agora' }).press('Enter');
  await page.getByText('não permitida').waitFor();
  page = support.page;
  await page.goto(service.url);
  await page.getByRole('button', { name: 'Entrar', exact: true }).waitFor();
  for (const one of [support, merchant]) expect(one.complaints).toEqual([]);
  page = window.page;
  await support.context.close();
  await merchant.context.close();
});

test('Treasury asks another person to give a return that names no payment to its transfer, with the postings that were shown', async () => {
  const { body } = await shop.transfer({ amountCents: 2_000 });
  await until(async () => (await shop.call('GET', `/payments/${body.id}`)).body.status === 'completed');
  await page.goto(`${service.url}/operator/pagamentos/${body.id}`);
  await page.getByText('Devolução sem pagamento').focus();
  await page.keyboard.press('Enter');
  await page.getByRole('textbox', { name: 'ID da devolução' }).fill(`D${'7'.repeat(31)}`);
  await page.getByRole('textbox', { name: 'Valor, se não há linha' }).fill('500');
  const now = await page.evaluate(() => {
    const local = new Date(Date.now() - new Date().getTimezoneOffset() * 60_000);
    return local.toISOString().slice(0, 19);
  });
  await page.getByLabel('Quando chegou, se não há linha').fill(now);
  await page.getByRole('textbox', { name: 'Motivo' }).fill('visto no extrato do banco');
  await page.keyboard.press('Enter');
  const asks = page.getByRole('button', { name: 'Pedir a outra pessoa' });
  await asks.waitFor();
  await inspectBoth('return');
  await asks.press('Enter');
  await page.getByRole('status').getByRole('link', { name: 'Pedidos' }).press('Enter');
  await heading('Pedidos').waitFor();
  await page.getByRole('heading', { name: 'Lançar a devolução de uma transferência' }).waitFor();
  await inspectBoth('return-request');
});
