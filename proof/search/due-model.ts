import { capabilities } from '@vintem/testkit/capabilities.ts';
import { accept } from '../../server/src/flow/accept.ts';
import { applyOutcome } from '../../server/src/flow/apply.ts';
import { startSend, takeOverSend } from '../../server/src/flow/send.ts';
import { ApiError } from '../../server/src/ground/errors.ts';
import { changeKeyOf } from '../../server/src/kinds/due-change/admission.ts';
import type { ChangeRequest } from '../../server/src/kinds/due-change/changes.sql.ts';
import { dueChange } from '../../server/src/kinds/due-change/due-change.ts';
import { dueCharge } from '../../server/src/kinds/due-charge/due-charge.ts';
import type { Answered } from '../../server/src/kinds/kind.ts';
import type { Observation } from '../../server/src/kinds/payment/interpret-report.ts';
import { type DueCharge, sameTerms, termsOf } from '../../server/src/money/due.ts';
import type { Intent } from '../../server/src/money/intent.ts';
import { isTerminal, type Payment, providerIdOf } from '../../server/src/money/payment.ts';
import { invariants, type StoredPayment } from '../../server/src/operate/verify/invariants.ts';
import type { DueTerms } from '../../server/src/provider/due-terms.ts';
import type {
  ChargeReport,
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
  Violation,
} from './memory.ts';
import {
  type Action,
  caller,
  hour,
  isLeased,
  type Rules,
  start,
  unclear,
  type World as WorldOf,
} from './model.ts';

/**
 * A charge with a due date that its merchant changes, and changes back, while payers pay what it comes to or came to. Requests for a change may be lost, late
 * and doubled, reports may be old, and the provider numbers its terms or does not. Time is compared and not counted, as in `model.ts`.
 */
type Version = 'first' | 'second';

/** The charge at the provider at one moment. */
interface Truth {
  row: 'open' | 'paid' | 'removed';
  version: Version;
  /** Of its terms. */
  revision: number;
  /** The Pix that were paid for it, by the terms that their payers read. */
  paid: readonly (Version | 'other')[];
}

type Phase = 'toSend' | 'sent' | 'silent' | 'changed' | 'refused';

/** A process that sends a change and is still alive. */
interface Sender {
  fence: string;
  phase: Phase;
  to: Version;
  /** Of its answer. */
  saw: Truth | null;
}

interface Query {
  of: 'charge' | 'change';
  startedAt: number;
  saw: Truth;
}

export interface DueLocal {
  kind: 'due';
  /** A merchant asks for so many changes at most. */
  changesMost: number;
  stored: Memory['stored'];
  now: number;
  truth: Truth;
  /** The versions that payers may have read. */
  had: readonly Version[];
  /** By change: the provider had its terms at some moment since it was asked for. */
  seen: readonly boolean[];
  owner: Sender | null;
  zombie: Sender | null;
  /** Requests on their way whose senders no longer wait, and whether one ever arrived. */
  orphans: readonly Version[];
  late: boolean;
  query: Query | null;
}

type World = WorldOf<DueLocal>;

const versions: readonly Version[] = ['first', 'second'];
const amountOf = { first: 1_000, second: 500, other: 123 } as const;
const deadlineOf = { first: start + hour, second: start + 48 * hour } as const;
const base: DueTerms = {
  ...{ dueDate: '2026-12-10', validAfterDue: 5, fine: null, interest: null, discounts: [], rebate: null },
};
const termsIn: Readonly<Record<Version, DueTerms>> = {
  first: base,
  second: { ...base, dueDate: '2026-12-20' },
};

const runtimeOf = (memory: Memory, rules: Rules) => memory.runtime(capabilities, rules);
const memoryOf = ({ local, columns }: World): Memory => new Memory(local.stored, columns, local.now);

const nothing: Columns = {
  ...{ available: 0, reserved: 0, held: 0, receivable: 0, holdWanted: 0, cardHeld: 0 },
  ...{ frozen: false, deleted: false },
};

/** As the service makes it on a good day. */
async function openCharge(): Promise<Memory['stored']> {
  const memory = new Memory(nothingStored, nothing, start);
  const runtime = memory.runtime(capabilities, { transferWaitMs: 0 });
  void accept(runtime, dueCharge, caller, {
    ...{ amountCents: amountOf.first, payerName: 'Maria', description: '', terms: termsIn.first },
    ...{
      requestKey: '0190a000-0000-4000-8000-000000000097',
      payer: { name: 'Maria', document: '11144477735' },
    },
  }).catch(() => {});
  for (let turn = 0; turn < 60 && memory.called === null; turn++) await null;
  const { payment, intent } = memory.stored;
  if (!payment || !intent) throw new Error('no charge');
  const report = reportOf(payment, created, { numbersTerms: false });
  await applyOutcome(
    runtime,
    placed(payment, { from: 'send', fence: intent.fence, outcome: { outcome: 'accepted', report } }),
    Number.POSITIVE_INFINITY,
  );
  return memory.stored;
}

const created: Truth = { row: 'open', version: 'first', revision: 0, paid: [] };

const placed = ({ id: paymentId }: Payment, observation: Observation) =>
  ({ accountId, paymentId, operationId, connection, kind: 'due_charge', observation }) as const;

const begun = await openCharge();

export const newDueLocal = (changesMost: number): DueLocal => ({
  ...{
    kind: 'due',
    changesMost,
    stored: begun,
    now: start + 1_000,
    truth: created,
    had: ['first'],
    seen: [],
  },
  ...{ owner: null, zombie: null, orphans: [], late: false, query: null },
});

type Can = (name: string, run: Action<DueLocal>['run'], fault?: boolean) => void;

/** Everything that can happen next. */
export function actionsOf(local: DueLocal, rules: Rules): Action<DueLocal>[] {
  const actions: Action<DueLocal>[] = [];
  const can: Can = (name, run, fault = false) => actions.push({ name, fault, run });
  merchantActions(local, rules, can);
  sendActions(local, rules, can);
  queryActions(local, rules, can);
  providerActions(local, rules, can);
  timeActions(local, can);
  return actions;
}

function merchantActions({ stored, changesMost }: DueLocal, rules: Rules, can: Can): void {
  const { payment, changes } = stored;
  if (!payment || isTerminal(payment.status)) return;
  for (const to of versions) {
    if (to === versionOf(payment)) continue;
    const isOpen = payment.due?.change !== undefined;
    if (isOpen || changes.length < changesMost)
      can(`the merchant asks for the ${to} terms`, (world) => ask(world, rules, to));
  }
}

function sendActions(local: DueLocal, rules: Rules, can: Can): void {
  const { changeIntent: intent } = local.stored;
  const { owner, now } = local;
  if (intent && intent.state !== 'sending' && owner === null)
    can('a worker sends the change', (world) => begin(world, rules));
  if (intent?.state === 'sending' && intent.leaseUntil !== null && intent.leaseUntil <= now)
    can('a worker takes the change over', (world) => takeOver(world, rules));
  for (const who of ['owner', 'zombie'] as const) {
    const one = local[who];
    if (one) senderActions(local, who, one, rules, can);
  }
  for (const [at, to] of local.orphans.entries()) {
    const gone = (one: DueLocal) => {
      one.orphans = one.orphans.toSpliced(at, 1);
    };
    can('a lost request never arrives', ({ local: one }) => gone(one), true);
    can(
      `a delayed request for the ${to} terms arrives`,
      ({ local: one }) => {
        gone(one);
        one.late = true;
        carryOut(one, to);
      },
      true,
    );
  }
}

function senderActions(
  local: DueLocal,
  who: 'owner' | 'zombie',
  { phase, fence, to, saw }: Sender,
  rules: Rules,
  can: Can,
): void {
  const leave = (one: DueLocal) => {
    const sender = one[who];
    if (sender?.phase === 'sent') leaveBehind(one, sender, rules);
    one[who] = null;
  };
  const stores = (what: string, outcome: SendOutcome<ChargeReport>, fault = false) =>
    can(
      `the ${who} stores: ${what}`,
      async (world) => {
        leave(world.local);
        await hearChange(world, rules, { from: 'send', fence, outcome });
      },
      fault,
    );
  can(`the ${who}'s process dies`, ({ local: one }) => leave(one), true);
  if (phase === 'toSend') {
    const { changeIntent: intent } = local.stored;
    if (who === 'owner' && isLeased(intent, fence, local.now))
      can(`the ${who} writes the request`, ({ local: one }) => {
        one[who] = { fence, to, saw, phase: 'sent' };
      });
    else
      can(`the ${who} sees that its lease is over`, ({ local: one }) => {
        one[who] = null;
      });
    stores('no connection, nothing was sent', { outcome: 'notSent', detail: '' }, true);
    return;
  }
  if (phase === 'sent') {
    const answers = (name: string, answer: Phase, act: (one: DueLocal) => void, fault = false) =>
      can(
        `the ${who}'s request ${name}`,
        ({ local: one }) => {
          act(one);
          one.late ||= who === 'zombie';
          one[who] = { fence, to, phase: answer, saw: answer === 'changed' ? one.truth : null };
        },
        fault,
      );
    if (local.truth.row === 'open') answers('is carried out', 'changed', (one) => carryOut(one, to));
    answers('is refused', 'refused', () => {});
    answers('is lost', 'silent', () => {}, true);
  }
  const { payment } = local.stored;
  if (phase === 'changed' && saw && payment)
    stores('changed', { outcome: 'accepted', report: reportOf(payment, saw, rules) });
  if (phase === 'refused') stores('refused', { outcome: 'refused', reason: 'provider_refused', detail: '' });
  stores('no answer', unclear, phase !== 'silent');
}

const leaveBehind = (local: DueLocal, { to }: Sender, { lean }: Rules): void => {
  if (local.orphans.length < (lean ? 1 : 2)) local.orphans = [...local.orphans, to].sort();
};

/** The provider gives an open charge other terms. */
function carryOut(local: DueLocal, version: Version): void {
  const { truth } = local;
  if (truth.row !== 'open') return;
  local.truth = { ...truth, version, revision: truth.revision + 1 };
  if (!local.had.includes(version)) local.had = [...local.had, version].sort();
  local.seen = local.seen.map((was, at) => was || versionAsked(local.stored.changes[at]) === version);
}

const versionAsked = (change: ChangeRequest | undefined): Version => of(change?.amountCents ?? 0);

function queryActions(local: DueLocal, rules: Rules, can: Can): void {
  const { query, truth, now, stored } = local;
  const { payment, intent, changeIntent } = stored;
  if (!payment) return;
  const end = (
    name: string,
    of: Query['of'],
    startedAt: number,
    outcome: QueryOutcome<ChargeReport>,
    { fault = false, isList = false } = {},
  ) =>
    can(
      name,
      async (world) => {
        if (world.local.query?.startedAt === startedAt) world.local.query = null;
        const asked = {
          from: 'query',
          id: 'q',
          startedAt,
          outcome,
          ...(isList && { isList: true as const }),
        } as const;
        await (of === 'charge' ? hearCharge(world, rules, asked) : hearChange(world, rules, asked));
      },
      fault,
    );
  const found = (saw: Truth): QueryOutcome<ChargeReport> => ({
    outcome: 'found',
    report: reportOf(payment, saw, rules),
  });
  for (const about of ['charge', 'change'] as const) {
    if ((about === 'charge' ? intent : changeIntent)?.state !== 'awaiting') continue;
    end(`the provider is asked for the ${about}`, about, now, found(truth));
    if (query === null && (about === 'charge' || !rules.lean))
      can(`a query for the ${about} goes out`, ({ local: one }) => {
        one.query = { of: about, startedAt: one.now - 1, saw: one.truth };
      });
    // A read side that lags. One that does not number its terms is believed by no such word.
    if (rules.numbersTerms && keyOfTruth(truth) !== keyOfTruth(created))
      end(`a query for the ${about} shows it as created`, about, now, found(created), { fault: true });
  }
  if (query) {
    end('the query ends: as it was when it began', query.of, query.startedAt, found(query.saw));
    end('the query ends: no answer', query.of, query.startedAt, unclear, { fault: true });
  }
  if (intent && keyOfTruth(truth) !== keyOfTruth(created))
    end('a list shows it as it was created', 'charge', now, found(created), { isList: true });
}

function providerActions({ truth, had, stored: { payment } }: DueLocal, rules: Rules, can: Can): void {
  if (truth.row === 'open')
    can('the provider removes it', ({ local: one }) => {
      one.truth = { ...one.truth, row: 'removed' };
    });
  const pays = (version: Version | 'other', fault = false) =>
    can(
      `a payer pays by the ${version} terms`,
      ({ local: one }) => {
        one.truth = { ...one.truth, row: 'paid', paid: [...one.truth.paid, version] };
      },
      fault,
    );
  if (truth.row === 'open' || (truth.row === 'paid' && truth.paid.length < (rules.lean ? 1 : 2))) {
    for (const version of had) pays(version);
    pays('other', true);
  }
  for (const [at, version] of truth.paid.entries())
    can(`a delivery names Pix ${at}`, async (world) => {
      if (payment)
        await hearCharge(world, rules, {
          ...{ from: 'webhook', id: 'w', received: [receivedPix(payment, version, at, rules)], payouts: [] },
        });
    });
}

function timeActions(local: DueLocal, can: Can): void {
  const { now } = local;
  const waits = marksOf(local);
  const sleeps = local.owner !== null || local.zombie !== null;
  const pass = (name: string, ms: number, fault: boolean) =>
    can(
      name,
      ({ local: one }) => {
        one.now += ms;
      },
      fault,
    );
  if (waits.some((mark) => mark > now && mark <= now + 20_000)) pass('20 s pass', 20_000, sleeps);
  if (waits.some((mark) => mark > now + 20_000)) pass('a day and an hour pass', 25 * hour, sleeps);
}

/** The instants that some rule compares the present with. */
function marksOf({ stored: { intent, changeIntent } }: DueLocal): number[] {
  const marks = [intent, changeIntent].flatMap((one) =>
    one === null
      ? []
      : [
          ...(one.leaseUntil === null ? [] : [one.leaseUntil]),
          ...(one.absentAt === null || one.absences >= 2 ? [] : [one.absentAt + 10_000]),
        ],
  );
  return intent ? [...marks, ...versions.map((version) => deadlineOf[version] + 60_001)] : marks;
}

// ------------------------------------------------------------------------------------------------------------ the service

async function ask(world: World, rules: Rules, to: Version): Promise<void> {
  const { local } = world;
  const { payment, changes } = local.stored;
  if (!payment?.due) return;
  const memory = memoryOf(world);
  const order = { paymentId: payment.id, fields: { ...termsIn[to], amountCents: amountOf[to] } };
  const requestKey = changeKeyOf(order, payment.due.changes ?? 0);
  let failed: unknown = null;
  accept(runtimeOf(memory, rules), dueChange, caller, { ...order, requestKey }).catch((error: unknown) => {
    failed = error;
  });
  for (let turn = 0; turn < 60 && failed === null && memory.called === null; turn++) await null;
  if (failed !== null && !(failed instanceof ApiError)) throw failed;
  if (payment.due.change !== undefined) {
    if (memory.stored.payment !== payment || memory.stored.changes !== changes)
      throw new Violation('a second change was taken while one is open (77)');
    return;
  }
  if (failed !== null)
    throw new Violation(`a change of an open charge was refused: ${(failed as ApiError).code}`);
  local.seen = [...local.seen, local.truth.version === to];
  store(world, memory);
  const { changeIntent: intent } = local.stored;
  if (memory.called === null) return;
  if (intent?.state !== 'sending') throw new Violation('it was sent without an intent on record');
  local.owner = { fence: intent.fence, phase: 'toSend', to, saw: null };
}

async function begin(world: World, rules: Rules): Promise<void> {
  const { changeIntent: intent } = world.local.stored;
  if (!intent) return;
  const memory = memoryOf(world);
  const runtime = runtimeOf(memory, rules);
  const attempt = await startSend(runtime, intent);
  const row = memory.stored.changes.find(({ id }) => id === intent.paymentId);
  store(world, memory);
  if (!attempt || !row) return;
  const sending = { connection, can: capabilities, repeat: attempt.repeat };
  const call = await dueChange.prepare(runtime, row, { ...sending, second: null, traceparent: undefined });
  const { fence } = attempt;
  if (typeof call === 'function')
    world.local.owner = { fence, phase: 'toSend', to: versionAsked(row), saw: null };
  else if ('outcome' in call) await hearChange(world, rules, { from: 'send', fence, outcome: call });
}

async function takeOver(world: World, rules: Rules): Promise<void> {
  const { local } = world;
  const { changeIntent: intent } = local.stored;
  if (!intent) return;
  const memory = memoryOf(world);
  await takeOverSend(runtimeOf(memory, rules), intent);
  store(world, memory);
  if (!local.owner) return;
  if (local.zombie?.phase === 'sent') leaveBehind(local, local.zombie, rules);
  local.zombie = local.owner;
  local.owner = null;
}

async function hearCharge(world: World, rules: Rules, observation: Observation): Promise<void> {
  const { payment } = world.local.stored;
  if (!payment) return;
  const memory = memoryOf(world);
  await applyOutcome(runtimeOf(memory, rules), placed(payment, observation), Number.POSITIVE_INFINITY);
  store(world, memory);
}

/** Of the change whose intent it is; one that is over has none, and what is said of it goes to the last one. */
async function hearChange(world: World, rules: Rules, observation: Answered<ChargeReport>): Promise<void> {
  const { changes, changeIntent } = world.local.stored;
  const row = changes.find(({ id }) => id === changeIntent?.paymentId) ?? changes.at(-1);
  if (!row) return;
  const memory = memoryOf(world);
  const observed = dueChange.observed(row, connection, observation);
  await applyOutcome(runtimeOf(memory, rules), observed, Number.POSITIVE_INFINITY);
  store(world, memory);
}

function store(world: World, memory: Memory): void {
  const { local } = world;
  const { payment: before, changes } = local.stored;
  const { payment: after } = memory.stored;
  local.stored = memory.stored;
  world.columns = memory.columns;
  if (!before || !after || before === after) return;
  if (after.updatedAt <= before.updatedAt) throw new Violation('updatedAt did not increase');
  if (before.status !== after.status && !allowed[before.status]?.includes(after.status))
    throw new Violation(`${before.status} became ${after.status}`);
  for (const [at, { outcome }] of memory.stored.changes.entries())
    if (
      outcome === 'carried_out' &&
      changes[at]?.outcome !== outcome &&
      !local.seen[at] &&
      !isShownByPix(after)
    )
      throw new Violation('a change counts as carried out, and the provider never did it (78)');
}

/** The Pix that paid it is of the terms that were asked for: whichever of them its payer had read, that is the end of the change. */
const isShownByPix = ({ due, amountCents }: Payment): boolean => due?.paid?.amountCents === amountCents;

const allowed: Readonly<Record<string, readonly string[]>> = {
  pending: ['paid', 'failed', 'expired'],
  expired: ['paid'],
};

// ----------------------------------------------------------------------------------------------------------- the provider

function reportOf(
  payment: Payment,
  { row, version, revision, paid }: Truth,
  rules: Partial<Rules>,
): ChargeReport {
  return {
    ...{ txid: providerIdOf(payment.id), amountCents: amountOf[version], createdAt: payment.createdAt },
    ...{ status: row, expiresAt: deadlineOf[version], copyPaste: 'code' },
    due: { terms: termsIn[version], revision: rules.numbersTerms ? revision : null },
    received: paid.map((by, at) => receivedPix(payment, by, at, rules)),
  };
}

function receivedPix(
  payment: Payment,
  by: Version | 'other',
  at: number,
  rules: Partial<Rules>,
): ReceivedPix {
  const none = { fineCents: 0, interestCents: 0, discountCents: 0, rebateCents: 0 };
  return {
    ...{
      endToEnd: `E${at}`,
      amountCents: amountOf[by],
      paidAt: start,
      txid: providerIdOf(payment.id),
      returns: [],
    },
    ...(rules.saysParts && by !== 'other' && { parts: { originalCents: amountOf[by], ...none } }),
  };
}

// ------------------------------------------------------------------------------------------------------- what must hold

const laws = invariants.filter(({ number }) => [22, 73, 77, 78].includes(number));
const noWorld = { idOf: () => '', eventsSince: 0, providerBalanceCents: null };

/** Throws a Violation when this state must not exist. */
export function check({ local, columns }: World): void {
  const { stored, had } = local;
  const { payment, intent } = stored;
  if (!payment?.due) return;
  const kept = storedPayment(local, payment, columns);
  for (const { number, payment: law } of laws) {
    const fault = law?.(kept, noWorld);
    if (fault) throw new Violation(`${fault} (${number})`);
  }
  if (isTerminal(payment.status) !== (intent === null))
    throw new Violation(`${payment.status} ${intent ? 'with' : 'without'} an intent (45)`);
  const version = versionOf(payment);
  if (!had.includes(version)) throw new Violation('it has terms that the provider never had (78)');
  if (!sameTerms(termsOf(payment.due), termsIn[version]))
    throw new Violation('its terms are of two versions (78)');
  if (stored.afterDeletion !== 0) throw new Violation('a deleted operation was posted to');
  if (stored.suspense !== 0 && stored.incidents.length === 0)
    throw new Violation('suspense without an incident (24)');
  const odd = oddPix(local, payment.due, version);
  if (odd) throw new Violation(`a Pix by the ${odd} terms is odd money (73)`);
  const received = receivedCents(local);
  if (-stored.clearing > received) throw new Violation('more was posted than was received (24)');
}

const versionOf = ({ amountCents }: Payment): Version => of(amountCents);
/** The terms by which a Pix was paid that waits for a person, though they are or were the charge's own. What arrives late gives terms that nothing knows. */
function oddPix(
  { stored, truth, late }: DueLocal,
  { change, earlier = [] }: DueCharge,
  now: Version,
): Version | null {
  const known = [now, ...[...(change ? [change] : []), ...earlier].map(({ amountCents }) => of(amountCents))];
  const [first] = truth.paid;
  const isOdd = stored.incidents.some(({ kind }) => kind === 'amount_mismatch');
  return isOdd && !late && truth.paid.length === 1 && first && first !== 'other' && known.includes(first)
    ? first
    : null;
}

const of = (amountCents: number): Version => (amountCents === amountOf.first ? 'first' : 'second');
const receivedCents = ({ truth }: DueLocal): number => truth.paid.reduce((sum, by) => sum + amountOf[by], 0);

function storedPayment({ stored }: DueLocal, payment: Payment, { deleted }: Columns): StoredPayment {
  const { changes, changeIntent } = stored;
  return {
    ...payment,
    ...{ refunds: [], operationDeleted: deleted, accountId },
    journals: stored.journals.filter(({ subject }) => subject === payment.id),
    requests: changes.map(({ id, status, outcome }) => ({
      ...{ kind: 'due_change', id, status, outcome, intentIdentity: null },
      intentState: changeIntent?.paymentId === id ? changeIntent.state : null,
    })),
  } as unknown as StoredPayment;
}

/** It has ended, or a person has to look, and every cent that came is in the journal; what was asked of it is over. */
export function hasEnded(local: DueLocal): boolean {
  const { payment, changeIntent, clearing, incidents } = local.stored;
  if (!payment) return true;
  const isOver = (isTerminal(payment.status) && changeIntent === null) || incidents.length > 0;
  return isOver && -clearing === receivedCents(local);
}

export const reservedFor = (): number => 0;

/** Whether it keeps its operation from being deleted, besides by the columns. */
export const blocksDeletion = ({ stored: { intent, incidents } }: DueLocal): boolean =>
  intent !== null || incidents.length > 0;

// -------------------------------------------------------------------------------------------------------------- the key

/** Everything that what happens next depends on, and nothing else. */
export function keyOf(local: DueLocal): string {
  const { stored, truth, owner, zombie, query, now } = local;
  const { payment, intent, changeIntent } = stored;
  if (!payment?.due) return 'due -';
  const { due } = payment;
  const words = [truth, owner?.saw, zombie?.saw, query?.saw].map((one) => one?.revision ?? 0);
  // Numbers are only compared.
  const known = [...new Set([0, ...words, due.revision ?? 0])].sort((one, other) => one - other);
  const rankOf = (revision: number | undefined): number =>
    revision === undefined ? -1 : known.indexOf(revision);
  const keyOfWord = (one: Truth): string => `${keyOfTruth(one)}${rankOf(one.revision)}`;
  const keyOfSender = (one: Sender | null): string =>
    one
      ? `${one.phase}${one.to}${one.saw ? keyOfWord(one.saw) : ''}${one.fence === changeIntent?.fence ? '=' : '!'}`
      : '-';
  const isLate = (at: number): string =>
    versions.map((one) => Number(at > deadlineOf[one] + 60_000)).join('');
  return [
    payment.status,
    payment.notice ?? '-',
    payment.endToEnd ?? '-',
    payment.expiresAt,
    keyOfDue(payment.amountCents, due),
    rankOf(due.revision),
    stored.incidents
      .map(({ reference }) => reference.replaceAll(payment.id, ''))
      .sort()
      .join(),
    [...stored.posted].sort().join(),
    stored.changes.map((one) => `${one.amountCents}${one.outcome ?? '-'}`).join(),
    local.seen.map(Number).join(''),
    keyOfWord(truth),
    local.had.length,
    local.orphans.join(),
    local.late,
    keyOfSender(owner),
    keyOfSender(zombie),
    isLate(now),
    ...keyOfIntent(intent, now),
    ...keyOfIntent(changeIntent, now),
    ...(query
      ? [query.of, keyOfWord(query.saw), isLate(query.startedAt), ...sinceOf(query, [intent, changeIntent])]
      : []),
  ].join('|');
}

const keyOfTruth = ({ row, version, paid }: Truth): string => `${row}${version}${paid.join('+')}`;

function keyOfDue(amountCents: number, { change, earlier = [], paid }: DueCharge): string {
  const of = [amountCents, change?.amountCents ?? '-', earlier.map((one) => one.amountCents).join('+')];
  return [...of, paid ? `${paid.amountCents}${paid.parts ? 'p' : ''}` : '-'].join('/');
}

const keyOfIntent = (intent: Intent | null, now: number): readonly (string | number | boolean)[] =>
  intent === null ? ['-'] : factsOfIntent(intent, now, Number.POSITIVE_INFINITY);

/** How a query stands to what it may be compared with. */
const sinceOf = ({ startedAt }: Query, intents: readonly (Intent | null)[]): boolean[] =>
  intents.flatMap((intent) =>
    intent === null
      ? [false, false]
      : [
          startedAt >= (intent.attemptEndedAt ?? Number.POSITIVE_INFINITY),
          intent.absentAt === null || startedAt >= intent.absentAt + 10_000,
        ],
  );
