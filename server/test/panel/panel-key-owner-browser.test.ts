import { inspect, openBrowser, openWindow, signInAt, type Window } from '@vintem/testkit/browser.ts';
import { mailsTo, newPerson } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service } from '@vintem/testkit/service.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** Who is about to confirm a transfer sees whose key it is, in a real browser, at a provider that can tell it. */

let service: Service;
let merchant: Merchant;
let browser: Browser;
let window: Window;
let page: Page;

const email = 'ana@padaria.example';
const heading = (name: string) => page.getByRole('heading', { level: 1, name });

beforeAll(async () => {
  service = await openService({ dialect: 'woovi' });
  merchant = await service.newMerchant();
  await merchant.receive(50_000);
  await newPerson(service, merchant.ownerId, email);
  browser = await openBrowser();
  window = await openWindow(browser);
  page = window.page;
  await signInAt(page, service.url, email);
  await heading('Início').waitFor();
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

async function write(pixKey: string): Promise<void> {
  await page.goto(`${service.url}/transferencias/nova`);
  await page.getByLabel('Chave Pix').fill(pixKey);
  await page.getByLabel('Valor').pressSequentially('1000');
  await page.getByRole('button', { name: 'Continuar' }).click();
  await heading('Confirme com o código').waitFor();
}

test('the owner of the key stands on the page of the code, in the list, in the transfer and on its receipt', async () => {
  await write('fornecedor@loja.example');
  await page.getByText('Fulano de Tal').waitFor();
  await page.getByText('000.***.***-91 · Banco do Brasil S.A.').waitFor();
  await inspect(page, 'transferencia-codigo-recebedor');
  await page.emulateMedia({ colorScheme: 'dark' });
  await inspect(page, 'transferencia-codigo-recebedor-escuro');
  await page.emulateMedia({ colorScheme: 'light' });

  const code = (await mailsTo(service, email)).flatMap((mail) => /^Código: (\d{6})/m.exec(mail)?.[1] ?? []);
  await page.getByLabel('Código').first().focus();
  await page.keyboard.type(code.at(-1) ?? '');
  await page.keyboard.press('Enter');
  await page.getByText('Concluída').waitFor();
  await page.getByRole('link', { name: 'Comprovante' }).click();
  await page.getByText('Banco do Brasil S.A.').waitFor();
  await inspect(page, 'comprovante-recebedor');
  await page.goto(`${service.url}/transferencias`);
  await page.getByText('Fulano de Tal · fornecedor@loja.example').first().click();
  await heading('Transferência').waitFor();
  await page.getByText('000.***.***-91 · Banco do Brasil S.A.').waitFor();
  await inspect(page, 'pagamento-recebedor');
  expect(window.complaints).toEqual([]);
});

test('a key without an owner is shown before anything is sent', async () => {
  await write('pix-key-not-found@simulator.example');
  await page.getByText('Nenhum banco tem esta chave').waitFor();
  await inspect(page, 'transferencia-codigo-sem-dono');
});
