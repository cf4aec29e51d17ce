import { Button } from '@mantine/core';
import { Icon } from './icons.tsx';

export function PasskeyButton({
  label,
  busy,
  onClick,
}: {
  label: string;
  busy: boolean;
  onClick: () => void;
}) {
  return (
    <Button variant="default" size="md" leftSection={<Icon name="finger" />} loading={busy} onClick={onClick}>
      {label}
    </Button>
  );
}
