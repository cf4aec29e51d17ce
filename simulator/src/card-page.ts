import { approvalOf, type Card, type CardAction, isOpen, moveCard } from './cards.ts';
import type { Desk, Request } from './desk.ts';
import type { Reply } from './reply.ts';

/**
 * The acquirer's page, where a person plays the payer, his bank and time. It asks for no card. What is decided goes back to the addresses that the client
 * gave, as from an acquirer's own page.
 */
export function cardPage(desk: Desk, card: Card, { method, body }: Pick<Request, 'method' | 'body'>): Reply {
  if (method !== 'POST') return shown(card, desk.world.now());
  const given = new URLSearchParams(body);
  const act = given.get('act') ?? '';
  if (!Object.hasOwn(acts, act)) return shown(card, desk.world.now());
  const action = act as keyof typeof acts;
  // A page that has ended takes no payer any more: the calls of `/control` still do.
  if (payerActs.has(action) && !isOpen(card, desk.world.now())) return shown(card, desk.world.now());
  const reason = given.get('reason') ?? '';
  const { answer, writes } = moveCard(desk.bank, desk.world, card, action, {
    ...(action === 'refuse' && reasons.includes(reason) && { reason }),
  });
  desk.commit(writes);
  if (answer === 'done' && action === 'approve') return to(card.returnUrl);
  return shown(card, desk.world.now());
}

const acts = {
  approve: 'Approve',
  review: 'Look at it first',
  refuse: 'Refuse',
  chargeback: 'Chargeback',
  release: 'Release now',
} as const satisfies Partial<Record<CardAction, string>>;

const payerActs: ReadonlySet<string> = new Set(['approve', 'review', 'refuse']);

/** Of an attempt that is refused, in the words of the acquirer that has the most of them. */
const reasons = [
  ...['insufficient_funds', 'expired_card', 'incorrect_cvc', 'authentication_required'],
  ...['lost_card', 'do_not_honor', 'fraudulent'],
];

const to = (url: string): Reply => ({
  status: 303,
  type: 'text/plain',
  body: '',
  headers: { location: url },
});

const signs: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string): string => text.replace(/[&<>"]/g, (sign) => signs[sign] as string);

const button = (act: keyof typeof acts): string => `<button name="act" value="${act}">${acts[act]}</button>`;
const form = (inner: string): string => `<form method="post">${inner}</form>`;

function shown(card: Card, now: number): Reply {
  const approval = approvalOf(card);
  const choice = `<select name="reason" aria-label="Reason">${reasons.map((one) => `<option>${one}</option>`).join('')}</select>`;
  const inner = approval
    ? form(
        (approval.released ? '' : button('release')) +
          (approval.dispute === undefined ? button('chargeback') : ''),
      ) + `<p><a href="${escaped(card.returnUrl)}">Back to the shop</a></p>`
    : isOpen(card, now)
      ? form(button('approve') + button('review')) +
        form(choice + button('refuse')) +
        `<p><a href="${escaped(card.cancelUrl ?? card.returnUrl)}">Leave without paying</a></p>`
      : `<p><a href="${escaped(card.expiredUrl ?? card.cancelUrl ?? card.returnUrl)}">Back to the shop</a></p>`;
  const state = approval ? 'paid' : isOpen(card, now) ? 'open' : 'closed';
  const amount = `${card.currency.toUpperCase()} ${(card.amountCents / 100).toFixed(2)}`;
  return {
    status: 200,
    type: 'text/html; charset=utf-8',
    body: `<!doctype html><html lang="en"><meta charset="utf-8"><title>Acquirer (simulator)</title><h1>Acquirer (simulator)</h1><p>${escaped(card.name)}: ${amount}. This page is ${state}. No card is asked for here.</p>${inner}</html>`,
  };
}
