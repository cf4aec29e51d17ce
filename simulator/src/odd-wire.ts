import type { Behaviour } from './behaviour.ts';
import type { Outcome } from './provider-api.ts';

/** Answers and deliveries as providers have written them beside the standard: amounts in other forms, an item of a list that cannot be read. */

/** `more`: more than what moved. */
type Form = Behaviour['amounts'] | 'more';

/** A body as `amounts` has it: amounts in reais are texts with two decimals, Woovi's are integers under `value`, Stark's under `amount`. */
export function inForm(body: unknown, form: Form): unknown {
  return form === 'exact' ? body : changed(body, form);
}

function changed(value: unknown, form: Form): unknown {
  if (Array.isArray(value)) return value.map((one) => changed(one, form));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      amountIn(name, member, form) ?? changed(member, form),
    ]),
  );
}

/** Null: it is no amount. */
function amountIn(name: string, value: unknown, form: Form): unknown {
  if ((name === 'valor' || name === 'original') && typeof value === 'string' && /^\d+\.\d\d$/.test(value)) {
    if (form === 'more') return (Number(value) + 0.01).toFixed(2);
    if (form === 'short') return value.replace(/\.?0{1,2}$/, '');
    return form === 'other-type' ? Number(value) : `R$ ${value.replace('.', ',')}`;
  }
  if ((name === 'value' || name === 'amount') && typeof value === 'number') {
    if (form === 'more') return Number.isInteger(value) ? value + 1 : Math.round(value * 100 + 1) / 100;
    if (form === 'short') return value;
    return form === 'other-type' ? String(value) : `R$ ${value}`;
  }
  return null;
}

/** An answer as the behaviour wants it written. */
export function oddAnswer(outcome: Outcome, { amounts, lists }: Behaviour): Outcome {
  if (amounts === 'exact' && lists === 'whole') return outcome;
  if (typeof outcome === 'string' || typeof outcome.body !== 'string' || outcome.status >= 300)
    return outcome;
  let body: unknown;
  try {
    body = JSON.parse(outcome.body);
  } catch {
    return outcome;
  }
  const items = inForm(body, amounts);
  if (lists === 'whole') return { ...outcome, body: JSON.stringify(items) };
  return { ...outcome, body: JSON.stringify(withItems(items, changeOf[lists])) };
}

/** Below these members providers of our dialects list things. */
const listNames = [
  ...['cobs', 'pix', 'infracoes', 'charges', 'transactions', 'payments', 'disputes'],
  ...['brcodes', 'deposits', 'transfers', 'data'],
];
const pageMarks = ['parametros', 'pageInfo', 'cursor', 'hasMore'];

function withItems(body: unknown, change: (items: unknown[]) => unknown[]): unknown {
  if (typeof body !== 'object' || body === null || !pageMarks.some((mark) => mark in body)) return body;
  return Object.fromEntries(
    Object.entries(body).map(([name, member]) => [
      name,
      listNames.includes(name) && Array.isArray(member) ? change(member) : member,
    ]),
  );
}

const withMore = (item: unknown): unknown => changed(item, 'more');

/** A dispute without an amount is as Woovi has it, so its status is odd as well. */
function oddItem(item: unknown): unknown {
  const odd = changed(item, 'unreadable') as Record<string, unknown>;
  const isDispute = 'idInfracao' in odd || 'disputeReason' in odd;
  return isDispute ? { ...odd, status: 'EM_ANALISE_NOVA' } : odd;
}

const changeOf: Record<Exclude<Behaviour['lists'], 'whole'>, (items: unknown[]) => unknown[]> = {
  'odd-item': (items) => items.map((item, at) => (at === 0 ? oddItem(item) : item)),
  'odd-items': (items) => items.map(oddItem),
  'other-amount': (items) => items.map(withMore),
  reversed: (items) => items.toReversed(),
};
