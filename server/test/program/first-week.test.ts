import { blocksOf, faultsOf, firstMoney, startWalk, type Walk } from '@vintem/testkit/page-walk.ts';
import { type Program, programOn } from '@vintem/testkit/program.ts';
import { simulatorAt } from '@vintem/testkit/service.ts';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';

/** The page of the first real money, followed over the simulator of the installation: each of its commands as it is printed. */

let program: Program;
let walk: Walk;

beforeAll(async () => {
  program = await programOn();
  await program.start();
});
afterAll(() => program?.remove(), 30_000);
beforeEach(async () => {
  const env = {
    ...{ DATA_DIR: program.dataDir, SIMULATOR_URL: program.simulatorUrl },
    ...{ PUBLIC_URL: program.url, LOG_LEVEL: 'silent' },
  };
  walk = await startWalk(env, [
    ['http://127.0.0.1:3000', program.url],
    ['http://127.0.0.1:4010', program.simulatorUrl],
  ]);
});
afterEach(() => walk?.remove());

interface GoingLive {
  connection: string;
  adapter: string;
  /** The page that prints how its connection against the simulator is made and its charge paid; null: none does. */
  page: string | null;
  /** Of the simulator. */
  desk: string;
  refunds: boolean;
  transfers: boolean;
}

const usual = { page: null, refunds: true, transfers: true };
const providers: GoingLive[] = [
  { ...usual, connection: 'loja-a', adapter: 'efi', desk: '' },
  { ...usual, connection: 'woovi', adapter: 'woovi', desk: '/woovi' },
  { ...usual, connection: 'inter', adapter: 'inter', desk: '/inter' },
  { ...usual, connection: 'asaas', adapter: 'asaas', page: 'asaas.md', desk: '/asaas' },
  { ...usual, connection: 'stark', adapter: 'stark', page: 'stark.md', desk: '/stark', refunds: false },
  {
    ...{ ...usual, connection: 'banco-teste', adapter: 'bb', page: 'api-pix-banks.md', desk: '/api-pix' },
    transfers: false,
  },
];

test.each(providers)(
  'Each command of the first real money works over the connection $connection as the pages print it, and the amounts that they name come out',
  async ({ connection, adapter, page, desk, refunds, transfers }) => {
    const printed = page === null ? [] : await linesOfTrial(page);
    const [make, pay] = [
      printed[0] ?? `npx vintem connection create --name ${connection} --adapter ${adapter} --simulator`,
      printed[1] ??
        ((await blocksOf('first-week.md', 'The first real money')).at(-1)?.lines[0] ?? '').replace(
          ':4010/',
          `:4010${desk}/`,
        ),
    ];
    expect(await walk.must(make)).toContain(connection);
    expect(await faultsOf(walk, `npx vintem doctor --connection ${connection}`)).toEqual([]);
    await firstMoney(walk, {
      ...{ connection, refunds, transfers },
      pay: async () => void (await walk.must(pay)),
    });

    // A refusal that no table has is found by the command that the page names; log and metric: `dialects.test.ts`.
    const simulator = simulatorAt(program.simulatorUrl + desk);
    await simulator.behave({ charge: 'refuse-unknown' });
    const refused = await walk.must(
      `curl -X POST "$VINTEM_URL/api/v1/public/pix/charges" -H "authorization: Bearer $VINTEM_KEY" -H "content-type: application/json" -d '{"amountCents":1200,"payerName":"Recusada","description":"","requestKey":"${crypto.randomUUID()}"}'`,
    );
    await simulator.behave({});
    const story = await walk.must(`npx vintem payment show ${JSON.parse(refused).id} --json`);
    expect(JSON.parse(story).words[0].name).toMatch(/^4\d\d \S/);
  },
);

/** The block by which a page makes its connection against the simulator, and pays. */
async function linesOfTrial(page: string): Promise<string[]> {
  const trial = (await blocksOf(page)).find(({ text }) => / --simulator$/m.test(text));
  return trial?.lines ?? [];
}

test('The connection of Asaas Checkout is made against the simulator by the command that its page prints', async () => {
  const [command = ''] = await linesOfTrial('asaas-checkout.md');
  expect(await walk.must(command)).toContain('asaas-checkout');
});
