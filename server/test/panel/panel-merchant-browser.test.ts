import { inspect, openBrowser, openWindow, signInAt, type Window } from '@vintem/testkit/browser.ts';
import { newPerson } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service } from '@vintem/testkit/service.ts';
import type { Browser, Page } from 'playwright-core';
import { PNG } from 'pngjs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** A merchant's settings in the panel, in a real browser, in light and dark: its own look, its receivers, the buttons of test mode. */

let service: Service;
let merchant: Merchant;
let browser: Browser;
let window: Window;
let page: Page;

const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name });
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

/** A head of a JPEG that says everything about the picture, and nothing of it: made by the browser, cut before its scan. */
async function jpegWithoutScan(): Promise<Buffer> {
  const whole = Buffer.from(
    await page.evaluate<string>(`(() => {
      const canvas = document.createElement('canvas');
      canvas.getContext('2d').fillRect(0, 0, 100, 100);
      return canvas.toDataURL('image/jpeg').split(',')[1];
    })()`),
    'base64',
  );
  const scan = whole.indexOf(Buffer.from([0xff, 0xda]));
  expect(scan).toBeGreaterThan(0);
  return Buffer.concat([whole.subarray(0, scan), Buffer.from([0xff, 0xd9])]);
}

beforeAll(async () => {
  service = await openService();
  merchant = await service.newMerchant();
  await merchant.receive(123_456);
  await newPerson(service, merchant.ownerId, 'ana@padaria.example');
  browser = await openBrowser();
  window = await openWindow(browser);
  page = window.page;
  await page.goto(`${service.url}/entrar`);
  await signInAt(page, service.url, 'ana@padaria.example');
  await heading('Início').waitFor();
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

describe('the company page', () => {
  test('sets name, CNPJ, colour and logo, which payers and receipts show', async () => {
    await open('/empresa', 'Empresa');
    await look('empresa-sem-dados');
    await page.getByLabel('Nome').fill('Padaria São João');
    await page.getByLabel('CNPJ').fill('12.ABC.345/01DE-36');
    await page.getByLabel('Cor', { exact: true }).fill('#14467c');
    await page.getByRole('button', { name: 'Salvar' }).click();
    await page.getByText('CNPJ inválido').waitFor();
    await page.getByLabel('CNPJ').fill('12.ABC.345/01DE-35');
    await page.getByRole('button', { name: 'Salvar' }).click();
    const preview = page.getByRole('region', { name: 'Como fica' });
    await preview.getByText('CNPJ 12.ABC.345/01DE-35').waitFor();
    await page.getByText('Dados salvos.').waitFor();
    const logo = new PNG({ width: 900, height: 300 });
    for (let at = 0; at < logo.data.length; at += 4) logo.data.set([20, 70, 124, 255], at);
    const choose = (name: string, mimeType: string, buffer: Buffer) =>
      page.locator('input[type=file]').setInputFiles({ name, mimeType, buffer });
    await choose('foto.jpg', 'image/jpeg', await jpegWithoutScan());
    await page.getByText('O navegador não conseguiu ler esta imagem.').waitFor();
    await choose('logo.png', 'image/png', PNG.sync.write(logo));
    await preview.locator('img').waitFor();
    await page.getByRole('button', { name: 'Remover logotipo' }).waitFor();
    await look('empresa');
    const { body } = await merchant.charge({ amountCents: 4_200 });
    await open(`/pagamentos/${body.id}/pagador`, 'Pagar para Padaria São João');
    await page.getByRole('img', { name: 'QR code do Pix copia e cola' }).waitFor();
    await page.getByText('CNPJ 12.ABC.345/01DE-35').waitFor();
    await look('pagador-com-marca');
    await open(`/pagamentos/${body.id}`, 'Cobrança');
    await look('modo-de-teste-pendente');
    await page.getByRole('button', { name: 'Pagador paga' }).click();
    await page.getByRole('button', { name: 'Provedor retira o valor' }).waitFor();
    await look('modo-de-teste-paga');
    await page.getByRole('link', { name: 'Comprovante', exact: true }).click();
    await heading('Comprovante Pix').waitFor();
    await page.getByText('CNPJ 12.ABC.345/01DE-35').waitFor();
    await look('comprovante-com-marca');
  });
});

test('A page without a network says that the service did not answer', async () => {
  await open('/', 'Início');
  const complaints = window.complaints.length;
  await page.context().setOffline(true);
  await page.getByRole('navigation').getByRole('link', { name: 'Cobranças', exact: true }).click();
  await page.getByText('O serviço não respondeu. Verifique a conexão e tente de novo.').first().waitFor();
  await page.context().setOffline(false);
  // The browser writes on its console what it could not fetch.
  window.complaints.length = complaints;
});

describe('the guides', () => {
  test('open in the language of the reader', async () => {
    await open('/', 'Início');
    const guides = await page.getByRole('link', { name: 'Guias' }).first().getAttribute('href');
    const reference = await page
      .getByRole('link', { name: 'Referência da API' })
      .first()
      .getAttribute('href');
    for (const [path, language] of [
      [guides, 'pt-BR'],
      [reference, 'en'],
    ] as const) {
      const answer = await fetch(service.url + path);
      expect([path, answer.status]).toEqual([path, 200]);
      expect(await answer.text()).toContain(`<html lang="${language}"`);
    }
  });
});

describe('a receiver', () => {
  test('is saved from a new transfer, chosen for the next one, and forgotten', async () => {
    await open('/transferencias/nova', 'Nova transferência');
    await page.getByLabel('Chave Pix').fill('529.982.247-25');
    await page.getByRole('button', { name: 'Salvar este recebedor' }).click();
    const dialog = page.getByRole('dialog', { name: 'Salvar este recebedor' });
    await dialog.getByLabel('Nome').fill('Moinho Novo');
    await look('recebedor-salvar');
    // By the keyboard alone: Enter saves the receiver, and does not send the form behind it.
    await dialog.getByLabel('Nome').press('Enter');
    await page.getByText('Salvo como Moinho Novo').waitFor();
    await open('/transferencias/nova', 'Nova transferência');
    await page.getByRole('combobox', { name: 'Recebedor' }).click();
    await page.getByRole('option', { name: /Moinho Novo · 529\.982\.247-25/ }).click();
    expect(await page.getByLabel('Chave Pix').inputValue()).toBe('529.982.247-25');
    await page.getByText('Salvo como Moinho Novo').waitFor();
    await look('transferencia-para-salvo');
    await page.getByLabel('Valor').fill('1000');
    await page.getByRole('button', { name: 'Continuar' }).click();
    await heading('Confirme com o código').waitFor();
    await page.getByText('Salvo como Moinho Novo').waitFor();
    await open('/transferencias/nova', 'Nova transferência');
    await page.getByRole('button', { name: 'Recebedores salvos' }).click();
    await page.getByRole('button', { name: 'Remover Moinho Novo' }).click();
    await page.getByRole('button', { name: 'Remover Moinho Novo' }).waitFor({ state: 'detached' });
    const [left] = await service.database.admin<{ count: string }>('SELECT count(*) FROM saved_receiver');
    expect(Number(left?.count)).toBe(0);
  });

  test('and no page complained', () => {
    expect(window.complaints).toEqual([]);
  });
});
