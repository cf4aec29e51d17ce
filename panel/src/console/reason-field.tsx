import { TextInput } from '@mantine/core';

/** Why an operator acts, as the audit keeps it: 5 to 200 characters. */
export function ReasonField({
  label,
  value,
  onText,
}: {
  label: string;
  value: string;
  onText: (reason: string) => void;
}) {
  return (
    <TextInput
      label={label}
      required
      withAsterisk={false}
      minLength={5}
      maxLength={200}
      value={value}
      onChange={(event) => onText(event.currentTarget.value)}
    />
  );
}
