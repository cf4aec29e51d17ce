import { type AcceptDeps, accept } from '../../server/src/flow/accept.ts';
import { applyOutcome } from '../../server/src/flow/apply.ts';
import { startSend, takeOverSend } from '../../server/src/flow/send.ts';
import { buildSecondStep } from '../../server/src/flow/send-commands.ts';
import type { Caller } from '../../server/src/ground/caller.ts';
import { ApiError } from '../../server/src/ground/errors.ts';
import { linkCharge } from '../../server/src/kinds/charge/by-link.ts';
import { type ChargeOrder, charge } from '../../server/src/kinds/charge/charge.ts';
import type { Observation } from '../../server/src/kinds/payment/interpret-report.ts';
import { transfer } from '../../server/src/kinds/transfer/transfer.ts';
import type { Intent } from '../../server/src/money/intent.ts';
import {
  isTerminal,
  type Payment,
  type PaymentStatus,
  providerIdOf,
} from '../../server/src/money/payment.ts';
import type {
  Capabilities,
  ChargeReport,
  PayoutReport,
  PixReturn,
  QueryOutcome,
  ReceivedPix,
  SendOutcome,
} from '../../server/src/provider/provider.ts';
import {
  accountId,
  type Columns,
  connection,
  factsOfIntent,
  Memory,
  nothingStored,
  operationId,
  receiver,
  type Stored,
  Violation,
} from './memory.ts';

/**
 * One payment and the world around it: what is stored of it, what the provider holds true, what is on its way between
 * the two, and who is at work on it. `actionsOf` lists everything that can happen next; each is one atomic step, so
 * every interleaving and a crash between any two of them is a path of the search.
 *
 * Time is not counted but compared. Each step takes a millisecond, and the actions that wait jump over whatever the rules
 * compare with (a lease, ten seconds between two absences, a deadline, a day). The key of a state holds the outcomes of
 * these comparisons and no instants, so the set of states is finite although nothing bounds repeats, queries or deliveries.
 */
export type Kind = 'transfer' | 'charge';

/** A process that began an attempt and is still alive; without one, its process died. */
export interface Owner {
  fence: string;
  phase:
    | 'toSend'
    | 'sent'
    | 'silent'
    | 'accepted'
    | 'completed'
    | 'refused'
    | 'duplicate'
    /** Of two steps: the first is answered, the second is recorded, and was written; the provider did not take it. */
    | 'prepared'
    | 'toConfirm'
    | 'confirmSent'
    | 'notTaken';
}

interface Query {
  startedAt: number;
  /** The provider's state when it began: an answer may be that old. */
  saw: Truth;
}

interface Truth {
  row: 'none' | 'prepared' | 'open' | 'completed' | 'refused' | 'removed';
  /** How many returns there are: of a transfer 400 cents each, of a charge the whole of a Pix, in the order of the Pix. */
  returned: number;
  /** Amounts that payers paid for a charge, in order. */
  paid: readonly number[];
}

/** `returned1`, `returned2`: with as many returns. */
type Hook = 'completed' | 'refused' | 'removed' | 'returned1' | 'returned2' | 'paid0' | 'paid1';

/** Under which names a report shows returns. */
export type Form = 'id' | 'rtrId' | 'both';
export const forms: readonly Form[] = ['id', 'rtrId', 'both'];
const formsOf = (truth: Truth): readonly Form[] => (truth.returned > 0 ? forms : ['both']);

export interface Local {
  kind: Kind;
  stored: Stored;
  now: number;
  truth: Truth;
  /** How often the provider accepted it. */
  accepted: number;
  /** It said refused and completed it all the same. */
  contradicted: boolean;
  /** Requests on their way to the provider whose sender no longer waits: at most two. */
  orphans: number;
  /** The same of second steps. */
  lateConfirms: number;
  /** The provider has said that it has it prepared. */
  saidPrepared: boolean;
  /** The provider has said that a person removed it there. */
  saidRemoved: boolean;
  owner: Owner | null;
  /** An owner whose lease ended and who does not know it yet. */
  zombie: Owner | null;
  query: Query | null;
  /** A report can be delivered again at any time. */
  hooks: ReadonlySet<Hook>;
}

export interface Rules {
  name: string;
  capabilities: Capabilities;
  /** Callers wait for the answer, so acceptance commits `sending`; or it commits `ready` for a worker. */
  transferWaitMs: number;
  /** The provider never decides an id twice. Without it a repeat pays again: only for adapters that never repeat. */
  providerIsIdempotent: boolean;
  /** A first call prepares a transfer, and a second one sends it. */
  twoSteps?: true;
  /** A person may remove an accepted transfer in the provider's panel: no call finds it from then on, and a later request with its id is a duplicate. */
  removals?: true;
  /** A refusal leaves a row, so that a later request with the id is a duplicate. */
  refusalLeavesRow: boolean;
  /** The provider may complete what it refused. */
  contradictions: boolean;
  /**
   * For products of several payments: queries are one step, one request at most is on its way without a caller who waits,
   * nothing comes back, and a charge is paid once.
   */
  lean: boolean;
  /** It numbers the terms of a charge with a due date, and reports the parts of what paid one. */
  numbersTerms?: boolean;
  saysParts?: boolean;
  /** A payment comes back, up to twice, and is reported under changing names. */
  returns: boolean;
  /** A planted mistake: what a wrong reading would make of an observation. */
  planted?: (observation: Observation, intent: Intent | null) => Observation;
}

export interface Action<L = Local> {
  name: string;
  /** Something that does not happen on a good day. */
  fault: boolean;
  run(world: World<L>): Promise<void> | void;
}

/** A local state being changed by an action, with the operation's columns that it sees. */
export interface World<L = Local> {
  local: L;
  columns: Columns;
}

export const grossCents = 1_000;
export const feeCents = 25;
export const chargeCents = 1_000;
const netCents = grossCents - feeCents;
const backCents = 400;
const otherCents = 700;
export const start = Date.UTC(2026, 10, 20);
export const hour = 3_600_000;

export const newLocal = (kind: Kind): Local => ({
  kind,
  stored: nothingStored,
  now: start,
  truth: { row: 'none', returned: 0, paid: [] },
  accepted: 0,
  contradicted: false,
  orphans: 0,
  lateConfirms: 0,
  saidPrepared: false,
  saidRemoved: false,
  owner: null,
  zombie: null,
  query: null,
  hooks: new Set(),
});

export const caller: Caller = {
  accountId,
  accountNumber: 7,
  test: true,
  connection,
  keyId: 'key',
  permissions: new Set(),
  requestId: 'req',
  operationId,
  operationNamed: true,
};

/** Of the payment link by which a charge is made, where there is one. */
export const linkId = '0190a000-0000-7000-8000-00000000000b';

const requestKey = '0190a000-0000-4000-8000-000000000099';

/** Everything that can happen next to this payment. */
export function actionsOf(local: Local, rules: Rules): Action[] {
  const { stored, owner, zombie, query, truth, orphans, now } = local;
  const { payment, intent } = stored;
  const actions: Action[] = [];
  const most = rules.lean ? 1 : 2;
  const can = (name: string, run: Action['run'], fault = false) => actions.push({ name, fault, run });

  // ---------------------------------------------------------------------------------------------------- the service
  if (payment === null) {
    can('accept', (world) => ask(world, rules, 'same'));
    return actions;
  }
  // A repeat must change nothing: `accept` looks, and no state comes of it.
  can('the request is repeated', (world) => ask(world, rules, 'same'));
  can('the request key comes with other data', (world) => ask(world, rules, 'other'));
  if (intent) {
    const mayStart = intent.state !== 'sending' && owner === null;
    if (mayStart) can('a worker starts an attempt', (world) => begin(world, rules));
    if (intent.state === 'sending' && intent.leaseUntil !== null && intent.leaseUntil <= now)
      can('a worker takes over', (world) => takeOver(world, rules));
    if (intent.state === 'awaiting' && query === null) {
      if (rules.lean) queryActions({ startedAt: now, saw: truth });
      else
        can('a query goes out', ({ local: one }) => {
          one.query = { startedAt: one.now, saw: one.truth };
        });
    }
  }
  if (owner) ownerActions('owner', owner);
  if (zombie) ownerActions('zombie', zombie);

  function ownerActions(who: 'owner' | 'zombie', { phase, fence }: Owner): void {
    const report = (name: string, outcome: SendOutcome<ChargeReport | PayoutReport>, fault = false) =>
      can(
        `the ${who} stores: ${name}`,
        async (world) => {
          const before = world.local[who];
          if (before) leaveBehind(world.local, before, most);
          world.local[who] = null;
          await observe(world, rules, { from: 'send', fence, outcome });
        },
        fault,
      );
    can(
      `the ${who}'s process dies`,
      ({ local: one }) => {
        leaveBehind(one, { fence, phase }, most);
        one[who] = null;
      },
      true,
    );
    switch (phase) {
      case 'prepared':
        can(`the ${who} records its second step`, (world) => beginSecond(world, rules, who, fence));
        report('prepared, and what sends it is stopped', accepted(local, 'prepared'), true);
        report('no answer', unclear, true);
        return;
      case 'confirmSent':
        can(
          `the ${who}'s second request is lost`,
          ({ local: one }) => {
            one[who] = { fence, phase: 'silent' };
          },
          true,
        );
        for (const [name, fault, arrive] of confirmArrivals(local, rules))
          can(
            `the ${who}'s second request arrives: ${name}`,
            (world) => {
              const answer = arrive(world);
              world.local[who] = { fence, phase: answer };
            },
            fault,
          );
        report('no answer', unclear, true);
        return;
      case 'notTaken':
        report('prepared as before', accepted(local, 'prepared'));
        report('no answer', unclear, true);
        return;
      case 'toConfirm':
      case 'toSend': {
        // The lease is checked right before the write; what is slow after that is a request on its way.
        if (who === 'owner' && isLeased(intent, fence, now))
          can(`the ${who} writes the request`, ({ local: one }) => {
            one[who] = { fence, phase: phase === 'toSend' ? 'sent' : 'confirmSent' };
          });
        else
          can(`the ${who} sees that its lease is over`, ({ local: one }) => {
            one[who] = null;
          });
        report('no connection, nothing was sent', { outcome: 'notSent', detail: '' }, true);
        return;
      }
      case 'sent':
        can(
          `the ${who}'s request is lost`,
          ({ local: one }) => {
            one[who] = { fence, phase: 'silent' };
          },
          true,
        );
        for (const [name, fault, arrive] of arrivals(local, rules))
          can(
            `the ${who}'s request arrives: ${name}`,
            (world) => {
              const answer = arrive(world);
              world.local[who] = { fence, phase: answer };
            },
            fault,
          );
        report('no answer', unclear, true);
        return;
      case 'silent':
        report('no answer', unclear);
        return;
      case 'accepted':
        report('accepted', accepted(local, 'open'));
        report('no answer', unclear, true);
        return;
      case 'completed':
        report('completed', accepted(local, 'completed'));
        report('no answer', unclear, true);
        return;
      case 'refused':
        report('refused', { outcome: 'refused', reason: 'provider_refused', detail: '' });
        report('refused, and what is there cannot be looked at', { ...unclear, refused: true }, true);
        report('no answer', unclear, true);
        return;
      case 'duplicate':
        report('duplicate', { outcome: 'duplicate' });
        report('no answer', unclear, true);
        return;
    }
  }

  if (query) queryActions(query);

  function queryActions({ startedAt, saw }: Query): void {
    const end = (name: string, outcome: QueryOutcome<ChargeReport | PayoutReport>, fault = false) =>
      can(
        `the query ends: ${name}`,
        async (world) => {
          world.local.query = null;
          const before = world.local.stored.payment;
          await observe(world, rules, { from: 'query', id: 'q', startedAt, outcome });
          const odd =
            outcome.outcome === 'found' &&
            outcome.report.amountCents === otherCents &&
            'providerId' in outcome.report;
          // A return of a transfer that had ended is booked all the same.
          if (odd && world.local.stored.payment?.status !== before?.status)
            throw new Violation('a report with another amount settled the payment (19)');
        },
        fault,
      );
    const told = (of: Truth, form: Form = 'both'): QueryOutcome<ChargeReport | PayoutReport> => {
      const report = reportOf(local, of, form);
      return report ? { outcome: 'found', report } : { outcome: 'notFound' };
    };
    for (const form of formsOf(truth)) end(`as it is (${form})`, told(truth, form));
    if (keyOfTruth(saw) !== keyOfTruth(truth))
      for (const form of formsOf(saw)) end(`as it was when it began (${form})`, told(saw, form), true);
    end('no answer', unclear, true);
    if (truth.row !== 'none') {
      end('not found, wrongly', { outcome: 'notFound' }, true);
      const stale = staleOf(truth, rules);
      if (stale) end('as it was created', told(stale), true);
      const wrong = told(truth);
      if (wrong.outcome === 'found' && local.kind === 'transfer')
        end(
          'with another amount',
          { outcome: 'found', report: { ...wrong.report, amountCents: otherCents } },
          true,
        );
    }
  }
  // Its word is queried, and that the query does not find it is applied with it (`askForRemoved`).
  if (local.hooks.has('removed') && intent)
    can('a webhook says that it was removed, and a query does not find it', (world) =>
      hearRemoved(world, rules),
    );
  for (const hook of [...local.hooks].filter((one) => one !== 'removed'))
    for (const form of hook.startsWith('returned') ? forms : (['both'] as const))
      can(
        `a webhook says ${hook} (${form})`,
        (world) => observe(world, rules, hookOf(world.local, hook, form)),
        // A second delivery of what is known is the fault; which one it is does not matter here.
        false,
      );

  // --------------------------------------------------------------------------------------------------- the provider
  if (orphans > 0) {
    can('a lost request never arrives', ({ local: one }) => void one.orphans--, true);
    for (const [name, , arrive] of arrivals(local, rules))
      can(
        `a delayed request arrives: ${name}`,
        (world) => {
          world.local.orphans--;
          arrive(world);
        },
        true,
      );
  }
  if (local.lateConfirms > 0) {
    can('a lost second request never arrives', ({ local: one }) => void one.lateConfirms--, true);
    for (const [name, , arrive] of confirmArrivals(local, rules))
      can(
        `a delayed second request arrives: ${name}`,
        (world) => {
          world.local.lateConfirms--;
          arrive(world);
        },
        true,
      );
  }
  if (local.kind === 'transfer') {
    if (truth.row === 'prepared') {
      if (rules.providerIsIdempotent)
        can('a person approves it at the provider', ({ local: one }) => {
          one.accepted++;
          one.truth = { ...one.truth, row: 'open' };
        });
      can('a person removes it at the provider', (world) => settle(world, 'refused'));
    }
    if (truth.row === 'open') {
      can('the provider completes it', (world) => settle(world, 'completed'));
      can('the provider refuses it later', (world) => settle(world, 'refused'));
      if (rules.removals) can('a person removes what was accepted', (world) => settle(world, 'removed'));
    }
    if (truth.row === 'completed' && truth.returned < 2 && rules.returns)
      can('a part of it comes back', ({ local: one }) => giveBack(one));
    if (truth.row === 'refused' && rules.contradictions)
      can(
        'the provider completes what it refused',
        (world) => {
          world.local.contradicted = true;
          world.local.accepted++;
          settle(world, 'completed');
        },
        true,
      );
  } else if (truth.row === 'open' || truth.row === 'completed') {
    if (truth.paid.length < (rules.lean ? 1 : 2)) {
      can('a payer pays', (world) => pay(world, chargeCents));
      can('a payer pays another amount', (world) => pay(world, otherCents), true);
    }
    if (truth.returned < truth.paid.length && rules.returns)
      can('a Pix goes back to its payer', ({ local: one }) => giveBack(one));
    if (truth.row === 'open')
      can('the provider removes it', ({ local: one }) => {
        one.truth = { ...one.truth, row: 'removed' };
      });
  }

  // ----------------------------------------------------------------------------------------------------------- time
  const waits = marksOf(local);
  if (waits.some((mark) => mark > now && mark <= now + 20_000))
    can(
      '20 s pass',
      ({ local: one }) => {
        one.now += 20_000;
      },
      // A process slept over its lease.
      owner !== null,
    );
  if (waits.some((mark) => mark > now + 20_000))
    can('a day and an hour pass', ({ local: one }) => {
      one.now += 25 * hour;
    });
  return actions;
}

/** The instants that some rule compares the present with. */
function marksOf({ stored: { intent, payment } }: Local): number[] {
  const marks: number[] = [];
  if (intent?.leaseUntil != null) marks.push(intent.leaseUntil);
  if (intent?.absentAt != null && intent.absences < 2) marks.push(intent.absentAt + 10_000);
  const overdueAt = payment && intent ? overdueAtOf(payment, intent) : null;
  if (overdueAt !== null) marks.push(overdueAt);
  if (intent && payment?.kind === 'deposit') marks.push(deadlineOf(payment.createdAt) + 60_001);
  return marks;
}

const deadlineOf = (createdAt: number): number => createdAt + hour;

/** The first moment at which an answered query must leave an incident; null while none was answered. */
function overdueAtOf(payment: Payment, { undecidedSince }: Intent): number | null {
  if (undecidedSince === null) return null;
  const waits = payment.kind === 'deposit' && payment.status === 'pending';
  const from = waits ? Math.max(payment.expiresAt ?? payment.createdAt, undecidedSince) : undecidedSince;
  return from + 24 * hour + 1;
}

/** Whether an attempt may still write its request: its process looks at its lease right before. */
export const isLeased = (intent: Intent | null | undefined, fence: string, now: number): boolean =>
  intent?.fence === fence && intent.leaseUntil !== null && intent.leaseUntil > now;

export const unclear = { outcome: 'unclear', cause: 'network', detail: '', retryAfterMs: null } as const;

// ------------------------------------------------------------------------------------------------------------ the service

async function ask(world: World, rules: Rules, data: 'same' | 'other'): Promise<void> {
  const { local } = world;
  const before = local.stored.payment;
  const memory = new Memory(local.stored, world.columns, local.now);
  const runtime = memory.runtime(rules.capabilities, { transferWaitMs: rules.transferWaitMs });
  const other = data === 'other' ? 'another' : '';
  const accepting =
    local.kind === 'transfer'
      ? accept(runtime, transfer, caller, {
          amountCents: grossCents,
          pixKey: receiver,
          pixKeyType: 'EMAIL',
          description: other,
          requestKey,
        })
      : acceptCharge(runtime, local, { ...chargeOrder, description: other });
  let failed: unknown;
  let ended = false;
  accepting.then(
    () => {
      ended = true;
    },
    (error: unknown) => {
      ended = true;
      failed = error;
    },
  );
  for (let turn = 0; turn < 60 && !ended && memory.called === null; turn++) await null;
  if (failed !== undefined && !(failed instanceof ApiError)) throw failed;
  if (before !== null) {
    if (memory.called !== null) throw new Violation('a repeated request sent again');
    const { movements, payment, link } = memory.stored;
    const { stored } = local;
    if (movements.length !== stored.movements.length || payment !== before || link !== stored.link)
      throw new Violation('a repeated request changed something');
    if (data === 'other' && !(failed instanceof ApiError))
      throw new Violation('a request key was taken with other data');
    return;
  }
  store(world, memory);
  const { intent } = local.stored;
  if (memory.called !== null) {
    if (intent?.state !== 'sending') throw new Violation('it was sent without an intent on record');
    local.owner = { fence: intent.fence, phase: 'toSend' };
  }
}

const chargeOrder = { amountCents: chargeCents, payerName: 'Maria', requestKey };

const acceptCharge = (runtime: AcceptDeps, { stored }: Local, order: ChargeOrder) =>
  stored.link
    ? accept(runtime, linkCharge, caller, { ...order, linkId })
    : accept(runtime, charge, caller, order);

async function begin(world: World, rules: Rules): Promise<void> {
  const { local } = world;
  const { intent } = local.stored;
  if (!intent) return;
  const memory = new Memory(local.stored, world.columns, local.now);
  const attempt = await startSend(memory.runtime(rules.capabilities, rules), intent);
  store(world, memory);
  if (!attempt) return;
  if (local.saidRemoved) throw new Violation('it was sent again, though a person removed it');
  if (attempt.second === null && local.saidPrepared)
    throw new Violation('its first step began anew, though the provider had it prepared');
  local.owner = { fence: attempt.fence, phase: attempt.second === null ? 'toSend' : 'toConfirm' };
}

/** The request of an owner that no longer waits is still on its way. */
function leaveBehind(local: Local, { phase }: Owner, most: number): void {
  if (phase === 'sent') local.orphans = Math.min(most, local.orphans + 1);
  if (phase === 'confirmSent') local.lateConfirms = Math.min(most, local.lateConfirms + 1);
}

/** The owner records that its second step begins, and continues with it. */
async function beginSecond(
  world: World,
  rules: Rules,
  who: 'owner' | 'zombie',
  fence: string,
): Promise<void> {
  const { local } = world;
  const { payment } = local.stored;
  if (!payment) return;
  const memory = new Memory(local.stored, world.columns, local.now);
  const place = { accountId, paymentId: payment.id, operationId, connection, kind: 'transfer' } as const;
  const begins = memory.submit(
    buildSecondStep({
      ...{ place, fence, step: { providerRef: null }, capabilities: rules.capabilities },
      ...{ token: 'second', deadlineMs: Number.POSITIVE_INFINITY },
    }),
  );
  store(world, memory);
  world.local[who] = begins ? { fence, phase: 'toConfirm' } : null;
}

async function takeOver(world: World, rules: Rules): Promise<void> {
  const { local } = world;
  const { intent } = local.stored;
  if (!intent) return;
  const memory = new Memory(local.stored, world.columns, local.now);
  await takeOverSend(memory.runtime(rules.capabilities, rules), intent);
  store(world, memory);
  if (local.owner) {
    if (local.zombie) leaveBehind(local, local.zombie, 2);
    local.zombie = local.owner;
    local.owner = null;
  }
}

async function observe(world: World, rules: Rules, seen: Observation): Promise<void> {
  const { local } = world;
  const { payment, intent } = local.stored;
  if (!payment) return;
  if (saysPrepared(seen)) local.saidPrepared = true;
  const observation = rules.planted ? rules.planted(seen, intent) : seen;
  const memory = new Memory(local.stored, world.columns, local.now);
  const about = { accountId, paymentId: payment.id, operationId, connection, kind: payment.kind };
  await applyOutcome(
    memory.runtime(rules.capabilities, rules),
    { ...about, observation },
    Number.POSITIVE_INFINITY,
  );
  // "Accepted" counts under any fence; every other outcome needs the fence of its attempt.
  if (seen.from === 'send' && intent?.fence !== seen.fence && seen.outcome.outcome !== 'accepted')
    if (memory.stored.payment !== payment || memory.stored.intent !== intent)
      throw new Violation('an owner that was overtaken changed something (47)');
  store(world, memory);
}

async function hearRemoved(world: World, rules: Rules): Promise<void> {
  const { local } = world;
  const before = local.stored;
  local.saidRemoved = true;
  const outcome = { outcome: 'notFound' } as const;
  await observe(world, rules, { from: 'query', id: 'r', startedAt: local.now, outcome, removed: true });
  const { payment, incidents } = world.local.stored;
  if (before.intent?.state !== 'ready' && !isTerminal(payment?.status ?? 'paid') && incidents.length === 0)
    throw new Violation('it was removed, and no person was asked (50)');
}

const saysPrepared = (seen: Observation): boolean =>
  seen.from !== 'webhook' &&
  'report' in seen.outcome &&
  seen.outcome.report.status === 'prepared' &&
  seen.outcome.report.amountCents === netCents;

function store(world: World, memory: Memory): void {
  const before = world.local.stored.payment;
  world.local.stored = memory.stored;
  world.columns = memory.columns;
  const after = memory.stored.payment;
  if (before && after) {
    if (before.status !== after.status && !allowed[before.status].includes(after.status))
      throw new Violation(`${before.status} became ${after.status}`);
    if (before !== after && after.updatedAt <= before.updatedAt)
      throw new Violation('updatedAt did not increase');
    for (const field of [
      'amountCents',
      'feeCents',
      'operationId',
      'kind',
      'createdAt',
      'requestKey',
    ] as const)
      if (before[field] !== after[field]) throw new Violation(`${field} changed`);
  }
}

const allowed: Record<PaymentStatus, readonly PaymentStatus[]> = {
  draft: [],
  unknown: ['pending', 'paid', 'completed', 'failed', 'expired', 'cancelled'],
  pending: ['paid', 'completed', 'failed', 'expired', 'cancelled'],
  expired: ['paid'],
  paid: [],
  completed: [],
  failed: [],
  cancelled: [],
};

// ----------------------------------------------------------------------------------------------------------- the provider

type Arrival = [name: string, fault: boolean, arrive: (world: World) => Owner['phase']];

/** The provider's handling of a request that reaches it. */
function arrivals({ truth }: Local, rules: Rules): Arrival[] {
  if (truth.row !== 'none' && (rules.providerIsIdempotent || rules.twoSteps))
    return [['a duplicate', false, () => 'duplicate']];
  if (rules.twoSteps) return preparations(rules);
  return [
    [
      'accepted',
      false,
      ({ local }) => {
        local.accepted++;
        local.truth = { ...local.truth, row: 'open' };
        return 'accepted';
      },
    ],
    [
      'completed at once',
      false,
      (world) => {
        world.local.accepted++;
        if (world.local.kind === 'charge') {
          world.local.truth = { ...world.local.truth, row: 'open' };
          return 'accepted';
        }
        settle(world, 'completed');
        return 'completed';
      },
    ],
    [
      'refused',
      false,
      ({ local }) => {
        if (local.kind === 'transfer' && rules.refusalLeavesRow)
          local.truth = { ...local.truth, row: 'refused' };
        return 'refused';
      },
    ],
    ['an error before any effect', true, () => 'silent'],
  ];
}

/** Of two steps, the first: no money leaves by it. */
const preparations = (rules: Rules): Arrival[] => [
  [
    'prepared',
    false,
    ({ local }) => {
      local.truth = { ...local.truth, row: 'prepared' };
      return 'prepared';
    },
  ],
  [
    'refused',
    false,
    ({ local }) => {
      if (rules.refusalLeavesRow) local.truth = { ...local.truth, row: 'refused' };
      return 'refused';
    },
  ],
  ['an error before any effect', true, () => 'silent'],
];

/** The second. Where the provider does not guard it, another one pays again. */
function confirmArrivals({ truth }: Local, rules: Rules): Arrival[] {
  if (truth.row !== 'prepared')
    return [
      [
        'it is prepared no more',
        false,
        ({ local }) => {
          if (!rules.providerIsIdempotent && truth.row !== 'refused') local.accepted++;
          return 'silent';
        },
      ],
    ];
  return [
    [
      'sent',
      false,
      ({ local }) => {
        local.accepted++;
        local.truth = { ...local.truth, row: 'open' };
        return 'accepted';
      },
    ],
    [
      'completed at once',
      false,
      (world) => {
        world.local.accepted++;
        settle(world, 'completed');
        return 'completed';
      },
    ],
    ['not taken for lack of money', false, () => 'notTaken'],
    ['an error before any effect', true, () => 'silent'],
  ];
}

function giveBack(local: Local): void {
  const returned = local.truth.returned + 1;
  local.truth = { ...local.truth, returned };
  local.hooks = new Set([...local.hooks, returned === 1 ? 'returned1' : 'returned2']);
}

function settle({ local }: World, row: 'completed' | 'refused' | 'removed'): void {
  local.truth = { ...local.truth, row };
  local.hooks = new Set([...local.hooks, row]);
}

function pay({ local }: World, amountCents: number): void {
  const at = local.truth.paid.length;
  local.truth = { ...local.truth, row: 'completed', paid: [...local.truth.paid, amountCents] };
  local.hooks = new Set([...local.hooks, at === 0 ? 'paid0' : 'paid1']);
}

const staleOf = ({ row }: Truth, { twoSteps }: Rules): Truth | null => {
  const created = twoSteps ? 'prepared' : 'open';
  return row === created || row === 'none' ? null : { row: created, returned: 0, paid: [] };
};

const keyOfTruth = (truth: Truth): string =>
  `${truth.row}${truth.returned > 0 ? `R${truth.returned}` : ''}${truth.paid.join('+')}`;

const accepted = (
  local: Local,
  row: 'prepared' | 'open' | 'completed',
): SendOutcome<ChargeReport | PayoutReport> => {
  const report = reportOf(local, { row, returned: 0, paid: [] }, 'both');
  if (!report) throw new Error('an answer without a report');
  return { outcome: 'accepted', report };
};

const payoutStatuses = {
  prepared: 'prepared',
  open: 'pending',
  completed: 'completed',
  refused: 'refused',
} as const;

function reportOf(local: Local, truth: Truth, form: Form): ChargeReport | PayoutReport | null {
  const { payment } = local.stored;
  if (!payment || truth.row === 'none') return null;
  const providerId = providerIdOf(payment.id);
  if (local.kind === 'transfer') {
    if (truth.row === 'removed') return null;
    const status = payoutStatuses[truth.row];
    return {
      providerId,
      amountCents: netCents,
      pixKey: receiver,
      status,
      endToEnd: status === 'prepared' ? null : 'E',
      settledAt: status === 'completed' ? start : null,
      reason: status === 'refused' ? 'provider_refused' : null,
      returns: Array.from({ length: truth.returned }, (_, at) => pixReturn(form, String(at), at, backCents)),
    };
  }
  return {
    txid: providerId,
    amountCents: chargeCents,
    status: truth.row === 'removed' ? 'removed' : truth.row === 'completed' ? 'paid' : 'open',
    createdAt: payment.createdAt,
    expiresAt: deadlineOf(payment.createdAt),
    copyPaste: 'code',
    received: truth.paid.map((amountCents, at) =>
      receivedPix(providerId, amountCents, at, at < truth.returned, form),
    ),
  };
}

/** Both Pix of a charge are returned under the same `id`: it is unique within one Pix only. */
const pixReturn = (form: Form, id: string, at: number, amountCents: number): PixReturn => ({
  id: form === 'rtrId' ? null : id,
  rtrId: form === 'id' ? null : `R${at}`,
  amountCents,
  at: start,
  status: 'settled',
});

const receivedPix = (
  txid: string,
  amountCents: number,
  at: number,
  returned: boolean,
  form: Form,
): ReceivedPix => ({
  endToEnd: `E${at}`,
  amountCents,
  paidAt: start,
  txid,
  returns: returned ? [pixReturn(form, 'same', at, amountCents)] : [],
});

function hookOf(local: Local, hook: Hook, form: Form): Observation {
  const told = { from: 'webhook', id: 'w' } as const;
  if (hook === 'paid0' || hook === 'paid1') {
    const at = hook === 'paid0' ? 0 : 1;
    const amountCents = local.truth.paid[at] ?? 0;
    const txid = providerIdOf(local.stored.payment?.id ?? '');
    return { ...told, received: [receivedPix(txid, amountCents, at, false, form)], payouts: [] };
  }
  const returned = hook === 'returned1' ? 1 : hook === 'returned2' ? 2 : 0;
  if (returned > 0 && local.kind === 'charge') {
    const report = reportOf(local, { ...local.truth, returned }, form) as ChargeReport;
    return { ...told, received: report.received.slice(returned - 1, returned), payouts: [] };
  }
  const row = hook === 'refused' ? 'refused' : 'completed';
  const report = reportOf(local, { row, returned, paid: [] }, form);
  return { ...told, received: [], payouts: report && 'providerId' in report ? [report] : [] };
}

// ------------------------------------------------------------------------------------------------------- what must hold

/** Throws a Violation when this state must not exist. */
export function check({ local }: World): void {
  const { stored, truth, accepted: times, contradicted, kind } = local;
  const { payment, intent, movements, incidents } = stored;
  const count = (movement: string) => movements.filter((one) => one === movement).length;
  if (!payment) return;
  const { status } = payment;
  if (isTerminal(status) !== (intent === null))
    throw new Violation(`${status} ${intent ? 'with' : 'without'} an intent`);
  if (stored.returns.length > truth.returned) throw new Violation('a return is known twice (49)');
  const overdueAt = intent ? overdueAtOf(payment, intent) : null;
  if (intent && overdueAt !== null && (intent.answeredAt ?? 0) >= overdueAt && incidents.length === 0)
    throw new Violation('a day of answered queries, and no incident (50)');
  if (stored.afterDeletion !== 0) throw new Violation('a deleted operation was posted to');
  if (kind === 'transfer') {
    if (times > 1 && !contradicted) throw new Violation('the provider accepted it twice (12)');
    const gone = truth.row === 'prepared' || truth.row === 'open' || truth.row === 'completed';
    if (status === 'cancelled' && gone && !contradicted)
      throw new Violation(
        `cancelled, and the provider ${truth.row === 'completed' ? 'paid' : 'has'} it (14)`,
      );
    if (truth.row === 'removed' && isTerminal(status))
      throw new Violation('removed, and its reserve did not wait for a person (14)');
    if (status === 'cancelled' && local.accepted > 0 && truth.row !== 'refused' && !contradicted)
      throw new Violation('cancelled after an acceptance (14)');
    if (status === 'completed' && truth.row !== 'completed')
      throw new Violation('completed without the provider (20)');
    if (count('reserve') !== 1) throw new Violation(`${count('reserve')} reserves (8)`);
    if (count('complete') !== (status === 'completed' ? 1 : 0)) throw new Violation('complete (22)');
    if (count('release') !== (status === 'cancelled' ? 1 : 0)) throw new Violation('release (22)');
    if (count('return') > truth.returned) throw new Violation('a return that was not (22)');
  } else {
    const owned = payment.status === 'paid' && !movements.includes('bookToSuspense') ? 1 : 0;
    if (count('credit') > 1 || count('credit') < owned) throw new Violation('paid without a credit (22)');
    if (count('credit') === 1 && status !== 'paid') throw new Violation('a credit without paid (22)');
    const received = truth.paid.reduce((sum, cents) => sum + cents, 0);
    if (-stored.clearing > received) throw new Violation('more was posted than was received (24)');
    if (stored.suspense !== 0 && incidents.length === 0)
      throw new Violation('suspense without an incident (24)');
  }
}

/** The movement of the provider's account by it, as clearing lines show it. */
function clearingOf({ truth, kind }: Local): number {
  if (kind === 'charge') return -truth.paid.slice(truth.returned).reduce((sum, cents) => sum + cents, 0);
  return (truth.row === 'completed' ? netCents : 0) - truth.returned * backCents;
}

/** The payment has ended, and every cent that the provider moved for it is in the journal; or a person has to look. */
export function hasEnded(local: Local): boolean {
  const { payment, clearing, incidents } = local.stored;
  if (!payment) return true;
  if (local.contradicted && incidents.length > 0) return true;
  // Paid with another amount, it waits for a person.
  return (isTerminal(payment.status) || incidents.length > 0) && clearing === clearingOf(local);
}

/** A reserve that is held for it. */
export const reservedFor = ({ kind, stored: { payment } }: Local): number =>
  kind === 'transfer' && payment && !isTerminal(payment.status) ? grossCents : 0;

/** Whether it keeps its operation from being deleted, besides by the columns. */
export const blocksDeletion = ({ stored: { intent, incidents } }: Local): boolean =>
  intent !== null || incidents.length > 0;

// -------------------------------------------------------------------------------------------------------------- the key

/** Everything that what happens next depends on, and nothing else. */
export function keyOf(local: Local): string {
  const { stored, now, truth, owner, zombie, query, kind } = local;
  const { payment, intent } = stored;
  if (!payment) return `${kind} -`;
  const owned = (one: Owner | null) => (one ? `${one.phase}${one.fence === intent?.fence ? '=' : '!'}` : '-');
  const late = (at: number) =>
    payment.kind === 'deposit' && intent ? at > deadlineOf(payment.createdAt) + 60_000 : false;
  const parts: (string | number | boolean)[] = [
    kind,
    payment.status,
    payment.endToEnd ?? '-',
    payment.copyPaste ? 'c' : '',
    payment.expiresAt !== null,
    payment.returnedCents,
    payment.notice ?? '-',
    stored.returns
      .map(({ pix, id, rtrId, posted }) => `${pix}/${id}/${rtrId}/${posted}`)
      .sort()
      .join(),
    stored.incidents.map((one) => one.reference.slice(0, 9)).join(),
    [...stored.posted].sort().join(),
    keyOfTruth(truth),
    local.accepted,
    local.contradicted,
    local.orphans,
    local.lateConfirms,
    local.saidPrepared,
    local.saidRemoved,
    owned(owner),
    owned(zombie),
    [...local.hooks].sort().join(),
    late(now),
  ];
  if (intent) {
    const overdueAt = overdueAtOf(payment, intent) ?? Number.POSITIVE_INFINITY;
    parts.push(...factsOfIntent(intent, now, overdueAt), intent.step ?? '-');
  }
  if (query)
    parts.push(
      keyOfTruth(query.saw),
      late(query.startedAt),
      intent !== null && query.startedAt >= (intent.attemptEndedAt ?? Number.POSITIVE_INFINITY),
      intent !== null && (intent.absentAt === null || query.startedAt >= intent.absentAt + 10_000),
    );
  return parts.join('|');
}
