import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect, openBrowser, openWindow, signInAt, type Window } from '@vintem/testkit/browser.ts';
import { newPerson, passCodes, password, totpOf } from '@vintem/testkit/panel.ts';
import { callWith, openService, type Service, until } from '@vintem/testkit/service.ts';
import type { Browser, Locator, Page, Request, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAccount } from '../../src/operate/connections/directory.ts';
import { mailboxLink } from '../../src/panel/site/mailbox.ts';

// A page, two widths and two passes of axe: on a busy machine that is more than the usual time.

let service: Service;
let browser: Browser;
let window: Window;
let page: Page;
let shop: { ownerId: string; operationId: string };

const newShop = (name: string) =>
  createAccount(service.runtime, { name, test: true, connection: 'simulator' });

const signIn = (on: Page, email: string) => signInAt(on, service.url, email);

const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name });

/** Renames an operation and back: the panel gets news, and its pages look as before. */
async function makeNews({ ownerId, operationId }: typeof shop): Promise<void> {
  const call = callWith(`${service.url}/api/v1/public`, await service.newKey(ownerId));
  const { body } = await call('GET', '/operations');
  const { name } = body.operations.find((one: { id: string }) => one.id === operationId);
  for (const one of ['Quiosque', name])
    expect((await call('PATCH', `/operations/${operationId}`, { name: one })).status).toBe(200);
}

/** The newest mail that says it, as a person finds it. */
async function newestMail(): Promise<string> {
  const mailbox = await window.context.newPage();
  await mailbox.goto(mailboxLink(service.url, service.runtime.secrets));
  const text = (await mailbox.getByTestId('mail-text').textContent()) ?? '';
  await mailbox.close();
  return text;
}

beforeAll(async () => {
  service = await openService({ env: { WEBHOOK_ALLOW_INSECURE_LOCAL: 'true' } });
  browser = await openBrowser();
  window = await openWindow(browser);
  page = window.page;
  shop = await newShop('Padaria Estrela');
  await newPerson(service, shop.ownerId, 'ana@padaria.example');
  // The first visit may have to build the pages.
  await page.goto(`${service.url}/entrar`);
});

afterAll(async () => {
  await browser?.close();
  await service?.close();
});

describe('signing in', () => {
  test('a wrong password and an unknown address get the same answer', async () => {
    await signIn(page, 'ninguem@padaria.example');
    await page.getByText('E-mail ou senha incorretos.').waitFor();
    await page.getByLabel('E-mail').fill('ana@padaria.example');
    await page.getByLabel('Senha', { exact: true }).fill('not the password');
    await page.getByRole('button', { name: 'Entrar', exact: true }).click();
    await page.getByText('E-mail ou senha incorretos.').waitFor();
  });

  test('the right password leads to the balances', async () => {
    await signIn(page, 'ana@padaria.example');
    await heading('Início').waitFor();
    await page.getByText('Conta de teste: nenhum dinheiro se move.').waitFor();
    await page.getByText('Pode ser transferido agora').waitFor();
  });

  test('a page asks for the session before the program is there, which takes that answer', async () => {
    const asked: string[] = [];
    const note = (request: Request) => {
      if (request.url().endsWith('/panel/api/session')) asked.push(request.resourceType());
    };
    page.on('request', note);
    await page.goto(service.url);
    await page.getByText('Pode ser transferido agora').waitFor();
    page.off('request', note);
    expect(asked).toEqual(['other']);
  });
});

describe('a charge', () => {
  test('shows its QR code and turns to paid by itself', async () => {
    await page.getByRole('link', { name: 'Nova cobrança' }).click();
    await page.getByLabel('Valor').pressSequentially('15000');
    await page.getByLabel('Pagador').fill('=Maria "Silva"');
    await page.getByRole('button', { name: 'Criar cobrança' }).click();
    await page.getByRole('img', { name: 'QR code do Pix copia e cola' }).waitFor();
    expect(await page.getByTestId('copy-paste').textContent()).toMatch(/^000201.*6304[0-9A-F]{4}$/);

    const { body } = await service.simulator.control('GET', '/control/state');
    const txid = body.charges.at(-1).txid as string;
    await service.simulator.control('POST', `/control/charges/${txid}/pay`);
    await page.getByText('Pagamento recebido').waitFor();
    await page.getByRole('link', { name: 'Ver detalhes' }).click();
    await page.getByText('webhook do provedor').waitFor();
    await page.getByText('charge.paid').waitFor();
    await page.getByText('Crédito').waitFor();
  });

  test('is a movement of the start page once it is paid, and awaits its payment until then', async () => {
    // It is never paid, and no key is made for it: later tests read the balance and the list of keys.
    await page.goto(`${service.url}/cobrancas/nova`);
    await page.getByLabel('Valor').pressSequentially('7700');
    await page.getByLabel('Pagador').fill('Bia Não Pagou');
    await page.getByRole('button', { name: 'Criar cobrança' }).click();
    const detail = page.getByRole('link', { name: 'Ver detalhes' });
    const address = (await detail.getAttribute('href')) ?? '';
    const recent = page.getByRole('region', { name: 'Últimos movimentos' });
    const inspectSchemes = async (name: string) => {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await inspect(page, `${name}-${colorScheme}`);
      }
      await page.emulateMedia({ colorScheme: 'light' });
    };
    await page.goto(`${service.url}/`);
    await recent.getByRole('link', { name: /=Maria "Silva".* · Pix recebido.*R\$ 150,00/ }).waitFor();
    expect(await recent.getByText('Bia Não Pagou').count()).toBe(0);
    expect(await recent.getByText('R$ 77,00').count()).toBe(0);
    await inspectSchemes('home-movements');

    await page.goto(`${service.url}${address}/pagador`);
    await page.getByText('Aguardando pagamento').waitFor();
    expect(await page.getByText('Pendente').count()).toBe(0);
    await inspectSchemes('payer-waiting');

    // On a telephone the code comes before the facts.
    await page.setViewportSize({ width: 390, height: 740 });
    await page.goto(service.url + address);
    const top = async (of: Locator) => (await of.boundingBox())?.y ?? 0;
    const code = page.getByRole('img', { name: 'QR code do Pix copia e cola' });
    await code.waitFor();
    const facts = await top(page.getByRole('heading', { name: 'Linha do tempo' }));
    expect(await top(code)).toBeLessThan(facts);
    expect(await top(page.getByText('Bia Não Pagou').first())).toBeGreaterThan(await top(code));
    await inspectSchemes('charge-code-first');
    await page.setViewportSize({ width: 1280, height: 900 });

    await page.goto(`${service.url}/cobrancas`);
    await heading('Cobranças').waitFor();
  });

  test('stands first or last as the person orders the list, by keyboard, and its file says the same', async () => {
    await page.goto(`${service.url}/cobrancas`);
    const first = page.locator('tbody tr').first();
    await first.getByText('Bia Não Pagou').waitFor();
    // The charge that Bia has not paid is in no sum.
    await page.getByText(/^2 mostrados · recebido R\$\s150,00, tarifas R\$\s/).waitFor();
    await page.getByRole('combobox', { name: 'Ordem' }).focus();
    await page.keyboard.press('ArrowDown');
    await page.waitForURL(/ordem=antigas/);
    await first.getByRole('link', { name: '=Maria "Silva"' }).waitFor();
    expect(await page.locator('th[aria-sort]').getAttribute('aria-sort')).toBe('ascending');
    const file = await page.getByRole('link', { name: 'Exportar CSV' }).getAttribute('href');
    expect(file).toContain('order=oldest');
    await inspect(page, 'cobrancas-antigas');
    await page.reload();
    await first.getByRole('link', { name: '=Maria "Silva"' }).waitFor();

    // By the day of payment what is not paid leaves the list; by the amount the file keeps its own order.
    await page.getByRole('combobox', { name: 'Data' }).selectOption({ label: 'Pagamento' });
    await page.waitForURL(/por=pagamento/);
    await page.getByText('Bia Não Pagou').waitFor({ state: 'detached' });
    const ofPaid = await page.locator('th[aria-sort="ascending"]').textContent();
    expect(ofPaid?.trim()).toBe('Paga em');
    await page.getByRole('combobox', { name: 'Ordem' }).selectOption({ label: 'Maior valor' });
    await page.waitForURL(/ordem=maiores/);
    await page.locator('th[aria-sort="descending"]', { hasText: 'Valor' }).waitFor();
    const byAmount = await page.getByRole('link', { name: 'Exportar CSV' }).getAttribute('href');
    expect(byAmount).toContain('by=paid');
    expect(byAmount).not.toContain('order=');
    await inspect(page, 'cobrancas-por-valor');
    await page.getByRole('combobox', { name: 'Data' }).selectOption({ label: 'Criação' });
    await page.getByText('Bia Não Pagou').first().waitFor();
  });

  test('is found by a part of its payer, and exported safely', async () => {
    await page.getByRole('navigation').getByRole('link', { name: 'Cobranças' }).click();
    await page.getByLabel('Buscar').fill('maria');
    await page.waitForURL(/q=maria/);
    await page.getByRole('link', { name: '=Maria "Silva"' }).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Exportar CSV' }).click(),
    ]);
    const chunks: Buffer[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    expect(text.startsWith('\ufeffId;Tipo;Situação;')).toBe(true);
    expect(text).toContain(`;150,00;0,00;150,00;Principal;"'=Maria ""Silva""";`);
  });
});

describe('a transfer', () => {
  test('says what is wrong with a key as it is typed, and what the receiver gets', async () => {
    await page.goto(`${service.url}/transferencias/nova`);
    await page.getByLabel('Chave Pix').fill('529.982.247-24');
    await page.getByText('CPF inválido').waitFor();
    await page.getByLabel('Chave Pix').fill('fornecedor@loja.example');
    await page.getByLabel('Formato correto').waitFor();
    await page.getByLabel('Valor').pressSequentially('1000');
    await page.getByText('R$ 10,25').waitFor();
  });

  test('is sent with the code from the mail, and not with another one', async () => {
    await page.getByRole('button', { name: 'Continuar' }).click();
    await heading('Confirme com o código').waitFor();
    let code = '';
    await until(async () => {
      code = /C.digo: (\d{6})/.exec(await newestMail())?.[1] ?? '';
      return code !== '';
    });
    const other = code === '000000' ? '000001' : '000000';
    const first = page.getByLabel('Código').first();
    await first.click();
    await page.keyboard.type(other);
    await page.getByRole('button', { name: 'Confirmar e enviar' }).click();
    await page.getByText('Código errado. Restam 4 tentativas.').waitFor();
    await first.click();
    await page.keyboard.type(code);
    await page.getByRole('button', { name: 'Confirmar e enviar' }).click();
    await page.getByText('Concluída').waitFor();
    await page.getByRole('link', { name: 'Ver detalhes' }).click();
    await page.getByRole('link', { name: 'Comprovante' }).click();
    await page.getByText('Pix enviado').waitFor();
    await page.getByText('fornecedor@loja.example').waitFor();
  });
});

describe('an API key', () => {
  test('is shown once, works, and stops when it is revoked', async () => {
    await page.goto(`${service.url}/integracoes/chaves`);
    await page.getByRole('button', { name: 'Nova chave' }).first().click();
    await page.getByLabel('Nome').fill('Loja virtual');
    await page.getByRole('button', { name: 'Criar chave' }).click();
    const key = (await page.getByTestId('new-key').textContent()) ?? '';
    expect(key).toMatch(/^vtm_test_/);
    await page.getByLabel('Guardei a chave em um lugar seguro').check();
    await page.getByRole('button', { name: 'Concluir' }).click();
    await page.getByText('Leitura, Cobranças').waitFor();
    await page.reload();
    await page.getByText('Leitura, Cobranças').waitFor();
    expect(await page.content()).not.toContain(key);

    expect((await service.as(key)('GET', '/account')).body.balanceCents).toBe(13_975);
    await page.getByRole('button', { name: 'Revogar' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revogar' }).click();
    await until(async () => (await service.as(key)('GET', '/account')).status === 401);
  });
});

describe('a webhook endpoint', () => {
  test('gets a test, and the panel shows how it ended', async () => {
    let asked = 0;
    const receiver = createServer((_request, response) => {
      asked++;
      response.writeHead(asked === 1 ? 500 : 200).end(asked === 1 ? 'cheio' : 'recebido');
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const { port } = receiver.address() as AddressInfo;
    await page.goto(`${service.url}/integracoes/webhooks`);
    await page.getByRole('button', { name: 'Novo endpoint' }).first().click();
    await page.getByLabel('Endereço').fill(`http://127.0.0.1:${port}/vintem`);
    await page.getByLabel('Descrição').fill('Loja');
    await page.getByRole('button', { name: 'Criar endpoint' }).click();
    expect(await page.getByTestId('new-secret').textContent()).toMatch(/^whsec_/);
    await page.getByLabel('Guardei o segredo em um lugar seguro').check();
    await page.getByRole('button', { name: 'Concluir' }).click();
    await page.getByRole('link', { name: 'Ver entregas' }).click();
    await page.getByRole('button', { name: 'Enviar teste' }).click();
    await page.getByText('cheio').waitFor();
    await page.getByRole('button', { name: 'Reenviar agora' }).click();
    await page.getByText('Entregue').first().waitFor();
    await page.getByText('recebido').waitFor();
    // A failed attempt looks like one.
    const attempts = page.locator('.timeline > li');
    expect(await attempts.evaluateAll((all) => all.map(({ className }) => className))).toEqual([
      'bad',
      'good',
    ]);
    receiver.close();
  });
});

describe('an operation', () => {
  test('with a balance says why it cannot be deleted; an empty one goes', async () => {
    await page.goto(`${service.url}/operacoes`);
    await page.getByRole('button', { name: 'Nova operação' }).click();
    await page.getByLabel('Nome').fill('Loja da Praia');
    await page.getByRole('button', { name: 'Criar operação' }).click();
    const beach = page.getByRole('region', { name: 'Loja da Praia' });
    await beach.waitFor();
    await page.getByRole('region', { name: 'Principal' }).getByRole('button', { name: 'Excluir' }).click();
    await page.getByText('A operação tem saldo: transfira tudo antes.').waitFor();
    await page.getByRole('button', { name: 'Cancelar' }).click();
    await beach.getByRole('button', { name: 'Excluir' }).click();
    await page.getByRole('button', { name: 'Excluir operação' }).click();
    await beach.waitFor({ state: 'detached' });
  });
});

describe('accounts apart', () => {
  test('a second account sees nothing of the first', async () => {
    const other = await newShop('Oficina do Zé');
    await newPerson(service, other.ownerId, 'ze@oficina.example');
    const { body } = await service.simulator.control('GET', '/control/state');
    const txid = body.charges[0].txid as string;
    const paymentId = txid.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    const stranger = await openWindow(browser);
    await signIn(stranger.page, 'ze@oficina.example');
    await stranger.page.getByText('Nenhum movimento ainda.').waitFor();
    await stranger.page.goto(`${service.url}/pagamentos/${paymentId}`);
    await stranger.page.getByRole('heading', { name: 'Página não encontrada' }).waitFor();
    for (const path of ['overview', 'records', `records/${paymentId}`, 'keys', 'members', 'updates']) {
      const answer = await stranger.context.request.get(
        `${service.url}/panel/api/accounts/${shop.ownerId}/${path}`,
      );
      expect(answer.status(), path).toBe(404);
    }
    await stranger.context.close();
  });
});

describe('a second factor', () => {
  test('is set up with a code and asked for at the next sign-in', async () => {
    await page.goto(`${service.url}/seguranca`);
    await page.getByRole('button', { name: 'Configurar' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Senha atual').fill(password);
    await dialog.getByRole('button', { name: 'Continuar' }).click();
    const secret = (await page.getByTestId('totp-secret').textContent()) ?? '';
    await dialog.getByLabel('Digite o código que o aplicativo mostra').fill(totpOf(secret, Date.now()));
    // News make the panel read; the reading arrives after the code was accepted, with the session that ended there.
    const held = Promise.withResolvers<Route>();
    await page.route('**/overview*', (route) => held.resolve(route), { times: 1 });
    await makeNews(shop);
    const overtaken = await held.promise;
    const { cookie = '' } = await overtaken.request().allHeaders();
    await page.route(
      '**/two-factor/verify-totp',
      async (route) => {
        const accepted = await route.fetch();
        const late = await fetch(overtaken.request().url(), { headers: { cookie } });
        expect(late.status).toBe(401);
        await overtaken.fulfill({
          status: 401,
          contentType: 'application/json',
          body: await late.text(),
        });
        await route.fulfill({ response: accepted });
      },
      { times: 1 },
    );
    await dialog.getByRole('button', { name: 'Ativar' }).click();
    await page.getByTestId('backup-codes').waitFor();
    await dialog.getByRole('button', { name: 'Concluir' }).click();

    const again = await openWindow(browser);
    await signIn(again.page, 'ana@padaria.example');
    await again.page.getByRole('heading', { name: 'Confirme que é você' }).waitFor();
    await again.page.getByLabel('Código').fill('000000');
    await again.page.getByRole('button', { name: 'Entrar' }).click();
    await again.page.getByText('O código está errado ou já foi usado.').waitFor();
    await passCodes(service);
    await again.page.getByLabel('Código').fill(totpOf(secret, Date.now()));
    await again.page.getByRole('button', { name: 'Entrar' }).click();
    await again.page.getByRole('heading', { level: 1, name: 'Início' }).waitFor();
    await again.context.close();
  });
});

describe.each(['light', 'dark'] as const)('opened, in %s', (scheme) => {
  beforeAll(async () => {
    await page.emulateMedia({ colorScheme: scheme });
    await page.goto(`${service.url}/`);
    await heading('Início').waitFor();
  });
  afterAll(() => page.emulateMedia({ colorScheme: 'light' }));

  test('the menu of the person is without violations, closes with Escape and gives the focus back', async () => {
    const menu = page.getByRole('button', { name: 'Ana Prado' });
    const signOut = page.getByRole('button', { name: 'Sair' });
    await menu.press('Enter');
    await signOut.waitFor();
    await inspect(page, `menu-${scheme}`);
    await page.keyboard.press('Escape');
    await signOut.waitFor({ state: 'hidden' });
    expect(await menu.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
  });

  test('the navigation of a telephone is without violations, closes with Escape and gives the focus back', async () => {
    await page.setViewportSize({ width: 390, height: 740 });
    const burger = page.getByRole('button', { name: 'Menu', exact: true });
    const drawer = page.getByRole('dialog', { name: 'Menu' });
    await burger.press('Enter');
    await drawer.getByRole('link', { name: 'Cobranças' }).waitFor();
    await inspect(page, `gaveta-${scheme}`);
    await page.setViewportSize({ width: 390, height: 740 });
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'hidden' });
    expect(await burger.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    await page.setViewportSize({ width: 1280, height: 900 });
  });
});

test('the look that a person chooses holds at once, and after a reload', async () => {
  const look = () => page.locator('html').getAttribute('data-mantine-color-scheme');
  for (const [name, scheme] of [
    ['Escura', 'dark'],
    ['Clara', 'light'],
    ['Padrão do sistema', 'light'],
  ] as const) {
    await page.getByRole('button', { name: 'Ana Prado' }).click();
    await page.getByRole('button', { name, exact: true }).click();
    await until(async () => (await look()) === scheme);
    await page.reload();
    await heading('Início').waitFor();
    expect(await look()).toBe(scheme);
  }
});

describe('languages', () => {
  test('English is one press away, and stays', async () => {
    await page.goto(`${service.url}/`);
    await page.getByRole('button', { name: 'EN English' }).click();
    await heading('Home').waitFor();
    await page.reload();
    await heading('Home').waitFor();
    await page.getByText('R$ 139,75').first().waitFor();
    expect(await page.locator('html').getAttribute('lang')).toBe('en');
    await page.getByRole('button', { name: 'PT Português' }).click();
    await heading('Início').waitFor();
  });
});

describe('every page', () => {
  const pages: [name: string, path: () => Promise<string> | string, title: string][] = [
    ['inicio', () => '/', 'Início'],
    ['cobrancas', () => '/cobrancas', 'Cobranças'],
    ['cobranca-nova', () => '/cobrancas/nova', 'Nova cobrança'],
    ['cobranca', () => recordOf('deposit'), 'Cobrança'],
    ['transferencias', () => '/transferencias', 'Transferências'],
    ['transferencia-nova', () => '/transferencias/nova', 'Nova transferência'],
    ['transferencia', () => recordOf('transfer'), 'Transferência'],
    ['comprovante', async () => `${await recordOf('transfer')}/comprovante`, 'Comprovante Pix'],
    ['operacoes', () => '/operacoes', 'Operações'],
    ['extrato', () => '/extrato', 'Extrato'],
    ['conciliacao', () => '/conciliacao', 'Conciliação'],
    ['pagador', async () => `${await recordOf('deposit')}/pagador`, 'Pagar para Padaria Estrela'],
    ['eventos', () => '/integracoes/eventos', 'Eventos'],
    ['chaves', () => '/integracoes/chaves', 'Chaves de API'],
    ['webhooks', () => '/integracoes/webhooks', 'Webhooks'],
    ['entregas', () => endpointPath(), 'Loja'],
    ['pessoas', () => '/pessoas', 'Pessoas'],
    ['seguranca', () => '/seguranca', 'Segurança'],
    ['mailbox', () => '/mailbox', 'Caixa de e-mails'],
    ['senha', () => '/senha', 'Recuperar o acesso'],
    ['nao-existe', () => '/nao-existe', 'Página não encontrada'],
  ];

  const fetched = async (path: string) =>
    (await window.context.request.get(`${service.url}/panel/api/accounts/${shop.ownerId}${path}`)).json();
  const recordOf = async (kind: string) =>
    `/pagamentos/${(await fetched(`/records?kind=${kind}`)).records[0].id}`;
  const endpointPath = async () => `/integracoes/webhooks/${(await fetched('/webhooks')).webhooks[0].id}`;

  test.each(pages)(
    '%s: no violation of axe, nothing beyond the edge, at both widths',
    async (name, path, title) => {
      await page.goto(service.url + (await path()));
      await heading(title).waitFor();
      await page.waitForLoadState('networkidle');
      await inspect(page, name);
    },
  );

  test('the gate as well', async () => {
    const fresh = await openWindow(browser, 1440);
    await fresh.page.goto(`${service.url}/entrar`);
    await fresh.page.getByRole('heading', { name: 'Entrar' }).waitFor();
    await inspect(fresh.page, 'entrar');
    await fresh.context.close();
  });

  test('by keyboard alone: the first stop skips to the content', async () => {
    await page.goto(`${service.url}/cobrancas`);
    await heading('Cobranças').waitFor();
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').textContent()).toBe('Ir para o conteúdo');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').textContent()).toContain('Com vencimento');
  });

  test('the console shows no error', () => {
    expect(window.complaints).toEqual([]);
  });
});
