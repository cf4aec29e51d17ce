import type { Log } from '../ground/log.ts';
import type { PageSubject } from '../ground/page-address.ts';
import type { Clock } from '../ports/clock.ts';
import type { Sql } from '../ports/sql.ts';
import { findLastSeq, findNews, findPublicPayment } from './pages.sql.ts';
import { chargeStateOf, versionOf } from './state.ts';

/**
 * Which version each open page of a cell shows, in memory: one statement twice a second asks the logs of their accounts for news, and only a
 * payment that something was published of is read again. A question for the state costs no read while nothing changes.
 */
export interface PageWatch {
  /** @returns null: there is no such charge */
  versionOf(subject: PageSubject): Promise<string | null>;
  /** @returns ends the listening; null: there is no such charge, or the process has its most pages open */
  listen(subject: PageSubject, listener: PageListener): Promise<(() => void) | null>;
}

export interface PageListener {
  changed(version: string): void;
  /** Nothing has changed for a while: a sign of life. */
  beat(): void;
  /** The process drains. */
  end(): void;
}

const lookEveryMs = 500;
const beatEveryMs = 20_000;
/** How long a page that only asks now and then is kept. */
const askedWithinMs = 60_000;
const openMost = 20_000;
const newsPerLook = 200;
/** A code that is being made is announced by no event that every account's log keeps. */
const creatingPerLook = 20;

interface Page {
  subject: PageSubject;
  accountId: string;
  version: string;
  creating: boolean;
  askedMs: number;
  listeners: Set<PageListener>;
}

interface Deps {
  sql: Sql;
  clock: Clock;
  log: Log;
  draining: AbortSignal;
}

export function createPageWatch({ sql, clock, log, draining }: Deps): PageWatch {
  const open = new Map<string, Page>();
  /** Up to where each account's log was read. */
  const read = new Map<string, number>();
  let watching = false;

  async function look(page: Page): Promise<void> {
    const payment = await findPublicPayment(sql, page.subject);
    if (!payment) return;
    const version = versionOf(payment);
    page.creating = chargeStateOf(payment) === 'creating';
    if (version === page.version) return;
    page.version = version;
    for (const listener of page.listeners) listener.changed(version);
  }

  async function lookForNews(): Promise<void> {
    const accounts = new Set([...open.values()].map(({ accountId }) => accountId));
    for (const accountId of read.keys()) if (!accounts.has(accountId)) read.delete(accountId);
    const places = [...read].map(([accountId, after]) => ({ accountId, after }));
    const changed = new Set<Page>();
    for (const { at, seq, paymentId } of await findNews(sql, places, newsPerLook)) {
      read.set(places[at]?.accountId as string, seq);
      const page = paymentId === null ? undefined : open.get(paymentId);
      if (page) changed.add(page);
    }
    let creating = 0;
    for (const page of open.values()) if (page.creating && creating++ < creatingPerLook) changed.add(page);
    await Promise.all([...changed].map(look));
  }

  async function watch(): Promise<void> {
    watching = true;
    let beatAt = clock.monotonicMs();
    while (open.size > 0 && !draining.aborted) {
      await clock.sleep(lookEveryMs, draining);
      const now = clock.monotonicMs();
      for (const [id, page] of open)
        if (page.listeners.size === 0 && now - page.askedMs > askedWithinMs) open.delete(id);
      try {
        await lookForNews();
      } catch (error) {
        log.warn({ err: error, pages: open.size }, 'news for open pages of payers could not be read');
      }
      if (now - beatAt < beatEveryMs) continue;
      beatAt = now;
      for (const { listeners } of open.values()) for (const listener of listeners) listener.beat();
    }
    for (const { listeners } of open.values()) for (const listener of [...listeners]) listener.end();
    open.clear();
    read.clear();
    watching = false;
  }

  /** @returns null: there is no such charge */
  async function pageOf(subject: PageSubject): Promise<Page | null> {
    const known = open.get(subject.id);
    if (known) return known;
    const payment = await findPublicPayment(sql, subject);
    if (payment?.kind !== 'deposit') return null;
    const { accountId } = payment;
    // Before the payment is read again: what is published from here on is found behind this place.
    if (!read.has(accountId)) {
      const seq = await findLastSeq(sql, accountId);
      // A page beside this one may have begun at an earlier place meanwhile.
      if (!read.has(accountId)) read.set(accountId, seq);
    }
    const page: Page = {
      subject,
      accountId,
      version: '',
      creating: false,
      askedMs: clock.monotonicMs(),
      listeners: new Set(),
    };
    const made = open.get(subject.id);
    if (made) return made;
    if (open.size < openMost) open.set(subject.id, page);
    await look(page);
    if (!watching) void watch();
    return page;
  }

  return {
    async versionOf(subject) {
      const page = await pageOf(subject);
      if (page === null) return null;
      page.askedMs = clock.monotonicMs();
      if (page.version === '') await look(page);
      return page.version;
    },
    async listen(subject, listener) {
      const page = await pageOf(subject);
      if (page === null || !open.has(subject.id)) return null;
      page.listeners.add(listener);
      page.askedMs = clock.monotonicMs();
      listener.changed(page.version);
      return () => page.listeners.delete(listener);
    },
  };
}
