import { inspect, openBrowser, openWindow, screenshots } from '@vintem/testkit/browser.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setConditions } from '../../src/operate/accounts/conditions.ts';
import { createConnection } from '../../src/operate/connections/connections.ts';

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

  test('A link that takes a card lets its payer choose without script, and each step of the card says what it is', async () => {
    const config = { simulatorUrl: service.simulator.url, hooksUrl: service.url, provider: null };
    const operator = { ...service.cellOf(merchant), actor: 'tester' };
    await createConnection(
      { ...service.runtime, actor: 'tester', config },
      {
        ...{ name: 'cartoes', adapter: 'stripe-checkout', mode: 'shared', url: null },
        ...{ credentials: null, simulated: true },
      },
    );
    await until(async () => service.runtime.providers.has('cartoes'));
    await setConditions(operator, merchant.ownerId, { cardConnection: 'cartoes', minimumCardCents: 500 });
    const newLink = async (fields: object) => {
      const order = { title: 'Oficina de pão, sábado', methods: ['pix', 'card'], ...fields };
      const requestKey = crypto.randomUUID();
      return (await merchant.call('POST', '/payment-links', { ...order, requestKey })).body;
    };
    const { page, context, complaints } = await openWindow(browser);
    const look = async (name: string) => {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await inspect(page, `${name}-${colorScheme}`);
        await page.setViewportSize({ width: 390, height: 740 });
        await page.screenshot({ path: `${screenshots}${name}-${colorScheme}-390.png`, fullPage: true });
      }
    };
    const fixed = await newLink({ amountCents: 18_000, description: 'Material incluído.' });
    await page.goto(here(fixed.url));
    await look('payer-choice-fixed');
    const typed = await newLink({ maximumCents: 150_000, payerFields: { document: 'optional' } });
    await page.goto(here(typed.url));
    await look('payer-choice-typed');
    await page.goto(`${here(typed.url)}?lang=en`);
    await look('payer-choice-typed-en');

    const plain = await browser.newContext({ javaScriptEnabled: false, locale: 'pt-BR' });
    const still = await plain.newPage();
    await still.goto(here(fixed.url));
    await still.getByRole('button', { name: 'Pagar com cartão' }).click();
    const card = still.getByRole('link', { name: 'Pagar com cartão' });
    await card.waitFor();
    const path = new URL(still.url()).pathname;
    await still.getByRole('button', { name: 'Trocar para Pix' }).waitFor();
    await page.goto(service.url + path);
    await look('payer-card-open');
    const { payments } = (await merchant.call('GET', `/payment-links/${fixed.id}/payments`)).body;
    const act = (action: string) =>
      service.simulator.control('POST', `/control/cards/${payments[0].id.replaceAll('-', '')}/${action}`, {});
    await act('refuse');
    await page.getByRole('heading', { name: 'Cartão recusado' }).waitFor();
    await look('payer-card-refused');
    await still.getByRole('button', { name: 'Trocar para Pix' }).click();
    expect(await still.getByRole('textbox', { name: 'Pix Copia e Cola' }).inputValue()).toMatch(/^000201/);
    await page.getByRole('heading', { name: 'Página do cartão encerrada' }).waitFor();
    await look('payer-card-closed');
    await page.goto(service.url + new URL(still.url()).pathname);
    await look('payer-code-or-card');
    await still.getByRole('button', { name: 'Trocar para cartão' }).click();
    await card.waitFor();
    await plain.close();

    await setConditions(operator, merchant.ownerId, { cardConnection: null });
    await page.goto(here(fixed.url));
    await page.getByText('O cartão não está disponível agora.').waitFor();
    await look('payer-choice-no-card');
    expect(complaints).toEqual([]);
    await context.close();
  });
});
