import { inspect, openBrowser, openWindow } from '@vintem/testkit/browser.ts';
import { type Merchant, openService, type Service } from '@vintem/testkit/service.ts';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** The payer's pages in a real browser: looked at by axe at both widths, light and dark, with and without script. */

let service: Service;
let merchant: Merchant;
let browser: Browser;

beforeAll(async () => {
  [service, browser] = await Promise.all([openService(), openBrowser()]);
  merchant = await service.newMerchant();
  await service.database.admin(
    `INSERT INTO merchant_profile (account_id, display_name, cnpj, colour, updated_at) VALUES ($1, 'Padaria Vila Mariana', '11222333000181', '#14467c', now())`,
    [merchant.ownerId],
  );
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

/** The page behind a public address, on the port that the test listens on. */
const here = (url: string): string => service.url + new URL(url).pathname;
const pay = (id: string) =>
  service.simulator.control('POST', `/control/charges/${id.replaceAll('-', '')}/pay`, {});

describe('a payer’s page in a browser', () => {
  test('It shows the code, copies it, turns paid by itself, and says so to a screen reader', async () => {
    const { page, context, complaints } = await openWindow(browser);
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const { body } = await merchant.charge({
      amountCents: 12_345,
      description: 'Bolo de casamento, entrada',
    });
    await page.goto(here(body.payerUrl));
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await inspect(page, `payer-pending-${colorScheme}`);
    }
    await page.getByRole('button', { name: 'Copiar código Pix' }).click();
    await page.getByRole('button', { name: /Código copiado/ }).waitFor();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(body.copyPaste);
    await pay(body.id);
    await page.getByRole('heading', { name: 'Pagamento recebido' }).waitFor();
    await page.getByRole('status').filter({ hasText: 'Pagamento recebido' }).waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await inspect(page, `payer-paid-${colorScheme}`);
    }
    await page.getByRole('link', { name: 'Conferir este pagamento' }).click();
    await page.getByRole('heading', { name: 'Pix liquidado' }).waitFor();
    await inspect(page, 'payer-proof');
    await page.goto(`${service.url}/pay/nowhere`);
    await inspect(page, 'payer-not-found');
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('A link asks for amount and name without script, names a fault, and leads to the code', async () => {
    const order = {
      title: 'Doação para a reforma',
      description: 'Obrigado por ajudar!',
      minimumCents: 500,
      maximumCents: 100_000,
      payerFields: { name: 'required' },
      requestKey: crypto.randomUUID(),
    };
    const link = (await merchant.call('POST', '/payment-links', order)).body;
    const context = await browser.newContext({ javaScriptEnabled: false, locale: 'pt-BR' });
    const page = await context.newPage();
    await page.goto(here(link.url));
    await page.getByLabel('Valor (R$)').fill('3,00');
    await page.getByLabel('Seu nome').fill('Ana Prado');
    await page.getByRole('button', { name: 'Pagar com Pix' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByLabel('Seu nome').inputValue()).toBe('Ana Prado');
    await page.getByLabel('Valor (R$)').fill('25,90');
    await page.getByRole('button', { name: 'Pagar com Pix' }).click();
    expect(await page.getByRole('textbox', { name: 'Pix Copia e Cola' }).inputValue()).toMatch(/^000201/);
    await page.getByRole('heading', { name: /R\$ 25,90/ }).waitFor();
    await page.getByRole('link', { name: 'English' }).click();
    await page.getByRole('heading', { name: /Pay with Pix: R\$ 25,90/ }).waitFor();
    await context.close();

    const seen = await openWindow(browser);
    await seen.page.goto(here(link.url));
    for (const colorScheme of ['light', 'dark'] as const) {
      await seen.page.emulateMedia({ colorScheme });
      await inspect(seen.page, `payer-link-${colorScheme}`);
    }
    await merchant.call('PATCH', `/payment-links/${link.id}`, { status: 'disabled' });
    await seen.page.reload();
    await inspect(seen.page, 'payer-link-disabled');
    expect(seen.complaints).toEqual([]);
    await seen.context.close();
  });
});
