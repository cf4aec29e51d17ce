/** How the provider behaves, as PUT /control/behaviour sets it. The first value of each list is the default. */
export const choices = {
  payout: [
    'complete',
    'stay-pending',
    'hold-for-approval',
    'refuse-in-answer',
    'refuse-unknown',
    'refuse-later',
    'lose-answer',
    'lose-request',
    'delay-request',
    'error-500',
    'error-500-after-accepting',
    'hang',
    'garbage',
  ],
  confirm: ['take', 'refuse-unknown', 'lose-answer', 'lose-request', 'error-500', 'hang', 'garbage'],
  charge: [
    'create',
    'refuse',
    'refuse-unknown',
    'lose-answer',
    'lose-request',
    'error-500',
    'hang',
    'no-code',
  ],
  cancel: ['remove', 'late-cancel', 'refuse', 'lose-answer', 'lose-request', 'error-500', 'hang', 'garbage'],
  change: ['change', 'late-change', 'refuse', 'lose-answer', 'lose-request', 'error-500', 'hang', 'garbage'],
  checkout: ['create', 'refuse', 'lose-answer', 'lose-request', 'error-500', 'hang'],
  approval: ['now', 'review', 'other-amount', 'other-currency', 'two-instalments'],
  refund: [
    'complete',
    'complete-in-answer',
    'stay-pending',
    'refuse-in-answer',
    'refuse-unknown',
    'refuse-later',
    'lose-answer',
    'lose-request',
    'delay-request',
    'error-500',
    'error-500-after-accepting',
    'hang',
    'garbage',
  ],
  defence: ['take', 'refuse', 'lose-answer', 'lose-request', 'error-500', 'hang'],
  webhook: ['send', 'drop', 'duplicate', 'delay', 'reorder'],
  query: ['answer', 'not-found', 'error-500', 'hang', 'stale'],
  returnForm: ['own', 'both', 'rtrId', 'id', 'changing'],
  amounts: ['exact', 'short', 'other-type', 'unreadable'],
  lists: ['whole', 'odd-item', 'odd-items', 'other-amount', 'reversed'],
  components: ['own', 'none', 'sent'],
  fees: ['off', 'on'],
  overdraft: ['allow', 'refuse'],
  sameTransfer: ['allow', 'refuse'],
  account: ['settled', 'new'],
  registration: ['taken', 'checked'],
  pageFilter: ['kept', 'inherited', 'ignored', 'empty'],
  keys: ['kept', 'forgotten'],
} as const;

export type PayoutBehaviour = (typeof choices.payout)[number];
export type ChargeBehaviour = (typeof choices.charge)[number];
export type CancelBehaviour = (typeof choices.cancel)[number];
export type RefundBehaviour = (typeof choices.refund)[number];
export type DefenceBehaviour = (typeof choices.defence)[number];
export type Behaviour = {
  payout: PayoutBehaviour;
  /** Of a payout that was made and waits: the second of two steps. */
  confirm: (typeof choices.confirm)[number];
  charge: ChargeBehaviour;
  /** `late-cancel`: a payer is quicker, so that the charge is paid when the cancel is carried out. */
  cancel: CancelBehaviour;
  /** Of an open charge by its receiver. `late-change`: a payer is quicker. */
  change: (typeof choices.change)[number];
  /** Of an acquirer's page. */
  checkout: (typeof choices.checkout)[number];
  /** Of a card that is approved without further words. `review`: it is looked at first, and approved by the second call. */
  approval: (typeof choices.approval)[number];
  refund: RefundBehaviour;
  /** The fate of the answer to a dispute; files that are only stored for it always are. */
  defence: DefenceBehaviour;
  webhook: (typeof choices.webhook)[number];
  query: (typeof choices.query)[number];
  /** Under which names a return is reported. `changing`: under others in each report. */
  returnForm: (typeof choices.returnForm)[number];
  /** In what form amounts stand in answers and deliveries: `12.30`, as `12.3`, as a number (Woovi: as text), or as `R$ 12,30`. */
  amounts: (typeof choices.amounts)[number];
  /** `odd-item`: the first item of each page has an amount that cannot be read; `odd-items`: each; `other-amount`: each names more than what moved; `reversed`: the items of each page in the other order. */
  lists: (typeof choices.lists)[number];
  /** Lists show what is at least this old, under the time at which it happened. */
  listLagMs: number;
  /** Items of a page at most, whatever is asked for; 0: as the protocol has it. */
  pageCap: number;
  /** Whether the parts of what paid a charge with a due date are reported. `own`: as its protocol's provider does. */
  components: (typeof choices.components)[number];
  /** `on`: it charges as its protocol's provider does, and reports it the same way. */
  fees: (typeof choices.fees)[number];
  /** Of a payout beyond what the account has. */
  overdraft: (typeof choices.overdraft)[number];
  /** Asaas: two transfers of one value to one key within 15 minutes; it refuses the second with 409. */
  sameTransfer: (typeof choices.sameTransfer)[number];
  /** `new`: it pays out no more in a day than the provider lets an account at first. */
  account: (typeof choices.account)[number];
  /** `checked`: Efí and Woovi call an address before they register it, and take none that does not answer. */
  registration: (typeof choices.registration)[number];
  /**
   * Asaas: what a list of payments by their page has. `kept`: those of the page; `inherited`: they carry the page's reference as well; `ignored`: all;
   * `empty`: none.
   */
  pageFilter: (typeof choices.pageFilter)[number];
  /** Stripe: what is left of the keys of earlier requests. `forgotten`: none, as after a day. */
  keys: (typeof choices.keys)[number];
  settleAfterMs: number;
  delayMs: number;
};

export const defaultBehaviour: Readonly<Behaviour> = {
  payout: 'complete',
  charge: 'create',
  cancel: 'remove',
  change: 'change',
  checkout: 'create',
  refund: 'complete',
  defence: 'take',
  webhook: 'send',
  query: 'answer',
  returnForm: 'own',
  amounts: 'exact',
  lists: 'whole',
  listLagMs: 0,
  pageCap: 0,
  components: 'own',
  fees: 'off',
  overdraft: 'allow',
  sameTransfer: 'allow',
  account: 'settled',
  registration: 'taken',
  pageFilter: 'kept',
  keys: 'kept',
  approval: 'now',
  confirm: 'take',
  settleAfterMs: 50,
  delayMs: 0,
};

const longestWaitMs = 24 * 60 * 60 * 1000;

/** The keys that are integers, and of what. */
const numbers: Readonly<Record<string, string>> = {
  settleAfterMs: 'milliseconds',
  delayMs: 'milliseconds',
  listLagMs: 'milliseconds',
  pageCap: 'items',
};

/** The behaviour with the given keys merged in, or what is wrong with them: then nothing changes. */
export function mergeBehaviour(
  current: Behaviour,
  given: Record<string, unknown>,
): { behaviour: Behaviour } | { error: string } {
  const merged: Record<string, unknown> = { ...current };
  for (const [key, value] of Object.entries(given)) {
    if (Object.hasOwn(numbers, key)) {
      if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > longestWaitMs) {
        return { error: `${key} must be an integer from 0 to ${longestWaitMs} (${numbers[key]})` };
      }
    } else if (Object.hasOwn(choices, key)) {
      const allowed: readonly string[] = choices[key as keyof typeof choices];
      if (typeof value !== 'string' || !allowed.includes(value)) {
        return { error: `${key} must be one of: ${allowed.join(', ')}` };
      }
    } else {
      return { error: `unknown key ${key}; known are ${Object.keys(defaultBehaviour).join(', ')}` };
    }
    merged[key] = value;
  }
  return { behaviour: merged as Behaviour };
}

/** Refusals of the payment system (SPI) that a provider passes on; the texts are ours. */
export const paymentSystemCodes: Readonly<Record<string, string>> = {
  AB03: 'O tempo da liquidação se esgotou',
  AC03: 'Conta do recebedor inexistente ou inválida',
  AC06: 'Conta do recebedor bloqueada',
  AC07: 'Conta do recebedor encerrada',
  AC14: 'Tipo de conta do recebedor incorreto',
  AG03: 'Transação não permitida para esta conta',
  AM02: 'Limite do recebedor excedido',
  AM04: 'A instituição do pagador não tem saldo no SPI',
  BE01: 'Documento não corresponde ao recebedor',
  DS04: 'Recusado pela instituição do recebedor',
  DUPL: 'Pagamento em duplicidade',
  FRAD: 'Suspeita de fraude',
  RR04: 'Recusado por regra regulatória',
};

/** The refusal with which a payout to `CODE@simulator.example` ends, as `ac06@simulator.example`. */
export function refusalOfKey(pixKey: string): { code: string; reason: string } | undefined {
  if (!pixKey.endsWith('@simulator.example')) return undefined;
  const code = pixKey.slice(0, pixKey.indexOf('@')).toUpperCase();
  const reason = Object.hasOwn(paymentSystemCodes, code) ? paymentSystemCodes[code] : undefined;
  return reason === undefined ? undefined : { code, reason };
}

/** The directory has no such key. */
export const isUnknownKey = (pixKey: string): boolean => behaviourOfKey(pixKey) === 'pix-key-not-found';

/** A single payout is steered by its key `VALUE@simulator.example`, whatever the setting is. */
export function behaviourOfKey(
  pixKey: string,
): PayoutBehaviour | 'pix-key-not-found' | 'key-restricted' | undefined {
  if (!pixKey.endsWith('@simulator.example')) return undefined;
  const value = pixKey.slice(0, pixKey.indexOf('@'));
  if (value === 'pix-key-not-found' || value === 'key-restricted') return value;
  if (refusalOfKey(pixKey) !== undefined) return 'refuse-later';
  return choices.payout.find((choice) => choice === value);
}

/** A single refund is steered by its message to the payer, `VALUE@simulator.example`, whatever the setting is. */
export function behaviourOfMessage(message: string): RefundBehaviour | undefined {
  if (!message.endsWith('@simulator.example')) return undefined;
  return choices.refund.find((choice) => choice === message.slice(0, message.indexOf('@')));
}
