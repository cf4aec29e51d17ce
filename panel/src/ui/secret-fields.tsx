import { PasswordInput, type PasswordInputProps, TextInput, type TextInputProps } from '@mantine/core';

type Typed<Props> = Omit<Props, 'value' | 'onChange'> & { value: string; onValue: (text: string) => void };

/** The password of the person who is there. */
export const PasswordField = ({ value, onValue, ...given }: Typed<PasswordInputProps>) => (
  <PasswordInput
    autoComplete="current-password"
    required
    withAsterisk={false}
    visibilityToggleButtonProps={{ 'aria-hidden': true }}
    {...given}
    value={value}
    onChange={(event) => onValue(event.currentTarget.value)}
  />
);

export const NewPasswordField = (given: Typed<PasswordInputProps>) => (
  <PasswordField autoComplete="new-password" minLength={12} maxLength={128} {...given} />
);

/** Of an authenticator app. */
export const CodeField = ({ value, onValue, ...given }: Typed<TextInputProps>) => (
  <TextInput
    inputMode="numeric"
    autoComplete="one-time-code"
    maxLength={7}
    withAsterisk={false}
    {...given}
    value={value}
    onChange={(event) => onValue(event.currentTarget.value)}
  />
);
