import { useQuery } from '@tanstack/react-query';
import { ask } from '../api/client.ts';
import { money } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';

/** The range of amounts of a charge of the account, in words, and whether a typed amount is outside of it. */
export function useAmountRange(cents: number): { outside: boolean; range: string } {
  const words = useWords();
  const { api, account } = useScope();
  const { data: limits } = useQuery({
    queryKey: [account.id, 'account'],
    queryFn: () => ask(() => api.GET('/account')),
    staleTime: 60_000,
  });
  if (!limits) return { outside: false, range: ' ' };
  const { minimumDepositCents: least, maximumDepositCents: most } = limits;
  return {
    outside: cents > 0 && (cents < least || cents > most),
    range: words.charges.amountHint(money(least), money(most)),
  };
}
