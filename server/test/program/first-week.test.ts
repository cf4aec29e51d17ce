import { readFile } from 'node:fs/promises';
import { finish } from '@vintem/testkit/command.ts';
import { type Program, programOn } from '@vintem/testkit/program.ts';
import { simulatorAt, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** The page of the first real money, followed: each of its commands as it is printed, over the simulator in the place of the provider. */

let program: Program;
const known: Record<string, string> = {};

beforeAll(async () => {
  program = await programOn();
  await program.start();
});
afterAll(() => program?.remove(), 30_000);

async function vintem(words: string[]) {
  const env = { DATA_DIR: program.dataDir, SIMULATOR_URL: program.simulatorUrl, LOG_LEVEL: 'silent' };
  const { code, stdout, stderr } = await finish([...words, '--json'], env);
  expect([words.join(' '), code, stderr]).toEqual([words.join(' '), 0, '']);
  return JSON.parse(stdout);
}

/** The words of a line, as a shell takes them. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? '',
  );

/** Runs one printed command. @returns its answer */
// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
async function follow(command: string): Promise<any> {
  const filled = command.replace(/\b(OWNER_ID|CHARGE_ID)\b/g, (name) => known[name] ?? name);
  const [program_ = '', ...words] = wordsOf(
    filled.replace('$VINTEM_URL', known.URL ?? '').replace('$VINTEM_KEY', known.KEY ?? ''),
  );
  if (program_ === 'npx') return vintem(words.slice(1));
  expect(program_).toBe('curl');
  const givenAs = (option: string) =>
    words.flatMap((word, at) => (word === option ? [words[at + 1] ?? ''] : []));
  const url = words.find((word) => word.startsWith('http')) ?? '';
  const headers = Object.fromEntries(givenAs('-H').map((header) => header.split(': ') as [string, string]));
  const [body] = givenAs('-d');
  const answer = await fetch(url, {
    method: givenAs('-X')[0] ?? 'GET',
    headers,
    ...(body === undefined ? {} : { body }),
  });
  const json = (await answer.json()) as { code?: string };
  expect([url, answer.status, json.code]).toEqual([
    url,
    expect.toSatisfy((status: number) => status < 300),
    undefined,
  ]);
  return json;
}

/** The blocks of the first real money, a line for each command. */
async function blocksOfPage(): Promise<string[][]> {
  const page = await readFile(new URL('../../../docs/operators/first-week.md', import.meta.url), 'utf8');
  const [, part = ''] = page.split('## The first real money');
  return [...(part.split('\n## ')[0] ?? '').matchAll(/```sh\n(.*?)```/gs)].map(([, code = '']) =>
    code
      .replace(/\\\n\s*/g, ' ')
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean),
  );
}

interface GoingLive {
  name: string;
  /** The page that prints the command of its connection against the simulator; null: none does. */
  page: string | null;
  adapter: string;
  /** Of the simulator. */
  desk: string;
  refunds: boolean;
}

const providers: GoingLive[] = [
  { name: 'loja-a', page: null, adapter: 'efi', desk: '', refunds: true },
  { name: 'woovi', page: null, adapter: 'woovi', desk: '/woovi', refunds: true },
  { name: 'inter', page: null, adapter: 'inter', desk: '/inter', refunds: true },
  { name: 'asaas', page: 'asaas.md', adapter: 'asaas', desk: '/asaas', refunds: true },
  { name: 'stark', page: 'stark.md', adapter: 'stark', desk: '/stark', refunds: false },
];

test.each(providers)(
  'Each command of the first real money works over the connection $name as the page prints it, and the amounts that it names come out',
  async ({ name, page, adapter, desk, refunds }) => {
    const blocks = await blocksOfPage();
    expect(blocks.length).toBe(5);
    const [accounts = [], charge = [], refund = [], transfer = [], compare = []] = blocks;
    const printed = page === null ? [] : await commandOf(page);
    const made = await follow(
      printed[0] ?? `npx vintem connection create --name ${name} --adapter ${adapter} --simulator`,
    );
    expect(made).toMatchObject({ name });
    known.URL = program.url;
    const at = (command = '') => command.replace('--connection loja-a', `--connection ${name}`);
    known.OWNER_ID = (await follow(at(accounts[0]))).ownerId;
    known.KEY = (await follow(accounts[1] ?? '')).key;
    const call = (path: string) =>
      follow(`curl "$VINTEM_URL/api/v1/public${path}" -H "authorization: Bearer $VINTEM_KEY"`);

    known.CHARGE_ID = (await follow(charge[0] ?? '')).id;
    const phone = simulatorAt(program.simulatorUrl + desk);
    await phone.control('POST', `/control/charges/${(known.CHARGE_ID ?? '').replaceAll('-', '')}/pay`);
    await until(async () => (await follow(charge[1] ?? '')).status === 'paid');
    if (refunds) {
      const given = await follow(refund[0] ?? '');
      await until(async () => (await call(`/refunds/${given.id}`)).status === 'completed');
    }
    const sent = await follow(transfer[0] ?? '');
    expect(sent).toMatchObject({ amountCents: 1_000, feeCents: 25 });
    await until(async () => (await call(`/payments/${sent.id}`)).status === 'completed');
    expect((await call('/account')).balanceCents).toBe(refunds ? 0 : 200);

    const [shown, compared, verified] = [
      await follow(compare[0] ?? ''),
      await follow(compare[1] ?? ''),
      await follow(compare[2] ?? ''),
    ];
    expect(JSON.stringify(shown)).toContain(known.CHARGE_ID);
    expect(compared).toMatchObject({ missing: 0, unexpected: 0, different: 0 });
    expect(verified.ok).toBe(true);

    // A refusal that no table has is found by the command that the page names; log and metric: `dialects.test.ts`.
    await phone.behave({ charge: 'refuse-unknown' });
    const odd = {
      amountCents: 1_200,
      payerName: 'Recusada',
      description: '',
      requestKey: crypto.randomUUID(),
    };
    const refused = await follow(
      `curl -X POST "$VINTEM_URL/api/v1/public/pix/charges" -H "authorization: Bearer $VINTEM_KEY" -H "content-type: application/json" -d '${JSON.stringify(odd)}'`,
    );
    await phone.behave({});
    const [word] = (await follow(`npx vintem payment show ${refused.id}`)).words;
    expect(word.name).toMatch(/^4\d\d \S/);
  },
);

/** The command by which a page makes its connection against the simulator. */
async function commandOf(page: string): Promise<string[]> {
  const text = await readFile(new URL(`../../../docs/operators/${page}`, import.meta.url), 'utf8');
  return /^npx vintem connection create .* --simulator$/m.exec(text) ?? [];
}

test('The connection of Asaas Checkout is made against the simulator by the command that its page prints', async () => {
  const [command] = await commandOf('asaas-checkout.md');
  expect(await follow(command ?? '')).toMatchObject({ name: 'asaas-cartoes', adapter: 'asaas-checkout' });
});
