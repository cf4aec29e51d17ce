import { Select } from '@mantine/core';
import { money } from '../format.ts';
import { useOverview } from '../session.tsx';
import { useWords } from '../text/text.tsx';

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
    <Select
      label={label ?? words.common.operation}
      data={data.operations.map((one) => ({
        value: one.id,
        label: withBalance ? `${one.name} · ${money(one.availableCents - one.receivableCents)}` : one.name,
      }))}
      value={value}
      onChange={(id) => id && onValue(id)}
      allowDeselect={false}
    />
  );
}

/** The operation that a form begins with: the one looked at, else the main one. */
export function useStartOperation(chosen: string | null): string {
  const { data } = useOverview(true);
  return chosen ?? data?.operations.find((one) => one.isDefault)?.id ?? '';
}
