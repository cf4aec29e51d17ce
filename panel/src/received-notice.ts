import { queryOptions } from '@tanstack/react-query';
import { ask } from './api/client.ts';
import { money } from './format.ts';
import { keptUnder } from './kept.ts';
import { queries } from './queries.ts';
import type { View } from './session.tsx';

/** A person's own choice of mails, with the hours in which nothing is announced. */
export const mailChoiceQuery = ({ api, account }: View) =>
  queryOptions({
    queryKey: [account.id, 'mail-choice'],
    queryFn: () => ask(() => api.GET('/mail-choice')),
  });

/** Telephones show notifications of installed programs alone, and their browsers throw at the constructor. */
export const canNotify = (): boolean =>
  'Notification' in window && !/Android|iPhone|iPad/.test(navigator.userAgent);

/** A choice of this browser for an account. */
const keptFor = (accountId: string): string => `${keptUnder.receivedNotice}/${accountId}`;

export const isNotified = (accountId: string): boolean =>
  canNotify() && Notification.permission === 'granted' && localStorage.getItem(keptFor(accountId)) === 'on';

/** @returns whether it is on now: the browser asks its person first */
export async function chooseNotified(accountId: string, on: boolean): Promise<boolean> {
  const allowed = on && (await Notification.requestPermission()) === 'granted';
  if (allowed) localStorage.setItem(keptFor(accountId), 'on');
  else localStorage.removeItem(keptFor(accountId));
  return allowed;
}

const mostSeen = 200;

/**
 * Whether this browser sees an event for the first time: a stream that begins repeats the last seconds, and each tab has its own. Also asked where nothing
 * is shown, so that what was paid before a person wants to be notified stays unannounced.
 */
export function isFirstSeen(eventId: string): boolean {
  const kept = localStorage.getItem(keptUnder.seenEvents)?.split(' ') ?? [];
  if (kept.includes(eventId)) return false;
  localStorage.setItem(keptUnder.seenEvents, [eventId, ...kept].slice(0, mostSeen).join(' '));
  return true;
}

/** Which hour it is in a place. */
const hourIn = (zone: string, now: Date): number =>
  Number(new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', hour: 'numeric' }).format(now));

/** From the first hour on, before the other one, over midnight too; equal: never. */
export const isQuiet = (hour: number, from: number, to: number): boolean =>
  from <= to ? hour >= from && hour < to : hour >= from || hour < to;

/**
 * Shows that a charge was paid: how much, and to which account; who paid stands behind the sign-in. What cannot be shown is left out: the page itself has the payment.
 */
export async function notifyPaid(
  view: View,
  paymentId: string,
  title: (amount: string) => string,
): Promise<void> {
  try {
    const { quietFrom, quietTo, zone } = await queries.fetchQuery({
      ...mailChoiceQuery(view),
      staleTime: 300_000,
    });
    if (isQuiet(hourIn(zone, new Date()), quietFrom, quietTo)) return;
    const { record } = await ask(() =>
      view.api.GET('/records/{id}', { params: { path: { id: paymentId } } }),
    );
    const shown = new Notification(title(money(record.amountCents)), {
      body: view.account.name,
      tag: `vintem-${paymentId}`,
    });
    shown.onclick = () => {
      window.focus();
      window.location.assign(`/pagamentos/${paymentId}`);
    };
  } catch (error) {
    console.warn('a notification was not shown', error);
  }
}
