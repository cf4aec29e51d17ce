import { inspect, openBrowser, openWindow, type Window } from '@vintem/testkit/browser.ts';
import { newOperator, operatorPassword, passOperatorCodes, shellOf } from '@vintem/testkit/console.ts';
import { hasFocus } from '@vintem/testkit/keyboard.ts';
import { totpOf } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { solveSupportCase } from '@vintem/testkit/support-case.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOperator, operatorInvitationLink } from '../../src/console/people/operators.ts';
import { recordAlone } from '../../src/console/requests/alone.ts';
import { askAtShell } from '../../src/console/requests/requests.ts';
import { shownAction } from '../../src/operate/incidents/allowed.ts';
import { listIncidents } from '../../src/operate/incidents/incident.ts';

/** An operator in a browser: from the invitation to a payment's story, by keyboard, in both languages, light and dark. */

let service: Service;
let browser: Browser;
let window: Window;
let page: Page;
let secret = '';
let paymentId = '';
let endToEnd = '';
let shop: Merchant;

const email = 'rita@vintem.example';
const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name });

/** The page in both schemes, at both widths. */
async function inspectBoth(name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await inspect(page, `operator-${name}-${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
}

beforeAll(async () => {
  service = await openService({ env: { OPERATOR_ALONE_CENTS: '50000' } });
  shop = await service.newMerchant();
  paymentId = await shop.paidCharge({ payerName: 'Maria Aparecida', amountCents: 12_345 });
  ({ endToEnd } = (await shop.call('GET', `/payments/${paymentId}`)).body);
  const { sql, ids } = service.cellOf(shop);
  await sql.tx((tx) =>
    tx.run(
      {
        name: 'test_open_incident',
        text: `INSERT INTO incident (account_id, id, kind, payment_id, operation_id, amount_cents, reference, freezes, detail, opened_at, state)
          VALUES ($1, $2, 'second_payment', $3, $4, 12345, 'test', true, '{"endToEnd": "E1"}', now(), 'open')`,
      },
      [shop.ownerId, ids.uuid(), paymentId, shop.operationId],
    ),
  );
  browser = await openBrowser();
  window = await openWindow(browser);
  page = window.page;
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

test('An invitation leads into the console, with an app and a password, and its secret leaves the address', async () => {
  const { token } = await createOperator(shellOf(service), { email, name: 'Rita Lima', role: 'risk' });
  await page.goto(operatorInvitationLink(service.url, token));
  await heading('Aceitar o convite').waitFor();
  await page.getByText('Rita Lima, seu papel no console é risco.').waitFor();
  expect(page.url()).toBe(`${service.url}/operator/convite`);
  await inspectBoth('invitation');
  await page.getByRole('button', { name: 'Começar' }).press('Enter');
  secret = (await page.getByTestId('app-secret').textContent()) ?? '';
  await page.getByLabel('Crie uma senha').fill(operatorPassword);
  await page.getByLabel('Código do aplicativo').fill(totpOf(secret, Date.now()));
  await page.keyboard.press('Enter');
  await heading('Pendências').waitFor();
});

test('The worklist shows what freezes withdrawals, and leads to the incident and its payment', async () => {
  const incident = page.getByRole('link', { name: 'Incidente: Cobrança paga de novo' });
  await incident.waitFor();
  await page.getByText('Congela saques', { exact: true }).waitFor();
  await inspectBoth('worklist');
  await incident.press('Enter');
  await heading('Cobrança paga de novo').waitFor();
  await page.getByText('os saques da operação ficam congelados').waitFor();
  await inspectBoth('incident');
});

test('A decision shows its postings first, and is carried out as shown', async () => {
  const { body: charge } = await shop.charge({ amountCents: 40_000 });
  await service.simulator.control('POST', `/control/charges/${charge.id.replaceAll('-', '')}/pay`, {
    amountCents: 39_000,
  });
  let incidentId = '';
  await until(async () => {
    const found = await listIncidents(service.cellOf(shop), shop.ownerId);
    incidentId = found.find(({ kind }) => kind === 'amount_mismatch')?.id ?? '';
    return incidentId !== '';
  });
  const look = async () => {
    await page.goto(`${service.url}/operator/incidentes/${incidentId}`);
    await page.getByRole('button', { name: 'Ver as decisões possíveis' }).press('Enter');
    await page.getByRole('radio', { name: /Creditar à operação/ }).press('Space');
    await page.getByRole('textbox', { name: 'Motivo' }).fill('visto no extrato');
  };
  await look();
  await inspectBoth('decision');
  await page.getByRole('button', { name: 'Decidir assim' }).press('Enter');
  await page.getByRole('heading', { name: 'Decisão' }).waitFor();
  await page.getByText('visto no extrato').waitFor();
  expect((await shop.call('GET', `/payments/${charge.id}`)).body.status).toBe('paid');
});

test('A decision that moves too much for one person is asked for in one browser and agreed to in another, with the same postings', async () => {
  const { body: charge } = await shop.charge({ amountCents: 90_000 });
  await service.simulator.control('POST', `/control/charges/${charge.id.replaceAll('-', '')}/pay`, {
    amountCents: 89_000,
  });
  let incidentId = '';
  await until(async () => {
    const found = await listIncidents(service.cellOf(shop), shop.ownerId);
    incidentId = found.find(({ paymentId: id }) => id === charge.id)?.id ?? '';
    return incidentId !== '';
  });
  await page.goto(`${service.url}/operator/incidentes/${incidentId}`);
  await page.getByRole('button', { name: 'Ver as decisões possíveis' }).press('Enter');
  await page.getByRole('radio', { name: /Creditar à operação/ }).press('Space');
  await page.getByText('Outra pessoa vê os mesmos lançamentos').waitFor();
  await page.getByRole('textbox', { name: 'Motivo' }).fill('visto no extrato');
  await page.getByRole('button', { name: 'Pedir a outra pessoa' }).press('Enter');
  await page.getByRole('status').getByRole('link', { name: 'Pedidos' }).press('Enter');
  await heading('Pedidos').waitFor();
  await page.getByText('Outra pessoa precisa concordar').waitFor();
  expect(await page.getByRole('button', { name: 'Concordar' }).count()).toBe(0);
  const other = await newOperator(service, 'treasury');
  const second = await openWindow(browser);
  const [name = '', value = ''] = other.cookie.split('=');
  await second.context.addCookies([{ name, value, url: service.url }]);
  await second.page.goto(`${service.url}/operator`);
  await second.page.getByRole('link', { name: 'Pedido que espera por uma segunda pessoa' }).press('Enter');
  await second.page.getByText('Crédito após análise').waitFor();
  const first = page;
  page = second.page;
  await inspectBoth('request');
  await page.getByRole('button', { name: 'Concordar' }).press('Enter');
  await page.getByRole('button', { name: 'Concordar e executar agora' }).press('Enter');
  await page.getByText('executado', { exact: true }).waitFor();
  page = first;
  expect((await shop.call('GET', `/payments/${charge.id}`)).body.status).toBe('paid');
  expect(second.complaints).toEqual([]);
  await second.context.close();
});

test('A request of the shell is taken up by one operator, who then waits for another one', async () => {
  const { body: charge } = await shop.charge({ amountCents: 70_000 });
  await service.simulator.control('POST', `/control/charges/${charge.id.replaceAll('-', '')}/pay`, {
    amountCents: 69_000,
  });
  let incidentId = '';
  await until(async () => {
    const found = await listIncidents(service.cellOf(shop), shop.ownerId);
    incidentId = found.find(({ paymentId: id }) => id === charge.id)?.id ?? '';
    return incidentId !== '';
  });
  const seen = await shownAction({ ...service.cellOf(shop), actor: 'root' }, incidentId, 'credit');
  const wanted = { act: 'resolveIncident' as const, subject: incidentId, body: { action: 'credit' } };
  await askAtShell(shellOf(service), { ...wanted, ...seen, reason: 'visto no extrato do banco' });
  await page.goto(`${service.url}/operator/pedidos`);
  await page.getByText('Pedido feito na linha de comando').waitFor();
  expect(await page.getByRole('button', { name: 'Concordar' }).count()).toBe(0);
  await inspectBoth('request-of-shell');
  await page.getByRole('button', { name: 'Assumir o pedido' }).press('Enter');
  await page.getByText('Outra pessoa precisa concordar').waitFor();
  await page.getByText(`root + ${email}`).waitFor();
  await page.getByRole('button', { name: 'Retirar o pedido' }).press('Enter');
  await page.getByText('retirado', { exact: true }).waitFor();
});

test('A support case is solved by keyboard: slash, the end-to-end id, the payment', async () => {
  await page.locator('main').focus();
  await page.keyboard.press('/');
  await until(() => hasFocus(page.getByRole('textbox', { name: 'Buscar' })));
  await page.keyboard.type(endToEnd);
  await page.keyboard.press('Enter');
  await heading(`Busca por “${endToEnd}”`).waitFor();
  await inspectBoth('search');
  await page.getByRole('link', { name: 'Pagamento', exact: true }).press('Enter');
  await heading('Cobrança').waitFor();
  await page.getByText(paymentId, { exact: true }).waitFor();
  await page.getByRole('heading', { name: 'Lançamentos' }).waitFor();
  expect(await page.locator('main').textContent()).not.toContain('Maria');
  await inspectBoth('payment');
  await page.getByLabel('Motivo').fill('chamado 4711');
  await page.keyboard.press('Enter');
  await page.getByText('Maria Aparecida').waitFor();
});

test('A support case is solved with the evidence in hand, and its time is reported', async ({ annotate }) => {
  await page.goto(`${service.url}/operator`);
  const { foundMs, storyMs, evidenceMs, evidence } = await solveSupportCase(page, endToEnd);
  expect(evidence).toMatchObject({ takenBy: email, payment: { id: paymentId, status: 'paid', endToEnd } });
  await annotate(
    `found ${Math.round(foundMs)} ms, story ${Math.round(storyMs)} ms, evidence ${Math.round(evidenceMs)} ms`,
  );
});

test('The account page shows conditions and balances, in English too', async () => {
  await page.locator('main a[href^="/operator/contas/"]').first().press('Enter');
  await heading('Loja').waitFor();
  await page.getByRole('button', { name: 'EN English' }).press('Enter');
  await page.getByRole('heading', { name: 'Conditions' }).waitFor();
  await inspectBoth('account');
  await page.getByRole('button', { name: 'PT Português' }).press('Enter');
});

test('A hold is placed as it was shown, and its end is asked of a second person', async () => {
  const name = 'Bloqueios de Principal';
  await page.getByText(name).focus();
  await page.keyboard.press('Enter');
  await page.getByText('Nenhum bloqueio nesta operação.').waitFor();
  await page.getByRole('textbox', { name: 'Valor' }).fill('1000');
  await page.getByRole('textbox', { name: 'Motivo' }).fill('pedido do banco');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Bloquear assim' }).waitFor();
  await inspectBoth('hold');
  await page.getByRole('button', { name: 'Bloquear assim' }).press('Enter');
  await page.getByText(/pedido do banco, por rita@vintem\.example/).waitFor();
  await page.getByRole('button', { name: 'Encerrar este bloqueio' }).press('Enter');
  await page.getByRole('button', { name: 'Pedir a outra pessoa' }).waitFor();
  await page.getByRole('textbox', { name: 'Motivo' }).first().fill('o banco retirou o pedido');
  await page.keyboard.press('Enter');
  await page.getByRole('status').getByRole('link', { name: 'Pedidos' }).press('Enter');
  await heading('Pedidos').waitFor();
  await page.getByRole('heading', { name: 'Encerrar o bloqueio' }).waitFor();
});

test('An administrator sees the rule of odd money before and after, and another one agrees to what leaves much to the account', async () => {
  const first = page;
  const opened: Window[] = [];
  const openAs = async () => {
    const desk = await newOperator(service, 'administrator');
    const tab = await openWindow(browser);
    const [name = '', value = ''] = desk.cookie.split('=');
    await tab.context.addCookies([{ name, value, url: service.url }]);
    opened.push(tab);
    return tab.page;
  };
  page = await openAs();
  await page.goto(`${service.url}/operator/contas/${shop.ownerId}`);
  await page.getByText('Os operadores decidem sobre tudo.').waitFor();
  await page.getByRole('button', { name: 'Mudar a regra' }).press('Enter');
  await page.getByRole('checkbox', { name: 'Cobrança paga de novo' }).press('Space');
  await page.getByLabel('Até este valor de cada Pix').fill('20000');
  await page.keyboard.press('Enter');
  await page.getByText('A conta decide, até R$ 200,00 cada Pix: Cobrança paga de novo.').waitFor();
  await page.getByRole('textbox', { name: 'Motivo' }).fill('o lojista confere todo dia');
  await inspectBoth('odd-money-rule');
  await page.getByRole('button', { name: 'Mudar assim' }).press('Enter');
  await page.getByText('A regra mudou.').waitFor();

  await page.getByRole('button', { name: 'Mudar a regra' }).press('Enter');
  await page.getByLabel('Até este valor de cada Pix').fill('60000');
  await page.keyboard.press('Enter');
  await page.getByText('Outra pessoa da administração precisa concordar').waitFor();
  await page.getByRole('textbox', { name: 'Motivo' }).fill('cobranças maiores');
  await inspectBoth('odd-money-rule-second');
  await page.getByRole('button', { name: 'Pedir a outra pessoa' }).press('Enter');
  await page.getByRole('status').getByRole('link', { name: 'Pedidos' }).waitFor();

  page = await openAs();
  await page.goto(`${service.url}/operator/pedidos`);
  const card = page.getByRole('region', { name: 'Mudar quem decide sobre valores a identificar' });
  await card.getByText('A conta decide, até R$ 600,00 cada Pix: Cobrança paga de novo.').waitFor();
  await inspectBoth('odd-money-rule-request');
  await card.getByRole('button', { name: 'Concordar' }).press('Enter');
  await card.getByRole('button', { name: 'Concordar e executar agora' }).press('Enter');
  await card.getByText('executado', { exact: true }).waitFor();
  await card.getByRole('link', { name: 'Ver a conta' }).press('Enter');
  await page.getByText('A conta decide, até R$ 600,00 cada Pix').waitFor();
  page = first;
  for (const { complaints, context } of opened) {
    expect(complaints).toEqual([]);
    await context.close();
  }
});

test('An act that one person did at the shell is confirmed as seen', async () => {
  await recordAlone(shellOf(service), {
    ...{ act: 'resumeWithdrawals', subject: 'installation', body: { pausedAt: '1' }, postings: [] },
    ...{ movedCents: 0, shown: 'a'.repeat(64), reason: 'ninguém mais estava acordado' },
  });
  await page.goto(`${service.url}/operator`);
  await page
    .getByRole('link', { name: 'Ato de duas pessoas feito por uma na linha de comando' })
    .press('Enter');
  await page.getByText('ninguém mais estava acordado').waitFor();
  await inspectBoth('alone');
  await page.getByRole('button', { name: 'Confirmar que vi' }).press('Enter');
  await page.getByText('feito por uma pessoa só, visto').waitFor();
});

test('An auditor reads the audit log, filters it, and takes it as a file', async () => {
  const auditor = await newOperator(service, 'auditor');
  const second = await openWindow(browser);
  const [name = '', value = ''] = auditor.cookie.split('=');
  await second.context.addCookies([{ name, value, url: service.url }]);
  const first = page;
  page = second.page;
  await page.goto(`${service.url}/operator`);
  await page.getByRole('link', { name: 'Auditoria' }).press('Enter');
  await heading('Auditoria').waitFor();
  await page.getByText('pedido do banco').waitFor();
  await inspectBoth('audit');
  await page.getByRole('textbox', { name: 'Ato' }).fill('hold.place');
  await page.keyboard.press('Enter');
  await until(async () => new URL(page.url()).searchParams.get('action') === 'hold.place');
  await until(async () => (await page.getByText('request.see').count()) === 0);
  await page.getByText('pedido do banco').waitFor();
  await page.getByText('Guardar este filtro').press('Enter');
  await page.getByLabel('Nome do filtro').fill('Bloqueios');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Bloqueios' }).waitFor();
  await inspectBoth('audit-kept');
  await page.goto(`${service.url}/operator/auditoria`);
  await page.getByRole('link', { name: 'Bloqueios' }).press('Enter');
  await until(async () => new URL(page.url()).searchParams.get('action') === 'hold.place');
  await page.getByText('pedido do banco').waitFor();
  await page.getByText('Ver', { exact: true }).first().press('Enter');
  await page.getByText(/nº \d+, [0-9a-f]{64}/).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Baixar CSV' }).press('Enter'),
  ]);
  expect(download.suggestedFilename()).toBe('vintem-audit.csv');
  await page.getByRole('button', { name: 'EN English' }).press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor();
  expect(second.complaints).toEqual([]);
  page = first;
  await second.context.close();
});

test('Signing out leads to the gate, which takes the password and a code', async () => {
  await page.getByRole('button', { name: 'Sair' }).press('Enter');
  await heading('Entrar no console').waitFor();
  await inspectBoth('sign-in');
  await page.goto(`${service.url}/operator`);
  await heading('Entrar no console').waitFor();
  await passOperatorCodes(service);
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Senha', { exact: true }).fill('outra senha errada');
  await page.getByLabel('Código do aplicativo').fill(totpOf(secret, Date.now()));
  await page.keyboard.press('Enter');
  await page.getByText('E-mail, senha ou código errados').waitFor();
  await page.getByLabel('Senha', { exact: true }).fill(operatorPassword);
  await page.getByLabel('Código do aplicativo').fill(totpOf(secret, Date.now()));
  await page.keyboard.press('Enter');
  await heading('Pendências').waitFor();
  expect(window.complaints).toEqual([]);
});
