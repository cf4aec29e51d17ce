import { queryOptions, useQuery } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import { accountClient, ask, Problem, readSession, type Session, setCsrf } from './api/client.ts';
import { keptUnder } from './kept.ts';
import { queries } from './queries.ts';
import { isFirstSeen, isNotified, notifyPaid } from './received-notice.ts';
import { useWords } from './text/text.tsx';
import { isCounterLocked } from './ui/counter-lock.ts';

const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async (): Promise<Session | null> => {
    try {
      const session = await ask(readSession);
      setCsrf(session.csrf);
      return session;
    } catch (error) {
      if (error instanceof Problem && error.status === 401) return null;
      throw error;
    }
  },
  staleTime: 60_000,
});

/** The current session, or null without one. */
export const useSession = () => useQuery(sessionQuery);

/** The notice of the operator to every account, while it holds. A page that stays open asks anew each minute while it is seen. */
export const useNotice = () => useQuery({ ...sessionQuery, refetchInterval: 60_000 }).data?.notice ?? null;

/** The queries of a route's loader. The page does not wait for it, the very first render does. */
export interface Reading {
  read: Promise<unknown>;
}

/** Asks for the session while the page's own code is still on its way. */
export const expectSession = (): Reading => ({ read: queries.prefetchQuery(sessionQuery) });

/** Asks for what a page shows, as soon as it is known who looks at what. What fails is asked for again by the page, which says so. */
export const expectFor = (readPage: (view: View) => Promise<unknown>): Reading => ({
  read: queries.prefetchQuery(sessionQuery).then(() => {
    const session = queries.getQueryData(sessionQuery.queryKey);
    const view = session && viewOf(session);
    // A browser that is locked to the counter leads away from the page: nothing of it is asked for.
    return view && !isCounterLocked() && readPage(view);
  }),
});

type Account = Session['accounts'][number];

/** Which account is looked at, and which of its operations. */
export interface View {
  account: Account;
  api: ReturnType<typeof accountClient>;
  /** Null: all of them. */
  operationId: string | null;
}

/** Who looks, and at what. */
export interface Scope extends View {
  session: Session;
  may: (ability: string) => boolean;
  chooseOperation: (id: string | null) => void;
  chooseAccount: (id: string) => void;
}

const ScopeContext = createContext<Scope | null>(null);

const keptAccount = () => localStorage.getItem(keptUnder.account);
const keptOperation = () => localStorage.getItem(keptUnder.operation);

/** The account that this browser showed last; null: the person has no account. */
export function viewOf(
  session: Session,
  accountId = keptAccount(),
  operation = keptOperation(),
): View | null {
  const account = session.accounts.find((one) => one.id === accountId) ?? session.accounts[0];
  if (!account) return null;
  const [ofAccount, ofOperation] = (operation ?? '').split('/');
  const operationId = ofAccount === account.id && ofOperation ? ofOperation : null;
  return { account, api: accountClient(account.id), operationId };
}

export function ScopeProvider({ session, children }: { session: Session; children: ReactNode }) {
  const [accountId, setAccountId] = useState(keptAccount);
  const [operation, setOperation] = useState(keptOperation);

  const scope = useMemo((): Scope | null => {
    const view = viewOf(session, accountId, operation);
    if (!view) return null;
    const { account } = view;
    return {
      ...view,
      session,
      may: (ability) => account.abilities.includes(ability),
      chooseOperation: (id) => {
        const kept = id === null ? '' : `${account.id}/${id}`;
        localStorage.setItem(keptUnder.operation, kept);
        setOperation(kept);
      },
      chooseAccount: (id) => {
        localStorage.setItem(keptUnder.account, id);
        setAccountId(id);
        queries.removeQueries({ predicate: (query) => query.queryKey[0] !== 'session' });
      },
    };
  }, [session, accountId, operation]);
  const account = scope?.account;
  const words = useWords();

  // News of the account: what is shown is asked for again.
  useEffect(() => {
    if (!account) return;
    const view = { account, api: accountClient(account.id), operationId: null };
    const source = new EventSource(`/panel/api/accounts/${account.id}/updates`);
    let timer = 0;
    source.onmessage = ({ data, lastEventId }: MessageEvent<string>) => {
      const news: { type: string; paymentId: string } = JSON.parse(data);
      if (news.type === 'charge.paid' && isFirstSeen(lastEventId) && isNotified(account.id))
        void notifyPaid(view, news.paymentId, words.mailChoice.notification);
      window.clearTimeout(timer);
      timer = window.setTimeout(() => {
        void queries.invalidateQueries({ predicate: (query) => query.queryKey[0] === account.id });
      }, 60);
    };
    return () => {
      window.clearTimeout(timer);
      source.close();
    };
  }, [account, words]);

  if (scope === null) return null;
  return <ScopeContext value={scope}>{children}</ScopeContext>;
}

export function useScope(): Scope {
  const scope = useContext(ScopeContext);
  if (!scope) throw new Error('no account is at hand here');
  return scope;
}

/** Home shows a month beside the one before. */
const overviewDays = 60;

/** Home's figures, which half of the pages want: balances and the operations' names. */
export function overviewQuery({ api, account, operationId }: View, all = false, days = overviewDays) {
  const selected = all ? null : operationId;
  return queryOptions({
    queryKey: [account.id, 'overview', selected, days],
    queryFn: () =>
      ask(() =>
        api.GET('/overview', {
          params: { query: { ...(selected && { operationId: selected }), days } },
        }),
      ),
    // Each look sums up a piece of today, until it is whole.
    refetchInterval: (query) => (query.state.data?.daysComplete === false ? 1_000 : false),
  });
}

export const useOverview = (all = false, days = overviewDays) =>
  useQuery(overviewQuery(useScope(), all, days));
