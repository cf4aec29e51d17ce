import { inspect, openBrowser, openWindow } from '@vintem/testkit/browser.ts';
import { type Desk, newOperator } from '@vintem/testkit/console.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { fillQueryLimit, sendDefences, statusOf } from '@vintem/testkit/settlement.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stepDisputes } from '../../src/jobs/poll.ts';
import type { Provider } from '../../src/provider/provider.ts';

/** An operator answers a dispute for its merchant in a browser, where the provider takes files. */

let service: Service;
let merchant: Merchant;
let browser: Browser;
let page: Page;
let provider: Provider;
let desk: Desk;
let paymentId = '';
let complaints: readonly string[] = [];

const file = (name: string, words: string) => ({
  ...{ name, mimeType: 'application/pdf' },
  buffer: Buffer.from(`%PDF-1.7\n${words}`),
});

beforeAll(async () => {
  service = await openService({ worker: false, dialect: 'woovi' });
  merchant = await service.newMerchant();
  const { body } = await merchant.charge({ amountCents: 7_500 });
  paymentId = body.id;
  const path = `/control/charges/${paymentId.replaceAll('-', '')}`;
  await service.simulator.control('POST', `${path}/pay`);
  await until(async () => (await statusOf(service, paymentId)) === 'paid');
  await service.simulator.control('POST', `${path}/dispute`, {});
  const [row] = await service.database.admin<{ connection: string }>(
    'SELECT connection FROM payment WHERE id = $1',
    [paymentId],
  );
  provider = service.runtime.providers.get(row?.connection ?? '') as Provider;
  await service.database.admin("UPDATE job SET due_at = 'epoch' WHERE what = 'disputes'");
  await fillQueryLimit(service);
  await stepDisputes(service.runtime, provider);
  desk = await newOperator(service, 'risk');
  browser = await openBrowser();
  const window = await openWindow(browser);
  ({ page, complaints } = window);
  const [name = '', value = ''] = desk.cookie.split('=');
  await window.context.addCookies([{ name, value, url: service.url }]);
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

/** In both schemes, at both widths. */
async function inspectBoth(name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await inspect(page, `operator-${name}-${colorScheme}`);
  }
}

test('Files are given and taken away, the whole is shown, and goes out for the merchant', async () => {
  await page.goto(`${service.url}/operator/pagamentos/${paymentId}`);
  const card = page.getByRole('region', { name: 'Contestações' });
  await card.getByText('Aberta', { exact: true }).waitFor();
  await card.getByText('Responder pela conta').click();
  await card.getByText('PDF, PNG ou JPEG, até 5 arquivos de 10 MB cada.').waitFor();
  const look = card.getByRole('button', { name: 'Ver como será enviada' });
  expect(await look.isDisabled()).toBe(true);
  const input = card.locator('input[type=file]');
  await input.setInputFiles([{ name: 'nota.txt', mimeType: 'text/plain', buffer: Buffer.from('a') }]);
  await card.getByText('nota.txt: só são aceitos PDF, PNG e JPEG.').waitFor();
  await input.setInputFiles([file('recibo.pdf', 'a'), file('conversa.pdf', 'b')]);
  await card.getByText('conversa.pdf').waitFor();
  await card.getByRole('button', { name: 'Remover conversa.pdf' }).press('Enter');
  await card.getByText('conversa.pdf').waitFor({ state: 'detached' });
  await card.getByRole('textbox', { name: 'Motivo' }).fill('a loja pediu ao suporte');
  await look.press('Enter');
  const preview = card.getByRole('region', { name: 'O provedor vai receber' });
  await preview.getByText('recibo.pdf').waitFor();
  await inspectBoth('defence');
  expect((await merchant.call('GET', '/disputes')).body.disputes[0].defence ?? null).toBe(null);
  await card.getByRole('button', { name: 'Enviar pela conta' }).press('Enter');
  await card.getByText('Defesa a caminho').waitFor();
  await sendDefences(service, provider);
  await page.reload();
  await card.getByText('Responder pela conta').click();
  await card.getByText('Defesa enviada').waitFor();
  await inspectBoth('defence-sent');
  const acts = await service.database.admin<{ action: string }>(
    'SELECT action FROM audit WHERE actor = $1 AND account_id = $2 ORDER BY id',
    [desk.email, merchant.ownerId],
  );
  expect(acts.map(({ action }) => action)).toEqual([
    ...['dispute.file_give', 'dispute.file_give', 'dispute.file_remove', 'dispute.defend'],
  ]);
  expect(complaints).toEqual([]);
});

test('Another role sees the dispute, and no way to answer it', async () => {
  const other = await newOperator(service, 'support');
  const window = await openWindow(browser);
  const [name = '', value = ''] = other.cookie.split('=');
  await window.context.addCookies([{ name, value, url: service.url }]);
  await window.page.goto(`${service.url}/operator/pagamentos/${paymentId}`);
  await window.page.getByRole('region', { name: 'Contestações' }).waitFor();
  expect(await window.page.getByText('Responder pela conta').count()).toBe(0);
  await window.context.close();
});
