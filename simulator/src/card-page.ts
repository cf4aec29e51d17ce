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
  if (answer === 'done' && approvalOf(card) && action === 'approve') return to(card.returnUrl);
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

const link = (url: string, text: string): string => `<p><a href="${escaped(url)}">${text}</a></p>`;

/** The state of the page, and its buttons and links. */
function choicesOf(card: Card, now: number): { state: string; html: string } {
  const approval = approvalOf(card);
  if (approval) {
    const buttons = [
      approval.released ? '' : button('release'),
      approval.dispute === undefined ? button('chargeback') : '',
    ];
    return { state: 'paid', html: `${form(buttons.join(''))}${link(card.returnUrl, 'Back to the shop')}` };
  }
  const away = card.cancelUrl ?? card.returnUrl;
  if (!isOpen(card, now)) return { state: 'closed', html: link(card.expiredUrl ?? away, 'Back to the shop') };
  const why = `<select name="reason" aria-label="Reason">${reasons.map((one) => `<option>${one}</option>`).join('')}</select>`;
  const forms = [form(button('approve') + button('review')), form(why + button('refuse'))];
  return { state: 'open', html: `${forms.join('')}${link(away, 'Leave without paying')}` };
}

function shown(card: Card, now: number): Reply {
  const { state, html } = choicesOf(card, now);
  const amount = `${card.currency.toUpperCase()} ${(card.amountCents / 100).toFixed(2)}`;
  return {
    status: 200,
    type: 'text/html; charset=utf-8',
    body: `<!doctype html><html lang="en"><meta charset="utf-8"><title>Acquirer (simulator)</title><h1>Acquirer (simulator)</h1><p>${escaped(card.name)}: ${amount}. This page is ${state}. No card is asked for here.</p>${html}</html>`,
  };
}
