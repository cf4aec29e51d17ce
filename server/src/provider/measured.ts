import type { Histograms } from '../ground/histogram.ts';
import type { Traces } from '../ground/traces.ts';
import type { Clock } from '../ports/clock.ts';
import type { Provider, ProviderWords } from './provider.ts';

interface MeasuredDeps {
  clock: Pick<Clock, 'monotonicMs'>;
  measures: { providerCalls: Histograms; providerErrors: Histograms };
  traces?: Traces | null;
}

/** The same provider; how long each call took is counted by connection, call and outcome (`error`: it threw). */
export function measured(provider: Provider, { clock, measures, traces }: MeasuredDeps): Provider {
  const errorNames = namesOfErrors();
  const timed =
    <Args extends unknown[], Answer>(call: string, work: (...args: Args) => Promise<Answer>) =>
    async (...args: Args): Promise<Answer> => {
      const began = clock.monotonicMs();
      let outcome = 'error';
      let error: string | undefined;
      try {
        const answer = await (traces
          ? traces.around(
              'provider call',
              { 'vintem.connection': provider.connection, 'vintem.call': call },
              () => work(...args),
              outcomeOf,
            )
          : work(...args));
        outcome = outcomeOf(answer);
        error = errorNames.of(answer);
        return answer;
      } finally {
        const seconds = (clock.monotonicMs() - began) / 1000;
        measures.providerCalls.of(provider.connection, call, outcome).observe(seconds);
        if (error !== undefined)
          measures.providerErrors.of(provider.connection, call, error).observe(seconds);
      }
    };
  return {
    ...provider,
    createCharge: timed('create_charge', provider.createCharge),
    queryCharge: timed('query_charge', provider.queryCharge),
    listCharges: timed('list_charges', provider.listCharges),
    ...(provider.cancelCharge && { cancelCharge: timed('cancel_charge', provider.cancelCharge) }),
    ...(provider.createStaticCode && {
      createStaticCode: timed('create_static_code', provider.createStaticCode),
    }),
    ...(provider.cards && {
      cards: {
        create: timed('create_checkout', provider.cards.create),
        query: timed('query_checkout', provider.cards.query),
        expire: timed('expire_checkout', provider.cards.expire),
        ...(provider.cards.listPayouts && {
          listPayouts: timed('list_card_payouts', provider.cards.listPayouts),
        }),
      },
    }),
    ...(provider.dueCharges && {
      dueCharges: {
        create: timed('create_due_charge', provider.dueCharges.create),
        query: timed('query_due_charge', provider.dueCharges.query),
        ...(provider.dueCharges.list && { list: timed('list_due_charges', provider.dueCharges.list) }),
        cancel: timed('cancel_due_charge', provider.dueCharges.cancel),
        ...(provider.dueCharges.change && {
          change: timed('change_due_charge', provider.dueCharges.change),
        }),
      },
    }),
    sendPayout: timed('send_payout', provider.sendPayout),
    ...(provider.confirmPayout && { confirmPayout: timed('confirm_payout', provider.confirmPayout) }),
    queryPayout: timed('query_payout', provider.queryPayout),
    listPayouts: timed('list_payouts', provider.listPayouts),
    sendRefund: timed('send_refund', provider.sendRefund),
    queryRefund: timed('query_refund', provider.queryRefund),
    registerWebhook: timed('register_webhook', provider.registerWebhook),
    balance: timed('balance', provider.balance),
    statement: timed('statement', provider.statement),
    ...(provider.listReturns && { listReturns: timed('list_returns', provider.listReturns) }),
    ...(provider.listCosts && { listCosts: timed('list_costs', provider.listCosts) }),
    requestDayReport: timed('request_day_report', provider.requestDayReport),
    readDayReport: timed('read_day_report', provider.readDayReport),
    findPix: timed('find_pix', provider.findPix),
    ...(provider.lookUpReceiver && {
      lookUpReceiver: timed('look_up_receiver', provider.lookUpReceiver),
    }),
    ...(provider.disputes && {
      disputes: {
        list: timed('list_disputes', provider.disputes.list),
        ...(provider.disputes.defend && { defend: timed('defend_dispute', provider.disputes.defend) }),
      },
    }),
  };
}

/** A provider may make up names: beyond these, they are counted together. */
const namesMost = 100;

function namesOfErrors() {
  const known = new Set<string>();
  return {
    of(answer: unknown): string | undefined {
      const name = (answer as { words?: ProviderWords } | undefined)?.words?.name;
      if (name === undefined) return undefined;
      if (known.size < namesMost) known.add(name);
      return known.has(name) ? name : 'other';
    },
  };
}

const outcomeOf = (answer: unknown): string => (answer as { outcome?: string } | undefined)?.outcome ?? 'ok';
