import { Button, Checkbox, Modal, type ModalProps } from '@mantine/core';
import { type ReactNode, useLayoutEffect, useState } from 'react';
import { useWords } from '../text/text.tsx';
import { Copy } from './parts.tsx';

/**
 * Gives the focus back to what had it before the dialog. The library does so for dialogs that stay mounted while they are closed; these
 * come and go with what they show. Of two that follow each other the second gives it back to what opened the first.
 */
function useFocusReturned(opened: boolean): void {
  useLayoutEffect(() => {
    const before = document.activeElement;
    if (!opened || !(before instanceof HTMLElement)) return;
    return () => before.focus();
  }, [opened]);
}

export function Dialog({
  title,
  close,
  opened = true,
  children,
  ...rest
}: { title: string; close: () => void; opened?: boolean; children: ReactNode } & Pick<
  ModalProps,
  'size' | 'zIndex'
>) {
  const words = useWords();
  useFocusReturned(opened);
  return (
    <Modal
      opened={opened}
      returnFocus={false}
      onClose={close}
      title={title}
      closeButtonProps={{ 'aria-label': words.common.close }}
      {...rest}
    >
      {children}
    </Modal>
  );
}

/** The only place where a secret can ever be read: it closes by the button alone, and only once the person says that it is stored. */
export function OnceDialog({
  title,
  lead,
  secret,
  testId,
  stored,
  close,
}: {
  title: string;
  lead: string;
  secret: string;
  testId: string;
  /** The sentence that the person confirms by ticking. */
  stored: string;
  close: () => void;
}) {
  const words = useWords();
  const [ticked, setTicked] = useState(false);
  useFocusReturned(true);
  return (
    <Modal
      opened
      returnFocus={false}
      onClose={() => {}}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      title={title}
      size="lg"
    >
      <div className="stack">
        <p style={{ margin: 0 }}>{lead}</p>
        <div className="code" data-testid={testId}>
          {secret}
        </div>
        <Copy value={secret} label={words.common.copy} />
        <Checkbox
          label={stored}
          checked={ticked}
          onChange={(event) => setTicked(event.currentTarget.checked)}
        />
        <Button variant="default" disabled={!ticked} onClick={close}>
          {words.keys.done}
        </Button>
      </div>
    </Modal>
  );
}
