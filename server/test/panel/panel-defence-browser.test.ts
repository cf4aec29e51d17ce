import { inspect, openBrowser, openWindow, signInAt } from '@vintem/testkit/browser.ts';
import { newPerson } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { fillQueryLimit, sendDefences, statusOf } from '@vintem/testkit/settlement.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stepDisputes } from '../../src/jobs/poll.ts';
import type { Provider } from '../../src/provider/provider.ts';

/** A dispute is answered with files, in a real browser, where the provider takes files alone. */

let service: Service;
let merchant: Merchant;
let browser: Browser;
let page: Page;
let provider: Provider;

const pdf = (words: string) => Buffer.from(`%PDF-1.7\n${words}`);
const file = (name: string, buffer: Buffer, mimeType = 'application/pdf') => ({ name, mimeType, buffer });
const longName = `comprovante-de-entrega-${'com-um-nome-muito-longo-'.repeat(3)}.pdf`;

beforeAll(async () => {
  service = await openService({ worker: false, dialect: 'woovi' });
  merchant = await service.newMerchant();
  await newPerson(service, merchant.ownerId, 'ana@padaria.example');
  const { body } = await merchant.charge({ amountCents: 7_500 });
  const path = `/control/charges/${body.id.replaceAll('-', '')}`;
  await service.simulator.control('POST', `${path}/pay`);
  await until(async () => (await statusOf(service, body.id)) === 'paid');
  await service.simulator.control('POST', `${path}/dispute`, {});
  const [row] = await service.database.admin<{ connection: string }>(
    'SELECT connection FROM payment WHERE id = $1',
    [body.id],
  );
  provider = service.runtime.providers.get(row?.connection ?? '') as Provider;
  await service.database.admin("UPDATE job SET due_at = 'epoch' WHERE what = 'disputes'");
  await fillQueryLimit(service);
  await stepDisputes(service.runtime, provider);
  browser = await openBrowser();
  ({ page } = await openWindow(browser));
  await page.goto(`${service.url}/entrar`);
  await signInAt(page, service.url, 'ana@padaria.example');
  await page.getByRole('heading', { level: 1, name: 'Início' }).waitFor();
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

test('files are chosen, taken away again and sent, and shown with the defence', async () => {
  await page.goto(`${service.url}/contestacoes`);
  await page.getByRole('button', { name: 'Escrever defesa' }).click();
  const dialog = page.getByRole('dialog', { name: 'Responder à contestação' });
  const send = dialog.getByRole('button', { name: 'Enviar defesa' });
  const input = dialog.locator('input[type=file]');
  await dialog.getByText('PDF, PNG ou JPEG, até 5 arquivos de 10 MB cada.').waitFor();
  expect(await dialog.getByRole('textbox').count()).toBe(0);
  expect(await send.isDisabled()).toBe(true);

  await input.setInputFiles([file('nota.txt', Buffer.from('a'), 'text/plain')]);
  await dialog.getByText('nota.txt: só são aceitos PDF, PNG e JPEG.').waitFor();
  // The service looks at the contents, which the browser takes at their word.
  await input.setInputFiles([file('pagina.pdf', Buffer.from('<html>'))]);
  await dialog.getByText('O conteúdo não é application/pdf.').waitFor();
  expect(await send.isDisabled()).toBe(true);

  await input.setInputFiles([
    file('recibo.pdf', pdf('a'.repeat(300_000))),
    file(longName, pdf('b')),
    file('foto.png', Buffer.from('89504e470d0a1a0a', 'hex'), 'image/png'),
  ]);
  const files = dialog.getByRole('list', { name: 'Arquivos da defesa' });
  await files.getByText('foto.png').waitFor();
  await inspect(page, 'contestacao-defesa-arquivos');
  await page.emulateMedia({ colorScheme: 'dark' });
  await inspect(page, 'contestacao-defesa-arquivos-escuro');
  await page.emulateMedia({ colorScheme: 'light' });
  const remove = files.getByRole('button', { name: 'Remover foto.png' });
  await remove.focus();
  await page.keyboard.press('Enter');
  await files.getByText('foto.png').waitFor({ state: 'detached' });
  expect(await files.getByRole('listitem').count()).toBe(2);

  await send.click();
  await page.getByText('Defesa a caminho').waitFor();
  await sendDefences(service, provider);
  await page.goto(`${service.url}/contestacoes`);
  await page.getByText('Defesa enviada').waitFor();
  await page.getByRole('button', { name: 'Ver defesa' }).click();
  const shown = page.getByRole('dialog', { name: 'Defesa' });
  await shown.getByText('recibo.pdf').waitFor();
  await shown.getByText('293 KB').waitFor();
  await inspect(page, 'contestacao-respondida-arquivos');
  const { body } = await service.simulator.control('GET', '/control/state');
  const names = body.disputes[0].defence.files.map(({ name }: { name: string }) => name);
  expect(names).toEqual(['recibo.pdf', longName]);
});
