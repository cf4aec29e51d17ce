import { inspect, openBrowser, openWindow, signInAt, type Window } from '@vintem/testkit/browser.ts';
import { type Keyboard, keyboardOf } from '@vintem/testkit/keyboard.ts';
import { newPerson } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

/** Test mode in a real browser, without a mouse: the account's clock, what the provider says of a dispute, and beginning again. */

/** A bound for what is waited for, not a measure: the machine may be busy. */
const withinMs = 240_000;

let service: Service;
let merchant: Merchant;
let browser: Browser;
let window: Window;
let page: Page;
let keys: Keyboard;

const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name });
const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
const open = async (path: string, title: string | RegExp) => {
  await page.goto(service.url + path);
  await heading(title).waitFor();
};
/** At both widths, in both schemes. */
const look = async (name: string) => {
  await inspect(page, name);
  await page.emulateMedia({ colorScheme: 'dark' });
  await inspect(page, `${name}-escuro`);
  await page.emulateMedia({ colorScheme: 'light' });
};
const statusOf = async (id: string, operationId: string): Promise<string> =>
  (await merchant.call('GET', `/payments/${id}`, undefined, operationId)).body.status;

beforeAll(async () => {
  service = await openService();
  merchant = await service.newMerchant();
  await newPerson(service, merchant.ownerId, 'ana@padaria.example');
  browser = await openBrowser();
  window = await openWindow(browser);
  page = window.page;
  keys = keyboardOf(page);
  await signInAt(page, service.url, 'ana@padaria.example');
  await heading('Início').waitFor();
});

// However long the tests before took: beginning again wants a password that was given within ten minutes.
beforeEach(() => service.database.admin('UPDATE panel_session SET authenticated_at = now()'));

afterAll(async () => {
  await browser?.close();
  await service?.close();
});

test('the clock is started, and takes a charge to its expiry', { timeout: withinMs }, async () => {
  const { id } = (await merchant.charge()).body;
  await keys.press(page.getByRole('link', { name: 'Modo de teste' }));
  await heading('Modo de teste').waitFor();
  await page.getByText('Sem relógio de teste').waitFor();
  await look('modo-de-teste');
  await keys.press(button('Ligar o relógio de teste'));
  await page.getByText('Parado nesta hora').waitFor();
  await look('modo-de-teste-relogio');
  await keys.press(button('+3 dias'));
  await page.getByText('Avançando até').or(page.getByText('Parado nesta hora')).first().waitFor();
  await until(async () => (await statusOf(id, merchant.operationId)) === 'expired', withinMs);
  await page.getByText('Parado nesta hora').waitFor();
  await page.getByLabel('Até (horário de São Paulo)').fill('2020-01-01T10:00');
  await expect.poll(() => button('Avançar').isEnabled()).toBe(true);
  await keys.press(button('Avançar'));
  await page.getByRole('alert').waitFor();
});

test('a dispute of another operation is moved by the word of the provider', {
  timeout: withinMs,
}, async () => {
  const branch = (
    await merchant.call('POST', '/operations', { name: 'Filial', requestKey: crypto.randomUUID() })
  ).body;
  const { id } = (await merchant.charge({ amountCents: 5_000 }, branch.id)).body;
  await open(`/pagamentos/${id}`, 'Cobrança');
  await keys.press(button('Pagador paga'));
  // The next page is opened anew: a request still on its way would be given up.
  const disputed = page.waitForResponse((answer) => answer.url().endsWith('/dispute'));
  await keys.press(button('Contestar (MED)'));
  expect((await disputed).status()).toBe(200);
  await open(`/contestacoes?operacao=${branch.id}`, 'Contestações');
  const play = page.locator('summary').filter({ hasText: 'Modo de teste' });
  await keys.press(play);
  await button('Provedor rejeita').waitFor();
  await look('contestacao-em-teste');
  await keys.press(button('A defesa chega ao provedor'));
  await page.getByRole('cell', { name: 'Em defesa' }).waitFor();
  await expect.poll(() => button('Provedor aceita').isEnabled()).toBe(true);
  await keys.press(button('Provedor aceita'));
  await page.getByRole('cell', { name: 'Aceita' }).waitFor();
  await play.waitFor({ state: 'detached' });
});

test('the account begins again, and the page continues in the empty one', async () => {
  await open('/integracoes/teste', 'Modo de teste');
  await keys.press(button('Começar de novo'));
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Isto não pode ser desfeito').waitFor();
  await look('modo-de-teste-comecar');
  await keys.press(dialog.getByRole('button', { name: 'Começar com a conta vazia' }));
  await heading('Início').waitFor();
  const [account] = await service.database.admin<{ enabled: boolean }>(
    `SELECT enabled FROM account WHERE id = '${merchant.ownerId}'`,
  );
  expect(account?.enabled).toBe(false);
  await open('/cobrancas', 'Cobranças');
  await page.getByText('Nenhuma cobrança').waitFor();
  await open('/seguranca/registro', 'Atividade');
  await page.getByText('Conta de teste reiniciada').waitFor();
  expect(window.complaints).toEqual([]);
});
