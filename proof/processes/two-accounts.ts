import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@vintem/testkit/free-port.ts';
import { truthOf } from '@vintem/testkit/truth.ts';
import { passphrase, pfx } from '../../server/test/program/certificate.ts';
import { command, endAll, newFolder, type Part, part } from '../chaos/processes.ts';
import { numbersGiven } from '../flags.ts';
import { type Random, random } from '../simulation/random.ts';
import { type Account, type Banks, clientOf, clientSecretOf, openBanks } from './banks.ts';
import { type Call, callWith, pause } from './clients.ts';

/**
 * An installation with several accounts at two banks, and everything that changes which of them a payment goes to: connections are made, changed, rotated and retired,
 * accounts moved and routed, the settings of the environment changed between two starts, the program killed, the database lost and restored from an older copy. All of it in
 * an order of chance, while merchants pay, are paid and repeat their requests, and the lists of the banks lag. What was lost with a restore is done again only as `docs/operators/backup.md` asks for it.
 *
 * At the end every request is repeated until it has ended. No payout may have been accepted twice, over all accounts at all banks together; what the service says of
 * each must be so there; and the money at the banks is what the merchants have, with the fees.
 *
 * What happens is chosen by the seed, each act by a generator of its own. When things happen is not.
 *
 *   node proof/processes/two-accounts.ts [--seed N] [--rounds N] [--acts N]
 */
export interface TwoAccountsFigures {
  rounds: number;
  acts: Record<string, number>;
  /** Of commands, those that the program refused: something was open, or there was no such thing. */
  refusedCommands: number;
  accounts: number;
  requests: number;
  repeats: number;
  restores: number;
  /** Payments that a restore lost together with the move of their account, and the connection that they were made on. */
  lostMoved: number;
  /** Transfers of a whole balance that were taken behind a restore. */
  withdrawnWhole: number;
  paidTwice: number;
  faults: string[];
}

interface Options {
  seed: number;
  rounds: number;
  acts: number;
  say(line: string): void;
}

export async function twoAccounts(options: Options): Promise<TwoAccountsFigures> {
  const figures: TwoAccountsFigures = {
    ...{
      rounds: 0,
      acts: {},
      refusedCommands: 0,
      accounts: 0,
      requests: 0,
      repeats: 0,
      restores: 0,
      lostMoved: 0,
      withdrawnWhole: 0,
    },
    ...{ paidTwice: 0, faults: [] },
  };
  for (let round = 0; round < options.rounds; round++) {
    const seed = options.seed + round;
    const town = await openTown(seed, figures);
    try {
      await lostMove(town, random(seed * 10_000 - 1), seed % 2 === 0 ? 'before' : 'after');
      for (let step = 0; step < options.acts; step++)
        await act(town, random(seed * 10_000 + step), options.say);
      await comeToRest(town);
      await judge(town);
      figures.rounds++;
      options.say(
        `two accounts, seed ${seed}: ${JSON.stringify({ ...figures, faults: figures.faults.length })}`,
      );
    } catch (error) {
      figures.faults.push(`seed ${seed}: it ended with ${error instanceof Error ? error.stack : error}`);
    } finally {
      await town.close();
    }
  }
  return figures;
}

/** Which account is behind a connection, as the operator knows it. */
interface Behind {
  url: string;
  holder: string;
}

/** The operator's knowledge and configuration; a copy of the database is as old as this was when it was made. */
interface Known {
  connections: Map<string, Behind>;
  /** By merchant: its connection. */
  bindings: Map<string, string>;
}

interface Asked {
  merchant: Merchant;
  kind: 'charge' | 'transfer';
  requestKey: string;
  amountCents: number;
  pixKey: string;
  id: string | null;
  status: string | null;
  /** The code of the last answer that was an error. */
  refused: string | null;
}

interface Merchant {
  ownerId: string;
  call: Call;
}

interface Town {
  seed: number;
  figures: TwoAccountsFigures;
  banks: Banks;
  folder: string;
  env: Record<string, string>;
  program: Part;
  known: Known;
  /** Accounts that were behind the connection of the environment, or were to be. */
  environments: Behind[];
  /** Accounts behind connections at some time, the newest last. */
  used: Behind[];
  copies: { file: string; known: Known; environment: Behind; usedBefore: number }[];
  merchants: Merchant[];
  asked: Asked[];
  /** Charges whose payer paid where another connection has them than the books: a person gave the money to their account. */
  credited: Set<string>;
  made: number;
  restores: number;
  fault(what: string): void;
  close(): Promise<void>;
}

const environment = 'live';
/** The highest amount of a charge. */
const chargeMost = 200_000;
/** How old the lists of the banks are, until the end. */
const listLagMs = 15_000;
/** How old the program takes them to be at most; the difference is the time that a send may be on its way. */
const listLagSeconds = 20;
const restoresMost = 3;
const behaviours = [
  ...['complete', 'complete', 'complete', 'lose-answer', 'refuse-in-answer', 'error-500-after-accepting'],
  ...['refuse-later', 'stay-pending', 'garbage'],
] as const;

async function openTown(seed: number, figures: TwoAccountsFigures): Promise<Town> {
  const folder = await newFolder('two-accounts');
  const banks = await openBanks(2, join(folder, 'banks'), { listLagMs });
  const [url = ''] = banks.urls;
  const first: Behind = { url, holder: 'e1' };
  const town: Town = {
    ...{
      seed,
      figures,
      banks,
      folder,
      merchants: [],
      asked: [],
      credited: new Set(),
      copies: [],
      made: 0,
      restores: 0,
    },
    env: {
      ...environmentOf(first),
      DATA_DIR: newDataDir(folder, 0),
      VINTEM_SECRET: randomBytes(32).toString('base64'),
      PORT: String(await freePort()),
      SIMULATOR_PORT: 'off',
      RATE_LIMITS: 'off',
      TRANSFER_WAIT_MS: '700',
      LIST_LAG_SECONDS: String(listLagSeconds),
      LOG_LEVEL: 'error',
    },
    program: null as unknown as Part,
    known: { connections: new Map([[environment, first]]), bindings: new Map() },
    used: [first],
    environments: [first],
    fault: (what) => figures.faults.push(`seed ${seed}: ${what}`),
    close: async () => {
      await endAll([town.program]);
      await banks.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
  await start(town);
  await makeConnection(town, 'c1', { url, holder: 'a1' });
  for (const connection of [environment, 'c1']) {
    const made = await run<{ ownerId: string }>(town, [
      'account',
      'create',
      '--name',
      'Loja',
      '--connection',
      connection,
    ]);
    const ownerId = made.json?.ownerId ?? '';
    const key = await run<{ key: string }>(town, [
      ...[
        'key',
        'create',
        '--account',
        ownerId,
        '--name',
        'proof',
        '--permissions',
        'read,charges,transfers',
      ],
    ]);
    const call = callWith(`http://127.0.0.1:${town.env.PORT}`, key.json?.key ?? '');
    const merchant = { ownerId, call };
    town.merchants.push(merchant);
    town.known.bindings.set(ownerId, connection);
    for (let n = 0; n < 2; n++) await pay(town, await ask(town, merchant, 'charge', 150_000, ''));
  }
  return town;
}

function newDataDir(folder: string, number: number): string {
  const dataDir = join(folder, `data-${number}`);
  mkdirSync(dataDir, { mode: 0o711 });
  return dataDir;
}

async function start(town: Town): Promise<void> {
  town.program = part('start', {
    ...{ words: ['start'], env: town.env, ready: 'vintem ready', logFile: join(town.folder, 'log.jsonl') },
  });
  await town.program.start();
}

/** Ends it, by a signal that it cannot see where `how` says so. A database that was left running is taken over by the next start. */
async function stop(town: Town, how: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  town.program.signal(how);
  await town.program.exited();
}

// ---------------------------------------------------------------------------------------------------- operator

async function run<T>(town: Town, words: string[]) {
  const done = await command<T>(words, town.env);
  if (done.code === 1) town.figures.refusedCommands++;
  if (done.code === null || done.code > 3 || /\n\s+at /.test(done.text))
    town.fault(`vintem ${words.join(' ')} ended with ${done.code}: ${done.text.slice(0, 500)}`);
  return done;
}

const pixKeyOf = (holder: string): string => `${holder}@banco.example`;
const certificate = { certificate: pfx.toString('base64'), certificatePassphrase: passphrase };

function environmentOf({ url, holder }: Behind): Record<string, string> {
  const clientId = clientOf(holder, 1);
  return {
    ...{
      PROVIDER: 'efi',
      PROVIDER_URL: url,
      PROVIDER_CLIENT_ID: clientId,
      PROVIDER_PIX_KEY: pixKeyOf(holder),
    },
    PROVIDER_CLIENT_SECRET: clientSecretOf(clientId),
    PROVIDER_CERTIFICATE: certificate.certificate,
    PROVIDER_CERTIFICATE_PASSPHRASE: passphrase,
  };
}

async function credentials(town: Town, holder: string, issue: number): Promise<string> {
  const clientId = clientOf(holder, issue);
  const file = join(town.folder, `${clientId}.json`);
  const secret = clientSecretOf(clientId);
  writeFileSync(
    file,
    JSON.stringify({ clientId, clientSecret: secret, pixKey: pixKeyOf(holder), ...certificate }),
  );
  return file;
}

async function makeConnection(town: Town, name: string, behind: Behind): Promise<void> {
  const file = await credentials(town, behind.holder, 1);
  const made = await run(town, [
    ...[
      'connection',
      'create',
      '--name',
      name,
      '--adapter',
      'efi',
      '--url',
      behind.url,
      '--credentials',
      file,
    ],
  ]);
  if (made.code === 0) nowBehind(town, name, behind);
}

function nowBehind({ known, used }: Town, name: string, behind: Behind): void {
  known.connections.set(name, behind);
  used.push(behind);
}

async function changeConnection(town: Town, chance: Random): Promise<void> {
  const names = [...town.known.connections.keys()].filter((name) => name !== environment);
  if (names.length === 0) return;
  const name = chance.pick(names);
  const before = town.known.connections.get(name) as Behind;
  const after = chance.pick([
    { ...before, holder: chance.pick(['a1', 'a2', 'a3']) },
    { ...before, url: chance.pick(town.banks.urls) },
  ]);
  const words =
    after.url !== before.url
      ? ['set', name, '--url', after.url]
      : ['rotate', name, '--credentials', await credentials(town, after.holder, 1 + chance.below(3))];
  const { code } = await run(town, ['connection', ...words]);
  if (code === 0) nowBehind(town, name, after);
}

async function move(town: Town, chance: Random): Promise<void> {
  const { ownerId } = chance.pick(town.merchants);
  const name = chance.pick([...town.known.connections.keys()]);
  const { code } = await run(town, ['account', 'move', ownerId, '--connection', name]);
  if (code === 0) town.known.bindings.set(ownerId, name);
}

async function route(town: Town, chance: Random): Promise<void> {
  const { ownerId } = chance.pick(town.merchants);
  const names = [...town.known.connections.keys()].filter(
    (name) => name !== town.known.bindings.get(ownerId),
  );
  if (names.length > 0) await run(town, ['account', 'route', ownerId, '--charges', chance.pick(names)]);
}

/** Other settings of the environment: another account at a bank comes behind `live`, where nothing is unfinished. */
async function changeEnvironment(town: Town, chance: Random): Promise<void> {
  const behind = { url: chance.pick(town.banks.urls), holder: chance.pick(['e1', 'e2']) };
  await stop(town, 'SIGTERM');
  Object.assign(town.env, environmentOf(behind));
  nowBehind(town, environment, behind);
  town.environments.push(behind);
  await start(town);
}

/** The account that was behind `live` before: the manual asks for it where the connection is held. */
async function putEnvironmentBack(town: Town): Promise<void> {
  const behind = town.environments.shift();
  if (!behind) return;
  await stop(town, 'SIGTERM');
  Object.assign(town.env, environmentOf(behind));
  town.environments.push(behind);
  town.known.connections.set(environment, behind);
  await start(town);
}

async function backup(town: Town): Promise<void> {
  const file = join(town.folder, `copy-${town.copies.length}`);
  const known = { connections: new Map(town.known.connections), bindings: new Map(town.known.bindings) };
  const at = { environment: known.connections.get(environment) as Behind, usedBefore: town.used.length };
  if ((await run(town, ['backup', file])).code === 0) town.copies.push({ file, known, ...at });
}

/**
 * The machine is lost. The operator restores a copy on a new one, and makes a connection again for each account at a bank that was used since, as the manual asks.
 * @param name of the first connection that is made again; null: another one than it had
 * @param moved the account that is moved there before the comparison
 */
async function restore(town: Town, name: string | null, moved: Merchant | null, back = 0): Promise<void> {
  const copy = town.copies.at(-1 - back);
  if (!copy) return;
  town.figures.restores++;
  town.restores++;
  await stop(town, 'SIGTERM');
  town.env.DATA_DIR = newDataDir(town.folder, town.restores);
  Object.assign(town.env, environmentOf(copy.environment));
  const restored = await run(town, ['restore', copy.file]);
  if (restored.code !== 0) town.fault(`restore: ${restored.text.slice(0, 500)}`);
  town.known = { connections: new Map(copy.known.connections), bindings: new Map(copy.known.bindings) };
  // Earlier answers are worth nothing now: merchants repeat all their requests.
  for (const one of town.asked) one.status = null;
  await start(town);
  // Merchants do not wait for the operator: every third time they repeat before the lost connections are made again.
  if (town.restores % 3 === 2) await Promise.all(town.asked.map((one) => send(town, one)));
  let wanted = name;
  for (const behind of town.used.slice(copy.usedBefore)) {
    const isThere = [...town.known.connections.values()].some(
      (other) => other.url === behind.url && other.holder === behind.holder,
    );
    if (isThere) continue;
    await makeConnection(town, wanted ?? `r${++town.made}`, behind);
    wanted = null;
  }
  if (moved && name !== null) await run(town, ['account', 'move', moved.ownerId, '--connection', name]);
}

async function restoreOfSome(town: Town, chance: Random): Promise<void> {
  if (town.restores >= restoresMost) return;
  await restore(town, null, null, chance.below(Math.min(2, town.copies.length)));
  if (chance.chance(0.5)) await reconcile(town);
  await withdrawAll(town);
  if (chance.chance(0.5)) await move(town, chance);
  if (chance.chance(0.3)) await someRequests(town, chance);
}

async function reconcile(town: Town, accept: string[] = []) {
  const reason = accept.length > 0 ? ['--accept', accept.join(','), '--reason', 'looked at the bank'] : [];
  return run<{ restoreEnded: boolean; waitsFor: string[] }>(town, ['reconcile', ...reason]);
}

// --------------------------------------------------------------------------------------------------- merchants

async function ask(
  town: Town,
  merchant: Merchant,
  kind: Asked['kind'],
  amountCents: number,
  pixKey: string,
): Promise<Asked> {
  const requestKey = crypto.randomUUID();
  const one: Asked = {
    merchant,
    kind,
    requestKey,
    amountCents,
    pixKey,
    id: null,
    status: null,
    refused: null,
  };
  town.asked.push(one);
  town.figures.requests++;
  await send(town, one);
  return one;
}

/**
 * Sends a request, for the first time or again. Without an answer nothing is known.
 * @returns the code of an error
 */
async function send(town: Town, one: Asked): Promise<string | null> {
  const { amountCents, requestKey, pixKey } = one;
  const given =
    one.kind === 'charge'
      ? { amountCents, payerName: 'Maria', description: '', requestKey }
      : { amountCents, pixKey, pixKeyType: 'EMAIL', description: '', requestKey };
  const path = one.kind === 'charge' ? '/pix/charges' : '/pix/transfers';
  const answer = await one.merchant.call('POST', path, given).catch(() => null);
  if (answer === null) return null;
  const id = (answer.body?.id ?? answer.body?.paymentId) as string | undefined;
  if (id !== undefined && one.id !== null && id !== one.id)
    town.fault(`${requestKey} was ${one.id} and is ${id}`);
  one.id = id ?? one.id;
  if (id !== undefined) await look(one);
  if (answer.status === 500) town.fault(`${path} was answered 500: ${JSON.stringify(answer.body)}`);
  one.refused = (answer.body?.code as string | undefined) ?? null;
  return one.refused;
}

/** The service's current state of it. */
async function look(one: Asked): Promise<void> {
  const answer = await one.merchant.call('GET', `/payments/${one.id}`).catch(() => null);
  one.status = answer?.status === 200 ? (answer.body?.status as string) : null;
}

async function someRequests(town: Town, chance: Random): Promise<void> {
  const transfers = Array.from({ length: 1 + chance.below(3) }, () =>
    ask(
      town,
      chance.pick(town.merchants),
      'transfer',
      1_000 + chance.below(20_000),
      `${chance.pick(behaviours)}@simulator.example`,
    ),
  );
  await Promise.all(transfers);
}

/** The answers with which a transfer was certainly not taken. */
const notTaken = new Set(['withdrawals_paused', 'withdrawals_blocked', 'insufficient_balance']);

/**
 * Each merchant asks under a new request key for all that its balance has, and earns it again. Where the books lack a payout the balance has too much, and the same money would
 * leave twice: the balance is below zero once the payout is known.
 */
async function withdrawAll(town: Town): Promise<void> {
  for (const merchant of town.merchants) {
    const amountCents = Number((await accountOf(merchant))?.balanceCents ?? 0);
    if (amountCents < 1_000) continue;
    const one: Asked = {
      ...{ merchant, kind: 'transfer', requestKey: crypto.randomUUID(), amountCents },
      ...{ pixKey: 'complete@simulator.example', id: null, status: null, refused: null },
    };
    const code = await send(town, one);
    if (code !== null && notTaken.has(code)) continue;
    town.asked.push(one);
    town.figures.requests++;
    town.figures.withdrawnWhole++;
    for (let left = amountCents; left >= 1_000; left -= chargeMost)
      await pay(town, await ask(town, merchant, 'charge', Math.min(left, chargeMost), ''));
  }
}

async function repeatSome(town: Town, chance: Random): Promise<void> {
  const some = Array.from({ length: 3 }, () => chance.pick(town.asked));
  town.figures.repeats += some.length * 2;
  // Twice at once, as a client does whose first call hangs.
  await Promise.all(some.flatMap((one) => [send(town, one), send(town, one)]));
}

const providerIdOf = (id: string): string => id.replaceAll('-', '');

/** The payer pays the newest code of the charge: that of the bank where it was made last. */
async function pay(town: Town, charge: Asked): Promise<void> {
  if (charge.id === null) return;
  const txid = providerIdOf(charge.id);
  for (const { simulator } of await town.banks.accounts()) {
    const { body } = await simulator.control('GET', `/control/state?txid=${txid}`);
    if (body.charges[0]?.status !== 'open') continue;
    await simulator.control('POST', `/control/charges/${txid}/pay`);
    return;
  }
}

async function chargeOfSome(town: Town, chance: Random): Promise<void> {
  const charge = await ask(town, chance.pick(town.merchants), 'charge', 5_000 + chance.below(50_000), '');
  if (chance.chance(0.8)) await pay(town, charge);
}

// --------------------------------------------------------------------------------------------------------- acts

/**
 * Each round begins with what chance would seldom put together: a copy is made, then a merchant pays and is paid, its account moves to a connection that was made
 * since, and it pays and is paid there. The copy knows neither the connection nor the move. The operator makes the connection again and does the move again before
 * the comparison, or never; the merchant repeats everything in both cases.
 */
async function lostMove(town: Town, chance: Random, moves: 'before' | 'after'): Promise<void> {
  const merchant = town.merchants[1] as Merchant;
  const [, url = ''] = town.banks.urls;
  const work = async () => {
    await ask(town, merchant, 'transfer', 10_000 + chance.below(10_000), 'complete@simulator.example');
    await pay(town, await ask(town, merchant, 'charge', 20_000, ''));
  };
  await backup(town);
  await work();
  await makeConnection(town, 'later', { url, holder: 'a2' });
  await untilMoved(town, merchant, 'later');
  const before = town.asked.length;
  await work();
  await restore(town, 'later', moves === 'before' ? merchant : null);
  await reconcile(town);
  await withdrawAll(town);
  town.figures.lostMoved += town.asked.length - before;
  await Promise.all(town.asked.map((one) => send(town, one)));
}

/** Moves an account once nothing of it is open. */
async function untilMoved(town: Town, { ownerId }: Merchant, name: string): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    const { code } = await run(town, ['account', 'move', ownerId, '--connection', name]);
    if (code === 0) return void town.known.bindings.set(ownerId, name);
    await pause(1_000);
  }
  town.fault(`an account was not moved to ${name}`);
}

const acts: Record<string, { weight: number; of(town: Town, chance: Random): Promise<unknown> }> = {
  transfers: { weight: 8, of: someRequests },
  repeats: { weight: 5, of: repeatSome },
  charge: { weight: 4, of: chargeOfSome },
  backup: { weight: 2, of: backup },
  restore: { weight: 2, of: restoreOfSome },
  move: { weight: 3, of: move },
  route: { weight: 1, of: route },
  change: { weight: 3, of: changeConnection },
  create: {
    weight: 1,
    of: (town, chance) =>
      makeConnection(town, `c${++town.made + 1}`, {
        ...{ url: chance.pick(town.banks.urls), holder: chance.pick(['a1', 'a2', 'a3']) },
      }),
  },
  retire: {
    weight: 1,
    of: async (town, chance) => {
      const name = chance.pick([...town.known.connections.keys()]);
      if (name !== environment) await run(town, ['connection', 'retire', name]);
    },
  },
  environment: { weight: 1, of: changeEnvironment },
  kill: {
    weight: 2,
    of: async (town) => {
      await stop(town, 'SIGKILL');
      await start(town);
    },
  },
  reconcile: {
    weight: 2,
    of: async (town) => {
      const { json } = await reconcile(town);
      if (json?.restoreEnded) await withdrawAll(town);
    },
  },
  resume: { weight: 1, of: (town) => run(town, ['withdrawals', 'resume']) },
  complete: { weight: 2, of: completePending },
  behave: {
    weight: 3,
    of: async (town, chance) => {
      const behaviour = chance.pick([
        {},
        { webhook: 'drop' },
        { query: 'error-500' },
        { query: 'error-500', webhook: 'drop' },
        { charge: 'lose-answer' },
        { payout: 'lose-request' },
        { payout: 'lose-answer', query: 'error-500', webhook: 'drop' },
        { charge: 'error-500', webhook: 'drop' },
      ]);
      await chance.pick(await town.banks.accounts()).simulator.behave({ listLagMs, ...behaviour });
    },
  },
  wait: { weight: 2, of: () => pause(4_000) },
};

async function act(town: Town, chance: Random, say: Options['say']): Promise<void> {
  let at = chance.below(Object.values(acts).reduce((sum, { weight }) => sum + weight, 0));
  for (const [name, { weight, of }] of Object.entries(acts)) {
    at -= weight;
    if (at >= 0) continue;
    town.figures.acts[name] = (town.figures.acts[name] ?? 0) + 1;
    say(`  ${name}`);
    return void (await of(town, chance));
  }
}

const statesOf = async (accounts: readonly Account[]) =>
  Promise.all(accounts.map(async (account) => ({ account, truth: await truthOf(account.simulator) })));

async function completePending(town: Town): Promise<void> {
  for (const { account, truth } of await statesOf(await town.banks.accounts()))
    for (const { providerId, status } of truth.payouts)
      if (status === 'pending')
        await account.simulator.control('POST', `/control/payouts/${providerId}/complete`);
}

// ---------------------------------------------------------------------------------------------------------- end

const restWithinMs = 240_000;
const ended = new Set(['completed', 'failed', 'paid', 'expired', 'cancelled']);

/** Banks behave, everything is compared, incidents are resolved as the manual says, and every request is repeated until it has ended. */
async function comeToRest(town: Town): Promise<void> {
  for (const { simulator } of await town.banks.accounts()) await simulator.behave({});
  const deadline = Date.now() + restWithinMs;
  for (let times = 0; ; times++) {
    await completePending(town);
    // Payments that a connection settled at its earlier account are in no list of its current one: a person knows that.
    const compared = await reconcile(town, times < 2 ? [] : ['absent']);
    if (compared.text.includes('held, so that nothing')) await putEnvironmentBack(town);
    const left = await repeatOpen(town);
    const isRepeated = left.every(({ id }) => id !== null);
    const incidents = isRepeated ? await resolveIncidents(town) : [];
    const waitsFor = compared.json?.waitsFor ?? [compared.text.slice(0, 200)];
    const compares = waitsFor.every((doubt) => doubt === 'absent') && times > 0;
    if (left.length === 0 && compares && incidents.length === 0 && !(await hasReserves(town))) return;
    if (Date.now() > deadline) {
      const some = left.slice(0, 5).map(({ merchant: _, ...one }) => one);
      town.fault(`it is not at rest: ${JSON.stringify({ waitsFor, left: left.length, some, incidents })}`);
      return;
    }
    await pause(2_000);
  }
}

/** Repeats what has not ended and looks at it. @returns what is still without an end; a charge that was not paid has none to come to */
async function repeatOpen(town: Town): Promise<Asked[]> {
  const isOpen = ({ status }: Asked) => status === null || !ended.has(status);
  const open = town.asked.filter(isOpen);
  town.figures.repeats += open.length;
  for (let at = 0; at < open.length; at += 10)
    await Promise.all(open.slice(at, at + 10).map((one) => send(town, one)));
  const paid = new Set(
    (await statesOf(await town.banks.accounts())).flatMap(({ truth }) =>
      truth.charges.filter((charge) => charge.paid).map(({ txid }) => txid),
    ),
  );
  return open.filter(
    (one) =>
      one.status === null ||
      (isOpen(one) &&
        !town.credited.has(one.id ?? '') &&
        (one.kind === 'transfer' || paid.has(providerIdOf(one.id ?? '')))),
  );
}

interface Incident {
  id: string;
  kind: string;
  state: string;
  amountCents: number;
  detail: Record<string, unknown>;
}

/** The act that resolves each kind of incident once every request was repeated. */
const resolutions: Record<string, string> = { lost_payout: 'none', lost_time: 'none', unmatched: 'credit' };

/** @returns those that are left */
async function resolveIncidents(town: Town): Promise<Incident[]> {
  const { json } = await run<{ incidents: Incident[] }>(town, ['incident', 'list']);
  const left: Incident[] = [];
  for (const incident of json?.incidents ?? []) {
    if (incident.state !== 'open') continue;
    const action = resolutions[incident.kind];
    if (action === undefined) left.push(incident);
    else {
      const words = [
        'incident',
        'resolve',
        incident.id,
        '--action',
        action,
        '--reason',
        'as the manual says',
      ];
      if ((await run(town, words)).code !== 0) left.push(incident);
      else if (action === 'credit') town.credited.add(String(incident.detail.named));
    }
  }
  return left;
}

const accountOf = async ({ call }: Merchant) => (await call('GET', '/account')).body;

async function hasReserves(town: Town): Promise<boolean> {
  const accounts = await Promise.all(town.merchants.map(accountOf));
  return accounts.some((account) => account?.reservedWithdrawalCents !== 0);
}

/** Compares what the service says with what each account at each bank holds true. */
async function judge(town: Town): Promise<void> {
  const states = await statesOf(await town.banks.accounts());
  town.figures.accounts += states.length;
  const places = new Map<string, string[]>();
  for (const { account, truth } of states)
    for (const { providerId, status, timesAccepted } of truth.payouts) {
      if (timesAccepted === 0) continue;
      const name = `${status} at ${account.url} ${account.holder}`;
      places.set(providerId, [...(places.get(providerId) ?? []), ...Array(timesAccepted).fill(name)]);
    }
  const ours = new Map(town.asked.map((one) => [providerIdOf(one.id ?? ''), one]));
  for (const [id, at] of places) {
    if (at.length > 1) {
      town.figures.paidTwice++;
      town.fault(`${id} was accepted ${at.length} times: ${at.join(', ')}`);
    }
    if (!ours.has(id)) town.fault(`${id} belongs to no request: ${at.join(', ')}`);
  }
  let feesCents = 0;
  for (const one of town.asked) {
    if (one.id === null) {
      town.fault(`${one.kind} ${one.requestKey} has no payment`);
      continue;
    }
    const { body } = await one.merchant.call('GET', `/payments/${one.id}`);
    const at = places.get(providerIdOf(one.id)) ?? [];
    const isPaidOut = at.some((place) => place.startsWith('completed'));
    if (one.kind === 'transfer' && (body?.status === 'completed') !== isPaidOut)
      town.fault(`the transfer ${one.id} is ${body?.status}, and ${at.join(', ') || 'nowhere'}`);
    if (body?.status === 'paid' || body?.status === 'completed') feesCents += Number(body.feeCents);
  }
  const accounts = await Promise.all(town.merchants.map(accountOf));
  for (const account of accounts)
    if (Number(account?.balanceCents) < 0)
      town.fault(`a balance is ${account?.balanceCents}: money left twice`);
  const booksCents = accounts.reduce((sum, account) => sum + Number(account?.balanceCents), 0) + feesCents;
  const banksCents = states.reduce((sum, { truth }) => sum + truth.balanceCents, 0);
  if (booksCents !== banksCents)
    town.fault(`the banks have ${banksCents} and the books ${booksCents}, ${feesCents} of them fees`);
  const verified = await run<{ checks: { ok: boolean }[] }>(town, ['verify', '--full']);
  if (verified.code === 0) return;
  const failed = verified.json?.checks.filter(({ ok }) => !ok);
  const said = failed ? JSON.stringify(failed) : verified.text;
  town.fault(`verify ended with ${verified.code}: ${said.slice(0, 2_000)}`);
}

if (import.meta.main) {
  const figures = await twoAccounts({ ...numbersGiven({ seed: 1, rounds: 1, acts: 40 }), say: console.log });
  console.log(JSON.stringify(figures));
  process.exitCode = figures.faults.length > 0 ? 1 : 0;
}
