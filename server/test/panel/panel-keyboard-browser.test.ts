import { openBrowser, openWindow, type Window } from '@vintem/testkit/browser.ts';
import { hasFocus, type Keyboard, keyboardOf } from '@vintem/testkit/keyboard.ts';
import { mailsTo, newPerson, password } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** Every main flow without a mouse: no test here clicks, and none puts the focus anywhere but with Tab. */

let service: Service;
let merchant: Merchant;
let browser: Browser;
let window: Window;
let page: Page;
let keys: Keyboard;

const email = 'ana@padaria.example';

const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name });
const open = async (path: string, title: string | RegExp) => {
  await page.goto(service.url + path);
  await heading(title).waitFor();
};

/** Answers that match stay away until they are let go: what somebody does before a page has everything. */
async function holdBack(paths: RegExp): Promise<() => Promise<void>> {
  let letGo = (): void => {};
  const free = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  await page.route(paths, async (route) => {
    await free;
    await route.continue();
  });
  return async () => {
    letGo();
    await page.unroute(paths);
  };
}

beforeAll(async () => {
  service = await openService({ env: { WEBHOOK_ALLOW_INSECURE_LOCAL: 'true' } });
  merchant = await service.newMerchant();
  await merchant.receive(50_000);
  await newPerson(service, merchant.ownerId, email);
  browser = await openBrowser();
  window = await openWindow(browser);
  page = window.page;
  keys = keyboardOf(page);
  // The first visit may have to build the pages.
  await page.goto(`${service.url}/entrar`);
});

afterAll(async () => {
  await browser?.close();
  await service?.close();
});

test('somebody signs in', async () => {
  await keys.write(page.getByLabel('E-mail'), email);
  await keys.write(page.getByLabel('Senha', { exact: true }), password);
  await keys.key('Enter');
  await heading('Início').waitFor();
});

describe('a charge', () => {
  test('without an amount says so, and leads there', async () => {
    await open('/cobrancas/nova', 'Nova cobrança');
    await keys.write(page.getByLabel('Pagador'), 'Maria Silva');
    await keys.key('Enter');
    await page.getByText('Informe o valor.').waitFor();
    await until(() => hasFocus(page.getByLabel('Valor')));
  });

  test('is created by Enter, also before the account has arrived', async () => {
    const letGo = await holdBack(/\/overview|\/account$/);
    await open('/cobrancas/nova', 'Nova cobrança');
    await keys.write(page.getByLabel('Valor'), '4200');
    await keys.write(page.getByLabel('Pagador'), 'Maria Silva');
    await keys.key('Enter');
    await page.locator('button[type=submit][data-loading]').waitFor();
    await letGo();
    await page.getByRole('img', { name: 'QR code do Pix copia e cola' }).waitFor();
  });
});

describe('a transfer', () => {
  test('without a key says so, and leads there', async () => {
    await open('/transferencias/nova', 'Nova transferência');
    await keys.write(page.getByLabel('Chave Pix'), '529.982.247-24');
    await keys.write(page.getByLabel('Valor'), '1000');
    await keys.key('Enter');
    await page.getByText('CPF inválido: confira os 11 dígitos.').waitFor();
    await until(() => hasFocus(page.getByLabel('Chave Pix')));
  });

  test('is written before the account has arrived, and sent with the code of the mail', async () => {
    const letGo = await holdBack(/\/overview|\/account$/);
    await open('/transferencias/nova', 'Nova transferência');
    await keys.write(page.getByLabel('Chave Pix'), 'fornecedor@loja.example');
    await keys.write(page.getByLabel('Valor'), '1000');
    await keys.key('Enter');
    await page.locator('button[type=submit][data-loading]').waitFor();
    await letGo();
    await heading('Confirme com o código').waitFor();
    const sent = await mailsTo(service, email);
    const code = sent.flatMap((mail) => /^Código: (\d{6})/m.exec(mail)?.[1] ?? []).at(-1) ?? '';
    await keys.to(page.getByLabel('Código').first());
    await keys.type(code);
    await keys.key('Enter');
    await page.getByText('Concluída').waitFor();
    await keys.press(page.getByRole('link', { name: 'Comprovante' }));
    await page.getByText('Pix enviado').waitFor();
  });
});

test('the console shows no error', () => {
  expect(window.complaints).toEqual([]);
});
