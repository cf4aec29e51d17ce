import { inspect, openBrowser, openWindow, type Window } from '@vintem/testkit/browser.ts';
import { hasFocus, type Keyboard, keyboardOf } from '@vintem/testkit/keyboard.ts';
import { mailsTo, newPerson, password } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

/** Every main flow without a mouse: no test here clicks, and none puts the focus anywhere but with Tab. */

let service: Service;
let merchant: Merchant;
let browser: Browser;
let window: Window;
let page: Page;
let keys: Keyboard;

const email = 'ana@padaria.example';

const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name });
const button = (name: string) => page.getByRole('button', { name, exact: true });
const open = async (path: string, title: string | RegExp) => {
  await page.goto(service.url + path);
  await heading(title).waitFor();
};

/** Answers that match stay away until they are let go: a person acts before a page has everything. */
async function holdBack(paths: RegExp): Promise<() => void> {
  let letGo = (): void => {};
  const free = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  await page.route(paths, async (route) => {
    await free;
    // It may be one of a page that was left meanwhile.
    await route.continue().catch(() => {});
  });
  return letGo;
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

// However long the tests before took: keys, people and webhooks want a password that was given within ten minutes.
beforeEach(() => service.database.admin('UPDATE panel_session SET authenticated_at = now()'));

afterAll(async () => {
  await browser?.close();
  await service?.close();
});

test('a person signs in', async () => {
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

  test('without amount and payer says both', async () => {
    await open('/cobrancas/nova', 'Nova cobrança');
    await keys.press(button('Criar cobrança'));
    await page.getByText('Informe o valor.').waitFor();
    await page.getByText('Preencha este campo.').waitFor();
    await inspect(page, 'charge-lacking-light');
  });

  test('is created by Enter, also before the account has arrived', async () => {
    const letGo = await holdBack(/\/overview|\/account$/);
    await open('/cobrancas/nova', 'Nova cobrança');
    await keys.write(page.getByLabel('Valor'), '4200');
    await keys.write(page.getByLabel('Pagador'), 'Maria Silva');
    await keys.key('Enter');
    await page.locator('button[type=submit][data-loading]').waitFor();
    letGo();
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
    letGo();
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

/** A dialog has the focus, keeps it through all of its stops, gives it up on Escape, and gives it back to what opened it. */
async function keepsFocus(dialog: Locator, opener: Locator): Promise<void> {
  const within = () => dialog.locator(':focus').count();
  await expect.poll(within).toBe(1);
  for (let stop = 0; stop < 12; stop++) {
    await keys.key(stop < 9 ? 'Tab' : 'Shift+Tab');
    expect(await within()).toBe(1);
  }
  await keys.key('Escape');
  await dialog.waitFor({ state: 'detached' });
  await until(() => hasFocus(opener));
}

/** A secret that is shown once: Escape does not close it, and its button only after a tick. */
async function store(what: string): Promise<void> {
  const dialog = page.getByRole('dialog');
  await keys.to(dialog.getByLabel(what));
  await keys.key('Escape');
  await keys.key('Space');
  await keys.press(dialog.getByRole('button', { name: 'Concluir' }));
  await dialog.waitFor({ state: 'detached' });
}

describe('a charge in test mode', () => {
  test('is paid, refunded in part, and disputed', async () => {
    const { body } = await merchant.charge({ amountCents: 5_000 });
    await open(`/pagamentos/${body.id}`, 'Cobrança');
    await keys.press(button('Pagador paga'));
    const ask = button('Reembolsar');
    await keys.press(ask);
    const dialog = page.getByRole('dialog', { name: 'Reembolsar o pagador' });
    await keepsFocus(dialog, ask);
    await keys.key('Enter');
    await until(() => hasFocus(dialog.getByLabel('Valor')));
    await keys.write(dialog.getByLabel('Valor'), '1990');
    await keys.key('Enter');
    await page.getByRole('list', { name: 'Reembolsos' }).getByText('Concluído').waitFor();

    await keys.press(button('Contestar (MED)'));
    await until(async () => {
      await service.database.admin(`UPDATE job SET due_at = 'epoch' WHERE what = 'disputes'`);
      const found = await service.database.admin('SELECT FROM dispute WHERE account_id = $1', [
        merchant.ownerId,
      ]);
      return found.length > 0;
    });
    await keys.press(page.getByRole('link', { name: 'Contestações' }));
    await heading('Contestações').waitFor();
    await keys.press(page.locator('tbody tr').getByRole('link'));
    await heading('Cobrança').waitFor();
  });
});

describe('the statement', () => {
  test('shows another period, and is exported', async () => {
    await open('/extrato', 'Extrato');
    await keys.to(page.getByRole('combobox', { name: 'Período' }));
    // A browser's list takes the entry that begins with what is typed.
    await keys.key('H');
    await page.waitForURL(/periodo=hoje/);
    await page.getByRole('cell', { name: 'Pix recebido' }).first().waitFor();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      keys.press(page.getByRole('link', { name: 'PDF' })),
    ]);
    expect(file.suggestedFilename()).toMatch(/\.pdf$/);
  });
});

describe('people', () => {
  test('are invited, and an invitation is withdrawn', async () => {
    await open('/pessoas', 'Pessoas');
    const invite = button('Convidar');
    const dialog = page.getByRole('dialog');
    await keys.press(invite);
    await keepsFocus(dialog, invite);
    await keys.key('Enter');
    await keys.write(dialog.getByLabel('E-mail'), 'ze@padaria.example');
    await keys.key('Enter');
    await dialog.getByText(/Convite enviado\..* vai só para ze@padaria\.example/).waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await inspect(page, `invited-${colorScheme}`);
    }
    await page.emulateMedia({ colorScheme: 'light' });
    await keys.press(dialog.getByRole('button', { name: 'Convidar outra pessoa' }));
    expect(await dialog.getByLabel('E-mail').inputValue()).toBe('');
    await keys.write(dialog.getByLabel('E-mail'), 'sem arroba');
    await keys.key('Enter');
    await dialog.getByText('Informe um e-mail, como nome@empresa.com.br.').waitFor();
    await keys.key('Escape');
    const row = page.getByRole('listitem').filter({ hasText: 'ze@padaria.example' });
    await keys.press(row.getByRole('button', { name: 'Cancelar convite' }));
    await row.waitFor({ state: 'detached' });
  });
});

describe('an API key', () => {
  test('is made, stored and revoked', async () => {
    await open('/integracoes/chaves', 'Chaves de API');
    const create = button('Nova chave').first();
    const dialog = page.getByRole('dialog');
    await keys.press(create);
    await keepsFocus(dialog, create);
    await keys.key('Enter');
    await keys.write(dialog.getByLabel('Nome'), 'Caixa');
    await keys.key('Enter');
    await page.getByTestId('new-key').waitFor();
    await store('Guardei a chave em um lugar seguro');
    const row = page.getByRole('listitem').filter({ hasText: 'Caixa' });
    const revoke = row.getByRole('button', { name: 'Revogar' });
    await keys.press(revoke);
    await keepsFocus(dialog, revoke);
    await keys.key('Enter');
    await keys.press(dialog.getByRole('button', { name: 'Revogar' }));
    await row.waitFor({ state: 'detached' });
  });
});

describe('a webhook endpoint', () => {
  test('is made, stored, turned off and removed', async () => {
    await open('/integracoes/webhooks', 'Webhooks');
    const create = button('Novo endpoint').first();
    const dialog = page.getByRole('dialog');
    await keys.press(create);
    await keepsFocus(dialog, create);
    await keys.key('Enter');
    await keys.write(dialog.getByLabel('Endereço'), 'http://127.0.0.1:8090/vintem');
    await keys.write(dialog.getByLabel('Descrição'), 'Caixa');
    await keys.key('Enter');
    await page.getByTestId('new-secret').waitFor();
    await store('Guardei o segredo em um lugar seguro');
    await keys.press(page.getByRole('link', { name: 'Ver entregas' }));
    await heading('Caixa').waitFor();
    await keys.press(button('Desativar'));
    await keys.press(button('Ativar'));
    await button('Desativar').waitFor();
    const remove = button('Excluir');
    await keys.press(remove);
    await keepsFocus(dialog, remove);
    await keys.key('Enter');
    await keys.press(dialog.getByRole('button', { name: 'Excluir' }));
    await heading('Webhooks').waitFor();
  });
});

describe('an operation', () => {
  test('is made, renamed, chosen at the top and deleted', async () => {
    await open('/operacoes', 'Operações');
    const create = button('Nova operação');
    const dialog = page.getByRole('dialog');
    await keys.press(create);
    await keepsFocus(dialog, create);
    await keys.key('Enter');
    await keys.write(dialog.getByLabel('Nome'), 'Praia');
    await keys.key('Enter');
    const praia = page.getByRole('region', { name: 'Praia', exact: true });
    await keys.press(praia.getByRole('button', { name: 'Renomear' }));
    await keys.write(dialog.getByLabel('Nome'), 'Serra');
    await keys.key('Enter');
    const serra = page.getByRole('region', { name: 'Serra' });
    const remove = serra.getByRole('button', { name: 'Excluir' });
    await keys.press(remove);
    await keepsFocus(dialog, remove);
    await keys.key('Enter');
    await keys.press(dialog.getByRole('button', { name: 'Excluir operação' }));
    await serra.waitFor({ state: 'detached' });
  });
});

test('the console shows no error', () => {
  expect(window.complaints).toEqual([]);
});
