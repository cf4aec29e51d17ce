import { inspect, openBrowser, openWindow, signInAt, type Window } from '@vintem/testkit/browser.ts';
import { newPerson } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { setOddMoneyRule } from '../../src/operate/accounts/odd-money.ts';

/** A merchant decides about odd money in the panel: in a real browser. */

let service: Service;
let browser: Browser;
let window: Window;
let page: Page;
let merchant: Merchant;

beforeAll(async () => {
  [service, browser] = await Promise.all([openService(), openBrowser()]);
  merchant = await service.newMerchant();
  await newPerson(service, merchant.ownerId, 'ana@padaria.example');
  window = await openWindow(browser);
  page = window.page;
  await signInAt(page, service.url, 'ana@padaria.example');
  await page.getByRole('navigation').getByRole('link', { name: 'Cobranças', exact: true }).waitFor();
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

async function inspectBoth(name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await inspect(page, `${name}-${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

const waiting = async (): Promise<number> =>
  (
    await service.database.admin(
      `SELECT FROM incident WHERE account_id = $1 AND kind IN ('amount_mismatch', 'second_payment') AND state = 'open'`,
      [merchant.ownerId],
    )
  ).length;

/** A charge of R$ 20,00 with another Pix under it, which waits in suspense. */
async function odd(amountCents: number): Promise<void> {
  const before = await waiting();
  const id = await merchant.paidCharge({ amountCents: 2_000 });
  await service.simulator.control('POST', `/control/charges/${id}/pay`, { amountCents });
  await until(async () => (await waiting()) > before);
}

test('The money that waits is shown with who decides, each act with its postings, and the decision moves it', async () => {
  await setOddMoneyRule({ ...service.cellOf(merchant), actor: 'tester' }, merchant.ownerId, {
    kinds: ['second_payment'],
    mostCents: 1_000,
  });
  await odd(700);
  await odd(5_000);
  await page.goto(`${service.url}/conciliacao`);
  await page.getByRole('heading', { name: 'Valores a identificar' }).waitFor();
  await page.getByText('O valor está acima do que a sua equipe decide').waitFor();
  await inspectBoth('odd-money-waiting');

  await page.getByRole('button', { name: /^Decidir/ }).click();
  await page.getByRole('radio', { name: /Creditar R\$ 7,00 na operação/ }).check();
  await inspectBoth('odd-money-acts');
  const before = await merchant.balanceCents();
  await page.getByRole('button', { name: 'Confirmar decisão' }).click();
  await until(async () => (await merchant.balanceCents()) === before + 700);
  await page.getByRole('button', { name: /^Decidir/ }).waitFor({ state: 'detached' });
  expect(window.complaints).toEqual([]);
});
