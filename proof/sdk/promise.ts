import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@vintem/testkit/free-port.ts';
import { Vintem, VintemError } from '../../sdk/src/index.ts';
import { newFolder, part } from '../chaos/processes.ts';
import { numbersGiven } from '../flags.ts';
import { random } from '../simulation/random.ts';
import { type FaultyProxy, openProxy } from './proxy.ts';

/**
 * The promise of the SDK: transfers through a proxy that spoils two of five requests. A merchant's program does as the SDK's page says
 * (stores the key before anything is sent, repeats with it while the error is `retryable`). Its answers are compared with the
 * provider's own truth: nothing is paid twice, and nothing is reported wrongly.
 */
export interface PromiseFigures {
  transfers: number;
  /** Calls of the SDK; more than transfers, because open outcomes are repeated. */
  calls: number;
  /** Requests that the proxy saw. */
  requests: number;
  faulty: FaultyProxy['counts'];
  /** Bytes at which requests and answers were cut, of the longest ones' length. */
  cut: { requests: number; ofRequest: number; answers: number; ofAnswer: number };
  made: number;
  refused: number;
  /** Calls that ended with an open outcome, and were repeated. */
  open: number;
  paidTwice: number;
  faults: string[];
  seconds: number;
}

export interface PromiseOptions {
  /** Where the service listens; its rate limits are off. */
  url: string;
  /** Of a test account without open transfers, with every permission. */
  apiKey: string;
  simulatorUrl: string;
  transfers: number;
  seed: number;
  say(line: string): void;
}

interface Intent {
  pixKey: string;
  amountCents: number;
  /** undefined: the main operation; otherwise one without money. */
  operation: string | undefined;
  requestKey?: string;
  /** The SDK's final answer. */
  made?: string;
  refused?: VintemError;
}

interface Payout {
  idEnvio: string;
  pixKey: string;
  amountCents: number;
  status?: string;
  timesAccepted: number;
}

const workers = 48;
const feeCents = 25;
const chargeCents = 200_000;
const pause = (ms: number): Promise<void> => new Promise((later) => setTimeout(later, ms));
const providerId = (id: string): string => id.replaceAll('-', '');

export async function keepPromise(options: PromiseOptions): Promise<PromiseFigures> {
  const began = performance.now();
  const { url, apiKey, simulatorUrl } = options;
  const chance = random(options.seed);
  const direct = new Vintem({ apiKey, baseUrl: url });
  const poor = await direct.operations.create({ name: 'Sem saldo' });
  const intents = Array.from({ length: options.transfers }, (_, n): Intent => {
    const what = chance.below(100);
    const steered =
      what < 3 ? 'refuse-in-answer' : what < 5 ? 'refuse-later' : what < 7 ? 'lose-answer' : null;
    return {
      pixKey: steered ? `${steered}@simulator.example` : `receiver-${options.seed}-${n}@loja.example`,
      amountCents: 1_000 + (n % 97),
      operation: what >= 97 ? poor.id : undefined,
    };
  });
  const neededCents = intents.reduce((sum, { amountCents }) => sum + amountCents, 0);
  const startCents = await fund(direct, simulatorUrl, neededCents);

  const persisted = new Set<string>();
  const faults: string[] = [];
  const figures = { calls: 0, requests: 0, open: 0 };
  const proxy = await openProxy({
    target: url,
    random: chance,
    faultChance: 0.4,
    delayMs: 2_500,
    seen: (request) => {
      figures.requests++;
      const key = /"requestKey":"([^"]+)"/.exec(request)?.[1];
      if (key !== undefined && !persisted.has(key))
        faults.push(`a request was sent before its key ${key} was stored`);
    },
  });
  try {
    const vintem = new Vintem({
      apiKey,
      baseUrl: proxy.url,
      timeoutMs: 1_000,
      maxRetries: 3,
      persist: async (requestKey) => void persisted.add(requestKey),
    });
    let next = 0;
    const work = async (): Promise<void> => {
      for (let intent = intents[next++]; intent; intent = intents[next++]) {
        await carryOut(vintem, intent, figures);
        if (next % 1_000 === 0) options.say(`${next} transfers, ${figures.requests} requests`);
      }
    };
    await Promise.all(Array.from({ length: workers }, work));
    await proxy.settled();
  } finally {
    await proxy.stop();
  }

  const payments = await atRest(direct, poor.id);
  const { payouts } = (await control(simulatorUrl, 'GET', '/control/state')) as { payouts: Payout[] };
  faults.push(...compare(intents, payments, payouts));
  const account = await direct.account.get();
  const sentCents = payments
    .filter(({ status }) => status === 'completed')
    .reduce((sum, { amountCents }) => sum + amountCents, 0);
  if (account.balanceCents !== startCents - sentCents)
    faults.push(`the balance is ${account.balanceCents}, and should be ${startCents - sentCents}`);

  const keys = payouts.filter(
    ({ timesAccepted, pixKey }) => timesAccepted > 0 && pixKey.startsWith('receiver-'),
  );
  return {
    transfers: intents.length,
    ...figures,
    faulty: proxy.counts,
    cut: {
      requests: proxy.cutAt.requests.size,
      ofRequest: proxy.longest.request,
      answers: proxy.cutAt.answers.size,
      ofAnswer: proxy.longest.answer,
    },
    made: intents.filter(({ made }) => made !== undefined).length,
    refused: intents.filter(({ refused }) => refused !== undefined).length,
    paidTwice: keys.length - new Set(keys.map(({ pixKey }) => pixKey)).size,
    faults,
    seconds: Math.round((performance.now() - began) / 1000),
  };
}

/** As a merchant's program does it: the same key for as long as the outcome is open. */
async function carryOut(
  vintem: Vintem,
  intent: Intent,
  figures: { calls: number; open: number },
): Promise<void> {
  const { pixKey, amountCents, operation } = intent;
  for (;;) {
    figures.calls++;
    try {
      const { requestKey } = intent;
      const transfer = { amountCents, pixKey, pixKeyType: 'EMAIL', requestKey } as const;
      const made = await vintem.transfers.create(transfer, { operation });
      intent.requestKey = made.requestKey;
      intent.made = made.id;
      return;
    } catch (error) {
      if (!(error instanceof VintemError) || error.requestKey === undefined) throw error;
      intent.requestKey = error.requestKey;
      if (!error.retryable) {
        intent.refused = error;
        return;
      }
      figures.open++;
    }
  }
}

type Listed = Awaited<ReturnType<Vintem['payments']['get']>>;

/** Every transfer, when none is open any more. */
async function atRest(direct: Vintem, poorId: string): Promise<Listed[]> {
  for (const deadline = Date.now() + 150_000; ; await pause(500)) {
    const payments: Listed[] = [];
    for (const operation of [undefined, poorId])
      for await (const payment of direct.payments.list({ kind: 'transfer' }, { operation }))
        payments.push(payment);
    if (payments.every(({ status }) => status !== 'pending' && status !== 'unknown')) return payments;
    if (Date.now() > deadline) throw new Error('not every transfer came to an end within 150 s');
  }
}

/** Compares the reports, the service's state and the provider's acts. */
function compare(
  intents: readonly Intent[],
  payments: readonly Listed[],
  payouts: readonly Payout[],
): string[] {
  const faults: string[] = [];
  const byId = new Map(payments.map((payment) => [payment.id, payment]));
  const truth = new Map(payouts.map((payout) => [payout.idEnvio, payout]));
  const accepted = Map.groupBy(
    payouts.filter(({ timesAccepted }) => timesAccepted > 0),
    ({ pixKey }) => pixKey,
  );
  const named = new Set<string>();
  for (const { pixKey, amountCents, operation, requestKey, made, refused } of intents) {
    const fault = (text: string) => faults.push(`${requestKey} to ${pixKey}: ${text}`);
    const id = made ?? refused?.paymentId;
    if (id !== undefined) {
      if (named.has(id)) fault(`was reported as ${id}, like another one`);
      named.add(id);
    }
    const payment = id === undefined ? undefined : byId.get(id);
    const payout = id === undefined ? undefined : truth.get(providerId(id));
    const own = pixKey.startsWith('receiver-');
    if (own && (accepted.get(pixKey)?.length ?? 0) > 1) fault('was paid twice');
    if (made !== undefined) {
      if (payment?.amountCents !== amountCents) fault(`was reported as ${made}, which is another payment`);
      if (payout?.pixKey !== pixKey || payout.amountCents !== amountCents - feeCents)
        fault('was reported as made, and the provider has it not, or otherwise');
      const expected = pixKey.startsWith('refuse-') ? 'refused' : 'completed';
      if (payout?.status !== expected)
        fault(`should be ${expected}, and the provider says ${payout?.status}`);
      if (operation !== undefined) fault('was reported as made from an operation without money');
    } else {
      if (own && accepted.has(pixKey)) fault(`was reported as refused (${refused?.code}), and was paid`);
      if (own && operation === undefined) fault(`was refused with ${refused?.code}`);
      if (payment && payment.status !== 'cancelled')
        fault(`was reported as refused, and is ${payment.status}`);
    }
  }
  for (const { id } of payments) if (!named.has(id)) faults.push(`payment ${id} was reported by no call`);
  const paymentIds = new Set(payments.map(({ id }) => providerId(id)));
  for (const { idEnvio } of payouts)
    if (!paymentIds.has(idEnvio)) faults.push(`payout ${idEnvio} belongs to no payment`);
  return faults;
}

/** @returns the balance */
async function fund(direct: Vintem, simulatorUrl: string, neededCents: number): Promise<number> {
  for (let left = neededCents; left > 0; left -= chargeCents) {
    const { id } = await direct.charges.create({ amountCents: chargeCents, payerName: 'Maria' });
    await control(simulatorUrl, 'POST', `/control/charges/${providerId(id)}/pay`);
    await direct.payments.waitFor(id, { until: ['paid'], timeoutMs: 60_000 });
  }
  return (await direct.account.get()).balanceCents;
}

async function control(simulatorUrl: string, method: string, path: string): Promise<unknown> {
  const answer = await fetch(simulatorUrl + path, { method });
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}`);
  return answer.json();
}

/** The rig on a program of its own. */
export async function keepPromiseOnProgram(
  given: Pick<PromiseOptions, 'transfers' | 'seed' | 'say'>,
): Promise<PromiseFigures> {
  const dataDir = await newFolder('promise');
  const [port, simulatorPort] = [await freePort(), await freePort()];
  const program = part('start', {
    words: ['start'],
    env: {
      DATA_DIR: dataDir,
      PORT: `${port}`,
      SIMULATOR_PORT: `${simulatorPort}`,
      RATE_LIMITS: 'off',
      LOG_LEVEL: 'error',
    },
    ready: 'vintem ready ',
    logFile: join(dataDir, 'log'),
  });
  try {
    await program.start();
    const apiKey = /vintem test key (vtm_test_\S+)/.exec(program.output())?.[1] ?? '';
    const url = `http://127.0.0.1:${port}`;
    return await keepPromise({ ...given, url, apiKey, simulatorUrl: `http://127.0.0.1:${simulatorPort}` });
  } finally {
    program.signal('SIGTERM');
    await program.exited();
    await rm(dataDir, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const figures = await keepPromiseOnProgram({
    ...numbersGiven({ transfers: 10_000, seed: 1 }),
    say: console.log,
  });
  console.log(JSON.stringify(figures));
  for (const fault of figures.faults) console.log(`VIOLATION: ${fault}`);
  process.exitCode = figures.faults.length > 0 ? 1 : 0;
}
