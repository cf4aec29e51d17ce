import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSimulator } from '@vintem/simulator';
import { blocksOf, faultsOf, firstMoney, startWalk, type Walk } from '@vintem/testkit/page-walk.ts';
import { type Program, programOn } from '@vintem/testkit/program.ts';
import { type Simulator, simulatorAt } from '@vintem/testkit/service.ts';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';

/**
 * Going live at each provider by its page alone. A simulator that knows nothing of the installation stands in the place of the provider: the account is a
 * live one, the credentials come from the file that the page describes, and every command is typed as it is printed, but for the provider's address.
 */

let program: Program;
let provider: { url: string; stop(): Promise<void> };
let stateDir: string;
let walk: Walk;

beforeAll(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'vintem-provider-'));
  provider = await startSimulator({ host: '127.0.0.1', port: 0, stateDir });
});
afterAll(async () => {
  await provider?.stop();
  await rm(stateDir, { recursive: true, force: true });
});
beforeEach(async () => {
  // An installation for each: every page calls its connection alike.
  program = await programOn();
  await program.start();
  const env = {
    ...{ DATA_DIR: program.dataDir, SIMULATOR_URL: program.simulatorUrl },
    ...{ PUBLIC_URL: program.url, LOG_LEVEL: 'silent' },
  };
  walk = await startWalk(env, [
    ['http://127.0.0.1:3000', program.url],
    ['https://pix.api.efipay.com.br', provider.url],
  ]);
});
afterEach(async () => {
  await walk?.remove();
  await program?.remove();
});

interface Site {
  page: string;
  heading?: string;
  adapter: string;
  connection: string;
  /** Of the simulator. */
  desk: string;
  /** The members of the credentials, as the provider has given them; null: the page writes the file. */
  credentials: Record<string, string> | null;
  /** Files that a person gets at the provider. */
  certificate?: string;
  /** A person at the provider's own pages. */
  panel?(desk: Simulator): Promise<void>;
  refunds: boolean;
  transfers: boolean;
}

const tokens = { webhookToken: 'w'.repeat(32), withdrawalToken: 'q'.repeat(32) };
const application = { clientId: 'loja', clientSecret: 'segredo', pixKey: 'chave@loja.example' };
const both = { refunds: true, transfers: true };
const sites: Site[] = [
  {
    ...{ page: 'asaas.md', adapter: 'asaas', connection: 'loja', desk: '/asaas', ...both },
    credentials: {
      ...{ apiKey: `$aact_prod_${Buffer.from('loja:segredo').toString('base64')}`, ...tokens },
      ...{ customer: 'cus_000005219613', email: 'you@example.com' },
    },
    // "Mecanismos de segurança".
    panel: async (desk) => {
      const url = `${program.url}/hooks/providers/loja/withdrawals`;
      await desk.control('PUT', '/control/questions/loja', { url, token: tokens.withdrawalToken });
    },
  },
  {
    ...{ page: 'stark.md', adapter: 'stark', connection: 'loja', desk: '/stark' },
    ...{ credentials: null, refunds: false, transfers: true },
    // "Integrations", with the two ids that the page shows.
    panel: async (desk) => {
      const publicKey = await readFile(join(walk.folder, 'stark-public.pem'), 'utf8');
      const project = { publicKey, workspaceId: '5078376503050240' };
      await desk.control('PUT', '/control/projects/5656565656565656', project);
    },
  },
  {
    ...{ page: 'woovi.md', adapter: 'woovi', connection: 'loja', desk: '/woovi', ...both },
    credentials: { appId: Buffer.from('loja:segredo').toString('base64') },
  },
  {
    ...{ page: 'inter.md', adapter: 'inter', connection: 'loja', desk: '/inter', ...both },
    ...{ credentials: application, certificate: 'loja' },
  },
  {
    ...{ page: 'api-pix-banks.md', adapter: 'bb', connection: 'banco', desk: '/api-pix' },
    ...{ certificate: 'banco', refunds: true, transfers: false },
    credentials: { ...application, appKey: 'chave de aplicação' },
  },
];

test.each(sites)('An account at the provider of $page goes live by the page alone', async (site) => {
  const { page, adapter, connection, desk, refunds, transfers } = site;
  const atProvider = simulatorAt(provider.url + desk);
  await fromProvider(site);
  const blocks = await blocksOf(page);
  const create = blocks.findIndex(({ text }) => text.includes(`connection create --name ${connection} `));
  for (const [at, block] of blocks.slice(0, create + 1).entries()) {
    if (block.language === 'json') await writeCredentials(blocks[create]?.text ?? '', block.text, site);
    if (block.language !== 'sh') continue;
    if (at === create) await site.panel?.(atProvider);
    for (const line of block.lines) await typed(line, adapter, desk);
  }
  expect(await walk.must('npx vintem connection list')).toMatch(new RegExp(`^${connection} .* live `, 'm'));
  await firstMoney(walk, {
    ...{ connection, refunds, transfers },
    pay: async (id) => {
      const { status } = await atProvider.control('POST', `/control/charges/${id.replaceAll('-', '')}/pay`);
      expect(status).toBe(200);
    },
  });
});

test('An account at Efí goes live by the page of going live, and its certificate is changed', async () => {
  const site: Site = {
    ...{ page: 'going-live.md', adapter: 'efi', connection: 'loja-a', desk: '', ...both },
    credentials: { clientId: 'loja-a', clientSecret: 'segredo', pixKey: 'chave@loja.example' },
  };
  const [first, second] = ['Step by step', 'A new client certificate'];
  const blocks = await blocksOf(site.page, first);
  for (const name of ['loja-a', 'new']) await certificateOf(name, 'p12');
  await certificateOf('b', 'pem');
  const b = { clientId: 'loja-b', clientSecret: 'segredo', pixKey: 'outra@loja.example' };
  await writeFile(join(walk.folder, 'loja-b.json'), JSON.stringify(b), { mode: 0o600 });
  let account = '';
  for (const block of blocks) {
    if (block.language === 'json') await writeCredentials('--credentials loja-a.json', block.text, site);
    if (block.language !== 'sh') continue;
    for (const line of block.lines) {
      const out = await typed(line, 'efi', '');
      account = /^account (\S+)/m.exec(out)?.[1] ?? account;
    }
  }
  const atProvider = simulatorAt(provider.url);
  await firstMoney(walk, {
    ...{ connection: 'loja-a', ownerId: account, ...both },
    pay: async (id) =>
      void (await atProvider.control('POST', `/control/charges/${id.replaceAll('-', '')}/pay`)),
  });
  for (const { lines } of await blocksOf(site.page, second))
    for (const line of lines) await typed(line, 'efi', '');
  await walk.must('npx vintem connection rotate loja-a --back');
  await setsFees();
});

test.each([
  { page: 'stripe.md', adapter: 'stripe-checkout', desk: '/stripe', first: { webhookSecret: 'whsec_later' } },
  {
    ...{ page: 'asaas-checkout.md', adapter: 'asaas-checkout', desk: '/asaas' },
    first: { email: 'you@example.com', webhookToken: tokens.webhookToken },
  },
])(
  'Cards are taken by $page alone, in the test environment with which it begins',
  async ({ page, ...site }) => {
    const { adapter, desk, first } = site;
    const coded = (form: 'base64' | 'base64url') => Buffer.from('loja:segredo').toString(form);
    const key =
      desk === '/stripe'
        ? { secretKey: `sk_test_${coded('base64url')}` }
        : { apiKey: `$aact_hmlg_${coded('base64')}` };
    const blocks = await blocksOf(page, 'Step by step');
    const sample = blocks.find(({ language }) => language === 'json')?.text ?? '';
    const credentials = { ...key, ...first };
    expect(Object.keys(JSON.parse(sample)).sort()).toEqual(Object.keys(credentials).sort());
    await writeFile(join(walk.folder, 'cartoes.json'), JSON.stringify(credentials));
    const made = await walk.must('npx vintem account create --name Loja --test');
    walk.known.OWNER_ID = /^account (\S+)/m.exec(made)?.[1] ?? '';
    const lines = blocks.filter(({ language }) => language === 'sh').flatMap((block) => block.lines);
    for (const line of lines.filter((one) => !one.endsWith(' --simulator'))) {
      const out = await typed(line.replace(/(connection create .*)/, '$1 --sandbox'), adapter, desk);
      if (line.includes('provider address')) await endpointAtStripe(key.secretKey ?? '', out.trim());
    }
  },
);

/** Made by a person in Stripe's dashboard, with the events of the page; its secret is shown once. */
async function endpointAtStripe(secretKey: string, url: string): Promise<void> {
  const text = await readFile(new URL('../../../docs/operators/stripe.md', import.meta.url), 'utf8');
  const [, named = ''] = /with the events (.*?)\.\n/s.exec(text) ?? [];
  const events = [...named.matchAll(/`([^`]+)`/g)].map(([, event = ''], at) => [
    `enabled_events[${at}]`,
    event,
  ]);
  expect(events.length).toBeGreaterThan(10);
  const made = await fetch(`${provider.url}/stripe/v1/webhook_endpoints`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secretKey}` },
    body: new URLSearchParams([['url', url], ...events] as [string, string][]),
  });
  const { secret } = (await made.json()) as { secret: string };
  await writeFile(join(walk.folder, 'secret.json'), JSON.stringify({ webhookSecret: secret }));
}

/** The calls of Efí's page by which its deliveries name fees. */
async function setsFees(): Promise<void> {
  const [calls] = (await blocksOf('efi.md', 'Costs')).filter(({ language }) => language === 'sh');
  const [secret = '', token = '', pasted = '', read = '', set = ''] = calls?.lines ?? [];
  await walk.must(secret, 'segredo\n');
  const { access_token } = JSON.parse(await walk.must(token.replace('Client_Id_…', 'loja-a')));
  await walk.must(pasted, `${access_token}\n`);
  expect(JSON.parse(await walk.must(read))).toMatchObject({ pix: { chaves: {} } });
  expect(await walk.must(set)).toBe('');
  const { pix } = JSON.parse(await walk.must(read));
  expect(pix.chaves['chave@loja.example'].recebimento.webhook.notificacao.tarifa).toBe(true);
}

/** Types a line of a page; the connection is made at the simulator's address in the place of the provider's. */
async function typed(line: string, adapter: string, desk: string): Promise<string> {
  if (line.includes('vintem doctor')) {
    // This machine is no address that a provider could reach, as the page says.
    const faults = await faultsOf(walk, line);
    expect(faults).toEqual([expect.stringContaining('PUBLIC_URL is no https address')]);
    return '';
  }
  const isMade = line.includes(`connection create `) && line.includes(`--adapter ${adapter} `);
  // The protocol has its version in the address.
  const path = desk === '/api-pix' ? `${desk}/v2` : desk;
  return walk.must(isMade ? `${line} --url ${provider.url}${path}` : line);
}

/** The file of the page, with what the provider has given in the place of its samples. */
async function writeCredentials(command: string, sample: string, { credentials, desk }: Site): Promise<void> {
  if (credentials === null) return;
  expect(Object.keys(JSON.parse(sample)).sort()).toEqual(Object.keys(credentials).sort());
  const [, name = ''] = /--credentials (\S+)/.exec(command) ?? [];
  const file = join(walk.folder, name);
  // A bank's tokens are asked for at an address of their own.
  const tokenUrl = desk === '/api-pix' ? { tokenUrl: `${provider.url}${desk}/oauth/token` } : {};
  await writeFile(file, JSON.stringify({ ...credentials, ...tokenUrl }), { mode: 0o600 });
  expect((await stat(file)).mode & 0o077).toBe(0);
}

async function fromProvider({ certificate }: Site): Promise<void> {
  if (certificate !== undefined) await certificateOf(certificate, 'pem');
}

/** As a provider's panel gives it. */
async function certificateOf(name: string, form: 'pem' | 'p12'): Promise<void> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  await writeFile(join(walk.folder, `${name}.key`), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await walk.must(`openssl req -x509 -new -key ${name}.key -out ${name}.crt -days 365 -subj /CN=loja`);
  if (form === 'p12')
    await walk.must(
      `openssl pkcs12 -export -in ${name}.crt -inkey ${name}.key -out ${name}.p12 -passout pass:`,
    );
}
