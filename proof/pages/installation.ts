import { finish } from '@vintem/testkit/command.ts';
import { acceptInvitation, openDesk } from '@vintem/testkit/console.ts';
import { openTab } from '@vintem/testkit/panel.ts';
import { type Program, programOn, testMerchant } from '@vintem/testkit/program.ts';
import { type Merchant, until } from '@vintem/testkit/service.ts';
import { PNG } from 'pngjs';

/** Who looks at a page; each has floors and bounds of its own. */
export type Reader = 'payer' | 'merchant' | 'developer' | 'operator';

export interface Page {
  name: string;
  reader: Reader;
  url: string;
  /** Of the person who is signed in; empty: no person is. */
  cookie: string;
}

/** An installation with a shop of some weeks' work in it, as `vintem start` has it. */
export interface Installation {
  pages: Page[];
  close(): Promise<void>;
}

const charges = 40;

export async function openInstallation(): Promise<Installation> {
  const program = await programOn();
  try {
    await program.start();
    return { pages: await pagesOf(program), close: () => program.remove() };
  } catch (error) {
    await program.remove();
    throw error;
  }
}

async function pagesOf(program: Program): Promise<Page[]> {
  const { merchant, simulator } = await testMerchant(program);
  const pay = (id: string, body: object = {}) =>
    simulator.control('POST', `/control/charges/${id.replaceAll('-', '')}/pay`, body);
  const cookieOfMerchant = await dressed(program, merchant);
  const { paid, endToEnd } = await filled(merchant, pay);
  const open = (await merchant.charge({ amountCents: 12_345, description: 'Bolo de casamento, entrada' }))
    .body;
  const link = await merchant.call('POST', '/payment-links', {
    ...{ title: 'Curso de cerâmica, turma de março', description: 'Doze encontros, material incluído' },
    ...{ amountCents: 25_000, payerFields: { name: 'required' }, requestKey: crypto.randomUUID() },
  });
  const sold = (await merchant.call('GET', `/payments/${paid}`)).body;
  const here = (url: string): string => program.url + new URL(url).pathname;
  const proof = await proofOf(here(sold.payerUrl));
  const cookieOfOperator = await signedIn(program);
  const incident = await incidentOf(program, cookieOfOperator, merchant, pay);
  const of = (reader: Reader, cookie: string, paths: Readonly<Record<string, string>>): Page[] =>
    Object.entries(paths).map(([name, path]) => ({
      name,
      reader,
      url: new URL(path, program.url).href,
      cookie,
    }));
  return [
    ...of('payer', '', {
      'a charge to its payer': here(open.payerUrl),
      'a payment link': here(link.body.url),
      'a paid charge with its receipt': here(sold.payerUrl),
      'the check of a receipt': proof,
    }),
    ...of('merchant', cookieOfMerchant, {
      ...{
        home: '/',
        'list of charges': '/cobrancas',
        payment: `/pagamentos/${paid}`,
        statement: '/extrato',
      },
    }),
    ...of('developer', '', {
      'start page': '/docs',
      guide: '/docs/merchants/guide',
      reference: '/docs/reference',
      'reference of charges': '/docs/reference/charges',
      'reference of events': '/docs/pt/reference/notifications',
    }),
    ...of('operator', cookieOfOperator, {
      worklist: '/operator',
      search: `/operator/busca?q=${endToEnd}`,
      'payment of an account': `/operator/pagamentos/${paid}`,
      incident: `/operator/incidentes/${incident}`,
    }),
  ];
}

/** Signs in as the first person, and gives the merchant name, colour and logo. @returns the cookie */
async function dressed(program: Program, { ownerId }: Merchant): Promise<string> {
  const [, email = '', password = ''] = /e-mail (\S+) password (\S+)/.exec(program.output()) ?? [];
  const tab = openTab(program);
  await tab.signIn(email, password);
  const logo = new PNG({ width: 480, height: 160 });
  for (let at = 0; at < logo.data.length; at += 4) logo.data.set([20, 70, 124, 255], at);
  const ours = `/accounts/${ownerId}/merchant-profile`;
  const look = { displayName: 'Padaria Vila Mariana', cnpj: '11222333000181', colour: '#14467c' };
  await done(tab.call('POST', ours, look));
  await done(tab.call('POST', `${ours}/logo`, { png: PNG.sync.write(logo).toString('base64') }));
  return tab.cookie();
}

/** Charges that are open and paid, a refund, transfers. @returns a paid charge and its Pix */
async function filled(
  merchant: Merchant,
  pay: (id: string) => Promise<unknown>,
): Promise<{ paid: string; endToEnd: string }> {
  const made: string[] = [];
  for (let n = 1; n <= charges; n++) {
    const order = { amountCents: 1_000 * n, payerName: `Pagadora ${n}`, description: `Pedido ${n}` };
    made.push((await done(merchant.charge(order))).body.id);
  }
  const sold = made.filter((_, n) => n % 4 !== 0);
  for (const id of sold) await pay(id);
  const read = async (id: string) => (await merchant.call('GET', `/payments/${id}`)).body;
  for (const id of sold) await until(async () => (await read(id)).status === 'paid');
  const [refunded = '', paid = ''] = sold;
  await done(
    merchant.call('POST', `/payments/${refunded}/refunds`, {
      amountCents: 500,
      requestKey: crypto.randomUUID(),
    }),
  );
  for (let n = 1; n <= 5; n++) await done(merchant.transfer({ amountCents: 2_000 * n }));
  return { paid, endToEnd: (await read(paid)).endToEnd };
}

/** The address that the receipt of a paid charge is checked at, from the page of its payer. */
async function proofOf(page: string): Promise<string> {
  const answer = await fetch(page, { headers: { 'accept-language': 'pt-BR' } });
  const [, path] = /<a href="([^"]+)">Conferir este pagamento/.exec(await answer.text()) ?? [];
  if (!path) throw new Error('the page of a paid charge leads to no check of its receipt');
  return path;
}

/** The first operator, invited at the shell. @returns the cookie */
async function signedIn(program: Program): Promise<string> {
  const email = 'rita@vintem.example';
  const words = ['operator', 'create', '--email', email, '--name', 'Rita Lima', '--role', 'risk', '--json'];
  const { stdout, stderr } = await finish(words, {
    DATA_DIR: program.dataDir,
    SIMULATOR_URL: program.simulatorUrl,
    LOG_LEVEL: 'silent',
  });
  if (stdout === '') throw new Error(stderr);
  const { link } = JSON.parse(stdout);
  return (await acceptInvitation(openDesk(program), email, new URL(link).hash.slice(1))).cookie;
}

/** A charge that was paid with another amount, which an operator has to decide about. @returns the incident's id */
async function incidentOf(
  program: Program,
  cookie: string,
  merchant: Merchant,
  pay: (id: string, body: object) => Promise<unknown>,
): Promise<string> {
  const { body: odd } = await merchant.charge({ amountCents: 40_000 });
  await pay(odd.id, { amountCents: 39_000 });
  let id = '';
  await until(async () => {
    const answer = await fetch(`${program.url}/operator/api/worklist`, { headers: { cookie } });
    const { items } = (await answer.json()) as { items: { kind: string; id: string }[] };
    id = items.find(({ kind }) => kind === 'incident')?.id ?? '';
    return id !== '';
  });
  return id;
}

/** @throws Error where the call was refused: a page without what it should show would be judged too kindly */
async function done<Answered extends { status: number; body: unknown }>(
  call: Promise<Answered>,
): Promise<Answered> {
  const answer = await call;
  if (answer.status >= 300) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer;
}
