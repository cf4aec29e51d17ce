import { useQuery } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import { accountClient, ask, Problem, person, type Session, setCsrf } from './api/client.ts';
import { keptUnder, overviewDays } from './early.ts';
import { queries } from './queries.ts';

const sessionQuery = {
  queryKey: ['session'],
  queryFn: async (): Promise<Session | null> => {
    try {
      const session = await ask(() => person.GET('/session'));
      setCsrf(session.csrf);
      return session;
    } catch (error) {
      if (error instanceof Problem && error.status === 401) return null;
      throw error;
    }
  },
  staleTime: 60_000,
};

/** The current session, or null without one. */
export const useSession = () => useQuery(sessionQuery);

/** Asks for it while the page's own code is still on its way. */
export const expectSession = (): void => void queries.prefetchQuery(sessionQuery);

type Account = Session['accounts'][number];

/** Who looks, at which account, and at which of its operations. */
export interface Scope {
  session: Session;
  account: Account;
  api: ReturnType<typeof accountClient>;
  may: (ability: string) => boolean;
  /** Null: all of them. */
  operationId: string | null;
  chooseOperation: (id: string | null) => void;
  chooseAccount: (id: string) => void;
}

const ScopeContext = createContext<Scope | null>(null);

export function ScopeProvider({ session, children }: { session: Session; children: ReactNode }) {
  const [accountId, setAccountId] = useState(() => localStorage.getItem(keptUnder.account));
  const [operationId, setOperationId] = useState(() => localStorage.getItem(keptUnder.operation));
  const account = session.accounts.find((one) => one.id === accountId) ?? session.accounts[0];

  const scope = useMemo((): Scope | null => {
    if (!account) return null;
    const [ofAccount, ofOperation] = (operationId ?? '').split('/');
    return {
      session,
      account,
      api: accountClient(account.id),
      may: (ability) => account.abilities.includes(ability),
      operationId: ofAccount === account.id && ofOperation ? ofOperation : null,
      chooseOperation: (id) => {
        const kept = id === null ? '' : `${account.id}/${id}`;
        localStorage.setItem(keptUnder.operation, kept);
        setOperationId(kept);
      },
      chooseAccount: (id) => {
        localStorage.setItem(keptUnder.account, id);
        setAccountId(id);
        queries.removeQueries({ predicate: (query) => query.queryKey[0] !== 'session' });
      },
    };
  }, [session, account, operationId]);

  // News of the account: what is shown is asked for again.
  useEffect(() => {
    if (!account) return;
    const source = new EventSource(`/panel/api/accounts/${account.id}/updates`);
    let timer = 0;
    source.onmessage = () => {
      window.clearTimeout(timer);
      timer = window.setTimeout(() => {
        void queries.invalidateQueries({ predicate: (query) => query.queryKey[0] === account.id });
      }, 60);
    };
    return () => {
      window.clearTimeout(timer);
      source.close();
    };
  }, [account]);

  if (scope === null) return null;
  return <ScopeContext value={scope}>{children}</ScopeContext>;
}

export function useScope(): Scope {
  const scope = useContext(ScopeContext);
  if (!scope) throw new Error('no account is at hand here');
  return scope;
}

/** Home's figures, which half of the pages want: balances and the operations' names. */
export function useOverview(all = false, days = overviewDays) {
  const { api, account, operationId } = useScope();
  const selected = all ? null : operationId;
  return useQuery({
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
