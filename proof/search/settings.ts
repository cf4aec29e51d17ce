import { capabilities } from '@vintem/testkit/capabilities.ts';
import type { Observation } from '../../server/src/kinds/payment/interpret-report.ts';
import type { PayoutReport, QueryOutcome } from '../../server/src/provider/provider.ts';
import type { Setting } from './explore.ts';
import type { Rules } from './model.ts';

/** The first adapter and its provider, which never decides an id twice. */
const efi: Rules = {
  name: 'as the first adapter declares',
  capabilities,
  transferWaitMs: 6_000,
  providerIsIdempotent: true,
  refusalLeavesRow: true,
  contradictions: false,
  lean: true,
  returns: false,
};

const rules = {
  efi,
  full: { ...efi, name: 'as the first adapter declares, everything at once', lean: false, returns: true },
  returning: { ...efi, name: 'what was paid comes back, under changing names', returns: true },
  paidTwice: { ...efi, name: 'charges are paid twice and given back', lean: false, returns: true },
  byWorkers: { ...efi, name: 'workers send', transferWaitMs: 0 },
  paysAgain: {
    ...efi,
    name: 'a provider that would pay a repeat again',
    capabilities: { ...capabilities, repeatIsSafe: false },
    providerIsIdempotent: false,
  },
  twoSteps: {
    ...efi,
    name: 'a first call prepares, a second one sends',
    capabilities: { ...capabilities, confirmsPayouts: true },
    twoSteps: true,
  },
  sendsAgain: {
    ...efi,
    name: 'a first call prepares, and each second one sends',
    capabilities: { ...capabilities, confirmsPayouts: true, repeatIsSafe: false },
    providerIsIdempotent: false,
    twoSteps: true,
  },
  refusalNotFinal: {
    ...efi,
    name: 'a provider whose refusal of an id is not final',
    capabilities: { ...capabilities, refusalIsFinal: false },
    refusalLeavesRow: false,
  },
  refunds: { ...efi, name: 'what is given back, beside what the provider takes', returns: true },
  twins: { ...efi, name: 'what is given back, under changing names' },
  refundsByWorkers: { ...efi, name: 'workers send refunds', transferWaitMs: 0, returns: true },
  refundsFull: { ...efi, name: 'what is given back, everything at once', lean: false, returns: true },
  cards: { ...efi, name: 'an acquirer that knows its own pages, as Stripe', returns: true },
  cardsOld: { ...efi, name: 'an acquirer whose word may be old', lean: false },
  cardsTwice: { ...efi, name: 'an acquirer that makes a second page, as Asaas', providerIsIdempotent: false },
  dues: { ...efi, name: 'a provider that numbers its terms', numbersTerms: true, saysParts: true },
  duesUnnumbered: { ...efi, name: 'a provider that neither numbers its terms nor says parts' },
  duesTwice: {
    ...efi,
    name: 'charges that are paid twice',
    lean: false,
    numbersTerms: true,
    saysParts: true,
  },
  removing: { ...efi, name: 'a person removes payouts in its panel', removals: true },
  liar: { ...efi, name: 'a provider that completes what it refused', contradictions: true },
} satisfies Record<string, Rules>;

const alone = (kind: 'transfer' | 'charge', available = 1_000): Setting['operations'] => [
  { available, payments: [kind] },
  { available: 0, payments: [] },
];
/** A paid charge of 1,000 cents, all of it still there. */
const goingBack = (back: 'refunds' | 'payer return', ...parts: number[]): Setting['operations'] => [
  { available: 1_000, payments: [{ back, parts }] },
];
/** A payment by card from its beginning, from its page, or approved and held, with refunds in such parts. */
const byCard = (card: 'page' | 'cancel' | 'paid', ...parts: number[]): Setting['operations'] => [
  { available: 0, cardHeld: card === 'paid' ? 1_000 : 0, payments: [{ card, parts }] },
  { available: 0, payments: [] },
];
/** A charge with a due date, and so many changes of it. */
const changing = (changes: number): Setting['operations'] => [
  { available: 0, payments: [{ changes }] },
  { available: 0, payments: [] },
];
const unbounded = { endsByItself: true, faults: Number.POSITIVE_INFINITY, deletion: true, most: 20_000_000 };

/** Charges with a due date that are changed, and changed back. */
const dues: Setting[] = [
  { name: 'one charge that is changed', rules: rules.dues, operations: changing(1), ...unbounded, faults: 1 },
  {
    name: 'one charge that is changed back',
    rules: rules.dues,
    operations: changing(2),
    ...unbounded,
    faults: 0,
  },
  {
    name: 'one charge that is changed back, without numbers',
    rules: rules.duesUnnumbered,
    operations: changing(2),
    ...unbounded,
    faults: 0,
  },
];

/** A charge by a link for one payment, and by one with a stock, beside other payers. */
const links: Setting[] = [1, 2].map((most) => ({
  name: most === 1 ? 'one charge by a link for one payment' : 'one charge by a link with a stock',
  rules: rules.efi,
  operations: [
    { available: 0, payments: [{ link: most }] },
    { available: 0, payments: [] },
  ],
  ...unbounded,
  faults: 1,
}));

/** The same with a fault on each path, and with a second Pix. */
const longDues: Setting[] = [
  ...dues.slice(1).map((setting) => ({ ...setting, faults: 1 })),
  {
    name: 'one charge that is changed, paid twice',
    rules: rules.duesTwice,
    operations: changing(1),
    ...unbounded,
    faults: 1,
  },
];

/** Payments by card: their creation, their end by the merchant, and what follows an approval. */
const cards: Setting[] = [
  {
    name: 'one payment by card, the page made again',
    rules: rules.cardsTwice,
    operations: byCard('page'),
    ...unbounded,
    faults: 0,
  },
  {
    name: 'a payment by card that is cancelled',
    rules: rules.cards,
    operations: byCard('cancel'),
    ...unbounded,
    faults: 0,
  },
  {
    name: 'an approved payment by card, news of any age',
    rules: rules.cardsOld,
    operations: byCard('paid'),
    ...unbounded,
  },
  {
    name: 'an approved payment by card that is refunded',
    rules: rules.cards,
    operations: byCard('paid', 1_000),
    ...unbounded,
    faults: 0,
  },
  {
    name: 'an approved payment by card of which a part is refunded',
    rules: rules.cards,
    operations: byCard('paid', 400),
    ...unbounded,
    faults: 0,
  },
];

/** The same with a fault on each path. */
const longCards: Setting[] = [
  { name: 'one payment by card', rules: rules.cards, operations: byCard('page'), ...unbounded, faults: 1 },
  ...cards.filter(({ faults }) => faults === 0).map((setting) => ({ ...setting, faults: 1 })),
];

/** The settings that `npm run proof` explores, however few its minutes are. */
export const quick: Setting[] = [
  { name: 'one transfer', rules: rules.efi, operations: alone('transfer'), ...unbounded },
  { name: 'one charge', rules: rules.efi, operations: alone('charge'), ...unbounded },
  {
    name: 'one transfer that comes back',
    rules: rules.returning,
    operations: alone('transfer'),
    ...unbounded,
  },
  {
    name: 'one charge that is given back',
    rules: rules.returning,
    operations: alone('charge'),
    ...unbounded,
  },
  {
    name: 'one transfer, sent by workers',
    rules: rules.byWorkers,
    operations: alone('transfer'),
    ...unbounded,
  },
  {
    // Where a repeat is not safe, what was lost before it arrived stays with its reserve: only a person can end it.
    name: 'one transfer, repeats pay again',
    rules: rules.paysAgain,
    operations: alone('transfer'),
    ...unbounded,
    endsByItself: false,
  },
  {
    name: 'one transfer that a person may remove at the provider',
    rules: rules.removing,
    operations: alone('transfer'),
    ...unbounded,
    faults: 2,
  },
  {
    name: 'one transfer, in two steps',
    rules: rules.twoSteps,
    operations: alone('transfer'),
    ...unbounded,
    faults: 2,
  },
  {
    name: 'one transfer, in two steps, of which each second one sends',
    rules: rules.sendsAgain,
    operations: alone('transfer'),
    ...unbounded,
    endsByItself: false,
  },
  {
    name: 'one transfer, refusals not final',
    rules: rules.refusalNotFinal,
    operations: alone('transfer'),
    ...unbounded,
  },
  {
    name: 'one transfer, provider contradicts itself',
    rules: rules.liar,
    operations: alone('transfer'),
    ...unbounded,
  },
  {
    name: 'one refund of a charge',
    rules: rules.refundsFull,
    operations: goingBack('refunds', 1_000),
    ...unbounded,
    faults: 1,
  },
  {
    name: 'one refund of a charge, of a part',
    rules: rules.refundsByWorkers,
    operations: goingBack('refunds', 400),
    ...unbounded,
    faults: 1,
  },
  {
    name: 'two refunds of a charge, more than there is',
    rules: rules.refunds,
    operations: goingBack('refunds', 400, 700),
    ...unbounded,
    faults: 0,
  },
  {
    name: 'two refunds of a charge, of the same amount',
    rules: rules.twins,
    operations: goingBack('refunds', 400, 400),
    ...unbounded,
    faults: 0,
  },
  {
    name: 'a Pix in suspense goes back to its payer',
    rules: rules.refunds,
    operations: goingBack('payer return', 1_000, 1_000),
    ...unbounded,
    faults: 0,
  },
  {
    name: 'three transfers on two operations, money for one and a half',
    rules: rules.efi,
    operations: [
      { available: 1_500, payments: ['transfer', 'transfer'] },
      { available: 1_000, payments: ['transfer'] },
    ],
    ...unbounded,
    faults: 1,
  },
  {
    name: 'a charge that pays for a transfer, beside another operation',
    rules: rules.efi,
    operations: [
      { available: 0, payments: ['charge', 'transfer'] },
      { available: 1_000, payments: ['transfer'] },
    ],
    ...unbounded,
    faults: 1,
  },
  ...cards,
  ...dues,
  ...links,
];

const ofTheSuite = [
  'one transfer',
  'one charge',
  'one transfer, sent by workers',
  'one transfer, refusals not final',
  'a Pix in suspense goes back to its payer',
];
/** The settings that `npm test` explores. */
export const short: Setting[] = quick.filter(({ name }) => ofTheSuite.includes(name));

/** Further settings of the long run. Two refunds of one amount are not among it: with a fault they took 6 GB in twenty minutes without an end. */
export const long: Setting[] = [
  ...longCards,
  ...longDues,
  {
    name: 'two refunds of a charge, more than there is',
    rules: rules.refunds,
    operations: goingBack('refunds', 400, 700),
    ...unbounded,
    faults: 1,
  },
  {
    name: 'a Pix in suspense goes back to its payer',
    rules: rules.refunds,
    operations: goingBack('payer return', 1_000, 1_000),
    ...unbounded,
    faults: 1,
  },
  { name: 'one transfer, in two steps', rules: rules.twoSteps, operations: alone('transfer'), ...unbounded },
  {
    name: 'one transfer, everything at once',
    rules: rules.full,
    operations: alone('transfer'),
    ...unbounded,
  },
  { name: 'one charge, everything at once', rules: rules.full, operations: alone('charge'), ...unbounded },
  {
    name: 'one charge that is paid twice and given back',
    rules: rules.paidTwice,
    operations: alone('charge'),
    ...unbounded,
  },
  {
    name: 'three transfers on two operations, money for one and a half',
    rules: rules.efi,
    operations: [
      { available: 1_500, payments: ['transfer', 'transfer'] },
      { available: 1_000, payments: ['transfer'] },
    ],
    ...unbounded,
    faults: 2,
  },
  {
    name: 'a charge that pays for a transfer, beside another operation',
    rules: rules.efi,
    operations: [
      { available: 0, payments: ['charge', 'transfer'] },
      { available: 1_000, payments: ['transfer'] },
    ],
    ...unbounded,
    faults: 2,
  },
];

const refusal = (observation: Observation): Observation => {
  const report: Partial<PayoutReport> = {
    providerId: '',
    amountCents: 975,
    pixKey: null,
    status: 'refused',
    endToEnd: null,
    settledAt: null,
    reason: 'provider_refused',
    returns: [],
  };
  return {
    from: 'query',
    id: 'planted',
    startedAt: observation.from === 'query' ? observation.startedAt : 0,
    outcome: { outcome: 'found', report: report as PayoutReport },
  };
};

const plantedIn = (name: string, planted: NonNullable<Rules['planted']>, based: Rules = efi): Setting => ({
  name,
  rules: { ...based, planted },
  operations: alone('transfer'),
  ...unbounded,
});

/** The prepared payout of an observation, as something else. */
const asIfPrepared = (
  seen: Observation,
  read: (report: PayoutReport) => QueryOutcome<PayoutReport>,
): Observation =>
  seen.from === 'query' && 'report' in seen.outcome && seen.outcome.report.status === 'prepared'
    ? { ...seen, outcome: read(seen.outcome.report) }
    : seen;

/** Mistakes that the search must find, each a wrong reading of what was heard. */
export const planted: Setting[] = [
  plantedIn('release on "not found"', (seen) =>
    seen.from === 'query' && seen.outcome.outcome === 'notFound' ? refusal(seen) : seen,
  ),
  plantedIn(
    'release on a refusal that answers a repeat',
    (seen, intent) =>
      seen.from === 'send' && seen.outcome.outcome === 'refused' && seen.fence === intent?.fence
        ? refusal(seen)
        : seen,
    {
      ...rules.refusalNotFinal,
      capabilities: { ...capabilities, refusalIsFinal: true },
    },
  ),
  plantedIn('release on no answer', (seen) =>
    seen.from === 'send' && seen.outcome.outcome === 'unclear' ? refusal(seen) : seen,
  ),
  plantedIn('release on a duplicate', (seen) =>
    seen.from === 'send' && seen.outcome.outcome === 'duplicate' ? refusal(seen) : seen,
  ),
  plantedIn(
    'no answer taken for "nothing was sent"',
    (seen) =>
      seen.from === 'send' && seen.outcome.outcome === 'unclear'
        ? { ...seen, outcome: { outcome: 'notSent', detail: '' } }
        : seen,
    rules.paysAgain,
  ),
  plantedIn(
    'a prepared payout taken for sent',
    (seen) =>
      asIfPrepared(seen, (report) => ({ outcome: 'found', report: { ...report, status: 'completed' } })),
    rules.twoSteps,
  ),
  plantedIn(
    'a prepared payout begun anew',
    (seen) => asIfPrepared(seen, () => ({ outcome: 'notFound' })),
    rules.twoSteps,
  ),
  plantedIn('an overtaken owner judges with the fence of another', (seen, intent) =>
    seen.from === 'send' && intent ? { ...seen, fence: intent.fence } : seen,
  ),
];
