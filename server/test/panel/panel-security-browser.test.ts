import { inspect, openBrowser, openWindow, signInAt, type Window } from '@vintem/testkit/browser.ts';
import { mailsTo, newPerson, openTab, passCodes, password, totpOf } from '@vintem/testkit/panel.ts';
import { openService, type Service, until } from '@vintem/testkit/service.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAccount } from '../../src/operate/connections/directory.ts';

/** The protection of an account's people, as they see it. */

const email = 'olga@feira.example';
let service: Service;
let ownerId: string;
let browser: Browser;
let window: Window;
let page: Page;

const heading = (name: string | RegExp, on = page) => on.getByRole('heading', { level: 1, name });

async function member(address: string, role: Parameters<typeof newPerson>[3]) {
  await newPerson(service, ownerId, address, role);
  const tab = openTab(service);
  expect((await tab.signIn(address)).status).toBe(200);
  return tab;
}

beforeAll(async () => {
  service = await openService();
  ({ ownerId } = await createAccount(service.runtime, {
    name: 'Feira',
    test: true,
    connection: 'simulator',
  }));
  await newPerson(service, ownerId, email);
  browser = await openBrowser();
  window = await openWindow(browser);
  page = window.page;
  await page.goto(`${service.url}/entrar`);
  await signInAt(page, service.url, email);
  await heading('Início').waitFor();
});
afterAll(async () => {
  expect(window?.complaints).toEqual([]);
  await browser?.close();
  await service?.close();
});

test('an owner sees the sessions of a member and ends them', async () => {
  const tab = await member('nina@feira.example', 'finance');
  await page.goto(`${service.url}/pessoas`);
  await page.getByRole('button', { name: 'Sessões' }).nth(1).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('127.0.0.1').waitFor();
  await inspect(page, 'pessoas-sessoes');
  await dialog.getByRole('button', { name: 'Encerrar todas as sessões' }).click();
  await dialog.getByText('Nenhuma sessão aberta.').waitFor();
  expect((await tab.call('GET', '/session')).status).toBe(401);
});

test('a member who is removed leaves keys that the owner decides about', async () => {
  const tab = await member('davi@feira.example', 'developer');
  const made = await tab.call('POST', `/accounts/${ownerId}/keys`, {
    name: 'Site do Davi',
    permissions: ['read'],
  });
  expect(made.status).toBe(201);
  await page.goto(`${service.url}/pessoas`);
  await page.getByText('davi@feira.example').waitFor();
  await page.getByRole('button', { name: 'Remover' }).last().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Revogar também as chaves de API que esta pessoa criou').uncheck();
  await inspect(page, 'pessoas-remover');
  await dialog.getByRole('button', { name: 'Remover' }).click();
  await page.getByText('Continuam ativas as chaves que esta pessoa criou: Site do Davi.').waitFor();
  await page.goto(`${service.url}/integracoes/chaves`);
  await page.getByText('A pessoa que criou esta chave saiu da conta').waitFor();
  await inspect(page, 'chaves-de-quem-saiu');
});

test('the security log shows what happened, in both languages', async () => {
  await openTab(service).signIn(email, 'not the password');
  await page.goto(`${service.url}/seguranca/registro`);
  await heading('Atividade').waitFor();
  await page.getByText('Pessoa removida').waitFor();
  await page.getByRole('listitem').filter({ hasText: 'recusado' }).first().waitFor();
  await inspect(page, 'registro-de-seguranca');
  await page.evaluate(`localStorage.setItem('vintem.language', 'en')`);
  await page.reload();
  await heading('Activity').waitFor();
  await page.getByText('Person removed').waitFor();
  await inspect(page, 'registro-de-seguranca-en');
  await page.evaluate(`localStorage.setItem('vintem.language', 'pt-BR')`);
});

test('a change of e-mail is cancelled from the old address', async () => {
  const tab = await member('rui@feira.example', 'viewer');
  expect((await tab.call('POST', '/email', { email: 'ladrao@fora.example' })).status).toBe(200);
  const link = async () =>
    /\/cancelar-email#\S+/.exec((await mailsTo(service, 'rui@feira.example')).join('\n'))?.[0];
  await until(async () => (await link()) !== undefined);
  const own = await openWindow(browser);
  await own.page.goto(service.url + (await link()));
  await heading('Cancelar a troca de e-mail', own.page).waitFor();
  await inspect(own.page, 'cancelar-email');
  await own.page.getByRole('button', { name: 'Cancelar a troca' }).click();
  await own.page.getByText('Troca cancelada. Entre e troque sua senha.').waitFor();
  await own.context.close();
});

test('a live account asks for a second factor in time, and is closed without one afterwards', async () => {
  await service.database.admin(`UPDATE account SET test = false WHERE id = '${ownerId}'`);
  await page.goto(`${service.url}/`);
  await page.getByText(/Configure um segundo fator até/).waitFor();
  await inspect(page, 'segundo-fator-prazo');
  await service.database.admin(`UPDATE account SET second_factor_grace_days = 0 WHERE id = '${ownerId}'`);
  await page.goto(`${service.url}/`);
  await page.getByText(/Esta conta só abre com um segundo fator/).waitFor();
  await inspect(page, 'segundo-fator-exigido');

  // Another session sets up the app: this one shows its code.
  const other = openTab(service);
  await other.signIn(email);
  const { totpURI } = (await other.call('POST', '/auth/two-factor/enable', { password })).body;
  const secret = new URL(totpURI).searchParams.get('secret') as string;
  await other.call('POST', '/auth/two-factor/verify-totp', { code: totpOf(secret, Date.now()) });
  await page.goto(`${service.url}/seguranca`);
  await page.getByText(/transferências e alterações de chaves, pessoas, webhooks/).waitFor();
  await inspect(page, 'seguranca-codigo');
  await passCodes(service);
  await page.getByLabel('Digite o código que o aplicativo mostra').fill(totpOf(secret, Date.now()));
  await page.getByRole('button', { name: 'Confirmar' }).click();
  await page.getByRole('heading', { name: 'Informe o código do aplicativo' }).waitFor({ state: 'detached' });
  await page.goto(`${service.url}/pessoas`);
  await page.getByRole('heading', { name: 'Prazo para o segundo fator' }).waitFor();
  await inspect(page, 'pessoas-prazo');
});
