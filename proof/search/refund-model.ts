import { capabilities } from '@vintem/testkit/capabilities.ts';
import { accept } from '../../server/src/flow/accept.ts';
import { applyOutcome, ReturnUndecided } from '../../server/src/flow/apply.ts';
import { startSend, takeOverSend } from '../../server/src/flow/send.ts';
import { ApiError } from '../../server/src/ground/errors.ts';
import { charge } from '../../server/src/kinds/charge/charge.ts';
import { observedRefund, type RefundObservation } from '../../server/src/kinds/payment/refund-lines.ts';
import { refund as refundKind } from '../../server/src/kinds/refund/refund.ts';
import type { Intent } from '../../server/src/money/intent.ts';
import { providerIdOf } from '../../server/src/money/payment.ts';
import { isRefundOpen, type Refund } from '../../server/src/money/refund.ts';
import type { Action as Decided } from '../../server/src/operate/incidents/endings.ts';
import { buildResolution } from '../../server/src/operate/incidents/resolution.ts';
import type {
  PixReturn,
  QueryOutcome,
  RefundReport,
  SendOutcome,
} from '../../server/src/provider/provider.ts';
import { always } from '../../server/src/store/events/subscribed-types.ts';
import { OperatorRefused } from '../../server/src/store/operator.ts';
import type { Conditions } from '../../server/src/store/rows/conditions.sql.ts';
import { fingerprintOf, paymentIdFor } from '../../server/src/store/rows/idempotency.ts';
import {
  accountId,
  type Columns,
  connection,
  factsOfIntent,
  identity,
  Memory,
  nothingStored,
  operationId,
  Violation,
} from './memory.ts';
import {
  type Action,
  caller,
  type Form,
  forms,
  hour,
  isLeased,
  type Owner,
  type Rules,
  start,
  unclear,
  type World as WorldOf,
} from './model.ts';

/**
 * A paid charge whose money goes back: refunds that a merchant asks for (`refunds`), or a second Pix that stands in suspense and that a
 * person sends back to its payer (`payer return`). Each refund has its own place at the provider, its own owner, query and lost
 * requests; all of them share the charge, its Pix and the operation's columns, and a report of the charge lists them beside what the
 * provider took back by itself. Time is compared and not counted, as in `model.ts`.
 */
export type RefundKind = 'refunds' | 'payer return';

/** The provider's record of a refund. */
export type Row = 'none' | 'open' | 'completed' | 'refused';

/** One refund, and the world around it. */
export interface Lane {
  /** Null: what is left. */
  asked: number;
  row: Row;
  accepted: number;
  owner: Owner | null;
  zombie: Owner | null;
  orphans: number;
  query: { startedAt: number; saw: Row } | null;
}

/** A paid charge with its refunds; `card`: a payment by card (`card-model.ts`). */
export interface Returning {
  kind: RefundKind | 'card';
  stored: Memory['stored'];
  now: number;
  lanes: readonly Lane[];
  /** The part that the provider took back by itself. */
  takenCents: number;
}

export interface RefundLocal extends Returning {
  kind: RefundKind;
}

type World = WorldOf<Returning>;

export const pixCents = 1_000;
/** Of the charge whose refunds are asked for; its parts are no whole cents. */
export const feeCents = 3;
/** Of every account whose refunds are asked for. */
export const fees: Partial<Conditions> = {
  depositFeeCents: feeCents,
  cardFeeCents: feeCents,
  cardConnection: connection,
  refundFees: 'returned',
};
/** As much as a part that is refunded: under a name that says nothing, the two cannot be distinguished. */
const takenCents = 400;
const otherCents = 650;
/** Refunds of one charge. */
const most = 2;

/** A charge as the service itself makes it on a good day, paid once or twice. */
async function paidCharge(
  times: 1 | 2,
  conditions: Partial<Conditions> = {},
): Promise<{ stored: Memory['stored']; columns: Columns }> {
  const columns: Columns = {
    available: 0,
    reserved: 0,
    held: 0,
    receivable: 0,
    holdWanted: 0,
    cardHeld: 0,
    frozen: false,
    deleted: false,
  };
  const memory = new Memory(nothingStored, columns, start, conditions);
  const runtime = memory.runtime(capabilities, { transferWaitMs: 0 });
  void accept(runtime, charge, caller, {
    amountCents: pixCents,
    payerName: 'Maria',
    description: '',
    requestKey: requestKeyOf(99),
  }).catch(() => {});
  for (let turn = 0; turn < 60 && memory.called === null; turn++) await null;
  const paymentId = memory.stored.payment?.id ?? '';
  const received = Array.from({ length: times }, (_, at) => ({
    endToEnd: `E${at}`,
    amountCents: pixCents,
    paidAt: start,
    txid: providerIdOf(paymentId),
    returns: [],
  }));
  await applyOutcome(
    runtime,
    { ...placeOf(paymentId), observation: { from: 'webhook', id: 'w', received, payouts: [] } },
    Number.POSITIVE_INFINITY,
  );
  return { stored: memory.stored, columns: memory.columns };
}

export const requestKeyOf = (at: number): string =>
  `0190a000-0000-4000-8000-0000000000${String(at).padStart(2, '0')}`;

const placeOf = (paymentId: string) => ({
  accountId,
  paymentId,
  operationId,
  connection,
  kind: 'deposit' as const,
});

const begins = {
  refunds: await paidCharge(1, fees),
  'payer return': await paidCharge(2),
} as const;

/** The amount of each refund that is begun: two parts that fit, the same part twice, or more than there is. */
export type Parts = readonly number[];

export const newRefundLocal = (kind: RefundKind, parts: Parts): RefundLocal => ({
  kind,
  stored: begins[kind].stored,
  now: start + 1_000,
  lanes: lanesOf(parts),
  takenCents: 0,
});

export const lanesOf = (parts: Parts): Lane[] =>
  parts.map((asked) => ({
    asked,
    row: 'none',
    accepted: 0,
    owner: null,
    zombie: null,
    orphans: 0,
    query: null,
  }));

/** Of the Pix that these refunds give back. */
const endToEndOf = ({ kind }: Returning): string => (kind === 'refunds' ? 'E0' : 'E1');

const account = { id: accountId, number: caller.accountNumber };

/** The incident by which the Pix goes back: at first that of the Pix, then that of the return before. */
const references: readonly string[] = Array.from({ length: most }).reduce<string[]>(
  (all) => [
    ...all,
    all.length === 0
      ? `suspense:${begins['payer return'].stored.payment?.id}:E1`
      : `return_refused:${paymentIdFor(identity, account, all.at(-1) ?? '')}`,
  ],
  [],
);

/** Made once: it is asked for in every step. */
const asked = Array.from({ length: most }, (_, lane) => paymentIdFor(identity, account, requestKeyOf(lane)));
const refundIds = {
  refunds: asked,
  card: asked,
  'payer return': references.map((reference) => paymentIdFor(identity, account, reference)),
} as const;

export const refundIdOf = ({ kind }: Returning, lane: number): string => refundIds[kind][lane] as string;

const refundAt = (local: Returning, lane: number): Refund | undefined => {
  const id = refundIdOf(local, lane);
  return local.stored.refunds.find((one) => one.id === id);
};

export const intentAt = (local: Returning, lane: number): Intent | undefined => {
  const id = refundIdOf(local, lane);
  return local.stored.refundIntents.find(({ paymentId }) => paymentId === id);
};

export const amountAt = (local: Returning, lane: number): number => refundAt(local, lane)?.amountCents ?? 0;

/** The rest of the Pix that the provider could still give back. */
const providerHas = (local: Returning): number =>
  local.lanes.reduce(
    (left, { row }, at) => (row === 'open' || row === 'completed' ? left - amountAt(local, at) : left),
    pixCents - local.takenCents,
  );

function withLane(local: Returning, at: number, change: Partial<Lane>): void {
  local.lanes = local.lanes.with(at, { ...(local.lanes[at] as Lane), ...change });
}

/** Everything that can happen next. */
export function actionsOf(local: Returning, rules: Rules): Action<Returning>[] {
  const actions: Action<Returning>[] = [];
  const can: Can = (name, run, fault = false) => actions.push({ name, fault, run });
  for (const at of local.lanes.keys()) laneActions(local, at, rules, can);
  if (local.kind === 'payer return') decisions(local, rules, can);
  const returned = local.lanes.some(({ row }) => row !== 'none') || local.takenCents > 0;
  if (returned)
    for (const form of forms) {
      can(`a report of the charge arrives (${form})`, (world) => reportCharge(world, rules, form));
      can(
        `an older report of the charge arrives (${form})`,
        (world) => reportCharge(world, rules, form, (row) => (row === 'none' ? 'none' : 'open')),
        true,
      );
    }
  if (local.takenCents === 0 && rules.returns && providerHas(local) >= takenCents)
    can('the provider takes a part of the Pix back', ({ local: one }) => {
      one.takenCents = takenCents;
    });
  timeActions(local, can);
  return actions;
}

export type Can = (name: string, run: Action<Returning>['run'], fault?: boolean) => void;

export function laneActions(local: Returning, at: number, rules: Rules, can: Can): void {
  const lane = local.lanes[at] as Lane;
  const refund = refundAt(local, at);
  const name = (what: string) => `refund ${at + 1}: ${what}`;
  // A repeat changes nothing, and `ask` looks: of a refund beside others it is as of one by itself.
  const repeats = local.kind !== 'payer return' && local.lanes.length === 1;
  if (repeats || (local.kind !== 'payer return' && !refund))
    can(name('it is asked for'), (world) => ask(world, rules, at, lane.asked));
  if (!refund) return;
  if (repeats)
    can(name('the request key comes with another amount'), (world) => ask(world, rules, at, lane.asked - 1));
  const intent = intentAt(local, at);
  if (intent && intent.state !== 'sending' && lane.owner === null)
    can(name('a worker starts an attempt'), (world) => begin(world, rules, at));
  if (intent?.state === 'sending' && intent.leaseUntil !== null && intent.leaseUntil <= local.now)
    can(name('a worker takes over'), (world) => takeOver(world, rules, at));
  if (intent?.state === 'awaiting' && lane.query === null) {
    if (rules.lean) queryActions(local, at, { startedAt: local.now, saw: lane.row }, rules, can);
    else
      can(name('a query goes out'), ({ local: one }) =>
        withLane(one, at, { query: { startedAt: one.now, saw: (one.lanes[at] as Lane).row } }),
      );
  }
  if (lane.query) queryActions(local, at, lane.query, rules, can);
  for (const who of ['owner', 'zombie'] as const) {
    const one = lane[who];
    if (one) ownerActions(local, at, who, one, rules, can);
  }
  providerActions(local, at, rules, can);
}

function ownerActions(
  local: Returning,
  at: number,
  who: 'owner' | 'zombie',
  { phase, fence }: Owner,
  rules: Rules,
  can: Can,
): void {
  const name = (what: string) => `refund ${at + 1}: the ${who} ${what}`;
  const orphansAfter = (one: Returning) => {
    const { orphans } = one.lanes[at] as Lane;
    return phase === 'sent' ? Math.min(rules.lean ? 1 : 2, orphans + 1) : orphans;
  };
  const goes = (to: Owner['phase']) => (world: World) =>
    withLane(world.local, at, { [who]: { fence, phase: to } });
  const stores = (what: string, outcome: SendOutcome<RefundReport>, fault = false) =>
    can(
      name(`stores: ${what}`),
      async (world) => {
        withLane(world.local, at, { [who]: null, orphans: orphansAfter(world.local) });
        await observe(world, rules, at, { from: 'send', fence, outcome });
      },
      fault,
    );
  can(name('dies'), ({ local: one }) => withLane(one, at, { [who]: null, orphans: orphansAfter(one) }), true);
  if (phase === 'toSend') {
    const intent = intentAt(local, at);
    if (who === 'owner' && isLeased(intent, fence, local.now)) can(name('writes the request'), goes('sent'));
    else can(name('sees that its lease is over'), ({ local: one }) => withLane(one, at, { [who]: null }));
    stores('no connection, nothing was sent', { outcome: 'notSent', detail: '' }, true);
    return;
  }
  if (phase === 'sent') {
    can(name('loses the request'), goes('silent'), true);
    for (const [what, fault, arrive] of arrivals(local, at, rules))
      can(name(`reaches the provider: ${what}`), (world) => goes(arrive(world.local))(world), fault);
  }
  const said = answerOf(local, at, phase);
  if (said) stores(phase, said);
  if (phase === 'refused')
    stores('refused, and what is there cannot be looked at', { ...unclear, refused: true }, true);
  stores('no answer', unclear, phase !== 'silent');
}

function answerOf(local: Returning, at: number, phase: Owner['phase']): SendOutcome<RefundReport> | null {
  switch (phase) {
    case 'accepted':
    case 'completed': {
      const report = reportOf(local, at, phase === 'completed' ? 'completed' : 'open');
      return report && { outcome: 'accepted', report };
    }
    case 'refused':
      return { outcome: 'refused', reason: 'provider_refused', detail: '' };
    case 'duplicate':
      return { outcome: 'duplicate' };
    default:
      return null;
  }
}

type Arrival = readonly [name: string, fault: boolean, arrive: (local: Returning) => Owner['phase']];

/** The provider's handling of a request that reaches it. */
function arrivals(local: Returning, at: number, rules: Rules): Arrival[] {
  const { row, accepted } = local.lanes[at] as Lane;
  if (row !== 'none' && rules.providerIsIdempotent) return [['a duplicate', false, () => 'duplicate']];
  const takes = (name: string, to: 'open' | 'completed'): Arrival => [
    name,
    false,
    (one) => {
      withLane(one, at, { row: to, accepted: accepted + 1 });
      return to === 'completed' ? 'completed' : 'accepted';
    },
  ];
  const fits = amountAt(local, at) <= providerHas(local);
  return [
    ...(fits ? [takes('accepted', 'open'), takes('completed at once', 'completed')] : []),
    [
      'refused',
      false,
      (one) => {
        if (rules.refusalLeavesRow) withLane(one, at, { row: 'refused' });
        return 'refused';
      },
    ],
    ['an error before any effect', true, () => 'silent'],
  ];
}

function providerActions(local: Returning, at: number, rules: Rules, can: Can): void {
  const { row, orphans } = local.lanes[at] as Lane;
  const name = (what: string) => `refund ${at + 1}: ${what}`;
  if (row === 'open') {
    can(name('the provider completes it'), ({ local: one }) => withLane(one, at, { row: 'completed' }));
    can(name('the provider refuses it later'), ({ local: one }) => withLane(one, at, { row: 'refused' }));
  }
  if (orphans === 0) return;
  can(
    name('a lost request never arrives'),
    ({ local: one }) => withLane(one, at, { orphans: orphans - 1 }),
    true,
  );
  for (const [what, , arrive] of arrivals(local, at, rules))
    can(
      name(`a delayed request arrives: ${what}`),
      ({ local: one }) => {
        arrive(one);
        withLane(one, at, { orphans: orphans - 1 });
      },
      true,
    );
}

function queryActions(
  local: Returning,
  at: number,
  { startedAt, saw }: NonNullable<Lane['query']>,
  rules: Rules,
  can: Can,
): void {
  const { row } = local.lanes[at] as Lane;
  const told = (of: Row): QueryOutcome<RefundReport> => {
    const report = reportOf(local, at, of);
    return report ? { outcome: 'found', report } : { outcome: 'notFound' };
  };
  const end = (what: string, outcome: QueryOutcome<RefundReport>, fault = false) =>
    can(
      `refund ${at + 1}: the query ends: ${what}`,
      async (world) => {
        withLane(world.local, at, { query: null });
        const before = refundAt(world.local, at);
        await observe(world, rules, at, { from: 'query', id: 'q', startedAt, outcome });
        const isOther = outcome.outcome === 'found' && outcome.report.amountCents === otherCents;
        if (isOther && refundAt(world.local, at)?.status !== before?.status)
          throw new Violation('a report with another amount ended the refund (53)');
      },
      fault,
    );
  end('as it is', told(row));
  if (saw !== row) end('as it was when it began', told(saw), true);
  end('no answer', unclear, true);
  if (row === 'none') return;
  end('not found, wrongly', { outcome: 'notFound' }, true);
  if (row !== 'open') end('as it was created', told('open'), true);
  const report = reportOf(local, at, row);
  if (report && report.amountCents !== otherCents)
    end('with another amount', { outcome: 'found', report: { ...report, amountCents: otherCents } }, true);
}

/** A person's decisions about the Pix in suspense, or about its return. */
function decisions(local: Returning, rules: Rules, can: Can): void {
  for (const at of local.lanes.keys()) {
    const reference = references[at] as string;
    const incident = local.stored.incidents.find((one) => one.reference === reference);
    if (!incident || local.stored.resolved.has(reference)) continue;
    for (const action of ['return', 'credit', 'writeoff'] as const)
      can(`a person decides ${action} (${at + 1})`, (world) => decide(world, rules, at, action));
  }
}

function decide(world: World, rules: Rules, at: number, action: Decided): void {
  const { local } = world;
  const reference = references[at] as string;
  const incident = local.stored.incidents.find((one) => one.reference === reference);
  if (!incident) return;
  const memory = new Memory(local.stored, world.columns, local.now);
  const command = buildResolution({
    incident: { ...incident, state: 'open', resolvedAt: null, resolution: null, keptAt: null },
    action,
    reason: 'looked at',
    actor: 'operator',
    test: true,
    firstConnection: connection,
    mainOperationId: null,
    reference: 'E1',
    suspended: { cents: pixCents, at: start, connection },
    money: 'E1',
    claimed: false,
    named: null,
    decider: 'operator',
    returning:
      action === 'return'
        ? {
            refundId: paymentIdFor(identity, account, reference),
            fingerprint: fingerprintOf(identity, { reference }),
          }
        : null,
    subscribed: always,
    token: memory.runtime(rules.capabilities, rules).ids.uuid(),
    deadlineMs: Number.POSITIVE_INFINITY,
  });
  try {
    memory.submit(command);
  } catch (error) {
    if (!(error instanceof OperatorRefused)) throw error;
  }
  storeRefunds(world, memory);
}

export function timeActions(local: Returning, can: Can, more: readonly number[] = []): void {
  const marks = [...more, ...local.lanes.flatMap((_, at) => marksOf(local, at))];
  if (marks.some((mark) => mark > local.now && mark <= local.now + 20_000))
    can(
      '20 s pass',
      ({ local: one }) => {
        one.now += 20_000;
      },
      local.lanes.some(({ owner }) => owner !== null),
    );
  if (marks.some((mark) => mark > local.now + 20_000))
    can('a day and an hour pass', ({ local: one }) => {
      one.now += 25 * hour;
    });
}

/** The instants that some rule compares the present with. */
function marksOf(local: Returning, at: number): number[] {
  const intent = intentAt(local, at);
  if (!intent) return [];
  const { leaseUntil, absentAt, absences } = intent;
  const overdueAt = overdueAtOf(intent);
  return [
    ...(leaseUntil === null ? [] : [leaseUntil]),
    ...(absentAt !== null && absences < 2 ? [absentAt + 10_000] : []),
    ...(overdueAt === null ? [] : [overdueAt]),
  ];
}

const overdueAtOf = ({ undecidedSince }: Intent): number | null =>
  undecidedSince === null ? null : undecidedSince + 24 * hour + 1;

// ------------------------------------------------------------------------------------------------------------ the service

async function ask(world: World, rules: Rules, at: number, amountCents: number): Promise<void> {
  const { local } = world;
  const before = refundAt(local, at);
  const memory = new Memory(local.stored, world.columns, local.now, fees);
  const order = {
    paymentId: local.stored.payment?.id ?? '',
    amountCents,
    description: '',
    requestKey: requestKeyOf(at),
  };
  let failed: unknown = null;
  let answered = false;
  accept(memory.runtime(rules.capabilities, rules), refundKind, caller, order).then(
    () => {
      answered = true;
    },
    (error: unknown) => {
      failed = error;
    },
  );
  for (let turn = 0; turn < 60 && !answered && failed === null && memory.called === null; turn++) await null;
  if (failed !== null && !(failed instanceof ApiError)) throw failed;
  if (before || failed !== null) {
    if (memory.called !== null) throw new Violation('what was asked before, or refused, was sent');
    if (memory.stored.movements.length !== local.stored.movements.length)
      throw new Violation('what was asked before, or refused, moved money');
    if (before && amountCents !== before.amountCents && failed === null)
      throw new Violation('a request key was taken with other data');
    return;
  }
  const earlier = broughtBack(alive(local.stored.refunds));
  storeRefunds(world, memory);
  const now = alive(local.stored.refunds);
  const inAll = Math.max(earlier, Math.floor((feeCents * sumOf(now)) / pixCents + 0.5));
  if (broughtBack(now) !== inAll)
    throw new Violation(`${broughtBack(now)} of the fee come back, and not ${inAll} (60)`);
  if (memory.called === null) return;
  const intent = intentAt(local, at);
  if (intent?.state !== 'sending') throw new Violation('it was sent without an intent on record');
  withLane(local, at, { owner: { fence: intent.fence, phase: 'toSend' } });
}

async function begin(world: World, rules: Rules, at: number): Promise<void> {
  const intent = intentAt(world.local, at);
  if (!intent) return;
  const memory = new Memory(world.local.stored, world.columns, world.local.now);
  const attempt = await startSend(memory.runtime(rules.capabilities, rules), intent);
  storeRefunds(world, memory);
  if (attempt) withLane(world.local, at, { owner: { fence: attempt.fence, phase: 'toSend' } });
}

async function takeOver(world: World, rules: Rules, at: number): Promise<void> {
  const { local } = world;
  const intent = intentAt(local, at);
  if (!intent) return;
  const memory = new Memory(local.stored, world.columns, local.now);
  await takeOverSend(memory.runtime(rules.capabilities, rules), intent);
  storeRefunds(world, memory);
  const { owner, zombie, orphans } = local.lanes[at] as Lane;
  if (owner)
    withLane(local, at, {
      owner: null,
      zombie: owner,
      orphans: zombie?.phase === 'sent' ? Math.min(2, orphans + 1) : orphans,
    });
}

async function observe(
  world: World,
  rules: Rules,
  at: number,
  observation: RefundObservation,
): Promise<void> {
  const { local } = world;
  const refund = refundAt(local, at);
  if (!refund) return;
  const intent = intentAt(local, at);
  const memory = new Memory(local.stored, world.columns, local.now);
  await applyOutcome(
    memory.runtime(rules.capabilities, rules),
    observedRefund(refund, connection, observation),
    Number.POSITIVE_INFINITY,
  );
  if (
    observation.from === 'send' &&
    intent?.fence !== observation.fence &&
    observation.outcome.outcome !== 'accepted'
  )
    if (
      memory.stored.refunds !== local.stored.refunds ||
      memory.stored.refundIntents !== local.stored.refundIntents
    )
      throw new Violation('an owner that was overtaken changed something (47)');
  storeRefunds(world, memory);
}

/** The provider's report of the charge: its Pix, each with its refunds and debits. */
async function reportCharge(
  world: World,
  rules: Rules,
  form: Form,
  seen: (row: Row) => Row = (row) => row,
): Promise<void> {
  const { local } = world;
  const { payment } = local.stored;
  if (!payment) return;
  const lines = local.lanes.flatMap(({ row }, at) => lineOf(local, at, seen(row), form) ?? []);
  const taken = local.takenCents > 0 ? [lineNamed('taken', 'RT', form, takenCents, 'settled')] : [];
  const pix = (endToEnd: string) => ({
    endToEnd,
    amountCents: pixCents,
    paidAt: start,
    txid: providerIdOf(payment.id),
    returns: endToEnd === endToEndOf(local) ? [...taken, ...lines] : [],
  });
  const received = local.kind === 'refunds' ? [pix('E0')] : [pix('E0'), pix('E1')];
  const memory = new Memory(local.stored, world.columns, local.now);
  const observation = { from: 'webhook', id: 'w', received, payouts: [] } as const;
  await applyOutcome(
    memory.runtime(rules.capabilities, rules),
    { ...placeOf(payment.id), observation: { ...observation, received, payouts: [] } },
    Number.POSITIVE_INFINITY,
  ).catch((error: unknown) => {
    if (!(error instanceof ReturnUndecided)) throw error;
  });
  storeRefunds(world, memory);
}

const lineOf = (local: Returning, at: number, row: Row, form: Form): PixReturn | null => {
  if (row === 'none') return null;
  const status = row === 'open' ? 'pending' : row === 'completed' ? 'settled' : 'failed';
  return lineNamed(providerIdOf(refundIdOf(local, at)), `R${at}`, form, amountAt(local, at), status);
};

const lineNamed = (
  id: string,
  rtrId: string,
  form: Form,
  amountCents: number,
  status: PixReturn['status'],
): PixReturn => ({
  id: form === 'rtrId' ? null : id,
  rtrId: form === 'id' ? null : rtrId,
  amountCents,
  at: start,
  status,
});

function reportOf(local: Returning, at: number, row: Row): RefundReport | null {
  if (row === 'none') return null;
  return {
    providerId: providerIdOf(refundIdOf(local, at)),
    rtrId: `R${at}`,
    amountCents: amountAt(local, at),
    status: row === 'open' ? 'pending' : row,
    settledAt: row === 'completed' ? start : null,
    reason: row === 'refused' ? 'provider_refused' : null,
  };
}

export function storeRefunds(world: World, memory: Memory): void {
  const before = world.local.stored.refunds;
  world.local.stored = memory.stored;
  world.columns = memory.columns;
  for (const old of before) {
    const now = memory.stored.refunds.find(({ id }) => id === old.id);
    if (!now) throw new Violation('a refund is gone');
    if (now.status !== old.status && !allowed[old.status].includes(now.status))
      throw new Violation(`a refund that was ${old.status} became ${now.status} (53)`);
    if (now.amountCents !== old.amountCents) throw new Violation('the amount of a refund changed');
    if (now.feeBackCents !== old.feeBackCents)
      throw new Violation('the fee that a refund brings back changed');
    if (now !== old && now.updatedAt <= old.updatedAt) throw new Violation('updatedAt did not increase');
  }
}

const allowed: Record<Refund['status'], readonly Refund['status'][]> = {
  unknown: ['pending', 'completed', 'failed'],
  pending: ['completed', 'failed'],
  completed: [],
  failed: [],
};

// ------------------------------------------------------------------------------------------------------- what must hold

export const sumOf = (refunds: readonly Refund[]): number =>
  refunds.reduce((sum, { amountCents }) => sum + amountCents, 0);

const broughtBack = (refunds: readonly Refund[]): number =>
  refunds.reduce((sum, { feeBackCents }) => sum + (feeBackCents ?? 0), 0);

export const alive = (refunds: readonly Refund[]): Refund[] =>
  refunds.filter(({ status }) => status !== 'failed');

/** Throws a Violation when this state must not exist. */
export function check({ local, columns }: World): void {
  const { stored, lanes } = local;
  const { refunds, movements, payment } = stored;
  const count = (...kinds: string[]) => movements.filter((one) => kinds.includes(one)).length;
  const of = (...statuses: Refund['status'][]) => refunds.filter(({ status }) => statuses.includes(status));
  for (const [at, lane] of lanes.entries()) checkLane(local, lane, at);
  const asked = sumOf(alive(refunds));
  if (asked > pixCents) throw new Violation(`${asked} of ${pixCents} are refunded (54)`);
  const given = local.kind === 'refunds' ? sumOf(of('completed')) : 0;
  if (payment?.refundedCents !== given)
    throw new Violation('the charge says another sum than was given back (54)');
  if (count('refundReserve', 'suspenseReserve') !== refunds.length) throw new Violation('reserves (53)');
  if (count('refundComplete') !== of('completed').length) throw new Violation('completions (53)');
  if (count('refundRelease', 'suspenseRelease') !== of('failed').length) throw new Violation('releases (53)');
  if (stored.returns.length > (local.takenCents > 0 ? 1 : 0))
    throw new Violation('a refund is posted as a debit (56)');
  if (local.kind === 'payer return') checkSuspense(local, columns);
  else checkFees(local);
}

/** Each completed refund has brought back its part of the fee, and all of them no more than the fee. */
function checkFees({ stored: { refunds, feeRevenue } }: Returning): void {
  const completed = refunds.filter(({ status }) => status === 'completed');
  if (feeRevenue !== feeCents - broughtBack(completed))
    throw new Violation(`the fee of ${feeCents} stands at ${feeRevenue} (60)`);
  const unfailed = alive(refunds);
  if (broughtBack(unfailed) > feeCents) throw new Violation('more than the fee comes back (60)');
  if (sumOf(unfailed) === pixCents && broughtBack(unfailed) !== feeCents)
    throw new Violation('everything is refunded, and not the whole fee comes back (60)');
}

export function checkLane(local: Returning, { row, accepted }: Lane, at: number): void {
  const refund = refundAt(local, at);
  if (accepted > 1) throw new Violation('the provider gave it back twice (12)');
  if (!refund) return;
  const intent = intentAt(local, at);
  if (isRefundOpen(refund) !== (intent !== undefined))
    throw new Violation(`a refund is ${refund.status} ${intent ? 'with' : 'without'} an intent (55)`);
  const gone = row === 'open' || row === 'completed';
  if (refund.status === 'failed' && gone)
    throw new Violation(`a failed refund, and the provider has it (14)`);
  if (refund.status === 'failed' && accepted > 0 && row !== 'refused')
    throw new Violation('failed after an acceptance (14)');
  if (refund.status === 'completed' && row !== 'completed')
    throw new Violation('completed without the provider (53)');
  if (!intent) return;
  const overdueAt = overdueAtOf(intent);
  const isOverdue = overdueAt !== null && (intent.answeredAt ?? 0) >= overdueAt;
  if (isOverdue && !local.stored.incidents.some(({ kind }) => kind.startsWith('refund_')))
    throw new Violation('a day of answered queries, and no incident (50)');
}

/** A Pix in suspense leaves it once: back to its payer, to the merchant, or as a gain. */
function checkSuspense({ stored, takenCents: taken }: Returning, { available }: Columns): void {
  const open = sumOf(stored.refunds.filter(isRefundOpen));
  if (stored.ownReserved !== open)
    throw new Violation(`reserved ${stored.ownReserved}, open returns ${open} (59)`);
  if (stored.suspense < -taken) throw new Violation('more left suspense than came in (59)');
  const went = stored.refunds.some(({ status }) => status !== 'failed') ? 1 : 0;
  const decided = [...stored.resolved.values()].filter(
    (action) => action === 'credit' || action === 'writeoff',
  );
  if (went + decided.length > 1) throw new Violation('a Pix in suspense went two ways (59)');
  // A credit takes what is left of the Pix: less where the provider took a part before.
  const credits = [0, pixCents, ...(taken > 0 ? [pixCents - taken] : [])];
  if (!credits.includes(available - pixCents)) throw new Violation('a balance of another sum (59)');
}

/** Every refund has ended, and every cent that the provider moved is in the journal; or a person has to look. */
export function hasEnded(local: Returning): boolean {
  const { stored, lanes } = local;
  const gone = lanes.reduce((sum, { row }, at) => (row === 'completed' ? sum + amountAt(local, at) : sum), 0);
  const moved = gone + local.takenCents - pixCents * (local.kind === 'refunds' ? 1 : 2);
  const waits = stored.refunds.some((one, at) => isRefundOpen(one) && !waitsForPerson(local, at));
  return !waits && stored.clearing === moved;
}

/** Never sent, and its operation is frozen: it goes out when a person has looked at the incident that froze it. */
export const waitsForPerson = (local: Returning, at: number): boolean =>
  intentAt(local, at)?.state === 'ready' && local.stored.incidents.some(({ freezes }) => freezes);

/** The part of the operation's balance that is reserved for it. */
export const reservedFor = ({ kind, stored: { refunds } }: Returning): number =>
  kind !== 'payer return' ? sumOf(refunds.filter(isRefundOpen)) : 0;

/** Whether it keeps its operation from being deleted, besides by the columns. */
export const blocksDeletion = ({ stored: { refundIntents, incidents, resolved } }: Returning): boolean =>
  refundIntents.length > 0 || incidents.some(({ reference }) => !resolved.has(reference));

// -------------------------------------------------------------------------------------------------------------- the key

/** Everything that what happens next depends on, and nothing else. */
export function keyOf(local: Returning): string {
  const { kind, stored, lanes, takenCents: taken } = local;
  return [
    kind,
    taken,
    stored.payment?.refundedCents,
    stored.payment?.notice ?? '-',
    stored.returns
      .map(({ pix, id, rtrId, posted }) => `${pix}/${id}/${rtrId}/${posted}`)
      .sort()
      .join(),
    stored.incidents
      .map(
        ({ kind: of, reference, amountCents }) =>
          `${of}${amountCents}${stored.resolved.get(reference) ?? ''}`,
      )
      .sort()
      .join(),
    ...lanes.map((lane, at) => keyOfLane(local, lane, at)),
  ].join('|');
}

export function keyOfLane(local: Returning, lane: Lane, at: number): string {
  const refund = refundAt(local, at);
  const intent = intentAt(local, at);
  const { now } = local;
  const owned = (one: Owner | null) => (one ? `${one.phase}${one.fence === intent?.fence ? '=' : '!'}` : '-');
  const parts: unknown[] = [
    lane.asked,
    lane.row,
    lane.accepted,
    lane.orphans,
    owned(lane.owner),
    owned(lane.zombie),
    refund?.status ?? '-',
    refund?.rtrId ?? '-',
    refund?.feeBackCents ?? '-',
  ];
  if (intent) parts.push(...factsOfIntent(intent, now, overdueAtOf(intent) ?? Number.POSITIVE_INFINITY));
  if (lane.query)
    parts.push(
      lane.query.saw,
      intent !== undefined && lane.query.startedAt >= (intent.attemptEndedAt ?? Number.POSITIVE_INFINITY),
      intent !== undefined && (intent.absentAt === null || lane.query.startedAt >= intent.absentAt + 10_000),
    );
  return parts.join(',');
}
