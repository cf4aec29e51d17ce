import { useInfiniteQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useEffect } from 'react';
import type { Overview } from '../api/client.ts';
import { money } from '../format.ts';
import { useOverview, useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { Choice } from './choice.tsx';

/** Which operation a form is for; shown when there is a choice. */
export function OperationField({
  value,
  onValue,
  label,
  withBalance = false,
}: {
  value: string;
  onValue: (id: string) => void;
  label?: string;
  withBalance?: boolean;
}) {
  const words = useWords();
  const { data } = useOverview(true);
  if (!data || data.operations.length < 2) return null;
  return (
    <Choice
      label={label ?? words.common.operation}
      data={data.operations.map((one) => ({
        value: one.id,
        label: withBalance ? `${one.name} · ${money(one.availableCents - one.receivableCents)}` : one.name,
      }))}
      value={value}
      onChoice={onValue}
    />
  );
}

/**
 * The operation that a page shows: the one chosen at the top; null: all of them. An address may name another (`?operacao=`), which is then
 * the chosen one: there is one selector.
 */
export function useShownOperation(): string | null {
  const { operationId, chooseOperation } = useScope();
  const { operacao } = useSearch({ strict: false }) as { operacao?: string };
  const isNamed = operacao !== undefined && operacao !== operationId;
  useEffect(() => {
    if (isNamed) chooseOperation(operacao);
  }, [isNamed, operacao, chooseOperation]);
  return operacao ?? operationId;
}

/** The names of the operations by id, where several are shown; null: there is one, and a page does not repeat its name. */
export function useOperationNames(shown: string | null): Map<string, string> | null {
  const operations = useOverview(true).data?.operations ?? [];
  return shown === null && operations.length > 1
    ? new Map(operations.map(({ id, name }) => [id, name]))
    : null;
}

/** Pages of what belongs to the operations shown: each is asked for by the place at which the one before it ended. */
export function useOperationPages<Page, Place extends string | number>(
  what: string,
  read: (operation: { operationId?: string }, place: Place | null) => Promise<Page>,
  next: (last: Page) => Place | null,
) {
  const { account } = useScope();
  const operationId = useShownOperation();
  const pages = useInfiniteQuery({
    queryKey: [account.id, what, operationId],
    queryFn: ({ pageParam }) => read(operationId ? { operationId } : {}, pageParam as Place | null),
    initialPageParam: null as Place | null,
    getNextPageParam: (last: Page) => next(last),
  });
  return { operationId, names: useOperationNames(operationId), pages };
}

const mainOf = (data: Overview | undefined): string =>
  data?.operations.find((one) => one.isDefault)?.id ?? '';

/** The operation that a form begins with: the one looked at, else the main one; empty until the operations have arrived. */
export function useStartOperation(chosen: string | null): string {
  const { data } = useOverview(true);
  return chosen ?? mainOf(data);
}

/** The operation of a form that is sent: a form may be sent before the operations have arrived, and waits for them here. */
export function useArrivedOperation(): (shown: string) => Promise<string> {
  const { refetch } = useOverview(true);
  return async (shown) => shown || mainOf((await refetch({ throwOnError: true })).data);
}
