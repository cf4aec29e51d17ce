import { type Bank, payCharge } from '../../simulator/src/bank.ts';
import { type Acquirer, createAcquirer, isOfAcquirer } from './acquirer.ts';
import { bankWorldOf, caller, post, uuidOf } from './calls.ts';
import { type Cancels, createCancels } from './cancels.ts';
import { type Cards, createCards } from './cards.ts';
import { checkStep, type Examined, type Finding } from './checks.ts';
import { beforeClose, type Closes, createCloses } from './closes.ts';
import type { Database } from './database.ts';
import { createDisputes, type Disputes, shortStormMs } from './disputes.ts';
import { createDues, type Dues } from './dues.ts';
import type { Mirror } from './evidence.ts';
import { createLinks, type Links } from './links.ts';
import { createMerchant, type Merchant } from './merchant.ts';
import { createLetters, createPeople, type People } from './people.ts';
import type { Base } from './prelude.ts';
import { createProvider, type Provider } from './provider.ts';
import { type Random, random } from './random.ts';
import { createReceiver, type Receiver, receiverUrl } from './receiver.ts';
import { createRefunds, type Refunds } from './refunds.ts';
import type { Run } from './scenario.ts';
import type { Life, Service } from './service.ts';
import {
  type Absences,
  createAbsences,
  planAbsence,
  planHold,
  planOutage,
  planReleases,
  type Scene,
  weather,
} from './troubles.ts';
import { createWorld } from './world.ts';

/** Everything that plays a part in one run. Each draws from a generator of its own, so that what one draws leaves the others as they were. */
export interface Cast {
  db: Database;
  scene: Scene;
  bank: Bank;
  provider: Provider;
  acquirer: Acquirer;
  receiver: Receiver;
  merchant: Merchant;
  people: People | null;
  refunds: Refunds | null;
  cancels: Cancels | null;
  dues: Dues | null;
  cards: Cards | null;
  links: Links | null;
  disputes: Disputes | null;
  closes: Closes | null;
  absences: Absences;
  chance: Random;
  /** Events are published and delivered. */
  delivers: boolean;
  /** Every request that was not answered is made once more. */
  again(): void;
  /** After a death: another process, and what was not answered is asked for again. */
  rebirth(): Promise<void>;
  story: string[];
  findings: Finding[];
  examined: Examined;
  /** Examinations after single steps; they end on their own. */
  looks: readonly Promise<void>[];
}

export async function createCast(
  db: Database,
  service: Service,
  mirror: Mirror,
  base: Base,
  run: Run,
): Promise<Cast> {
  const chance = random(run.seed);
  const extra = random(run.seed ^ 0x3a3a);
  const bank = structuredClone(base.bank);
  const began = run.closes ? beforeClose(base.at) : base.at;
  const world = createWorld(db, random(run.seed ^ 0x5eed), began);
  if (run.traced) world.trace.lines = [];
  const letters = createLetters();
  const habits = {
    delivers: run.seed % 4 === 0,
    handsOver: extra.chance(0.5),
    letters,
    cards: run.cards ?? false,
  };
  const { faults, sql, refusals, transferWaitMs } = weather(chance);
  const story = [
    `faults ${JSON.stringify(Object.fromEntries(Object.entries(faults).filter(([, p]) => p > 0)))} sql ${JSON.stringify(sql)} refusals ${refusals} wait ${transferWaitMs}`,
  ];
  const say = (line: string): void =>
    void story.push(`+${((world.now() - began) / 1000).toFixed(3)} ${line}`);
  const absences = createAbsences({ world, say }, sql);
  const provider = createProvider(
    world,
    random(run.seed ^ 0x9a9a),
    bank,
    (body, signature) =>
      post(service, `simulator/${base.token}/pix`, body, { 'x-simulator-signature': signature }).finally(() =>
        absences.told('delivery'),
      ),
    random(run.seed ^ 0x7e7e),
    random(run.seed ^ 0x6d6d),
  );
  const acquirer = createAcquirer(
    world,
    random(run.seed ^ 0x1a1a),
    structuredClone(base.cardBank),
    (body, headers) => post(service, `cartoes/${base.cardToken}`, body, headers),
  );
  const receiver = createReceiver(world, random(run.seed ^ 0xe7e7), base.webhookSecret);
  listen({ world, receiver, acquirer, absences });

  const born = async (): Promise<Life> => {
    for (;;) {
      const life = await service.start(world, 'service', { transferWaitMs, ...habits });
      if (life) return life;
      say('a process died at its birth');
      // Where the database is away it would be born and die without any time going by.
      if (world.faults.lost === 1) await world.run(() => false, world.now() + 1_000);
    }
  };
  const findings: Finding[] = [];
  const examined: Examined = new Map();
  let lookAtCards = (): Finding[] => [];
  const also = () => lookAtCards();
  const looks = examineEveryStep({ db, mirror, world, bank, acquirer, began, findings, examined, also });
  service.current = null;
  const call = caller(service, base.key);
  const merchant = createMerchant({ world, service, base, provider, chance, say, findings });
  let life = await born();
  provider.faults = faults;
  provider.refusals = refusals;
  acquirer.faults = faults;
  acquirer.refusals = refusals / 2;
  world.faults = sql;
  receiver.trouble = extra.pick([0.1, 0.3, 0.6]);
  const living = (): Life => life;
  const scene: Scene = { world, began, living, say };
  if (extra.chance(0.3)) planHold(scene, extra, base);

  const { operations } = base;
  const own = random(run.seed ^ 0x1d1d);
  const people = run.people
    ? createPeople({
        world,
        living,
        letters,
        chance: own,
        operations,
        requestKey: () => uuidOf(own),
        call,
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
        operations,
        requestKey: () => uuidOf(giving),
        call,
        say,
        findings,
      })
    : null;
  refunds?.plan();
  const regretting = random(run.seed ^ 0x8f8f);
  const cancels = run.cancels
    ? createCancels({
        world,
        chance: regretting,
        operations,
        requestKey: () => uuidOf(regretting),
        pay: (txid) => {
          if (bank.charges.get(txid)?.status !== 'ATIVA') return;
          payCharge(bank, bankWorldOf(world, regretting), txid);
          provider.wake();
        },
        call,
        say,
        findings,
      })
    : null;
  cancels?.plan();
  const owing = random(run.seed ^ 0x5a5a);
  if (run.dues) {
    provider.numbersTerms = owing.chance(0.7);
    bank.behaviour = { ...bank.behaviour, components: owing.pick(['sent', 'none']) };
  }
  const dues = run.dues
    ? createDues({
        world,
        db,
        chance: owing,
        bank,
        bankWorld: bankWorldOf(world, owing),
        operations,
        short: run.short ?? false,
        revisions: provider.revisions,
        requestKey: () => uuidOf(owing),
        call,
        wake: () => provider.wake(),
        say,
        findings,
      })
    : null;
  dues?.plan();
  const charging = random(run.seed ^ 0x2e2e);
  acquirer.bank.behaviour = { ...acquirer.bank.behaviour, fees: charging.pick(['on', 'off']) };
  const cards = run.cards
    ? createCards({
        world,
        db,
        living,
        chance: charging,
        acquirer,
        pix: bank,
        bankWorld: bankWorldOf(world, charging),
        operations,
        short: run.short ?? false,
        requestKey: () => uuidOf(charging),
        call,
        wake: () => provider.wake(),
        say,
        findings,
      })
    : null;
  cards?.plan();
  if (cards) lookAtCards = cards.look;
  const visiting = random(run.seed ^ 0x3d3d);
  const links = run.links
    ? createLinks({
        world,
        db,
        living,
        chance: visiting,
        bank,
        bankWorld: bankWorldOf(world, visiting),
        operations,
        short: run.short ?? false,
        requestKey: () => uuidOf(visiting),
        call,
        wake: () => provider.wake(),
        say,
        findings,
      })
    : null;
  links?.plan();
  const contesting = random(run.seed ^ 0x6c6c);
  const disputes = run.disputes
    ? createDisputes({
        world,
        db,
        living,
        chance: contesting,
        bank,
        bankWorld: bankWorldOf(world, contesting),
        operations,
        short: run.short ?? false,
        early: run.early ?? false,
        call,
        wake: () => provider.wake(),
        say,
      })
    : null;
  disputes?.plan();
  if (disputes) planReleases(scene, db, random(run.seed ^ 0x3c3c), run.short ? shortStormMs : 90 * 60_000);
  const closes = run.closes
    ? createCloses({ world, db, bank, living, chance: random(run.seed ^ 0x2c2c), say })
    : null;
  closes?.plan();

  if (people && own.chance(0.5)) planAbsence(scene, absences, own);
  // While a caller still waits for what became of his unclear transfer, and longer than it is tried to write that down.
  if (extra.chance(0.3)) absences.beginAt('unclear', extra.pick([3_000, 12_000]));
  if (refunds && giving.chance(0.5)) absences.beginAt('refund', giving.pick([12_000, 25_000]));
  if (extra.chance(0.3)) planOutage(scene, db, extra);

  const again = (): void => {
    for (const one of [merchant, refunds, cancels, dues, cards, links]) one?.again();
  };
  const rebirth = async (): Promise<void> => {
    life = await born();
    say('another process was born');
    again();
  };
  return {
    db,
    scene,
    bank,
    provider,
    acquirer,
    receiver,
    merchant,
    people,
    refunds,
    cancels,
    dues,
    cards,
    links,
    disputes,
    closes,
    absences,
    chance,
    delivers: habits.delivers,
    again,
    rebirth,
    story,
    findings,
    examined,
    looks,
  };
}

/** Requests to the merchant's endpoint reach it; requests to the provider reach the ones that wait for them. */
function listen({
  world,
  receiver,
  acquirer,
  absences: { told },
}: Pick<Cast, 'receiver' | 'acquirer' | 'absences'> & Pick<Scene, 'world'>): void {
  const toProvider = world.outside;
  world.outside = (request, answered) => {
    if (request.url === receiverUrl) return receiver.handle(request, answered);
    if (isOfAcquirer(request)) return acquirer.handle(request, answered);
    const sends = request.method === 'PUT';
    told(sends ? 'send' : 'query');
    if (sends && request.url.includes('/devolucao/')) told('refund');
    return toProvider(request, (answer) => {
      if (sends && answer instanceof Error) told('unclear');
      answered(answer);
    });
  };
}

/** Safety, after every step; once something is wrong it is wrong ever after. */
function examineEveryStep({
  db,
  mirror,
  world,
  bank,
  acquirer,
  began,
  findings,
  examined,
  also,
}: Pick<Cast, 'db' | 'bank' | 'acquirer' | 'findings' | 'examined'> &
  Pick<Scene, 'world' | 'began'> & { mirror: Mirror; also(): Finding[] }) {
  const looks: Promise<void>[] = [];
  world.changed = () => {
    const at = `+${((world.now() - began) / 1000).toFixed(3)}`;
    const besides = also();
    const look = checkStep({ db, mirror, bank, acquirer }, world.now(), examined).then((stored) => {
      const found = [...besides, ...stored];
      if (findings.length === 0)
        for (const finding of found) findings.push({ ...finding, what: `${finding.what} (${at})` });
    });
    looks.push(look);
  };
  return looks;
}
