import { inspect, openBrowser, openWindow, type Window } from '@vintem/testkit/browser.ts';
import { newOperator, operatorPassword, passOperatorCodes } from '@vintem/testkit/console.ts';
import { freePort } from '@vintem/testkit/free-port.ts';
import { oidcClient, openRealProvider } from '@vintem/testkit/openid.ts';
import { totpOf } from '@vintem/testkit/panel.ts';
import { openService, type Service } from '@vintem/testkit/service.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** An operator's own sign-in in a browser: a passkey is added after a code, and enters without a password. */

let service: Service;
let browser: Browser;
let window: Window;
let page: Page;
/** Passkeys belong to a name: `localhost` is one, an address is none. */
let at = '';

const heading = (name: string) => page.getByRole('heading', { level: 1, name });

/** The page in both schemes, at both widths. */
async function inspectBoth(name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await inspect(page, `operator-${name}-${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
}

/** Whom the OpenID provider takes its visitor for. */
const who = { subject: 'rita-at-the-company' };
let provider: Awaited<ReturnType<typeof openRealProvider>>;

beforeAll(async () => {
  const port = await freePort();
  const home = `http://localhost:${port}`;
  provider = await openRealProvider(`${home}/operator/entrar/oidc`, who);
  const env = {
    ...{ PORT: String(port), PUBLIC_URL: home, OPERATOR_OIDC_ISSUER: provider.url },
    ...{ OPERATOR_OIDC_CLIENT_ID: oidcClient.id, OPERATOR_OIDC_CLIENT_SECRET: oidcClient.secret },
  };
  service = await openService({ worker: false, env });
  at = service.url.replace('127.0.0.1', 'localhost');
  browser = await openBrowser();
  window = await openWindow(browser);
  page = window.page;
  const cdp = await window.context.newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
  await provider?.close();
});

test('A passkey is added after a code of the app, enters without a password, confirms, and is removed', async () => {
  const { email, appSecret } = await newOperator(service, 'treasury');
  await passOperatorCodes(service);
  await page.goto(`${at}/operator/entrar`);
  await heading('Entrar no console').waitFor();
  await inspectBoth('sign-in');
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Senha', { exact: true }).fill(operatorPassword);
  await page.getByLabel('Código do aplicativo').fill(totpOf(appSecret, Date.now()));
  await page.getByRole('button', { name: 'Entrar', exact: true }).press('Enter');
  await heading('Pendências').waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('s');
  await heading('Meu acesso').waitFor();
  await page.getByText('Nenhuma passkey ainda.').waitFor();
  await page.getByLabel('Nome da passkey nova').fill('Chave do escritório');
  await page.getByRole('button', { name: 'Adicionar passkey' }).press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Mostre de novo um segundo fator').waitFor();
  await inspectBoth('proof');
  await passOperatorCodes(service);
  await dialog.getByLabel('Código do aplicativo').fill(totpOf(appSecret, Date.now()));
  await page.keyboard.press('Enter');
  await page.getByRole('cell', { name: 'Chave do escritório', exact: true }).waitFor();
  await inspectBoth('factors');
  await page.getByRole('button', { name: 'Sair' }).press('Enter');
  await heading('Entrar no console').waitFor();
  await page.getByRole('button', { name: 'Entrar com passkey' }).press('Enter');
  await heading('Pendências').waitFor();
  await page.getByRole('link', { name: 'Meu acesso' }).press('Enter');
  await page.getByRole('button', { name: 'Remover Chave do escritório' }).press('Enter');
  // In this session no factor was shown again yet: the passkey itself does.
  await dialog.getByRole('button', { name: 'Confirmar com passkey' }).press('Enter');
  await page.getByText('Nenhuma passkey ainda.').waitFor();
  await page.getByRole('button', { name: 'EN English' }).press('Enter');
  await heading('My sign-in').waitFor();
  await inspectBoth('factors-en');
  expect(window.complaints).toEqual([]);
});

test('The account at the OpenID provider is bound in the console, and enters with a code of the app', async () => {
  const desk = await newOperator(service, 'support');
  const [name = '', value = ''] = desk.cookie.split('=');
  await window.context.clearCookies();
  await window.context.addCookies([{ name, value, url: at }]);
  await page.goto(`${at}/operator/acesso`);
  await page.getByRole('button', { name: 'Bind my account' }).press('Enter');
  await passOperatorCodes(service);
  await page.getByRole('dialog').getByLabel('Code of the app').fill(totpOf(desk.appSecret, Date.now()));
  await page.keyboard.press('Enter');
  await page.getByText(who.subject).waitFor();
  expect(page.url()).toBe(`${at}/operator/acesso`);
  await inspectBoth('identity');
  await page.getByRole('button', { name: 'Sign out' }).press('Enter');
  await heading('Sign in to the console').waitFor();
  await inspectBoth('sign-in-oidc');
  await page.getByRole('button', { name: 'Use the company account' }).press('Enter');
  await heading('Second factor').waitFor();
  // The code of the provider left the address.
  expect(page.url()).toBe(`${at}/operator/entrar/oidc`);
  await inspectBoth('oidc-factor');
  await page.getByRole('button', { name: 'PT Português' }).press('Enter');
  await heading('Segundo fator').waitFor();
  await inspectBoth('oidc-factor-pt');
  await passOperatorCodes(service);
  await page.getByLabel('Código do aplicativo').fill(totpOf(desk.appSecret, Date.now()));
  await page.keyboard.press('Enter');
  await heading('Pendências').waitFor();
  // The page of the answer, opened again without one.
  await page.goto(`${at}/operator/entrar/oidc`);
  await page.getByText('não abre uma sessão aqui').waitFor();
  await inspectBoth('oidc-refused');
  await page.getByRole('link', { name: 'Voltar à entrada' }).waitFor();
  expect(window.complaints).toEqual([]);
});
