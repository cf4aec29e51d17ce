import type { NetAnswer, NetRequest } from '../../server/src/ports/net.ts';
import { paymentView } from '../../simulator/src/api-pix.ts';
import { type Bank, nextReturnForm, settlePayout, settleRefund } from '../../simulator/src/bank.ts';
import type { DueTerms } from '../../simulator/src/cobv.ts';
import type { Desk } from '../../simulator/src/desk.ts';
import { payoutNotice } from '../../simulator/src/efi.ts';
import type { Delivery } from '../../simulator/src/outbox.ts';
import { providerApi } from '../../simulator/src/provider-api.ts';
import { sign } from '../../simulator/src/webhooks.ts';
import { carry, type Faults, noFaults } from './network.ts';
import { createOutgoing } from './outgoing.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

/**
 * The provider of a run: the simulator's bank, a pure model, behind a faulty network. The run's seed decides what is lost,
 * late, doubled or wrong. The bank's own records are always true; only its messages may be wrong.
 */
export interface Provider {
  readonly bank: Bank;
  faults: Faults;
  /** How payouts end: weights of `complete`, `stay-pending`, `refuse-in-answer`, `refuse-later`. */
  refusals: number;
  /** It numbers the terms of charges with a due date. Where it does not, what it says of one is never of an earlier time than the question. */
  numbersTerms: boolean;
  /** Each change of a charge with a due date that it carried out, by the charge. */
  readonly revisions: ReadonlyMap<string, { amountCents: number; due: DueTerms }[]>;
  /** Looks at the clock again after something was done to the bank by hand. */
  wake(): void;
  /** Everything that a person could decide at the provider is decided. */
  settleAll(): void;
}

/** Posts a delivery to the service; resolves with the status, or null without an answer. */
export type Post = (body: string, signature: string) => Promise<number | null>;

/** How the provider ends the refunds that are asked for: a refusal, in the answer or later, is an end like any other. */
const refundEnds = [
  ...['complete', 'complete', 'complete-in-answer', 'complete-in-answer'],
  ...['stay-pending', 'refuse-in-answer', 'refuse-unknown', 'refuse-later'],
] as Bank['behaviour']['refund'][];

export function createProvider(
  world: World,
  random: Random,
  bank: Bank,
  post: Post,
  /** Of refunds, defences and cancels, so that what else a seed draws stays what it was. */
  ofRefunds: Random = random,
  /** Of payouts that a person removes. */
  ofRemovals: Random = random,
): Provider {
  const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';
  const desk: Desk = {
    bank,
    world: {
      now: () => world.now(),
      letters: (count) => Array.from({ length: count }, () => letters[random.below(36)]).join(''),
    },
    isClient: () => true,
    commit: () => provider.wake(),
  };
  const revisions = new Map<string, { amountCents: number; due: DueTerms }[]>();
  /** Answers about charges with a due date, as they were created. */
  const asCreated = new Map<string, string>();

  const provider: Provider = {
    bank,
    faults: noFaults,
    refusals: 0,
    numbersTerms: true,
    revisions,
    wake: () => outgoing.wake(),
    settleAll: () => {
      for (const payout of bank.payoutList)
        if (payout.status === 'pending' && payout.settleAt === undefined)
          settlePayout(bank, desk.world, payout.idEnvio, 'completed');
      for (const payment of bank.payments.values())
        for (const refund of payment.returns)
          if (refund.settleAt === undefined) settleRefund(bank, desk.world, payment, refund, 'completed');
      provider.wake();
    },
  };

  // -------------------------------------------------------------------------------------------------- what comes in

  world.outside = (request, answered) => {
    carry({ world, random, faults: provider.faults }, request, handle, answered);
  };

  /** The bank's handling of a request, and the bending of its answer on the way. */
  function handle(request: NetRequest, fault: keyof Faults | null = null): NetAnswer {
    const url = new URL(request.url);
    const settled = random.next();
    bank.behaviour = {
      ...bank.behaviour,
      payout:
        settled < provider.refusals
          ? random.pick(['refuse-in-answer', 'refuse-later', 'stay-pending', 'refuse-unknown'] as const)
          : 'complete',
      charge: settled < provider.refusals / 3 ? random.pick(['refuse', 'no-code'] as const) : 'create',
      settleAfterMs: random.pick([0, 50, 2_000, 60_000]),
      returnForm: random.pick(['both', 'rtrId', 'id', 'changing'] as const),
      query:
        fault === 'notFound' || isOfRemoved(url.pathname)
          ? 'not-found'
          : fault === 'stale'
            ? 'stale'
            : 'answer',
    };
    if (request.method === 'PUT' && url.pathname.includes('/devolucao/'))
      bank.behaviour = { ...bank.behaviour, refund: ofRefunds.pick(refundEnds) };
    if (request.method === 'PATCH')
      bank.behaviour = {
        ...bank.behaviour,
        cancel: ofRefunds.pick(['remove', 'remove', 'late-cancel', 'refuse']),
      };
    const due = /^\/v2\/cobv\/([a-zA-Z0-9]+)$/.exec(url.pathname)?.[1];
    const revision = due === undefined ? undefined : bank.charges.get(due)?.revision;
    if (request.method === 'PATCH' && due !== undefined)
      bank.behaviour = {
        ...bank.behaviour,
        change: ofRefunds.pick(['change', 'change', 'change', 'late-change', 'refuse']),
      };
    if (url.pathname.endsWith('/defesa'))
      bank.behaviour = { ...bank.behaviour, defence: ofRefunds.pick(['take', 'take', 'refuse']) };
    const outcome = providerApi(desk, {
      method: request.method,
      path: url.pathname.slice(1).split('/').map(decodeURIComponent),
      query: url.searchParams,
      headers: request.headers ?? {},
      body: request.body?.toString() ?? '',
    });
    provider.wake();
    if (outcome === undefined || outcome === 'drop' || outcome === 'hang')
      throw new Error(`the bank has no answer to ${request.method} ${url.pathname}`);
    let text = typeof outcome.body === 'string' ? outcome.body : [...outcome.body].join('');
    const payout = request.method === 'PUT' && /^\/v3\/gn\/pix\/([a-zA-Z0-9]+)$/.exec(url.pathname)?.[1];
    if (payout) {
      mayBeAskedAgain(payout);
      mayBeRemoved(payout);
    }
    if (due !== undefined) text = ofDueCharge(due, revision, request, text, fault);
    if (fault === 'wrongAmount')
      text = text.replaceAll(/"(valor|original)":"(\d+)\.(\d\d)"/g, '"$1":"9$2.$3"');
    if (fault === 'wrongId') text = text.replaceAll(/"(idEnvio|txid)":"(..)/g, '"$1":"ff');
    return { status: outcome.status, headers: { ...outcome.headers }, text };
  }

  const isOfRemoved = (path: string): boolean =>
    bank.payouts.get(path.split('/').at(-1) ?? '')?.removed === true;

  /**
   * A payout that was refused in unlisted words is nothing here, and a repeat of it is decided anew. The simulator program refuses every repeat; left so, a
   * person would end each of them after a day, and a story with a close would take a week of the simulated time, four times its work.
   */
  function mayBeAskedAgain(id: string): void {
    delete bank.payouts.get(id)?.unlisted;
  }

  /**
   * A person of the company removes a payout that waits, in the provider's panel: no call finds it from then on, nothing reports it, and a request with its
   * id is a duplicate.
   */
  function mayBeRemoved(id: string): void {
    const waits = () => {
      const payout = bank.payouts.get(id);
      return payout?.status === 'pending' && payout.settleAt === undefined ? payout : undefined;
    };
    if (!waits() || !ofRemovals.chance(0.8)) return;
    world.at(world.now() + ofRemovals.pick([500, 30_000, 10 * 60_000]), () => {
      const payout = waits();
      if (!payout) return;
      payout.status = 'refused';
      payout.removed = true;
      world.count('payout removed');
    });
  }

  /** Its changes of a charge with a due date are kept, and its answer may be of an earlier time, or without the number of the terms. */
  function ofDueCharge(
    txid: string,
    before: number | undefined,
    { method }: NetRequest,
    text: string,
    fault: keyof Faults | null,
  ): string {
    const charge = bank.charges.get(txid);
    if (method === 'PUT' && charge && !asCreated.has(txid)) asCreated.set(txid, text);
    if (method === 'PATCH' && charge?.due && charge.status === 'ATIVA' && charge.revision !== before)
      revisions.set(txid, [
        ...(revisions.get(txid) ?? []),
        { amountCents: charge.amountCents, due: structuredClone(charge.due) },
      ]);
    if (!provider.numbersTerms) return text.replace(/"revisao":\d+,/, '');
    return method === 'GET' && fault === 'stale' ? (asCreated.get(txid) ?? text) : text;
  }

  // ------------------------------------------------------------------------------------------------- what goes out

  const outgoing = createOutgoing({
    ...{ world, random, bank, desk, mark: 'hook', prepare },
    faults: () => provider.faults,
  });

  function prepare(delivery: Delivery): () => Promise<boolean> {
    const { faults } = provider;
    const pix: unknown[] = [];
    for (const { kind, id, returns } of delivery.notifications) {
      const payment = bank.payments.get(id);
      const payout = bank.payouts.get(id);
      if (kind === 'payment' && payment) pix.push(paymentView(payment, returns, nextReturnForm(bank)));
      if (kind === 'payout' && payout) pix.push(payoutNotice(payout, returns, nextReturnForm(bank)));
    }
    const [client] = bank.clients.values();
    const secret = client?.secret ?? '';
    const seconds = Math.floor(world.now() / 1000);
    if (random.chance(faults.hookForged)) {
      world.count('hook forged');
      // A stranger says that everything was refused, and signs with a secret of his own.
      const body = JSON.stringify({ pix })
        .replaceAll('REALIZADO', 'NAO_REALIZADO')
        .replaceAll('NAO_NAO_', 'NAO_');
      void post(body, sign('not the secret', seconds, body));
    }
    if (random.chance(faults.hookOld)) {
      world.count('hook old');
      const body = JSON.stringify({ pix });
      void post(body, sign(secret, seconds - 3_600, body));
    }
    if (random.chance(faults.hookUnknown)) {
      world.count('hook unknown');
      const txid = random.bytes(16).toString('hex');
      const body = JSON.stringify({
        pix: [{ endToEndId: 'E99999999202611200000unknown', txid, valor: '0.00', chave: 'x', horario: 'x' }],
      });
      void post(body, sign(secret, seconds, body));
    }
    const body = JSON.stringify({ pix });
    return async () => {
      const status = await post(body, sign(secret, seconds, body));
      return status !== null && status < 300;
    };
  }

  return provider;
}
