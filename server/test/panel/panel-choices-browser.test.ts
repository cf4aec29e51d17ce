import { inspect, openBrowser, openWindow, signInAt, type Window } from '@vintem/testkit/browser.ts';
import { newPerson } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** A person chooses mails and notifications, and searches the statement: in a real browser. */

let service: Service;
let merchant: Merchant;
let browser: Browser;
let window: Window;
let page: Page;

const open = async (path: string, title: string) => {
  await page.goto(service.url + path);
  await page.getByRole('heading', { level: 1, name: title }).waitFor();
};

async function inspectBoth(name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await inspect(page, `${name}-${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

/** A browser without a screen shows no notifications: what the page would show is kept in its place. */
const standIn = `
  window.shown = JSON.parse(sessionStorage.getItem('shown') ?? '[]');
  window.Notification = class {
    static permission = 'granted';
    static requestPermission = async () => 'granted';
    constructor(title, { body, tag }) {
      window.shown.push([title, body, tag]);
      sessionStorage.setItem('shown', JSON.stringify(window.shown));
    }
  };`;
const shown = (): Promise<string[][]> => page.evaluate('window.shown');

beforeAll(async () => {
  [service, browser] = await Promise.all([openService(), openBrowser()]);
  merchant = await service.newMerchant();
  await merchant.receive(123_456);
  await newPerson(service, merchant.ownerId, 'ana@padaria.example', 'finance');
  window = await openWindow(browser);
  page = window.page;
  await page.addInitScript(standIn);
  await signInAt(page, service.url, 'ana@padaria.example');
  await page.getByRole('heading', { level: 1, name: 'Início' }).waitFor();
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

test('A person chooses mails and quiet hours, and finds the choice again', async () => {
  await open('/seguranca', 'Segurança');
  await page.getByRole('checkbox', { name: 'Extrato do mês por e-mail' }).check();
  await page.getByLabel('Pix recebidos por e-mail').selectOption({ label: 'Um resumo por dia, às 8h' });
  await page.getByLabel('Silêncio das').selectOption('0');
  await page.getByLabel('até as').selectOption('0');
  await page.getByText('Com horas iguais não há horário de silêncio.').waitFor();
  await page.getByRole('button', { name: 'Salvar escolhas' }).click();
  await page.getByText('Escolhas salvas.').waitFor();
  await page.reload();
  await page.getByRole('checkbox', { name: 'Extrato do mês por e-mail', checked: true }).waitFor();
  expect(await page.getByLabel('Pix recebidos por e-mail').inputValue()).toBe('day');
  await inspectBoth('mail-choice');
});

test('A paid charge is shown where the person wants it, with amount and account, and not before', async () => {
  const before = await merchant.paidCharge({ amountCents: 4_321, payerName: 'Lia Prado' });
  await open('/cobrancas', 'Cobranças');
  const [event] = await service.database.admin<{ id: string }>(
    "SELECT id FROM event WHERE payment_id = $1 AND type = 'charge.paid'",
    [before],
  );
  await until(() => page.evaluate(`(localStorage['vintem.seen-events'] ?? '').includes('${event?.id}')`));
  expect(await shown()).toEqual([]);
  await open('/seguranca', 'Segurança');
  await page.getByRole('checkbox', { name: 'Avisar neste navegador a cada Pix recebido' }).check();
  await open('/cobrancas', 'Cobranças');
  const id = await merchant.paidCharge({ amountCents: 1_200, payerName: 'Rui Prado' });
  await until(async () => (await shown()).length > 0);
  // The other page has a stream of its own, which repeats the last seconds.
  const [[title, body, tag] = [], ...more] = await shown();
  expect([title, tag, more]).toEqual(['Pix recebido: R$\u00a012,00', `vintem-${id}`, []]);
  expect(body).not.toContain('Prado');
});

test('The statement is searched by name and amount and narrowed to a kind', async () => {
  await merchant.paidCharge({ amountCents: 7_700, payerName: 'Zilda Torres', description: 'Bolo de fubá' });
  await open('/extrato', 'Extrato');
  const rows = page.locator('tbody tr');
  await until(async () => (await rows.count()) > 1);
  const search = page.getByRole('searchbox', { name: 'Buscar' }).last();
  await search.fill('zilda');
  await until(async () => (await rows.count()) === 1);
  await page.getByText('Bolo de fubá').waitFor();
  await inspectBoth('extrato-busca');
  await search.fill('1.234,56');
  await page.waitForURL(/q=1\.234/);
  await until(async () => (await rows.filter({ hasText: 'R$ 1.234,56' }).count()) === 1);
  await page.getByRole('button', { name: 'Limpar filtros' }).click();
  await page.getByLabel('Tipo').selectOption({ label: 'Reembolsos' });
  await page.getByText('Nenhum movimento com estes filtros neste período.').waitFor();
  expect(window.complaints).toEqual([]);
});
