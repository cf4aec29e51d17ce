import { capabilities } from '@vintem/testkit/capabilities.ts';
import { accept } from '../../server/src/flow/accept.ts';
import { applyOutcome } from '../../server/src/flow/apply.ts';
import { startSend, takeOverSend } from '../../server/src/flow/send.ts';
import { ApiError } from '../../server/src/ground/errors.ts';
import { cancelKeyOf } from '../../server/src/kinds/cancel/admission.ts';
import { cancel as cancelKind } from '../../server/src/kinds/cancel/cancel.ts';
import type { CancelReport } from '../../server/src/kinds/cancel/outcome.ts';
import { checkout } from '../../server/src/kinds/checkout/checkout.ts';
import type { Answered } from '../../server/src/kinds/kind.ts';
import { heldCents, isHeld } from '../../server/src/money/card.ts';
import { isTerminal, providerIdOf } from '../../server/src/money/payment.ts';
import { isRefundOpen } from '../../server/src/money/refund.ts';
import {
  invariants,
  type StoredPayment,
  type StoredRefund,
} from '../../server/src/operate/verify/invariants.ts';
import type { CardChargeback, CardRefund, CheckoutReport } from '../../server/src/provider/cards.ts';
import type { QueryOutcome, SendOutcome } from '../../server/src/provider/provider.ts';
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
import {
  amountAt,
  pixCents as amountCents,
  type Can,
  checkLane,
  fees,
  keyOfLane,
  laneActions,
  lanesOf,
  type Parts,
  type Returning,
  type Row,
  refundIdOf,
  blocksDeletion as refundsBlock,
  requestKeyOf,
  timeActions,
  waitsForPerson,
} from './refund-model.ts';

/**
 * A payment by card and its acquirer: from nothing (`page`), from its page, which a merchant may close
 * (`cancel`), or from its approval (`paid`), with refunds that a merchant asks for. The acquirer reports a
 * page as a whole, and its word comes by a query that may be as old as the search likes, so news is late, doubled and out of order. Time is compared and not
 * counted, as in `model.ts`.
 */
export type CardBegin = 'page' | 'cancel' | 'paid';

/** The state of the page at the acquirer. */
interface Page {
  row: 'none' | 'open' | 'closed';
  /** The second one that a repeated creation made, where the acquirer does not know its own. */
  other: 'none' | 'open' | 'paid';
  /** The last attempt that was not approved. */
  attempt: 'none' | 'processing' | 'refused';
  refusals: number;
  approval: 'none' | 'as asked' | 'of another amount';
  released: boolean;
  /** The acquirer has put the day of the release off. */
  moved: boolean;
  chargeback: 'none' | 'open' | 'won' | 'lost';
  /** A part was given back in the acquirer's own panel. */
  elsewhere: boolean;
}

type Phase = 'toSend' | 'sent' | 'silent' | 'accepted' | 'accepted again' | 'refused';

/** A process that began an attempt and is still alive. */
interface Owner {
  fence: string;
  phase: Phase;
}

/** The acquirer's word at one moment. */
interface Word {
  page: Page;
  rows: readonly Row[];
}

export interface CardLocal extends Returning {
  kind: 'card';
  begin: CardBegin;
  page: Page;
  /** Pages that its creation made. */
  made: number;
  owner: Owner | null;
  zombie: Owner | null;
  orphans: number;
  query: (Word & { startedAt: number }) | null;
  /** Who sends the cancel. */
  canceller: Owner | null;
}

type World = WorldOf<CardLocal>;

const costCents = 30;
const otherCents = 700;
const chargedBackCents = 700;
const chargebackCostCents = 15;
const elsewhereCents = 400;
const mostRefusals = 2;
const releaseAt = start + 30 * 24 * hour;
const movedTo = releaseAt + 3 * 24 * hour;

const canCards = { ...capabilities, cards: true };
const rulesOf = (rules: Rules) => ({ ...canCards, repeatIsSafe: rules.capabilities.repeatIsSafe });

const statusOf = { open: 'pending', completed: 'settled', refused: 'failed' } as const;
const disputeOf = { open: 'open', won: 'rejected', lost: 'accepted' } as const;
const noPage: Page = {
  ...{ row: 'none', other: 'none', attempt: 'none', refusals: 0, approval: 'none', released: false },
  ...{ moved: false, chargeback: 'none', elsewhere: false },
};

const order = {
  amountCents,
  payerName: 'Maria',
  description: '',
  requestKey: requestKeyOf(98),
  expiresInMinutes: 60,
};

const runtimeOf = (memory: Memory, rules: Rules) => memory.runtime(rulesOf(rules), rules);
const memoryOf = ({ local, columns }: World): Memory => new Memory(local.stored, columns, local.now, fees);

const localFrom = (begin: CardBegin, stored: CardLocal['stored'], page: Page, parts: Parts): CardLocal => ({
  ...{ kind: 'card', begin, stored, now: start, page, made: page.row === 'none' ? 0 : 1 },
  ...{ lanes: lanesOf(parts), takenCents: 0, owner: null, zombie: null, orphans: 0, query: null },
  canceller: null,
});

const nothing: Columns = {
  ...{ available: 0, reserved: 0, held: 0, receivable: 0, holdWanted: 0, cardHeld: 0 },
  ...{ frozen: false, deleted: false },
};

/** As the service makes it on a good day. */
async function paymentWith(page: Page): Promise<CardLocal['stored']> {
  const memory = new Memory(nothingStored, nothing, start, fees);
  const runtime = memory.runtime(canCards, { transferWaitMs: 0 });
  void accept(runtime, checkout, caller, order).catch(() => {});
  for (let turn = 0; turn < 60 && memory.called === null; turn++) await null;
  const report = reportOf(localFrom('paid', memory.stored, page, []), { page, rows: [] });
  if (!report) throw new Error('no page');
  await applyOutcome(
    runtime,
    placed(memory.stored.payment?.id ?? '', foundAt(start, report)),
    Number.POSITIVE_INFINITY,
  );
  return memory.stored;
}

const foundAt = (startedAt: number, report: CheckoutReport): Answered<CheckoutReport> => ({
  ...{ from: 'query', id: 'q', startedAt, outcome: { outcome: 'found', report } },
});

const placed = (paymentId: string, observation: Answered<CheckoutReport>) =>
  ({ accountId, paymentId, operationId, connection, kind: 'checkout', observation }) as const;

const pages: Readonly<Record<CardBegin, Page>> = {
  page: noPage,
  cancel: { ...noPage, row: 'open' },
  paid: { ...noPage, row: 'closed', approval: 'as asked' },
};
const begins: Readonly<Record<CardBegin, CardLocal['stored']>> = {
  page: nothingStored,
  cancel: await paymentWith(pages.cancel),
  paid: await paymentWith(pages.paid),
};

export const newCardLocal = (begin: CardBegin, parts: Parts): CardLocal => ({
  ...localFrom(begin, begins[begin], pages[begin], parts),
  now: start + 1_000,
});

/** Everything that can happen next. */
export function actionsOf(local: CardLocal, rules: Rules): Action<CardLocal>[] {
  const actions: Action<CardLocal>[] = [];
  const can: CanCard = (name, run, fault = false) => actions.push({ name, fault, run });
  const { payment } = local.stored;
  if (payment === null) {
    can('the payment is asked for', (world) => ask(world, rules, ''));
    return actions;
  }
  // A repeat changes nothing, and `ask` looks: what is under way makes no difference to it.
  if (local.owner === null && local.zombie === null && local.canceller === null) {
    can('the request is repeated', (world) => ask(world, rules, ''));
    can('the request key comes with other data', (world) => ask(world, rules, 'another'));
  }
  sendActions(local, rules, can);
  cancelActions(local, rules, can);
  queryActions(local, rules, can);
  payerActions(local, can, rules);
  acquirerActions(local, rules, can);
  for (const at of local.lanes.keys()) laneActions(local, at, rules, can as Can);
  timeActions(local, can as Can, marksOf(local));
  return actions;
}

type CanCard = (name: string, run: Action<CardLocal>['run'], fault?: boolean) => void;

function sendActions(local: CardLocal, rules: Rules, can: CanCard): void {
  const { intent } = local.stored;
  const { owner, now } = local;
  if (intent && intent.state !== 'sending' && owner === null)
    can('a worker starts an attempt', (world) => begin(world, rules));
  if (intent?.state === 'sending' && intent.leaseUntil !== null && intent.leaseUntil <= now)
    can('a worker takes over', (world) => takeOver(world, rules));
  for (const who of ['owner', 'zombie'] as const) {
    const one = local[who];
    if (one) ownerActions(local, who, one, rules, can);
  }
  if (local.orphans === 0) return;
  can(
    'a lost request never arrives',
    ({ local: one }) => {
      one.orphans--;
    },
    true,
  );
  for (const [what, , arrive] of arrivals(local, rules))
    can(
      `a delayed request arrives: ${what}`,
      ({ local: one }) => {
        one.orphans--;
        arrive(one);
      },
      true,
    );
}

function ownerActions(
  local: CardLocal,
  who: 'owner' | 'zombie',
  { phase, fence }: Owner,
  rules: Rules,
  can: CanCard,
): void {
  const most = rules.lean ? 1 : 2;
  const leave = (one: CardLocal) => {
    if (one[who]?.phase === 'sent') one.orphans = Math.min(most, one.orphans + 1);
    one[who] = null;
  };
  const stores = (what: string, outcome: SendOutcome<CheckoutReport>, fault = false) =>
    can(
      `the ${who} stores: ${what}`,
      async (world) => {
        leave(world.local);
        await hear(world, rules, { from: 'send', fence, outcome });
      },
      fault,
    );
  can(`the ${who}'s process dies`, ({ local: one }) => leave(one), true);
  if (phase === 'toSend') {
    const { intent } = local.stored;
    if (who === 'owner' && isLeased(intent, fence, local.now))
      can(`the ${who} writes the request`, ({ local: one }) => {
        one[who] = { fence, phase: 'sent' };
      });
    else
      can(`the ${who} sees that its lease is over`, ({ local: one }) => {
        one[who] = null;
      });
    stores('no connection, nothing was sent', { outcome: 'notSent', detail: '' }, true);
    return;
  }
  if (phase === 'sent') {
    can(
      `the ${who}'s request is lost`,
      ({ local: one }) => {
        one[who] = { fence, phase: 'silent' };
      },
      true,
    );
    for (const [what, fault, arrive] of arrivals(local, rules))
      can(
        `the ${who}'s request arrives: ${what}`,
        ({ local: one }) => {
          one[who] = { fence, phase: arrive(one) };
        },
        fault,
      );
  }
  // The answer says what was there when the page was made, however late it is stored.
  if (phase === 'accepted' || phase === 'accepted again') {
    const report = reportOf(local, { page: { ...noPage, row: 'open' }, rows: [] });
    const providerRef = phase === 'accepted' ? 'cs_1' : 'cs_2';
    if (report) stores(phase, { outcome: 'accepted', report: { ...report, providerRef } });
  }
  if (phase === 'refused') stores('refused', { outcome: 'refused', reason: 'provider_refused', detail: '' });
  stores('no answer', unclear, phase !== 'silent');
}

type Arrival = readonly [name: string, fault: boolean, arrive: (local: CardLocal) => Phase];

function arrivals({ page }: CardLocal, rules: Rules): Arrival[] {
  if (page.row !== 'none' && rules.providerIsIdempotent)
    return [['the page is there', false, () => 'accepted']];
  const makes = (local: CardLocal): Phase => {
    local.made++;
    if (local.page.row !== 'none') {
      if (local.page.other === 'none') local.page = { ...local.page, other: 'open' };
      return 'accepted again';
    }
    local.page = { ...local.page, row: 'open' };
    return 'accepted';
  };
  return [
    ['a page is made', false, makes],
    ['refused', false, () => 'refused'],
    ['an error before any effect', true, () => 'silent'],
  ];
}

/** The payer at the acquirer's page. */
function payerActions({ page }: CardLocal, can: CanCard, rules: Rules): void {
  const becomes = (name: string, news: Partial<Page>, fault = false) =>
    can(
      name,
      ({ local: one }) => {
        one.page = { ...one.page, ...news };
      },
      fault,
    );
  const paid = { row: 'closed', attempt: 'none', approval: 'as asked' } as const;
  if (page.approval === 'none' && page.row === 'open') {
    if (page.refusals < (rules.lean ? 1 : mostRefusals) && page.attempt !== 'processing')
      becomes('an attempt is refused', { attempt: 'refused', refusals: page.refusals + 1 });
    if (page.attempt !== 'processing') becomes('an attempt is looked at', { attempt: 'processing' });
    becomes('an attempt is approved', paid);
    becomes('an attempt of another amount is approved', { ...paid, approval: 'of another amount' }, true);
    becomes('the page ends', { row: 'closed' });
  }
  if (page.approval === 'none' && page.row === 'closed')
    becomes('an attempt is approved behind the end of the page', paid, true);
  if (page.other === 'open' && page.approval === 'as asked')
    becomes('the other page is paid as well', { other: 'paid' }, true);
}

/** The acquirer, after an approval. In lean settings nothing is taken of a payment whose page is made there, and of one with refunds a chargeback alone. */
function acquirerActions({ page, takenCents, begin, lanes }: CardLocal, { lean }: Rules, can: CanCard): void {
  if (page.approval !== 'as asked') return;
  const becomes = (name: string, news: Partial<Page>, taken = 0) =>
    can(name, ({ local: one }) => {
      one.page = { ...one.page, ...news };
      one.takenCents = takenCents + taken;
    });
  if (!page.released) becomes('the acquirer releases it', { released: true });
  if (lean && begin !== 'paid') return;
  if (page.chargeback === 'none') becomes('it is charged back', { chargeback: 'open' }, chargedBackCents);
  if (page.chargeback === 'open') {
    becomes('the chargeback is won', { chargeback: 'won' }, -chargedBackCents);
    becomes('the chargeback is lost', { chargeback: 'lost' });
  }
  if (lean && lanes.length > 0) return;
  if (!page.released && !page.moved) becomes('the acquirer puts the release off', { moved: true });
  if (!page.elsewhere && takenCents === 0)
    becomes('a part is given back in the panel of the acquirer', { elsewhere: true }, elsewhereCents);
}

function queryActions(local: CardLocal, rules: Rules, can: CanCard): void {
  const { query } = local;
  const word = wordOf(local);
  const end = (name: string, startedAt: number, outcome: QueryOutcome<CheckoutReport>, fault = false) =>
    can(
      name,
      async (world) => {
        if (query !== null && startedAt === query.startedAt) world.local.query = null;
        const before = world.local.stored.payment;
        await hear(world, rules, { from: 'query', id: 'q', startedAt, outcome });
        const isOdd = outcome.outcome === 'found' && outcome.report.amountCents === otherCents;
        if (isOdd && world.local.stored.payment !== before)
          throw new Violation('a report of a page with another amount changed the payment (19)');
      },
      fault,
    );
  const found = (one: Word): QueryOutcome<CheckoutReport> => {
    const report = reportOf(local, one);
    return report ? { outcome: 'found', report } : { outcome: 'notFound' };
  };
  const isAsked = local.stored.intent?.state === 'awaiting';
  // News wakes a query at any time, and a second one while another is under way.
  if (isAsked || word.page.row !== 'none') end('the acquirer is asked', local.now, found(word));
  if (isAsked && query === null && !rules.lean)
    can('a query goes out', ({ local: one }) => {
      one.query = { startedAt: one.now - 1, ...wordOf(one) };
    });
  if (query) {
    if (keyOfWord(query) !== keyOfWord(word))
      end('the query ends: as it was when it began', query.startedAt, found(query), true);
    end('the query ends: no answer', query.startedAt, unclear, true);
  }
  if (word.page.row === 'none' || !isAsked) return;
  end('the acquirer does not find it, wrongly', local.now, { outcome: 'notFound' }, true);
  const report = reportOf(local, word);
  if (report)
    end(
      'the acquirer shows another amount',
      local.now,
      { outcome: 'found', report: { ...report, amountCents: otherCents } },
      true,
    );
}

const wordOf = ({ page, lanes }: CardLocal): Word => ({ page, rows: lanes.map(({ row }) => row) });
const keyOfWord = ({ page, rows }: Word): string => Object.values(page).concat(rows).join();

function reportOf(local: CardLocal, { page, rows }: Word): CheckoutReport | null {
  const { payment } = local.stored;
  if (!payment || page.row === 'none') return null;
  const isPaid = page.approval !== 'none';
  return {
    ...{ providerId: providerIdOf(payment.id), providerRef: 'cs_1', amountCents, currency: 'BRL' },
    ...{ page: page.row, url: page.row === 'open' ? 'https://acquirer.example/cs_1' : null },
    expiresAt: start + hour,
    attempt:
      page.attempt === 'none'
        ? null
        : { status: page.attempt, refusal: null, brand: 'visa', last4: '4242', refusals: page.refusals },
    approval: isPaid
      ? {
          ...{ reference: 'pi_1', currency: 'BRL', installments: 1, at: start, brand: 'visa', last4: '4242' },
          amountCents: page.approval === 'as asked' ? amountCents : otherCents,
          ...{ costCents, releaseAt: page.moved ? movedTo : releaseAt, released: page.released },
          refunds: refundsIn(local, page, rows),
          chargebacks: chargebacksIn(page),
        }
      : null,
    ...(page.other === 'paid' && { others: [{ reference: 'pi_2', amountCents }] }),
  };
}

function refundsIn(local: CardLocal, { elsewhere }: Page, rows: readonly Row[]): CardRefund[] {
  return [
    ...rows.flatMap((row, at): CardRefund[] =>
      row === 'none'
        ? []
        : [
            {
              ...{ reference: `R${at}`, providerId: providerIdOf(refundIdOf(local, at)), at: start },
              ...{ amountCents: amountAt(local, at), status: statusOf[row] },
            },
          ],
    ),
    ...(elsewhere
      ? [
          {
            ...{ reference: 'own', providerId: null, amountCents: elsewhereCents, at: start },
            status: 'settled' as const,
          },
        ]
      : []),
  ];
}

function chargebacksIn({ chargeback }: Page): CardChargeback[] {
  if (chargeback === 'none') return [];
  return [
    {
      report: {
        ...{ providerId: 'du_1', endToEnd: 'pi_1', amountCents: chargedBackCents, reason: null },
        ...{ status: disputeOf[chargeback], openedAt: start, deadlineAt: null },
      },
      ...{ outCents: chargedBackCents, backCents: chargeback === 'won' ? chargedBackCents : 0 },
      costCents: chargebackCostCents,
      costBackCents: chargeback === 'won' ? chargebackCostCents : 0,
    },
  ];
}

// ----------------------------------------------------------------------------------------------------------- the cancel

/** A merchant closes the page. One process sends it at a time, and one that dies is taken over. */
function cancelActions(local: CardLocal, rules: Rules, can: CanCard): void {
  const { cancelIntent: intent, cancel, payment } = local.stored;
  const { canceller, now } = local;
  const mayBe = local.begin === 'cancel' || !rules.lean;
  if (mayBe && cancel === null && payment && !isTerminal(payment.status))
    can('the merchant cancels', (world) => askCancel(world, rules));
  if (intent && intent.state !== 'sending' && canceller === null)
    can('a worker sends the cancel', (world) => beginCancel(world, rules));
  if (intent?.state === 'sending' && intent.leaseUntil !== null && intent.leaseUntil <= now)
    can('a worker takes the cancel over', async (world) => {
      const memory = memoryOf(world);
      await takeOverSend(runtimeOf(memory, rules), intent);
      store(world, memory);
      world.local.canceller = null;
    });
  if (intent?.state === 'awaiting') {
    const report = reportOf(local, wordOf(local));
    if (report)
      can('the acquirer is asked for the cancel', (world) =>
        hearCancel(world, rules, {
          ...{ from: 'query', id: 'q', startedAt: now, outcome: { outcome: 'found', report } },
        }),
      );
  }
  if (canceller) cancellerActions(local, canceller, rules, can);
}

function cancellerActions(local: CardLocal, { phase, fence }: Owner, rules: Rules, can: CanCard): void {
  const stores = (what: string, outcome: SendOutcome<CancelReport>, fault = false) =>
    can(
      `the canceller stores: ${what}`,
      async (world) => {
        world.local.canceller = null;
        await hearCancel(world, rules, { from: 'send', fence, outcome });
      },
      fault,
    );
  can(
    "the canceller's process dies",
    ({ local: one }) => {
      one.canceller = null;
    },
    true,
  );
  if (phase === 'toSend') {
    can('the cancel arrives', ({ local: one }) => {
      const closes = one.page.row === 'open' && one.page.attempt !== 'processing';
      if (closes) one.page = { ...one.page, row: 'closed' };
      one.canceller = { fence, phase: closes ? 'accepted' : 'refused' };
    });
    stores('no answer', unclear, true);
    return;
  }
  const report = reportOf(local, wordOf(local));
  if (phase === 'accepted' && report) stores('closed', { outcome: 'accepted', report });
  if (phase === 'refused') stores('refused', { outcome: 'refused', reason: 'provider_refused', detail: '' });
  stores('no answer', unclear, true);
}

async function askCancel(world: World, rules: Rules): Promise<void> {
  const { payment } = world.local.stored;
  if (!payment) return;
  const memory = memoryOf(world);
  const asked = { paymentId: payment.id, requestKey: cancelKeyOf(payment.id) };
  const failed = await accepting(memory, accept(runtimeOf(memory, rules), cancelKind, caller, asked));
  if (failed) throw new Violation(`a cancel of an open payment was refused: ${failed.code}`);
  store(world, memory);
  const { cancelIntent } = world.local.stored;
  if (memory.called !== null && cancelIntent)
    world.local.canceller = { fence: cancelIntent.fence, phase: 'toSend' };
}

async function beginCancel(world: World, rules: Rules): Promise<void> {
  const { cancelIntent } = world.local.stored;
  if (!cancelIntent) return;
  const memory = memoryOf(world);
  const runtime = runtimeOf(memory, rules);
  const attempt = await startSend(runtime, cancelIntent);
  const row = memory.stored.cancel;
  store(world, memory);
  if (!attempt || !row) return;
  const sending = { connection, can: rulesOf(rules), repeat: attempt.repeat };
  const call = await cancelKind.prepare(runtime, row, { ...sending, second: null, traceparent: undefined });
  if (typeof call === 'function') world.local.canceller = { fence: attempt.fence, phase: 'toSend' };
  else if ('outcome' in call)
    await hearCancel(world, rules, { from: 'send', fence: attempt.fence, outcome: call });
}

async function hearCancel(world: World, rules: Rules, observation: Answered<CancelReport>): Promise<void> {
  const { cancel } = world.local.stored;
  if (!cancel) return;
  const memory = memoryOf(world);
  await applyOutcome(
    runtimeOf(memory, rules),
    cancelKind.observed(cancel, connection, observation),
    Number.POSITIVE_INFINITY,
  );
  store(world, memory);
}

// ------------------------------------------------------------------------------------------------------------ the service

/** Until it is answered, or sent. @returns what refused it */
async function accepting(memory: Memory, work: Promise<unknown>): Promise<ApiError | null> {
  let failed: unknown = null;
  let ended = false;
  work.then(
    () => {
      ended = true;
    },
    (error: unknown) => {
      failed = error;
    },
  );
  for (let turn = 0; turn < 60 && !ended && failed === null && memory.called === null; turn++) await null;
  if (failed !== null && !(failed instanceof ApiError)) throw failed;
  return failed;
}

async function ask(world: World, rules: Rules, description: string): Promise<void> {
  const { local } = world;
  const before = local.stored.payment;
  const memory = memoryOf(world);
  const failed = await accepting(
    memory,
    accept(runtimeOf(memory, rules), checkout, caller, { ...order, description }),
  );
  if (before !== null) {
    if (memory.called !== null || memory.stored.payment !== before)
      throw new Violation('a repeated request changed something');
    if (description !== '' && failed === null) throw new Violation('a request key was taken with other data');
    return;
  }
  store(world, memory);
  const { intent } = local.stored;
  if (memory.called === null) return;
  if (intent?.state !== 'sending') throw new Violation('it was sent without an intent on record');
  local.owner = { fence: intent.fence, phase: 'toSend' };
}

async function begin(world: World, rules: Rules): Promise<void> {
  const { intent } = world.local.stored;
  if (!intent) return;
  const memory = memoryOf(world);
  const attempt = await startSend(runtimeOf(memory, rules), intent);
  store(world, memory);
  if (attempt) world.local.owner = { fence: attempt.fence, phase: 'toSend' };
}

async function takeOver(world: World, rules: Rules): Promise<void> {
  const { local } = world;
  const { intent } = local.stored;
  if (!intent) return;
  const memory = memoryOf(world);
  await takeOverSend(runtimeOf(memory, rules), intent);
  store(world, memory);
  if (!local.owner) return;
  if (local.zombie?.phase === 'sent') local.orphans = Math.min(2, local.orphans + 1);
  local.zombie = local.owner;
  local.owner = null;
}

async function hear(world: World, rules: Rules, observation: Answered<CheckoutReport>): Promise<void> {
  const { local } = world;
  const { payment, intent } = local.stored;
  if (!payment) return;
  const memory = memoryOf(world);
  await applyOutcome(runtimeOf(memory, rules), placed(payment.id, observation), Number.POSITIVE_INFINITY);
  const isOvertaken = observation.from === 'send' && intent?.fence !== observation.fence;
  if (isOvertaken && observation.outcome.outcome !== 'accepted')
    if (memory.stored.payment !== payment || memory.stored.intent !== intent)
      throw new Violation('an owner that was overtaken changed something (47)');
  store(world, memory);
}

function store(world: World, memory: Memory): void {
  const before = world.local.stored.payment;
  const after = memory.stored.payment;
  world.local.stored = memory.stored;
  world.columns = memory.columns;
  if (!before || !after || before === after) return;
  // A dispute that takes nothing is none of the payment's own times.
  if (after.updatedAt <= before.updatedAt && after.disputed === before.disputed)
    throw new Violation('updatedAt did not increase');
  if (before.status !== after.status && !allowed[before.status]?.includes(after.status))
    throw new Violation(`${before.status} became ${after.status}`);
  if (before.card?.settlement === 'available' && after.card?.settlement !== 'available')
    throw new Violation('a release was taken back');
  if (before.card?.approval && before.card.approval !== after.card?.approval)
    throw new Violation('another approval took the place of the first');
}

const allowed: Readonly<Record<string, readonly string[]>> = {
  unknown: ['pending', 'paid', 'failed', 'expired'],
  pending: ['paid', 'failed', 'expired'],
  expired: ['paid'],
};

/** The instants that some rule compares the present with. */
function marksOf({ stored: { intent, cancelIntent, payment } }: CardLocal): number[] {
  const marks = [intent, cancelIntent].flatMap((one) =>
    one === null
      ? []
      : [
          ...(one.leaseUntil === null ? [] : [one.leaseUntil]),
          ...(one.absentAt === null || one.absences >= 2 ? [] : [one.absentAt + 10_000]),
        ],
  );
  const overdueAt = payment && intent ? overdueAtOf(payment, intent) : null;
  return overdueAt === null || overdueAt > start + 3 * 24 * hour ? marks : [...marks, overdueAt];
}

/** Of a payment that is not paid; one that is waits for weeks, and its days are not counted here. */
function overdueAtOf(
  { status, expiresAt, createdAt }: NonNullable<CardLocal['stored']['payment']>,
  { undecidedSince }: NonNullable<CardLocal['stored']['intent']>,
): number | null {
  if (undecidedSince === null || status === 'paid') return null;
  const from = status === 'pending' ? Math.max(expiresAt ?? createdAt, undecidedSince) : undecidedSince;
  return from + 24 * hour + 1;
}

// ------------------------------------------------------------------------------------------------------- what must hold

/** Those of stored data that a payment by card alone can break (`operate/verify/invariants.ts`). */
const laws = invariants.filter(({ number }) => [22, 53, 54, 55, 60, 69, 71, 72].includes(number));

/** Throws a Violation when this state must not exist. */
export function check({ local, columns }: World): void {
  const { stored, page, lanes } = local;
  const { payment, intent } = stored;
  if (!payment?.card) return;
  const kept = storedPayment(local, columns);
  for (const { number, payment: law } of laws) {
    const fault = law?.(kept, noWorld);
    if (fault) throw new Violation(`${fault} (${number})`);
  }
  const isFollowed = !isTerminal(payment.status) || isHeld(payment);
  if (isFollowed !== (intent !== null))
    throw new Violation(`${payment.status} ${intent ? 'with' : 'without'} an intent (45)`);
  if (payment.status === 'paid' && page.approval !== 'as asked')
    throw new Violation('paid without an approval as asked (71)');
  if (payment.card.settlement === 'available' && !page.released)
    throw new Violation('released without the word of the acquirer (71)');
  if (local.made > 1 && canRepeat(local))
    throw new Violation('two pages were made where one was asked for (12)');
  if (stored.afterDeletion !== 0) throw new Violation('a deleted operation was posted to');
  if (stored.suspense !== 0 && stored.incidents.length === 0)
    throw new Violation('suspense without an incident (24)');
  for (const [at, lane] of lanes.entries()) checkLane(local, lane, at);
  const overdueAt = intent ? overdueAtOf(payment, intent) : null;
  if (overdueAt !== null && (intent?.answeredAt ?? 0) >= overdueAt && stored.incidents.length === 0)
    throw new Violation('a day of answered queries, and no incident (50)');
}

/** The acquirer knows its own: a second page is never made. */
const canRepeat = ({ page }: CardLocal): boolean => page.other === 'none';

const noWorld = { idOf: () => '', eventsSince: 0, providerBalanceCents: null };

function storedPayment({ stored }: CardLocal, { deleted }: Columns): StoredPayment {
  const { payment, cancel, cancelIntent } = stored;
  if (!payment) throw new Error('no payment');
  const of = (subject: string) => stored.journals.filter((one) => one.subject === subject);
  const refunds = stored.refunds.map(
    (one): StoredRefund => ({
      ...one,
      journals: of(one.id),
      intentState: stored.refundIntents.find(({ paymentId }) => paymentId === one.id)?.state ?? null,
      intentIdentity: null,
    }),
  );
  return {
    ...payment,
    ...{ refunds, journals: of(payment.id), operationDeleted: deleted },
    requests: cancel
      ? [
          {
            ...{ kind: 'cancel', id: cancel.id, status: cancel.status },
            ...{ intentState: cancelIntent?.state ?? null, intentIdentity: null },
          },
        ]
      : [],
  } as unknown as StoredPayment;
}

/** The movement of the acquirer's account by it, as clearing lines show it. */
function clearingOf(local: CardLocal): number {
  const { page, lanes } = local;
  const given = lanes.reduce(
    (sum, { row }, at) => (row === 'completed' ? sum + amountAt(local, at) : sum),
    0,
  );
  const charged = page.chargeback === 'open' || page.chargeback === 'lost';
  return (
    costCents -
    amountCents +
    given +
    (charged ? chargedBackCents + chargebackCostCents : 0) +
    (page.elsewhere ? elsewhereCents : 0)
  );
}

/** The payment has ended, and every cent that the acquirer moved for it is in the journal; or a person has to look. */
export function hasEnded(local: CardLocal): boolean {
  const { stored, page } = local;
  const { payment, incidents } = stored;
  if (!payment) return true;
  if (stored.refunds.some((one, at) => isRefundOpen(one) && !waitsForPerson(local, at))) return false;
  if (payment.status !== 'paid')
    return (isTerminal(payment.status) && page.approval === 'none') || incidents.length > 0;
  return payment.card?.settlement === 'available' && stored.clearing === clearingOf(local);
}

export const cardHeldFor = ({ stored: { payment } }: CardLocal): number => (payment ? heldCents(payment) : 0);

/** Whether it keeps its operation from being deleted, besides by the columns. */
export const blocksDeletion = (local: CardLocal): boolean =>
  local.stored.intent !== null || local.stored.cancelIntent !== null || refundsBlock(local);

// -------------------------------------------------------------------------------------------------------------- the key

/** Everything that what happens next depends on, and nothing else. */
export function keyOf(local: CardLocal): string {
  const { stored, page, query, now, lanes } = local;
  const { payment, intent, cancel, cancelIntent } = stored;
  if (!payment) return 'card -';
  return [
    payment.status,
    payment.notice ?? '-',
    payment.refundedCents,
    payment.expiresAt !== null,
    payment.disputed,
    JSON.stringify(payment.card),
    stored.disputes.map(({ status, debitedCents }) => `${status}${debitedCents}`).join(),
    stored.incidents
      .map(({ reference }) => reference.replaceAll(payment.id, ''))
      .sort()
      .join(),
    [...stored.posted].sort().join(),
    keyOfWord({ page, rows: [] }),
    local.made,
    local.takenCents,
    local.orphans,
    keyOfOwner(local.owner, intent),
    keyOfOwner(local.zombie, intent),
    keyOfOwner(local.canceller, cancelIntent),
    cancel?.status ?? '-',
    ...keyOfIntent(local, intent),
    ...keyOfIntent(local, cancelIntent),
    ...(query
      ? [
          keyOfWord(query),
          intent !== null && query.startedAt >= (intent.attemptEndedAt ?? Number.POSITIVE_INFINITY),
          intent !== null && (intent.absentAt === null || query.startedAt >= intent.absentAt + 10_000),
        ]
      : []),
    payment.status === 'pending' && payment.expiresAt !== null && now >= payment.expiresAt,
    ...lanes.map((lane, at) => keyOfLane(local, lane, at)),
  ].join('|');
}

const keyOfOwner = (one: Owner | null, intent: { fence: string } | null): string =>
  one ? `${one.phase}${one.fence === intent?.fence ? '=' : '!'}` : '-';

function keyOfIntent(
  { stored: { payment }, now }: CardLocal,
  intent: CardLocal['stored']['intent'],
): readonly (string | number | boolean)[] {
  if (!intent || !payment) return ['-'];
  return factsOfIntent(intent, now, overdueAtOf(payment, intent) ?? Number.POSITIVE_INFINITY);
}
