import type { Provider } from './provider.ts';

/** A call of the port, as those see it who stand between a provider and its callers. */
export interface ProviderCall {
  /** In measures and traces. */
  name: string;
  /** `send`: it may change something at the provider. */
  does: 'send' | 'ask';
  /** It has no outcome for "no answer", and throws instead. */
  throws?: true;
  /** It is no attempt of an intent, with which the provider's words to it would be kept. */
  keepsNoWords?: true;
}

// biome-ignore lint/suspicious/noExplicitAny: each call has arguments of its own.
type Work = (...args: any[]) => Promise<unknown>;
type CallsOf<Port> = { [K in keyof Port as NonNullable<Port[K]> extends Work ? K : never]-?: ProviderCall };
type Group = 'cards' | 'disputes' | 'dueCharges';
/** `askAccount` and `diagnose` look at the account itself, whatever it is. */
type Own = CallsOf<Omit<Provider, 'askAccount' | 'diagnose'>>;

const ask = (name: string): ProviderCall => ({ name, does: 'ask' });
const send = (name: string): ProviderCall => ({ name, does: 'send' });

/** Every call, once: one that is not here does not compile. */
const own: Own = {
  createCharge: send('create_charge'),
  queryCharge: ask('query_charge'),
  listCharges: ask('list_charges'),
  cancelCharge: send('cancel_charge'),
  createStaticCode: { ...send('create_static_code'), keepsNoWords: true },
  sendPayout: send('send_payout'),
  confirmPayout: send('confirm_payout'),
  queryPayout: ask('query_payout'),
  listPayouts: ask('list_payouts'),
  sendRefund: send('send_refund'),
  queryRefund: ask('query_refund'),
  registerWebhook: { ...send('register_webhook'), throws: true },
  balance: { ...ask('balance'), throws: true },
  statement: ask('statement'),
  listReturns: ask('list_returns'),
  listCosts: ask('list_costs'),
  requestDayReport: ask('request_day_report'),
  readDayReport: ask('read_day_report'),
  findPix: ask('find_pix'),
  lookUpReceiver: ask('look_up_receiver'),
};

const grouped: { [G in Group]: CallsOf<NonNullable<Provider[G]>> } = {
  cards: {
    create: send('create_checkout'),
    query: ask('query_checkout'),
    expire: send('expire_checkout'),
    listPayouts: ask('list_card_payouts'),
    listMoved: ask('list_card_moves'),
  },
  disputes: { list: ask('list_disputes'), defend: send('defend_dispute') },
  dueCharges: {
    create: send('create_due_charge'),
    query: ask('query_due_charge'),
    list: ask('list_due_charges'),
    cancel: send('cancel_due_charge'),
    change: send('change_due_charge'),
  },
};

/** The provider with other works behind the calls that it has. */
export function withCalls(provider: Provider, replace: (call: ProviderCall, work: Work) => Work): Provider {
  const replaced = <Port extends object>(
    port: Port,
    calls: Readonly<Record<string, ProviderCall>>,
  ): Port => ({
    ...port,
    ...Object.fromEntries(
      Object.entries(calls).flatMap(([key, call]) => {
        const work = (port as Readonly<Record<string, unknown>>)[key];
        return typeof work === 'function' ? [[key, replace(call, work.bind(port) as Work)]] : [];
      }),
    ),
  });
  const groups = Object.entries(grouped).flatMap(([group, calls]) => {
    const port = provider[group as Group];
    return port === undefined ? [] : [[group, replaced(port, calls)]];
  });
  return { ...replaced(provider, { ...own }), ...Object.fromEntries(groups) };
}
