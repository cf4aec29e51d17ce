import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { openReceiver, type Receiver } from '@vintem/testkit/receiver.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import decodeQR from 'qr/decode.js';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Vintem, verifyWebhook } from '../../sdk/src/index.ts';
import { drawQr } from '../src/qr.ts';

/** The command line of merchants as a process of its own, against the real service. */

const entry = fileURLToPath(new URL('../src/main.ts', import.meta.url));
let service: Service;
let merchant: Merchant;
let folder: string;
let config: string;
const children: ChildProcess[] = [];
const receivers: Receiver[] = [];

beforeAll(async () => {
  service = await openService({ env: { WEBHOOK_ALLOW_INSECURE_LOCAL: 'true' } });
  merchant = await service.newMerchant();
  folder = await mkdtemp(join(tmpdir(), 'vintem-cli-'));
  config = join(folder, 'config/login.json');
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGINT');
  for (const receiver of receivers.splice(0)) await receiver.stop();
});
afterAll(async () => {
  await service?.close();
  await rm(folder, { recursive: true, force: true });
});

const words = (args: string[]) => [
  '--conditions=vintem-source',
  '--no-warnings',
  entry,
  ...args,
  '--config',
  config,
];

interface Ended {
  code: number;
  out: string;
  err: string;
  // biome-ignore lint/suspicious/noExplicitAny: what a test looks at is checked by the test
  json: any;
}

/** Runs a command to its end; `input` is its standard input. */
function run(args: string[], input = ''): Promise<Ended> {
  return new Promise((ended) => {
    const child = execFile(process.execPath, words(args), { maxBuffer: 1 << 24 }, (error, out, err) => {
      const code = error ? Number(error.code ?? 1) : 0;
      ended({ code, out, err, json: args.includes('--json') && out !== '' ? JSON.parse(out) : undefined });
    });
    // A command that reads no input can end before it is written (EPIPE): its exit code and words are the result.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

/** A command that runs until it is ended. */
function start(args: string[]) {
  const child = spawn(process.execPath, words(args), { stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (more: string) => {
      text += more;
    });
  const ended = new Promise<number | null>((done) => child.once('exit', (code) => done(code)));
  return { child, output: () => text, ended };
}

const pay = (id: string) =>
  service.simulator.control('POST', `/control/charges/${id.replaceAll('-', '')}/pay`);

test('login stores the key in a file that only its owner reads, and nothing when the key is refused', async () => {
  const refused = await run(['login', '--url', service.url], 'vtm_test_wrong\n');
  expect([refused.code, refused.out]).toEqual([1, '']);
  expect(refused.err).toContain('api_key_invalid');
  await expect(stat(config)).rejects.toThrow();
  expect((await run(['payments', 'list'])).code).toBe(2);

  const done = await run(['login', '--url', service.url, '--json'], `${merchant.key}\n`);
  expect([done.code, done.json]).toEqual([
    0,
    {
      ...{ url: service.url, operationId: merchant.operationId, operationName: 'Principal' },
      ...{ livemode: false, file: config },
    },
  ]);
  expect((await stat(config)).mode & 0o777).toBe(0o600);
  expect(JSON.parse(await readFile(config, 'utf8'))).toEqual({ url: service.url, key: merchant.key });
  // A stored key never goes to another service.
  const elsewhere = await run(['payments', 'list', '--url', 'http://127.0.0.1:1']);
  expect([elsewhere.code, elsewhere.err]).toEqual([2, expect.stringContaining('another service')]);
});

test('a charge is made, its QR code can be read from the terminal, and watch ends when it is paid', async () => {
  const made = await run(['charges', 'create', '--amount-cents', '1990', '--payer', 'Maria', '--qr']);
  expect(made.code).toBe(0);
  expect(made.err).toMatch(/^request key [0-9a-f-]{36}$/m);
  expect(made.out).toContain('R$ 19,90');
  const id = /^id +(\S+)$/m.exec(made.out)?.[1] ?? '';
  const code = /^code +(\S.*)$/m.exec(made.out)?.[1];
  expect(readDrawn(made.out)).toBe(code);

  const watching = run(['payments', 'watch', id, '--json']);
  await pay(id);
  const watched = await watching;
  expect([watched.code, watched.json.status, watched.json.netAmountCents]).toEqual([0, 'paid', 1990]);
  const shown = await run(['payments', 'show', id]);
  expect(shown.out).toMatch(/^status +paid$/m);
});

/** Half blocks back into dots, as a camera sees them. */
function readDrawn(text: string, blocksAre: 'light' | 'dark' = 'light'): string {
  const lines = text.split('\n').filter((line) => /^[█▀▄ ]{20,}$/.test(line));
  if (lines.some((line) => line.length > 80)) throw new Error('the code is wider than a terminal');
  const size = Math.max(...lines.map((line) => line.length));
  const scale = 4;
  const [width, height] = [size * scale, lines.length * 2 * scale];
  const data = new Uint8ClampedArray(width * height * 4).fill(255);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const row = Math.floor(y / scale);
      const sign = lines[row >> 1]?.[Math.floor(x / scale)] ?? ' ';
      const lit = sign === '█' || sign === (row % 2 === 0 ? '▀' : '▄');
      data.fill(lit === (blocksAre === 'light') ? 255 : 0, (y * width + x) * 4, (y * width + x) * 4 + 3);
    }
  return decodeQR({ width, height, data });
}

test('in a terminal a code is black on white, and fits into 80 columns', async () => {
  const code =
    '00020101021226820014br.gov.bcb.pix2560pix.simulator.example/qr/v2/7b66c34fb14289e9a81ff538e8132b5b520400005303986540519.905802BR5916VINTEM SIMULADOR6008BRASILIA62070503***630447A9';
  const drawn = drawQr(code, true);
  const lines = drawn.split('\n').slice(0, -1);
  expect(lines.every((line) => line.startsWith('\x1b[38;5;16;48;5;231m') && line.endsWith('\x1b[0m'))).toBe(
    true,
  );
  expect(readDrawn(stripVTControlCharacters(drawn), 'dark')).toBe(code);
});

test('a transfer is sent once, however often the command is repeated with its key; a refusal is exit code 1', async () => {
  await merchant.receive(5_000);
  const to = ['--pix-key', 'maria@example.com', '--pix-key-type', 'EMAIL'];
  const transfer = (amount: string, ...more: string[]) =>
    run(['transfers', 'create', '--amount-cents', amount, ...to, ...more]);
  const first = await transfer('1000', '--wait', '--json');
  expect([first.code, first.json.status]).toEqual([0, 'completed']);
  const again = await transfer('1000', '--request-key', first.json.requestKey, '--json');
  expect(again.json.id).toBe(first.json.id);
  expect(await service.simulator.payout(first.json.id)).toMatchObject({ timesReceived: 1 });

  const much = await transfer('1000000');
  expect([much.code, much.err]).toEqual([1, expect.stringContaining('insufficient_balance')]);
  expect((await transfer('10.00')).code).toBe(2);
  expect((await transfer('1000', '--pix-key-type', 'MAIL')).code).toBe(2);
  expect((await run(['transfers', 'steal'])).code).toBe(2);

  const listed = await run(['payments', 'list', '--kind', 'transfer', '--json']);
  expect(listed.json.payments.map(({ id }: { id: string }) => id)).toEqual([first.json.id]);
  expect((await run(['payments', 'list'])).out).toMatch(/^ID .*KIND .*STATUS/);
});

test('A key comes from a file or the environment, is warned of on the command line, and never leaves over http', async () => {
  const file = join(folder, 'key');
  await writeFile(file, `\ufeff${merchant.key}\n`);
  const from = await run(['payments', 'list', '--json', '--key-file', file]);
  expect([from.code, from.err]).toEqual([0, '']);
  const shown = await run(['payments', 'list', '--json', '--key', merchant.key]);
  expect([shown.code, shown.err]).toEqual([0, expect.stringContaining('use --key-file')]);
  const open = await run(['payments', 'list', '--url', 'http://pay.example.com', '--key-file', file]);
  expect([open.code, open.err]).toEqual([2, expect.stringContaining('https')]);
});

test('a creation without an answer is exit code 4, and says with which key to repeat it', async () => {
  const nowhere = ['--url', 'http://127.0.0.1:1', '--key', merchant.key];
  const lost = await run(['charges', 'create', '--amount-cents', '1990', '--payer', 'Maria', ...nowhere]);
  expect(lost.code).toBe(4);
  const key = /^request key (\S+)$/m.exec(lost.err)?.[1];
  expect(lost.err).toContain(`--request-key ${key}`);
  // A call of more than a second shows progress.
  expect(lost.err).toContain('asking the service … 1 s');
});

test('listen forwards events, signed with the same secret at every run; trigger brings them about', async () => {
  const receiver = await openReceiver();
  receivers.push(receiver);
  const types = ['charge.paid', 'transfer.returned'];
  const to = receiver.url.replace('http://', '');
  const listener = start(['listen', '--forward-to', to, '--events', types.join(',')]);
  await until(async () => listener.output().includes('listening for events'));
  const secret = /whsec_\S+/.exec(listener.output())?.[0];
  for (const type of types) {
    const done = await run(['trigger', type, '--json']);
    expect([done.code, done.err, done.json?.type]).toEqual([0, expect.any(String), type]);
    const isIt = ({ body }: { body: { type: string; data: { id: string } } }) =>
      body.type === type && body.data.id === done.json.paymentId;
    const received = await receiver.first(isIt, 20_000);
    expect(verifyWebhook(received.text, received.headers, [secret]).type).toBe(type);
  }
  await until(async () => /transfer\.returned .* → 200/.test(listener.output()));
  listener.child.kill('SIGINT');
  expect(await listener.ended).toBe(0);
  expect((await run(['trigger', 'charge.stolen'])).code).toBe(2);
  const again = start(['listen', '--forward-to', to]);
  await until(async () => again.output().includes('listening for events'));
  expect(again.output()).toContain(`signing secret: ${secret}`);
  expect((await stat(join(folder, 'config/listen.json'))).mode & 0o777).toBe(0o600);
});

test('logs tail shows events and the attempts to deliver them', async () => {
  const receiver = await openReceiver();
  receivers.push(receiver);
  const endpoint = { url: receiver.url, events: ['*'], requestKey: crypto.randomUUID() };
  await merchant.call('POST', '/webhooks', endpoint);
  const tail = start(['logs', 'tail', '--json']);
  await until(async () => tail.output().includes('following events'));
  expect((await run(['trigger', 'charge.paid', '--simulator', service.simulator.url])).code).toBe(0);
  const lines = () =>
    tail
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'))
      .map((line) => JSON.parse(line));
  const shows = (fits: (line: { kind: string; type: string; statusCode?: number }) => boolean) =>
    until(async () => lines().some(fits));
  await shows(({ kind, type }) => kind === 'event' && type === 'charge.paid');
  await shows(
    ({ kind, type, statusCode }) => kind === 'delivery' && type === 'charge.paid' && statusCode === 200,
  );
  tail.child.kill('SIGINT');
  expect([0, 130]).toContain(await tail.ended);
});

test('fixtures run carries out a file of steps, with what earlier ones answered', async () => {
  const file = join(folder, 'fixtures.json');
  const ref = (path: string) => `\${${path}}`;
  const steps = [
    { name: 'charge', call: 'charges.create', with: { amountCents: 2500, payerName: 'Maria' } },
    { call: 'simulator.pay', with: { id: ref('charge.id') } },
    { name: 'paid', call: 'payments.waitFor', with: { id: ref('charge.id'), until: ['paid'] } },
    {
      name: 'transfer',
      call: 'transfers.create',
      with: { amountCents: ref('charge.amountCents'), pixKey: 'maria@example.com', pixKeyType: 'EMAIL' },
    },
  ];
  await writeFile(file, JSON.stringify({ steps }));
  const done = await run(['fixtures', 'run', file, '--json']);
  expect([done.code, done.err]).toEqual([0, expect.any(String)]);
  expect(done.json.paid.status).toBe('paid');
  expect(done.json.transfer.amountCents).toBe(2500);
  const live = await run(['fixtures', 'run', file, '--key', 'vtm_live_x']);
  expect([live.code, live.err]).toEqual([2, expect.stringContaining('test account')]);

  const unknown = { steps: [{ call: 'payments.get', with: { id: ref('later.id') } }] };
  for (const content of ['nothing', '{}', '{"steps":[{"call":"keys.steal"}]}', JSON.stringify(unknown)]) {
    await writeFile(file, content);
    expect([content, (await run(['fixtures', 'run', file])).code]).toEqual([content, 2]);
  }
});

test('every command has help', async () => {
  const overview = await run(['--help']);
  expect(overview.out).toContain('Exit codes: 0 done');
  for (const name of ['login', 'charges create', 'payments watch', 'fixtures run'])
    expect((await run([...name.split(' '), '--help'])).out).toContain(`vintem-cli ${name}`);
});

test('a command exists for each call of the SDK', async () => {
  const folder = fileURLToPath(new URL('../src/', import.meta.url));
  const files = await Promise.all((await readdir(folder)).map((name) => readFile(folder + name, 'utf8')));
  const found = [...files.join('\n').matchAll(/vintem\s*\.(\w+)\s*\.(\w+)\(/g)];
  const asked = new Set(found.map(([, group, call]) => `${group}.${call}`));
  const sdk = new Vintem({ apiKey: 'vtm_test_none', baseUrl: 'http://127.0.0.1:1' });
  // The acts of the simulated payer are those of `trigger` and of the fixtures, by their names.
  const groups = Object.entries(sdk).filter(([name]) => name !== 'testMode');
  const calls = groups.flatMap(([name, group]) =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(group))
      .filter((call) => call !== 'constructor')
      .map((call) => `${name}.${call}`),
  );
  expect(calls.length).toBeGreaterThan(45);
  expect(calls.filter((call) => !asked.has(call))).toEqual([]);
});

test('a charge with a due date is made with its terms', async () => {
  const dueDate = new Date(Date.now() + 10 * 86_400_000).toISOString().slice(0, 10);
  const who = ['--amount-cents', '10000', '--payer', 'Maria', '--document', '111.444.777-35'];
  const terms = ['--due-date', dueDate, '--fine', 'percent:200', '--interest', 'percent_month:100'];
  const made = await run(['due-charges', 'create', ...who, ...terms, '--json']);
  expect([made.code, made.json.dueDate, made.json.dueTerms.fine]).toEqual([
    ...[0, dueDate],
    { type: 'percent', value: 200 },
  ]);
  const wrong = await run(['due-charges', 'create', ...who, '--due-date', dueDate, '--fine', 'daily:1']);
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('--fine takes one of')]);
});

test('lists, amounts and files of the other calls are shown as people read them', async () => {
  const made = await run(['charges', 'create', '--amount-cents', '5000', '--payer', 'Rosa', '--json']);
  await pay(made.json.id);
  expect((await run(['payments', 'watch', made.json.id])).code).toBe(0);
  const account = await run(['account', 'show']);
  expect(account.out).toMatch(/^balance +R\$ /m);
  const refund = await run(['refunds', 'create', made.json.id, '--amount-cents', '1000', '--json']);
  expect([refund.code, refund.json.amountCents]).toEqual([0, 1000]);
  expect(refund.err).toMatch(/^request key /m);
  const refunds = await run(['refunds', 'list', made.json.id]);
  expect(refunds.out).toMatch(/^ID +STATUS +AMOUNT/);
  expect(refunds.out).toContain('R$ 10,00');
  const file = join(folder, 'extrato.ofx');
  expect((await run(['statement', 'save', file])).code).toBe(0);
  expect(await readFile(file, 'latin1')).toContain('<OFX>');
  const again = await run(['statement', 'save', file]);
  expect([again.code, again.err]).toEqual([1, expect.stringContaining('EEXIST')]);
  const code = await run(['static-code', 'create', '--name', 'Balcão 3', '--json']);
  const poster = join(folder, 'cartaz.pdf');
  expect((await run(['static-code', 'poster', code.json.id, poster, '--size', '80mm'])).code).toBe(0);
  expect((await readFile(poster, 'latin1')).slice(0, 5)).toBe('%PDF-');
  expect((await run(['static-code', 'poster', code.json.id, poster, '--size', 'a3'])).code).toBe(2);
  const lines = await run(['statement', '--limit', '2', '--json']);
  expect(lines.json.lines.length).toBe(2);
  const wrong = await run(['disputes', 'list', '--status', 'nonsense']);
  expect([wrong.code, wrong.out]).toEqual([1, '']);
  expect((await run(['events', 'list', '--limit', '1'])).out).toMatch(/^ID +TYPE/);
});
