import type { NetAnswer, NetRequest } from '../../server/src/ports/net.ts';
import { type Bank, report } from '../../simulator/src/bank.ts';
import { approvalOf, type Card } from '../../simulator/src/cards.ts';
import type { Desk } from '../../simulator/src/desk.ts';
import type { Delivery } from '../../simulator/src/outbox.ts';
import { stripeApi, stripePosts } from '../../simulator/src/stripe-api.ts';
import { bankWorldOf } from './calls.ts';
import { carry, type Faults, noFaults } from './network.ts';
import { createOutgoing } from './outgoing.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

/** The connection of the acquirer, and its client there. */
export const cards = 'cartoes';
export const cardClient = `vintem-${cards}`;

/**
 * The acquirer of a run: the simulator's card truth behind Stripe's calls and a faulty network. Its own records are always true; only its messages may be
 * late, lost or of an earlier time.
 */
export interface Acquirer {
  readonly bank: Bank;
  faults: Faults;
  /** How often it refuses a request that it could carry out, 0 to 1. */
  refusals: number;
  handle(request: NetRequest, answered: (answer: NetAnswer | Error) => void): void;
  /** Looks at the clock again after something was done to its cards by hand. */
  wake(): void;
  /** Says once more what it last said of each card. */
  tellAgain(): void;
  /** Every refund that waits is carried out. */
  settleAll(): void;
  /** Calls for each page that is made, before its creation is answered. */
  made: (card: Card) => void;
}

/** Posts a delivery to the service; resolves with the status, or null without an answer. */
export type PostCard = (body: string, headers: Readonly<Record<string, string>>) => Promise<number | null>;

/** Below this path of the simulator. */
export const isOfAcquirer = ({ url }: Pick<NetRequest, 'url'>): boolean =>
  new URL(url).pathname.startsWith('/stripe/');

export function createAcquirer(world: World, random: Random, bank: Bank, post: PostCard): Acquirer {
  const desk: Desk = {
    bank,
    world: bankWorldOf(world, random),
    isClient: () => true,
    commit: () => acquirer.wake(),
  };
  const acquirer: Acquirer = {
    bank,
    faults: noFaults,
    refusals: 0,
    made: () => {},
    handle: (request, answered) =>
      carry({ world, random, faults: acquirer.faults }, request, answer, answered),
    wake: () => outgoing.wake(),
    tellAgain: () => {
      for (const { client, ref, events } of bank.cards.values())
        if (events.length > 0)
          report(bank, world.now(), { key: client, kind: 'card', id: ref, returns: events.length });
      acquirer.wake();
    },
    settleAll: () => {
      for (const card of bank.cards.values())
        for (const refund of approvalOf(card)?.refunds ?? [])
          if (refund.status === 'pending') refund.status = 'succeeded';
    },
  };

  /** Its handling of a request, and the bending of its answer on the way. */
  function answer(request: NetRequest, fault: keyof Faults | null = null): NetAnswer {
    const url = new URL(request.url);
    const refuses = random.chance(acquirer.refusals);
    bank.behaviour = {
      ...bank.behaviour,
      checkout: refuses ? 'refuse' : 'create',
      cancel: refuses ? 'refuse' : 'remove',
      refund: refuses ? random.pick(['stay-pending', 'refuse-later'] as const) : 'complete',
      query: fault === 'notFound' ? 'not-found' : fault === 'stale' ? 'stale' : 'answer',
    };
    const before = bank.cards.size;
    const outcome = stripeApi(desk, {
      method: request.method,
      path: url.pathname.slice('/stripe/'.length).split('/').map(decodeURIComponent),
      query: url.searchParams,
      headers: { host: 'provider.example', ...request.headers },
      body: request.body?.toString() ?? '',
    });
    if (outcome === undefined || outcome === 'drop' || outcome === 'hang')
      throw new Error(`the acquirer has no answer to ${request.method} ${url.pathname}`);
    const made = bank.cards.size > before ? [...bank.cards.values()].at(-1) : undefined;
    if (made) acquirer.made(made);
    acquirer.wake();
    let text = typeof outcome.body === 'string' ? outcome.body : [...outcome.body].join('');
    if (fault === 'wrongAmount') text = text.replaceAll(/"amount_total":(\d+)/g, '"amount_total":9$1');
    if (fault === 'wrongId')
      text = text.replaceAll(/"client_reference_id":"(..)/g, '"client_reference_id":"ff');
    return { status: outcome.status, headers: { ...outcome.headers }, text };
  }

  const outgoing = createOutgoing({
    ...{ world, random, bank, desk, mark: 'card hook', perDelivery: 1, prepare },
    faults: () => acquirer.faults,
  });

  function prepare(delivery: Delivery): () => Promise<boolean> {
    const posts = stripePosts(bank, delivery, world.now());
    if (random.chance(acquirer.faults.hookForged))
      for (const { body } of posts) {
        world.count('card hook forged');
        const time = Math.floor(world.now() / 1000);
        void post(body, { 'stripe-signature': `t=${time},v1=${'0'.repeat(64)}` });
      }
    return async () => {
      const statuses = await Promise.all(posts.map(({ body, headers }) => post(body, headers)));
      return statuses.every((status) => status !== null && status < 300);
    };
  }

  return acquirer;
}
