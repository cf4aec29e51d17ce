import { readFile } from 'node:fs/promises';
import { inspect, openBrowser, openWindow, signInAt } from '@vintem/testkit/browser.ts';
import { newPerson } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { fillQueryLimit, sendDefences, statusOf } from '@vintem/testkit/settlement.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stepDisputes } from '../../src/jobs/poll.ts';
import { dayAfter, endsAt } from '../../src/operate/closes/day.ts';
import { closeDays } from '../../src/operate/closes/step.ts';
import { dayOf } from '../../src/operate/statement/period.ts';

/** A merchant's view of closed days and of disputes, in a real browser. */

let service: Service;
let merchant: Merchant;
let browser: Browser;
let page: Page;

/** No midnight comes between what moves here and its close: it is all in the second day after this one. */
const tomorrow = dayAfter(dayOf(Date.now()));
const shownDay = dayAfter(tomorrow);
const close = (day: string, closedDay: string | null) =>
  closeDays(service.runtime, closedDay, endsAt(day) + 3_600_000);

const open = async (path: string, title: string) => {
  await page.goto(service.url + path);
  await page.getByRole('heading', { level: 1, name: title }).waitFor();
};

async function dispute(): Promise<void> {
  const { body } = await merchant.charge({ amountCents: 7_500 });
  const path = `/control/charges/${body.id.replaceAll('-', '')}`;
  await service.simulator.control('POST', `${path}/pay`);
  await until(async () => (await statusOf(service, body.id)) === 'paid');
  await service.simulator.control('POST', `${path}/dispute`, { amountCents: 5_000 });
  const provider = service.runtime.providers.get('simulator');
  if (!provider) throw new Error('no simulator');
  await service.database.admin("UPDATE job SET due_at = 'epoch' WHERE what = 'disputes'");
  await fillQueryLimit(service);
  await stepDisputes(service.runtime, provider);
}

beforeAll(async () => {
  service = await openService({ worker: false });
  merchant = await service.newMerchant();
  await newPerson(service, merchant.ownerId, 'ana@padaria.example');
  browser = await openBrowser();
  ({ page } = await openWindow(browser));
  // The first visit may have to build the pages.
  await page.goto(`${service.url}/entrar`);
  await signInAt(page, service.url, 'ana@padaria.example');
  await page.getByRole('heading', { level: 1, name: 'Início' }).waitFor();
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

describe('before anything happened', () => {
  test('both pages say what will be there', async () => {
    await open('/extrato/fechamentos', 'Fechamentos');
    await page.getByText('Nenhum dia fechado ainda.').waitFor();
    await open('/contestacoes', 'Contestações');
    await page.getByText('Nenhuma contestação.').waitFor();
  });
});

describe('a dispute', () => {
  test('is listed with what is held and how long its defence is taken', async () => {
    await close(tomorrow, null);
    await merchant.receive(123_456);
    await dispute();
    await open('/contestacoes', 'Contestações');
    const row = page.locator('tbody tr.link');
    await row.getByText('Aberta').waitFor();
    expect(await row.innerText()).toMatch(/R\$\s50,00[\s\S]*R\$\s50,00[\s\S]*R\$\s0,00/);
    await row.getByText(/faltam? \d+ dias?|menos de um dia/).waitFor();
    await inspect(page, 'contestacoes');
    await row.getByRole('link').click();
    await page.getByRole('heading', { level: 1, name: 'Cobrança' }).waitFor();
    await page.getByText('Contestada', { exact: true }).waitFor();
    await page.getByText('Contestação (MED) de R$ 50,00: valor bloqueado').waitFor();
    await page.getByRole('button', { name: 'Escrever defesa' }).waitFor();
    await page.getByText(/Recebido R\$\s75,00 − .*bloqueado R\$\s50,00 = R\$\s/).waitFor();
    await inspect(page, 'pagamento-contestado');
  });

  test('stands first at home, with its deadline, and in the menu as a count', async () => {
    await open('/', 'Início');
    const attention = page.getByRole('region', { name: 'Prazos' });
    await attention.getByText('1 contestação (MED) aberta').waitFor();
    await attention.getByText(/faltam? \d+ dias?|menos de um dia/).waitFor();
    await attention.getByRole('button', { name: 'Escrever defesa' }).waitFor();
    await page.getByRole('link', { name: 'Contestações 1' }).waitFor();
    await inspect(page, 'inicio-contestacao');
  });

  test('is answered once, and shows what became of the defence', async () => {
    await open('/contestacoes', 'Contestações');
    await page.getByRole('button', { name: 'Escrever defesa' }).click();
    const dialog = page.getByRole('dialog', { name: 'Responder à contestação' });
    const send = dialog.getByRole('button', { name: 'Enviar defesa' });
    const text = dialog.getByRole('textbox', { name: 'Defesa' });
    await text.waitFor();
    expect(await send.isDisabled()).toBe(true);
    await text.fill('x'.repeat(1001));
    await dialog.getByText('1.001 de 1.000 caracteres').waitFor();
    await dialog.getByText('Mais longa do que o provedor aceita.').waitFor();
    expect(await send.isDisabled()).toBe(true);
    await text.fill('Entregue em 20/11.\nO cliente assinou o recibo.');
    await dialog.getByText('46 de 1.000 caracteres').waitFor();
    await inspect(page, 'contestacao-defesa');
    await send.click();
    await page.getByText('Defesa a caminho').waitFor();
    const provider = service.runtime.providers.get('simulator');
    if (!provider) throw new Error('no simulator');
    await sendDefences(service, provider);
    await open('/contestacoes', 'Contestações');
    await page.getByText('Defesa enviada').waitFor();
    await page.getByRole('button', { name: 'Ver defesa' }).click();
    const shown = page.getByRole('dialog', { name: 'Defesa' });
    await shown.getByText('O cliente assinou o recibo.').waitFor();
    await inspect(page, 'contestacao-respondida');
    expect(await page.getByRole('button', { name: 'Escrever defesa' }).count()).toBe(0);
  });
});

describe('a closed day', () => {
  test('leads from its opening to its closing', async () => {
    await close(shownDay, tomorrow);
    await open('/extrato', 'Extrato');
    await page.getByRole('link', { name: 'Fechamentos' }).click();
    const shown = shownDay.split('-').reverse().join('/');
    const row = page.locator('tbody tr').filter({ hasText: shown });
    await row.waitFor();
    expect(await row.innerText()).toMatch(/R\$\s1\.309,56[\s\S]*−R\$\s50,00[\s\S]*R\$\s1\.259,56/);
    // The month in which the day lies, with its sums and its file.
    const month = page.locator('tr.monthrow').filter({ hasText: monthText(shownDay) });
    expect(await month.innerText()).toMatch(/R\$\s1\.259,56/);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      month.getByRole('link', { name: 'CSV do mês' }).click(),
    ]);
    const text = await readFile(await file.path(), 'utf8');
    expect(text.split('\r\n')[0]).toMatch(/^\ufeffDia;Saldo inicial \(R\$\);Entradas \(R\$\);Saídas/);
    expect(text).toContain(`${shownDay};0,00;1309,56;0,00;0,00;0,00;-50,00;1259,56;`);
    await inspect(page, 'fechamentos');
  });
});

const monthText = (day: string): string =>
  new Intl.DateTimeFormat('pt-BR', { month: 'long', year: 'numeric' }).format(new Date(`${day}T15:00:00Z`));
