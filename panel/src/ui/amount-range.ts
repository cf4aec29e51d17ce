import { useQuery } from '@tanstack/react-query';
import { ask } from '../api/client.ts';
import { money } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';

/** The conditions of the account; undefined until they are read. */
function useConditions() {
  const { api, account } = useScope();
  return useQuery({
    queryKey: [account.id, 'account'],
    queryFn: () => ask(() => api.GET('/account')),
    staleTime: 60_000,
  }).data;
}

/** Whether the account takes payments by card. */
export const useTakesCard = (): boolean => (useConditions()?.maximumCardCents ?? 0) > 0;

/** The range of amounts of a charge of the account, in words, and whether a typed amount is outside of it. */
export function useAmountRange(cents: number): { outside: boolean; range: string } {
  const words = useWords();
  const limits = useConditions();
  if (!limits) return { outside: false, range: ' ' };
  const { minimumDepositCents: least, maximumDepositCents: most } = limits;
  return {
    outside: cents > 0 && (cents < least || cents > most),
    range: words.charges.amountHint(money(least), money(most)),
  };
}
