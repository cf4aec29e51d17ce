import { writeFile } from 'node:fs/promises';
import {
  inspect,
  openBrowser,
  openWindow,
  screenshots,
  signInAt,
  type Window,
} from '@vintem/testkit/browser.ts';
import { mailsTo, newPerson, password } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { invite } from '../../src/panel/people/members.ts';

/** A person's own settings, in a real browser: passkeys, the keyboard, the code of a transfer, another address, receipts. */

const email = 'rita@padaria.example';
let service: Service;
let merchant: Merchant;
let browser: Browser;
let window: Window;
let page: Page;

const heading = (name: string | RegExp, on = page) => on.getByRole('heading', { level: 1, name });

async function signIn(on: Page, address = email): Promise<void> {
  await signInAt(on, service.url, address);
  await heading('Início', on).waitFor();
}

async function inEnglish(name: string, path: string, title: string): Promise<void> {
  await page.evaluate(`localStorage.setItem('vintem.language', 'en')`);
  await page.goto(service.url + path);
  await heading(title).waitFor();
  await page.waitForLoadState('networkidle');
  await inspect(page, `${name}-en`);
  await page.evaluate(`localStorage.setItem('vintem.language', 'pt-BR')`);
}

const codesSent = async (): Promise<string[]> =>
  (await mailsTo(service, email)).flatMap((mail) => /^Código: (\d{6})/m.exec(mail)?.[1] ?? []);

beforeAll(async () => {
  service = await openService();
  merchant = await service.newMerchant();
  await merchant.receive(50_000);
  await newPerson(service, merchant.ownerId, email);
  browser = await openBrowser();
  window = await openWindow(browser);
  page = window.page;
  // The first visit may have to build the pages.
  await page.goto(`${service.url}/entrar`);
});

afterAll(async () => {
  await browser?.close();
  await service?.close();
});

describe('by keyboard alone', () => {
  test('a person signs in, and a refusal is read out', async () => {
    await page.getByLabel('E-mail').focus();
    await page.keyboard.type(email);
    await page.keyboard.press('Tab');
    await page.keyboard.type('not the password');
    await page.keyboard.press('Enter');
    expect(await page.getByRole('alert').textContent()).toBe('E-mail ou senha incorretos.');
    await page.getByLabel('Senha', { exact: true }).focus();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type(password);
    await page.keyboard.press('Enter');
    await heading('Início').waitFor();
  });

  test('a transfer is written, its code asked for again, mistyped, typed and sent', async () => {
    await page.goto(`${service.url}/transferencias/nova`);
    await heading('Nova transferência').waitFor();
    await page.getByLabel('Chave Pix').focus();
    await page.keyboard.type('fornecedor@loja.example');
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').getAttribute('id')).toBe(
      await page.getByLabel('Valor').getAttribute('id'),
    );
    await page.keyboard.type('1000');
    // The choice what the amount means stands beside it, and is one stop.
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.type('Farinha');
    await page.getByText('R$ 10,25').waitFor();
    await page.keyboard.press('Enter');
    await heading('Confirme com o código').waitFor();
    // The first field of the code has the focus already.
    await page.getByText(/O rascunho vale até \d\d:\d\d/).waitFor();
    await inspect(page, 'transferencia-codigo');
    const [first = ''] = await codesSent();
    await page.getByRole('button', { name: 'Enviar outro código' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Outro código está a caminho; o anterior não vale mais.').waitFor();
    await until(async () => (await codesSent()).length === 2);
    const [, second = ''] = await codesSent();
    await page.getByLabel('Código').first().focus();
    await page.keyboard.type(first === second ? '000000' : first);
    await page.keyboard.press('Enter');
    expect(await page.getByRole('alert').textContent()).toBe('Código errado. Restam 4 tentativas.');
    await page.getByLabel('Código').first().focus();
    await page.keyboard.type(second);
    await page.keyboard.press('Enter');
    await page.getByText('Concluída').waitFor();
  });
});

/** A draft, on the page that waits for its code. */
async function write(): Promise<void> {
  await page.goto(`${service.url}/transferencias/nova`);
  await page.getByLabel('Chave Pix').fill('fornecedor@loja.example');
  await page.getByLabel('Valor').pressSequentially('1000');
  await page.getByRole('button', { name: 'Continuar' }).click();
  await heading('Confirme com o código').waitFor();
}

describe('a draft', () => {
  test('is given up, and nothing was sent', async () => {
    await write();
    await page.getByRole('button', { name: 'Cancelar transferência' }).click();
    await heading('Transferência cancelada').waitFor();
    await page.getByText('O rascunho foi cancelado antes de ser confirmado.').waitFor();
    await page.getByText('Nada foi enviado e o saldo não mudou.').waitFor();
    await inspect(page, 'transferencia-cancelada');
  });

  test('gets three codes, and says so when a fourth is asked for', async () => {
    await write();
    const another = page.getByRole('button', { name: 'Enviar outro código' });
    const before = (await codesSent()).length;
    for (let sent = 1; sent <= 2; sent++) {
      await another.click();
      await until(async () => (await codesSent()).length === before + sent);
    }
    await another.click();
    await page.getByText('Já enviamos três códigos. Use o último, ou cancele e comece de novo.').waitFor();
  });

  test('whose code has run out says so; whose time is over is cancelled', async () => {
    await write();
    await service.database.admin(`UPDATE draft SET code_expires_at = now() - interval '1 second'`);
    await page.getByLabel('Código').first().click();
    await page.keyboard.type('123456');
    await page.getByRole('button', { name: 'Confirmar e enviar' }).click();
    await page.getByText('O código expirou. Peça outro.').waitFor();
    await service.database.admin(`UPDATE draft SET expires_at = now() - interval '1 second'`);
    await page.getByText('O rascunho expirou sem ser confirmado.').waitFor();
  });

  test('with five wrong codes is cancelled', async () => {
    await write();
    const code = (await codesSent()).at(-1);
    for (let left = 4; left >= 0; left--) {
      await page.getByLabel('Código').first().click();
      await page.keyboard.type(code === '000000' ? '111111' : '000000');
      await page.getByRole('button', { name: 'Confirmar e enviar' }).click();
      if (left > 0)
        await page.getByText(left > 1 ? `Restam ${left} tentativas.` : 'Resta 1 tentativa.').waitFor();
    }
    await heading('Transferência cancelada').waitFor();
    await page.getByText('O rascunho foi cancelado após cinco códigos errados.').waitFor();
  });
});

describe('while lists are read again', () => {
  /** Reads from now on stay on their way until they are let go; changes go through. */
  const holdReads = async (): Promise<() => void> => {
    let letGo = (): void => {};
    const free = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    // The route stays: taken away, it can leave what it holds where it is.
    await page.route(/\/panel\/api\/accounts\//, async (route) => {
      if (route.request().method() === 'GET') await free;
      // It may be one of a page that was left meanwhile.
      await route.continue().catch(() => {});
    });
    return () => letGo();
  };

  test('a press on the next line counts', async () => {
    // However long the tests before took: people want a password that was given within ten minutes.
    await service.database.admin('UPDATE panel_session SET authenticated_at = now()');
    const invited = ['um@padaria.example', 'dois@padaria.example'];
    for (const one of invited) {
      await invite(service.runtime, { accountId: merchant.ownerId, email: one, role: 'viewer' });
    }
    await page.goto(`${service.url}/pessoas`);
    await heading('Pessoas').waitFor();
    const lines = invited.map((one) => page.getByRole('listitem').filter({ hasText: one }));
    for (const line of lines) await line.waitFor();
    const letGo = await holdReads();
    for (const line of lines) await line.getByRole('button', { name: 'Cancelar convite' }).click();
    await until(async () => {
      const left = await service.database.admin('SELECT FROM panel_invitation WHERE email = ANY($1)', [
        invited,
      ]);
      return left.length === 0;
    });
    // Both stand there still: nothing was read since.
    for (const line of lines) expect(await line.isVisible()).toBe(true);
    letGo();
    for (const line of lines) await line.waitFor({ state: 'detached' });
  });

  test('what became of a draft is shown, and its form is gone', async () => {
    await write();
    const letGo = await holdReads();
    await page.getByRole('button', { name: 'Cancelar transferência' }).click();
    await heading('Transferência cancelada').waitFor();
    await page.getByText('O rascunho foi cancelado antes de ser confirmado.').waitFor();
    letGo();
  });
});

describe('a receipt', () => {
  test('comes as a PDF in the language of the panel', async () => {
    await page.goto(`${service.url}/transferencias`);
    await page.locator('tbody tr').filter({ hasText: 'Farinha' }).first().getByRole('link').click();
    await page.getByRole('link', { name: 'Comprovante' }).click();
    await heading('Comprovante Pix').waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Baixar PDF' }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^comprovante-[0-9a-f-]{36}\.pdf$/);
    const chunks: Buffer[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
    const pdf = Buffer.concat(chunks);
    expect(pdf.subarray(0, 5).toString()).toBe('%PDF-');
    await writeFile(`${screenshots}comprovante.pdf`, pdf);
  });
});

describe('an API key', () => {
  test('that can transfer ends within a year by default, and can be narrowed', async () => {
    await page.goto(`${service.url}/integracoes/chaves`);
    await page.getByRole('button', { name: 'Nova chave' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Nome').fill('Saques');
    const lives = dialog.getByLabel('Validade');
    expect(await lives.inputValue()).toBe('0');
    await dialog.getByLabel('Transferências').check();
    expect(await lives.inputValue()).toBe('365');
    await dialog.getByText('Qualquer pessoa com esta chave pode esvaziar o saldo.').waitFor();
    await dialog.getByLabel(/Endereços IP permitidos/).fill('lá de casa');
    await dialog.getByText('lá não é um endereço nem uma rede.').waitFor();
    await dialog.getByLabel(/Endereços IP permitidos/).fill('203.0.113.0/24\n198.51.100.7');
    await lives.selectOption('90');
    await inspect(page, 'chave-nova');
    await dialog.getByRole('button', { name: 'Criar chave' }).click();
    await page.getByTestId('new-key').waitFor();
    expect(await page.getByRole('button', { name: 'Concluir' }).isDisabled()).toBe(true);
    await page.getByLabel('Guardei a chave em um lugar seguro').check();
    await page.getByRole('button', { name: 'Concluir' }).click();
    const row = page.getByRole('listitem').filter({ hasText: 'Saques' });
    await row.getByText('Só de 203.0.113.0/24, 198.51.100.7').waitFor();
    await row.getByRole('button', { name: 'Remover permissões' }).click();
    await dialog.getByLabel('Transferências').uncheck();
    await inspect(page, 'chave-reduzir');
    await dialog.getByRole('button', { name: 'Salvar permissões' }).click();
    await row.getByText(/Leitura, Cobranças$/).waitFor();
    expect(await row.textContent()).not.toContain('Transferências');
    await row.getByRole('button', { name: 'Trocar' }).click();
    await dialog.getByText('7 dias').waitFor();
    await inspect(page, 'chave-trocar');
    await dialog.getByRole('button', { name: 'Trocar' }).click();
    await page.getByLabel('Guardei a chave em um lugar seguro').check();
    await page.getByRole('button', { name: 'Concluir' }).click();
    await page.getByText(/Trocada, vale até/).waitFor();
    await inspect(page, 'chaves-com-prazo');
  });
});

describe('a passkey', () => {
  test('is made, and signs its person in without a password', async () => {
    // Passkeys belong to a name: `localhost` is one, an address is none.
    const local = await openWindow(browser);
    const at = service.url.replace('127.0.0.1', 'localhost');
    const bare = `sem-senha@padaria.example`;
    await newPerson(service, merchant.ownerId, bare);
    const cdp = await local.context.newCDPSession(local.page);
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
    await local.page.goto(`${at}/entrar`);
    await local.page.getByLabel('E-mail').fill(bare);
    await local.page.getByLabel('Senha', { exact: true }).fill(password);
    await local.page.getByRole('button', { name: 'Entrar', exact: true }).click();
    await heading('Início', local.page).waitFor();
    await local.page.goto(`${at}/seguranca`);
    await local.page.getByRole('button', { name: 'Adicionar passkey' }).click();
    // A session that was found open adds none: the password is asked for again.
    const again = local.page.getByRole('dialog');
    await again.getByLabel('Senha').fill(password);
    await again.getByRole('button', { name: 'Confirmar' }).click();
    await local.page.getByRole('button', { name: 'Remover' }).waitFor();
    await inspect(local.page, 'seguranca-passkey');
    await local.page.getByRole('button', { name: 'Encerrar todas, inclusive esta' }).click();
    await local.page.getByRole('heading', { name: 'Entrar' }).waitFor();
    await local.page.getByRole('button', { name: 'Entrar com passkey' }).click();
    await heading('Início', local.page).waitFor();
    const session = await (await local.context.request.get(`${at}/panel/api/session`)).json();
    expect(session).toMatchObject({ email: bare, passkeys: 1, secondFactor: true });
    expect(local.complaints).toEqual([]);
    await local.context.close();
  });
});

describe('another e-mail address', () => {
  test('is asked for under Security and confirmed by its mail', async () => {
    const own = await openWindow(browser);
    const old = 'muda@padaria.example';
    const fresh = 'mudou@padaria.example';
    await newPerson(service, merchant.ownerId, old);
    await signIn(own.page, old);
    await own.page.goto(`${service.url}/seguranca`);
    await own.page.getByLabel('Novo e-mail').fill(fresh);
    await own.page.getByRole('button', { name: 'Trocar e-mail' }).click();
    await own.page.getByText(`Enviamos um link para ${fresh}.`).waitFor();
    await until(async () => (await mailsTo(service, fresh)).length > 0);
    const path = /\/novo-email#\S+/.exec((await mailsTo(service, fresh)).at(-1) ?? '')?.[0];
    await own.page.goto(service.url + path);
    await heading('Confirmar novo e-mail', own.page).waitFor();
    await inspect(own.page, 'novo-email');
    await own.page.getByRole('button', { name: 'Usar este e-mail' }).click();
    await own.page.getByText('E-mail trocado. Entre com o novo endereço.').waitFor();
    await signIn(own.page, fresh);
    await own.page.goto(`${service.url}/transferencias/nova`);
    await own.page.getByText(/Transferências suspensas até/).waitFor();
    await inspect(own.page, 'transferencia-suspensa');
    expect(own.complaints).toEqual([]);
    await own.context.close();
  });
});

describe('in English', () => {
  test.each([
    ['transferencia-nova', '/transferencias/nova', 'New transfer'],
    ['chaves', '/integracoes/chaves', 'API keys'],
    ['pessoas', '/pessoas', 'People'],
    ['seguranca', '/seguranca', 'Security'],
    ['mailbox', '/mailbox', 'Mailbox'],
  ])('%s', (name, path, title) => inEnglish(name, path, title));

  test('the console shows no error', () => {
    expect(window.complaints).toEqual([]);
  });
});
