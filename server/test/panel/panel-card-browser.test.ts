import {
  inspect,
  openBrowser,
  openWindow,
  overfullCells,
  signInAt,
  type Window,
} from '@vintem/testkit/browser.ts';
import { newPerson } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { setConditions } from '../../src/operate/accounts/conditions.ts';
import { createConnection } from '../../src/operate/connections/connections.ts';

/** Payments by card as a merchant sees them in the panel: in a real browser. */

let service: Service;
let browser: Browser;
let window: Window;
let page: Page;
let merchant: Merchant;

beforeAll(async () => {
  [service, browser] = await Promise.all([openService(), openBrowser()]);
  const config = { simulatorUrl: service.simulator.url, hooksUrl: service.url, provider: null };
  await createConnection(
    { ...service.runtime, actor: 'tester', config },
    {
      name: 'cartoes',
      adapter: 'stripe-checkout',
      mode: 'shared',
      url: null,
      credentials: null,
      simulated: true,
    },
  );
  await until(async () => service.runtime.providers.has('cartoes'));
  merchant = await service.newMerchant();
  await setConditions({ ...service.cellOf(merchant), actor: 'tester' }, merchant.ownerId, {
    ...{ cardConnection: 'cartoes', cardFeeCents: 39, cardFeeBps: 399, minimumCardCents: 500 },
  });
  await newPerson(service, merchant.ownerId, 'ana@loja.example');
  window = await openWindow(browser);
  page = window.page;
  await signInAt(page, service.url, 'ana@loja.example');
  await page.getByRole('navigation').getByRole('link', { name: 'Cobranças', exact: true }).waitFor();
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

const move = (id: string, action: string, fields: object = {}) =>
  service.simulator.control('POST', `/control/cards/${id.replaceAll('-', '')}/${action}`, fields);

async function inspectBoth(name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await inspect(page, `${name}-${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

const isHeld = async (id: string): Promise<boolean> =>
  (await merchant.call('GET', `/payments/${id}`)).body.cardSettlementStatus === 'held';

test('An open payment by card leads to the page of the acquirer and shows no Pix code; a paid one shows its card and its release', async () => {
  const { body } = await merchant.call('POST', '/card/checkouts', {
    ...{ amountCents: 10_000, payerName: 'Maria Silva', description: 'Pedido 1042' },
    requestKey: crypto.randomUUID(),
  });
  await page.goto(`${service.url}/pagamentos/${body.id}`);
  const open = page.getByRole('link', { name: 'Abrir a página de pagamento' });
  await open.waitFor();
  expect(await open.getAttribute('href')).toBe(body.checkoutUrl);
  expect(await page.getByTestId('copy-paste').count()).toBe(0);
  await inspectBoth('card-open');

  await move(body.id, 'refuse', { reason: 'insufficient_funds' });
  await page.getByText('Tentativas que restam').waitFor();
  await inspectBoth('card-refused');

  await move(body.id, 'approve', { brand: 'mastercard', last4: '4444' });
  await until(() => isHeld(body.id));
  await page
    .getByText(/retido, previsão de liberação em/)
    .first()
    .waitFor();
  await page.getByText('Mastercard final 4444').first().waitFor();
  await page.getByRole('button', { name: 'Reembolsar' }).waitFor();
  await inspectBoth('card-held');
  await page.goto(service.url);
  await page.getByText('Recebido no cartão e ainda retido pela adquirente').waitFor();
  await page.getByText('2 de 4').waitFor();
  expect(await page.getByRole('link', { name: 'Receber o pagamento da primeira cobrança' }).count()).toBe(0);
  await inspectBoth('card-home');

  await page.goto(`${service.url}/cobrancas`);
  await page.getByText('Mastercard final 4444').waitFor();
  await page.setViewportSize({ width: 1440, height: 900 });
  expect(await overfullCells(page)).toEqual([]);
  await inspectBoth('card-list');

  await page.goto(`${service.url}/pagamentos/${body.id}`);
  await page.getByRole('button', { name: 'Reembolsar' }).click();
  await page.getByText('O valor volta para o cartão com que foi pago').waitFor();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Valor').fill('');
  await dialog.getByLabel('Valor').pressSequentially('3000');
  await dialog.getByRole('button', { name: /R\$\s30,00/ }).click();
  await until(async () => (await merchant.call('GET', `/payments/${body.id}`)).body.refundedCents === 3_000);

  await move(body.id, 'release');
  await until(async () => !(await isHeld(body.id)));
  await page.goto(`${service.url}/pagamentos/${body.id}`);
  await page.getByText('Liberado', { exact: true }).waitFor();
  expect(window.complaints).toEqual([]);
});

test('A link that takes a card is made where the account takes cards, and says how it can be paid', async () => {
  await page.goto(`${service.url}/links/novo`);
  await page.getByLabel('Título').fill('Oficina de pão');
  await page.getByRole('textbox', { name: 'Valor' }).pressSequentially('18000');
  await page.getByRole('radio', { name: 'Pix ou cartão' }).check({ force: true });
  await page.getByText(/No cartão valem os limites e a tarifa de cartão/).waitFor();
  await inspectBoth('card-link-new');
  await page.getByRole('button', { name: 'Criar link' }).click();
  await page.getByRole('heading', { level: 1, name: 'Oficina de pão' }).waitFor();
  await page.getByText('Pix ou cartão', { exact: true }).waitFor();
  await inspectBoth('card-link');
  const { paymentLinks } = (await merchant.call('GET', '/payment-links')).body;
  expect(paymentLinks).toMatchObject([{ amountCents: 18_000, methods: ['pix', 'card'] }]);
  expect(window.complaints).toEqual([]);
});
