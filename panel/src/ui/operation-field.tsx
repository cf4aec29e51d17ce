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
 * The operation that a page of one operation shows: the one chosen at the top, else the main one. An address may name another
 * (`?operacao=`), which is then the chosen one: there is one selector.
 */
export function useShownOperation() {
  const { operationId, chooseOperation } = useScope();
  const { operacao } = useSearch({ strict: false }) as { operacao?: string };
  const operations = useOverview(true).data?.operations ?? [];
  const named = operations.find((one) => one.id === operacao);
  const shown = shownAmong(operations, operationId, operacao);
  const isNamed = named !== undefined && named.id !== operationId;
  useEffect(() => {
    if (isNamed) chooseOperation(named.id);
  }, [isNamed, named, chooseOperation]);
  return shown;
}

/** The one that the address names, the one chosen at the top, or the main one. */
export const shownAmong = (
  operations: Overview['operations'],
  chosen: string | null,
  named: string | undefined,
) =>
  operations.find((one) => one.id === named) ??
  operations.find((one) => one.id === chosen) ??
  operations.find((one) => one.isDefault);

/** Pages of what belongs to the operation shown: each is asked for by the place at which the one before it ended. */
export function useOperationPages<Page, Place extends string | number>(
  what: string,
  read: (operationId: string, place: Place | null) => Promise<Page>,
  next: (last: Page) => Place | null,
) {
  const { account } = useScope();
  const operationId = useShownOperation()?.id;
  const pages = useInfiniteQuery({
    queryKey: [account.id, what, operationId],
    enabled: operationId !== undefined,
    queryFn: ({ pageParam }) => read(operationId ?? '', pageParam as Place | null),
    initialPageParam: null as Place | null,
    getNextPageParam: (last: Page) => next(last),
  });
  return { operationId, pages };
}

/** Says which operation is shown where all of them are chosen. */
export function ShownOperation() {
  const words = useWords();
  const { operationId } = useScope();
  const operations = useOverview(true).data?.operations ?? [];
  const shown = useShownOperation();
  if (operationId !== null || operations.length < 2 || !shown) return null;
  return <p className="soft">{words.statement.onlyOf(shown.name)}</p>;
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
