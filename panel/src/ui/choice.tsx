import { NativeSelect, type NativeSelectProps } from '@mantine/core';

/**
 * One of a few, by the browser's own list: telephones show it over the screen, and it costs no code. The library's list (`Select`) and what
 * it stands on are a quarter of the script of the first page; it stays where a list is searched.
 */
export function Choice({
  onChoice,
  ...rest
}: Omit<NativeSelectProps, 'onChange' | 'value'> & { value: string; onChoice: (value: string) => void }) {
  return <NativeSelect {...rest} onChange={(event) => onChoice(event.currentTarget.value)} />;
}
