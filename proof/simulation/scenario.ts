import { createHash } from 'node:crypto';
import { createAccount } from '../../server/src/accounts/directory.ts';
import { placeHold, releaseHold } from '../../server/src/accounts/holds.ts';
import { prepareInstallation } from '../../server/src/db/migrate.ts';
import { permissions } from '../../server/src/ground/permissions.ts';
import { createKey } from '../../server/src/keys/keys.ts';
import {
  type Bank,
  emptyBank,
  expireCharge,
  payCharge,
  registerWebhook,
  rememberClient,
  removeCharge,
  returnPayment,
  returnPayout,
} from '../../simulator/src/bank.ts';
import { notify } from '../../simulator/src/outbox.ts';
import {
  checkAtEnd,
  checkEnd,
  checkEvents,
  checkStep,
  type Examined,
  type Finding,
  isUnposted,
  type Rows,
  readRows,
} from './checks.ts';
import { beforeClose, createCloses } from './closes.ts';
import type { Database } from './database.ts';
import { createDisputes } from './disputes.ts';
import { createMirror, type Mirror } from './evidence.ts';
import { createLetters, createPeople } from './people.ts';
import { createProvider, type Faults, noFaults, type Provider } from './provider.ts';
import { type Random, random } from './random.ts';
import { createReceiver, receiverUrl } from './receiver.ts';
import { createRefunds } from './refunds.ts';
import { scryptAtOnce } from './scrypt.ts';
import { createService, type Life, type Service, secrets } from './service.ts';
import { createWorld, type SqlFaults, type World } from './world.ts';

/**
 * A run: a merchant does a few things, everything goes wrong as the seed wants it, perhaps a process dies at one port call,
 * another one is born; then everything is well again, two days pass, and what the service says is compared with what the
 * provider knows.
 */
export interface Run {
  seed: number;
  crash: { point: number; when: 'before' | 'after' } | null;
  /** So many deaths, each a few calls after the one before: in the middle of a recovery, too. */
  deaths?: number;
  /** One or two actions and two minutes of storm: few enough calls that a process can die at every one of them. */
  short?: boolean;
  /** People act as well: drafts are made and confirmed, incidents are resolved. */
  people?: boolean;
  /** What was paid is refunded, and what stands in suspense may go back to its payer. */
  refunds?: boolean;
  /** What was paid is contested, and the provider decides. */
  disputes?: boolean;
  /** Days end, and are closed. */
  closes?: boolean;
  /** Keep each step. */
  traced?: boolean;
}

export interface Outcome {
  points: number;
  /** How often a process died, and another one went on with what it had left. */
  deaths: number;
  findings: Finding[];
  seen: ReadonlyMap<string, number>;
  examined: Examined;
  /** The faults and actions of the seed, for the reader of a failure. */
  story: string[];
  /** Of everything that happened and of all data at the end: the same for the same run. */
  digest: string;
  /** Each step, where it was asked for. */
  trace: readonly string[] | null;
}

export interface Stage {
  play(run: Run): Promise<Outcome>;
  close(): Promise<void>;
}

/** Long past: some rules ask the database for the time as well, and its clock is the real one. */
const startMs = Date.UTC(2026, 9, 20, 12);
const hour = 3_600_000;
const pixKey = 'vintem@simulator.example';
const hookPath = '/hooks/providers/simulator/';

/** Opens a stage on a migrated database: what every run begins with is made once and kept. */
export async function openStage(db: Database): Promise<Stage> {
  const scryptBack = scryptAtOnce();
  const service = createService(db);
  const base = await prelude(db, service);
  // What is made at first use (prepared statements, compiled schemas) shall make no run unlike the next.
  const mirror = createMirror(db);
  await play(db, service, mirror, base, { seed: 0, crash: null, people: true });
  return {
    play: (run) => play(db, service, mirror, base, run),
    close: () => {
      scryptBack();
      return db.close();
    },
  };
}

interface Base {
  bank: Bank;
  key: string;
  operations: readonly string[];
  token: string;
  /** Of the merchant's endpoint. */
  webhookSecret: string;
  at: number;
}

/** An account with two operations that have some money, as the service itself makes them on a good day. */
async function prelude(db: Database, service: Service): Promise<Base> {
  db.clear();
  const world = createWorld(db, random(1), startMs);
  const founder = world.spawn('founder');
  const { sql, clock, ids } = founder;
  const finished = async <T>(work: Promise<T>): Promise<T> => {
    let result: { value: T } | { error: unknown } | null = null;
    work.then(
      (value) => {
        result = { value };
      },
      (error: unknown) => {
        result = { error };
      },
    );
    await world.run(() => result !== null, world.now() + hour);
    const ended = result as { value: T } | { error: unknown } | null;
    if (!ended) throw new Error('the prelude does not end');
    if ('error' in ended) throw ended.error;
    return ended.value;
  };
  await finished(db.admin(() => prepareInstallation({ sql, clock, ids }, { live: false })));
  const { ownerId, operationId } = await finished(
    createAccount(
      { sql: founder.openCell(db.cell), clock, ids },
      { name: 'Loja', test: true, connection: 'simulator' },
    ),
  );
  const own = secrets(ids);
  const { key } = await finished(
    createKey({ sql, clock, ids, secrets: own }, { accountId: ownerId, name: 'all', permissions }),
  );
  const bank = emptyBank();
  bank.tokenSecret = 'token secret';
  const { token } = {
    token:
      db.run<{ webhook_token: string }>('SELECT webhook_token FROM connection', [])[0]?.webhook_token ?? '',
  };
  const bankWorld = bankWorldOf(world, random(4));
  registerWebhook(bank, bankWorld, { key: pixKey, url: 'http://service.example/', clientId: 'vintem' });
  const provider = createProvider(world, random(2), bank, (body, signature) =>
    post(service, token, body, signature),
  );
  const life = await service.start(world, 'first', { delivers: false });
  if (!life) throw new Error('the service does not start');
  rememberClient(bank, { id: 'vintem', secret: service.providerSecret });
  const call = caller(service, key);
  const made = await finished(
    call('POST', '/operations', { name: 'Segunda', requestKey: uuidOf(random(3)) }),
  );
  const second = idOf(made);
  // Empty, so that it can be deleted under a charge of it.
  const empty = await finished(
    call('POST', '/operations', { name: 'Terceira', requestKey: uuidOf(random(5)) }),
  );
  const third = idOf(empty);
  const endpoint = await finished(
    call('POST', '/webhooks', { url: receiverUrl, events: ['*'], requestKey: uuidOf(random(6)) }),
  );
  idOf(endpoint);
  for (const [operation, amountCents] of [
    [operationId, 5_000],
    [second, 1_500],
  ] as const) {
    const body = {
      amountCents,
      payerName: 'Maria',
      description: '',
      requestKey: uuidOf(random(amountCents)),
    };
    const charge = await finished(call('POST', '/pix/charges', body, operation));
    payCharge(bank, bankWorld, idOf(charge).replaceAll('-', ''));
    provider.wake();
    await world.run(() => false, world.now() + 30_000);
  }
  life.process.kill();
  const rows = readRows(db);
  const findings = checkEnd(rows, bank);
  if (findings.length > 0 || rows.payments.some(({ status }) => status !== 'paid'))
    throw new Error(
      `a good day goes wrong: ${JSON.stringify(findings)} ${rows.payments.map(({ status }) => status)}`,
    );
  db.keep();
  return {
    bank,
    key,
    operations: [operationId, second, third],
    token,
    webhookSecret: (endpoint as unknown as { body: { secret: string } }).body.secret,
    at: world.now() + hour,
  };
}

const bankWorldOf = (world: World, chance: Random) => ({
  now: () => world.now(),
  letters: (count: number) => chance.bytes(count).toString('hex').slice(0, count),
});

function idOf(reply: Reply | null): string {
  if (reply?.status !== 201) throw new Error(`no answer for a good day: ${JSON.stringify(reply)}`);
  return (reply.body as { id: string }).id;
}

interface Reply {
  status: number;
  body: unknown;
  replayed: boolean;
}

const caller =
  (service: Service, key: string) =>
  async (method: string, path: string, body?: object, operationId?: string): Promise<Reply | null> => {
    const life = service.current;
    if (!life?.process.alive) return null;
    const answer = await service.inject({
      method: method as 'POST',
      url: `/api/v1/public${path}`,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...(operationId ? { 'x-service-operation': operationId } : {}),
      },
      ...(body ? { payload: JSON.stringify(body) } : {}),
    });
    if (!life.process.alive) return null;
    return {
      status: answer.statusCode,
      body: answer.body === '' ? null : JSON.parse(answer.body),
      replayed: answer.headers['idempotent-replayed'] === 'true',
    };
  };

async function post(
  service: Service,
  token: string,
  body: string,
  signature: string,
): Promise<number | null> {
  const life = service.current;
  if (!life?.process.alive) return null;
  life.delivered();
  const answer = await service.inject({
    method: 'POST',
    url: `${hookPath}${token}/pix`,
    headers: { 'content-type': 'application/json', 'x-simulator-signature': signature },
    payload: body,
  });
  return life.process.alive ? answer.statusCode : null;
}

const uuidOf = (chance: Random): string => {
  const hex = chance.bytes(16).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
};

/** How much of everything goes wrong in this seed: some seeds are calm, some concentrate on a few kinds. */
function weather(chance: Random): {
  faults: Faults;
  sql: SqlFaults;
  refusals: number;
  transferWaitMs: number;
} {
  const faults = { ...noFaults };
  const storm = chance.pick([0, 0.05, 0.15, 0.4]);
  for (const kind of Object.keys(faults) as (keyof Faults)[])
    if (chance.chance(0.35)) faults[kind] = storm * chance.next();
  // There are few deliveries in a run.
  if (faults.hookDoubled > 0) faults.hookDoubled = Math.max(faults.hookDoubled, 0.25);
  const sql = chance.chance(0.4)
    ? { lost: 0.01 * chance.next(), contention: 0.03 * chance.next(), commitUnknown: 0.2 * chance.next() }
    : { lost: 0, contention: 0, commitUnknown: 0 };
  return {
    faults,
    sql,
    refusals: chance.pick([0, 0.3, 0.7]),
    transferWaitMs: chance.pick([6_000, 6_000, 0]),
  };
}

async function play(db: Database, service: Service, mirror: Mirror, base: Base, run: Run): Promise<Outcome> {
  db.restore();
  const chance = random(run.seed);
  const bank = structuredClone(base.bank);
  const began = run.closes ? beforeClose(base.at) : base.at;
  const world = createWorld(db, random(run.seed ^ 0x5eed), began);
  const provider = createProvider(
    world,
    random(run.seed ^ 0x9a9a),
    bank,
    (body, signature) => post(service, base.token, body, signature).finally(() => told('delivery')),
    random(run.seed ^ 0x7e7e),
  );
  /** What takes the database away when it happens next. */
  const triggers = new Map<string, () => void>();
  const told = (kind: string): void => {
    const goAway = triggers.get(kind);
    triggers.delete(kind);
    goAway?.();
  };
  if (run.traced) world.trace.lines = [];
  const receiver = createReceiver(world, random(run.seed ^ 0xe7e7), base.webhookSecret);
  const toProvider = world.outside;
  world.outside = (request, answered) => {
    if (request.url === receiverUrl) return receiver.handle(request, answered);
    told(request.method === 'PUT' ? 'send' : 'query');
    if (request.method === 'PUT' && request.url.includes('/devolucao/')) told('refund');
    return toProvider(request, (answer) => {
      if (request.method === 'PUT' && answer instanceof Error) told('unclear');
      answered(answer);
    });
  };
  // Of their own generator, so that what else a seed draws stays what it was.
  const extra = random(run.seed ^ 0x3a3a);
  const letters = createLetters();
  const habits = { delivers: run.seed % 4 === 0, handsOver: extra.chance(0.5), letters };
  service.current = null;
  const { faults, sql, refusals, transferWaitMs } = weather(chance);
  const story = [
    `faults ${JSON.stringify(Object.fromEntries(Object.entries(faults).filter(([, p]) => p > 0)))} sql ${JSON.stringify(sql)} refusals ${refusals} wait ${transferWaitMs}`,
  ];
  const findings: Finding[] = [];
  const say = (line: string) => story.push(`+${((world.now() - began) / 1000).toFixed(3)} ${line}`);
  const born = async (): Promise<Life> => {
    for (;;) {
      const life = await service.start(world, 'service', { transferWaitMs, ...habits });
      if (life) return life;
      say('a process died at its birth');
      // Where the database is away it would be born and die without any time going by.
      if (world.faults.lost === 1) await world.run(() => false, world.now() + 1_000);
    }
  };
  const examined: Examined = new Map();
  /** Safety, after every step; once something is wrong it is wrong ever after. */
  const looks: Promise<void>[] = [];
  world.changed = () => {
    const at = `+${((world.now() - began) / 1000).toFixed(3)}`;
    const look = checkStep(db, mirror, world.now(), bank, examined).then((found) => {
      if (findings.length === 0)
        for (const finding of found) findings.push({ ...finding, what: `${finding.what} (${at})` });
    });
    looks.push(look);
  };

  const merchant = merchantOf({ world, service, base, provider, chance, say, findings });
  let life = await born();
  provider.faults = faults;
  provider.refusals = refusals;
  world.faults = sql;
  receiver.trouble = extra.pick([0.1, 0.3, 0.6]);
  if (extra.chance(0.3)) planHold(world, () => life, extra, base, say);
  const own = random(run.seed ^ 0x1d1d);
  const people = run.people
    ? createPeople({
        world,
        living: () => life,
        letters,
        chance: own,
        operations: base.operations,
        requestKey: () => uuidOf(own),
        call: caller(service, base.key),
        say,
        findings,
        returns: run.refunds === true,
      })
    : null;
  people?.plan();
  const giving = random(run.seed ^ 0x4b4b);
  const refunds = run.refunds
    ? createRefunds({
        world,
        chance: giving,
        operations: base.operations,
        requestKey: () => uuidOf(giving),
        call: caller(service, base.key),
        say,
        findings,
      })
    : null;
  refunds?.plan();
  const contesting = random(run.seed ^ 0x6c6c);
  const disputes = run.disputes
    ? createDisputes({
        world,
        db,
        living: () => life,
        chance: contesting,
        bank,
        bankWorld: bankWorldOf(world, contesting),
        operations: base.operations,
        call: caller(service, base.key),
        wake: () => provider.wake(),
        say,
      })
    : null;
  disputes?.plan();
  const closes = run.closes ? createCloses({ world, db, living: () => life, say }) : null;
  closes?.plan();
  let calm = false;
  /** Longer than a command waits, or no longer than a caller does. */
  const takeAway = (kind: string, lasts: number): void => {
    if (calm) return;
    say(`the database is away (${kind})`);
    world.count('database away');
    world.faults = { lost: 1, contention: 0, commitUnknown: 0 };
    world.at(world.now() + lasts, () => {
      if (!calm) world.faults = sql;
    });
  };
  const awayAt = (kind: string, lasts: number): unknown => triggers.set(kind, () => takeAway(kind, lasts));
  if (people && own.chance(0.5)) {
    // Begun by what a catch stands behind: an answer that cannot be written down, a look-up that cannot, a delivery that was applied and is
    // not marked yet.
    const kind = own.pick(['any', 'send', 'query', 'delivery'] as const);
    const lasts = own.pick([3_000, 12_000, 25_000]);
    world.at(world.now() + own.below(40_000), () => {
      if (kind === 'any') takeAway(kind, lasts);
      else awayAt(kind, lasts);
    });
  }
  // While a caller still waits for what became of his unclear transfer.
  if (extra.chance(0.3)) awayAt('unclear', 3_000);
  if (run.refunds && giving.chance(0.5)) awayAt('refund', giving.pick([3_000, 12_000, 25_000]));
  if (extra.chance(0.3)) planOutage(world, db, extra, say);
  let deaths = 0;
  const fates = random(run.seed ^ 0xdead);
  const dieAt = (point: number, when: 'before' | 'after'): void =>
    world.crashAt(point, when, () => {
      deaths++;
      say(`the process died ${when} call ${point}`);
      if (deaths < (run.deaths ?? 0)) dieSoon();
    });
  /** Most deaths come while what the last one left is half done still. */
  const dieSoon = (): void =>
    dieAt(world.points() + fates.below(fates.pick([10, 30, 100])), fates.pick(['before', 'after'] as const));
  if (run.crash) dieAt(run.crash.point, run.crash.when);
  else if (run.deaths) dieSoon();
  const planned = run.short ? 1 + chance.below(2) : 2 + chance.below(4);
  let when = world.now();
  for (let one = 0; one < planned; one++) {
    when += chance.pick([0, 1, 500, 8_000, 40_000]);
    const act = merchant.plan();
    world.at(when, () => void act());
  }
  if (chance.chance(0.15)) {
    const by = chance.pick([-50_000, -5_000, 5_000, 50_000]);
    world.at(began + chance.below(60_000), () => {
      say(`the clock jumps by ${by} ms`);
      world.count('clock jump');
      life.process.clockOffsetMs += by;
      const { process } = life;
      world.at(world.now() + chance.below(300_000), () => {
        process.clockOffsetMs = 0;
      });
    });
  }
  if (chance.chance(0.15)) {
    world.at(began + chance.below(10_000), () => {
      say('the process stands still');
      world.count('frozen');
      life.process.frozenUntil = world.now() + 20_000 + chance.below(20_000);
    });
  }
  const storms = run.short ? [5_000, 20_000, 120_000] : [20_000, 120_000, 3 * hour];
  const stormEnds = when + (run.deaths ? hour : chance.pick(storms));
  for (;;) {
    const died = await world.run(() => !life.process.alive, stormEnds);
    if (!died) break;
    await world.run(() => false, world.now() + 1_100 + chance.below(20_000));
    life = await born();
    say('another process was born');
    merchant.again();
    refunds?.again();
  }
  const points = world.points();

  calm = true;
  // Liveness: the sky clears, and within two days everything that the provider decided is known here.
  world.crashAt(Number.POSITIVE_INFINITY, 'before', () => {});
  provider.faults = noFaults;
  provider.refusals = 0;
  receiver.trouble = 0;
  world.faults = { lost: 0, contention: 0, commitUnknown: 0 };
  life.process.clockOffsetMs = 0;
  provider.settleAll();
  tellAgain(db, bank, world.now());
  provider.wake();
  merchant.again();
  refunds?.again();
  // A charge with an open incident waits until the incident is resolved, and then has its own time limit.
  const settled = (): Promise<boolean> => {
    const end = world.now() + 48 * hour;
    let nextLook = world.now();
    return world.run(() => {
      if (world.now() < nextLook) return false;
      nextLook = world.now() + 60_000;
      return (
        db.run('SELECT 1 FROM intent UNION ALL SELECT 1 FROM draft LIMIT 1', []).length === 0 &&
        bank.outbox.waiting.size === 0 &&
        bank.due.items.length === 0 &&
        // What looks at the end has transactions of its own.
        !db.isBusy() &&
        (!habits.delivers || db.run(waitingEvents, []).length === 0)
      );
    }, end);
  };
  await settled();
  if (disputes) {
    await disputes.settle();
    await settled();
  }
  if (people) {
    let looked = false;
    void people.resolveAll().then(() => {
      looked = true;
    });
    if (!(await world.run(() => looked, world.now() + hour)))
      findings.push({ invariant: 46, what: 'the incidents cannot be resolved' });
    await settled();
  }
  await closes?.settle();
  const rows = readRows(db);
  await Promise.all(looks);
  // `verify` reads with fifty statements what the mirror has at hand: often enough is enough.
  const byItself = run.closes || (run.crash?.point ?? 0) % 10 === 0;
  findings.push(
    ...(await (byItself
      ? checkAtEnd(db, world.now(), bank, examined)
      : checkStep(db, mirror, world.now(), bank, examined, true))),
  );
  findings.push(...checkEnd(rows, bank), ...receiver.findings);
  if (people) findings.push(...people.check(rows));
  if (refunds) findings.push(...refunds.check(rows));
  if (disputes) findings.push(...disputes.check());
  if (closes) findings.push(...closes.check({ unposted: rows.incidents.some(isUnposted) }));
  if (habits.delivers) findings.push(...checkEvents(db, receiver));
  for (const id of merchant.acknowledged())
    if (!rows.payments.some((payment) => payment.id === id))
      findings.push({ invariant: 18, what: `${id} was answered and is not there` });
  if (findings.length > 0) for (const intent of rows.intents) say(`left: ${JSON.stringify(intent)}`);
  for (const { history, kind } of rows.payments) {
    for (const [at, step] of history.entries())
      world.count(`${kind} ${history[at - 1]?.status ?? 'new'} -> ${step.status} by ${step.cause.by}`);
  }
  for (const { history, reason } of rows.refunds)
    for (const [at, step] of history.entries())
      world.count(
        `refund ${reason} ${history[at - 1]?.status ?? 'new'} -> ${step.status} by ${step.cause.by}`,
      );
  for (const { kind } of rows.incidents) world.count(`incident ${kind}`);
  life.process.kill();
  const digest = createHash('sha256').update(world.trace.hash()).update(digestOf(rows, bank)).digest('hex');
  return { points, deaths, findings, seen: world.seen, examined, story, digest, trace: world.trace.lines };
}

const waitingEvents = `SELECT 1 FROM event_fresh UNION ALL
  SELECT 1 FROM webhook_delivery WHERE status = 'pending' LIMIT 1`;

/** An operator holds some of an operation's money back, and perhaps lets it go again. */
function planHold(
  world: World,
  living: () => Life,
  chance: Random,
  base: Base,
  say: (line: string) => void,
): void {
  const operationId = chance.pick(base.operations);
  const amountCents = chance.pick([300, 2_000, 9_000]);
  const after = chance.below(60_000);
  const releases = chance.chance(0.6) ? 1 + chance.below(60_000) : null;
  const operator = () => ({ ...living().runtime, actor: 'operator' });
  const told = (what: string, work: Promise<unknown>) =>
    work.then(
      () => {
        say(what);
        world.count(what);
      },
      () => world.count(`no ${what}`),
    );
  world.at(world.now() + after, () => {
    if (!living().process.alive) return;
    let held: string | null = null;
    void told(
      'hold placed',
      placeHold(operator(), { operationId, amountCents, reason: 'a court says so' }).then(({ id }) => {
        held = id;
      }),
    );
    if (releases === null) return;
    world.at(world.now() + releases, () => {
      if (held !== null && living().process.alive) void told('hold released', releaseHold(operator(), held));
    });
  });
}

/** Other calls of another account found the provider down: the breaker is open, and a probe at a time decides what is sent. */
function planOutage(world: World, db: Database, chance: Random, say: (line: string) => void): void {
  world.at(world.now() + chance.below(60_000), () => {
    void db.acquire().then((release) => {
      say('the breaker is open');
      world.count('breaker opened');
      const [now, probeAt] = [world.now(), world.now() + chance.below(30_000)];
      for (const call of ['charge', 'payout', 'refund', 'query'])
        db.run(
          `INSERT INTO breaker (connection, call, open, probe_at, changed_at) VALUES ('simulator', $1, true, $2, $3)
            ON CONFLICT (connection, call) DO UPDATE SET open = true, probe_at = excluded.probe_at, changed_at = excluded.changed_at`,
          [call, new Date(probeAt).toISOString(), new Date(now).toISOString()],
        );
      release();
    });
  });
}

/**
 * Of money that moved after a payment had ended the provider tells by webhook alone, and gives up after an hour; what it
 * never tells only a reconciliation finds. Here it tells once more.
 */
function tellAgain(db: Database, bank: Bank, now: number): void {
  const ended = new Set(
    db
      .run<{ id: string }>(
        'SELECT p.id FROM payment p WHERE NOT EXISTS (SELECT FROM intent i WHERE i.payment_id = p.id)',
        [],
      )
      .map(({ id }) => id.replaceAll('-', '')),
  );
  for (const { txid, endToEnd, returns } of bank.payments.values())
    if (ended.has(txid))
      notify(bank.outbox, bank.behaviour, now, {
        key: pixKey,
        kind: 'payment',
        id: endToEnd,
        returns: returns.length,
      });
  for (const { idEnvio, returns } of bank.payoutList)
    if (ended.has(idEnvio) && returns.length > 0)
      notify(bank.outbox, bank.behaviour, now, {
        key: pixKey,
        kind: 'payout',
        id: idEnvio,
        returns: returns.length,
      });
}

function digestOf(rows: Rows, bank: Bank): string {
  const payouts = [...bank.payouts.values()].map(
    (one) => `${one.idEnvio} ${one.status} ${one.timesReceived}`,
  );
  return JSON.stringify([rows, payouts], (_, value) =>
    value?.type === 'Buffer' ? Buffer.from(value.data).toString('hex') : value,
  );
}

interface Made {
  body: { requestKey: string; amountCents: number };
  path: string;
  operationId: string;
  id: string | null;
}

/** What the merchant and his payers do. */
function merchantOf(parts: {
  world: World;
  service: Service;
  base: Base;
  provider: Provider;
  chance: Random;
  say(line: string): void;
  findings: Finding[];
}): { plan(): () => Promise<void>; again(): void; acknowledged(): string[] } {
  const { world, service, base, provider, chance, say, findings } = parts;
  const call = caller(service, base.key);
  const made: Made[] = [];
  const unanswered = new Set<Made>();
  const bankWorld = bankWorldOf(world, chance);

  async function submit(one: Made, again: boolean): Promise<void> {
    unanswered.add(one);
    say(
      `${again ? 'again ' : ''}POST ${one.path} ${one.body.amountCents} ${one.body.requestKey.slice(0, 8)}`,
    );
    const reply = await call('POST', one.path, one.body, one.operationId);
    if (!reply) return;
    const { status, body } = reply as {
      status: number;
      body: { id?: string; paymentId?: string; code?: string; status?: string };
    };
    say(`-> ${status} ${body.status ?? body.code}`);
    world.count(`answer ${status} ${body.status ?? body.code}`);
    if (status === 500) findings.push({ invariant: 18, what: `500 to ${one.path}` });
    const id = status === 201 ? body.id : body.paymentId;
    if (status !== 503) unanswered.delete(one);
    if (id === undefined) return;
    if (one.id !== null && one.id !== id)
      findings.push({ invariant: 10, what: `a request key reached ${one.id} and ${id}` });
    one.id = id;
  }

  const transfer = (operationId: string): Made => ({
    body: {
      amountCents: chance.pick([1_000, 1_000, 1_400, 3_000]),
      pixKey: 'maria@loja.example',
      pixKeyType: 'EMAIL',
      description: '',
      requestKey: uuidOf(chance),
    } as Made['body'],
    path: '/pix/transfers',
    operationId,
    id: null,
  });
  const charge = (operationId: string): Made => ({
    body: {
      amountCents: 700,
      payerName: 'João',
      description: 'x',
      requestKey: uuidOf(chance),
    } as Made['body'],
    path: '/pix/charges',
    operationId,
    id: null,
  });

  function plan(): () => Promise<void> {
    const operationId = chance.pick(base.operations);
    const kind = chance.pick([
      'transfer',
      'transfer',
      'transfer',
      'charge',
      'charge',
      'repeat',
      'other',
      'look',
      'delete',
      'back',
      'both',
    ] as const);
    switch (kind) {
      case 'transfer':
      case 'both': {
        const one = transfer(operationId);
        made.push(one);
        return async () => {
          // Twice at once: a double click, or two machines of the merchant.
          await Promise.all(kind === 'both' ? [submit(one, false), submit(one, true)] : [submit(one, false)]);
        };
      }
      case 'charge': {
        const one = charge(operationId);
        made.push(one);
        const fate = chance.pick([
          'pay',
          'pay',
          'pay',
          'twice',
          'other',
          'never',
          'expire',
          'remove',
          'late',
          'back',
          'back twice',
        ] as const);
        const after = chance.pick([50, 5_000, 70_000]);
        return async () => {
          world.at(world.now() + after, () => settleCharge(one, fate));
          await submit(one, false);
        };
      }
      case 'repeat':
        return async () => {
          const one = made.length > 0 ? chance.pick(made) : null;
          if (one) await submit(one, true);
        };
      case 'other':
        return async () => {
          const one = made.length > 0 ? chance.pick(made) : null;
          if (!one?.id) return;
          const reply = await call(
            'POST',
            one.path,
            { ...one.body, amountCents: one.body.amountCents + 100 },
            one.operationId,
          );
          if (reply && reply.status !== 400 && reply.status !== 404 && reply.status !== 503)
            findings.push({
              invariant: 17,
              what: `other data with a taken key was answered ${reply.status}`,
            });
        };
      case 'look':
        return async () => {
          const one = made.length > 0 ? chance.pick(made) : null;
          if (one?.id) await call('GET', `/payments/${one.id}`, undefined, one.operationId);
          await call('GET', '/account', undefined, operationId);
        };
      case 'delete':
        return async () => {
          const reply = await call('DELETE', `/operations/${chance.pick(base.operations)}`, {});
          say(`DELETE -> ${reply?.status} ${(reply?.body as { code?: string } | null)?.code ?? ''}`);
          if (reply) world.count(`delete ${reply.status} ${(reply.body as { code?: string }).code ?? 'ok'}`);
        };
      case 'back': {
        const whole = chance.chance(0.5);
        const comeBack = (tries: number): void => {
          const one = provider.bank.payoutList.find((payout) => payout.status === 'completed');
          if (!one) {
            // Nothing has gone out yet.
            if (tries > 0) world.at(world.now() + 20_000, () => comeBack(tries - 1));
            return;
          }
          const amountCents = whole ? undefined : Math.ceil(one.amountCents / 3);
          // Ids of returns are unique within one payout only.
          returnPayout(provider.bank, bankWorld, one.idEnvio, amountCents, String(one.returns.length));
          say('a payout came back');
          world.count('returned');
          provider.wake();
        };
        return async () => comeBack(5);
      }
    }
  }

  function settleCharge(
    one: Made,
    fate: 'pay' | 'twice' | 'other' | 'never' | 'expire' | 'remove' | 'late' | 'back' | 'back twice',
  ): void {
    const { bank } = provider;
    // The provider may know it although the merchant was never answered: a payer can have the code all the same.
    const txid = one.id?.replaceAll('-', '') ?? bank.chargeList.at(-1)?.txid;
    if (!txid || !bank.charges.has(txid)) return;
    say(`${fate} ${txid.slice(0, 12)}`);
    world.count(`payer ${fate}`);
    const gives = fate === 'back' || fate === 'back twice';
    if (fate === 'pay' || fate === 'twice' || gives) payCharge(bank, bankWorld, txid);
    if (gives) world.at(world.now() + chance.pick([6_000, 20 * 60_000]), () => giveBack(txid, fate));
    if (fate === 'twice' || fate === 'back twice')
      world.at(world.now() + 5_000, () => {
        payCharge(bank, bankWorld, txid);
        provider.wake();
      });
    if (fate === 'other') payCharge(bank, bankWorld, txid, 650);
    if (fate === 'remove') removeCharge(bank, txid);
    if (fate === 'expire' || fate === 'late') expireCharge(bank, bankWorld, txid);
    if (fate === 'late')
      world.at(world.now() + 30 * 60_000, () => {
        payCharge(bank, bankWorld, txid);
        provider.wake();
      });
    provider.wake();
  }

  /** Each Pix of the charge goes back, half of it or all, in one part or two, under ids that other Pix have too. */
  function giveBack(txid: string, fate: string): void {
    const { bank } = provider;
    for (const endToEnd of bank.charges.get(txid)?.payments ?? []) {
      const half = chance.chance(0.5) ? 350 : undefined;
      returnPayment(bank, bankWorld, endToEnd, half, '1');
      if (half !== undefined && fate === 'back twice') returnPayment(bank, bankWorld, endToEnd, half, '2');
      say('a received Pix went back');
      world.count('given back');
    }
    provider.wake();
  }

  return {
    plan,
    acknowledged: () => made.flatMap(({ id }) => id ?? []),
    again: () => {
      for (const one of unanswered)
        if (chance.chance(0.7)) world.at(world.now() + chance.below(5_000), () => void submit(one, true));
    },
  };
}
