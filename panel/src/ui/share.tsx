import { Button } from '@mantine/core';
import { useWords } from '../text/text.tsx';
import { Copy } from './parts.tsx';

/** A public page, to send to payers: the browser opens WhatsApp and the mail program, which know whom to send to. */
export function Share({ url, copy, subject }: { url: string; copy: string; subject: string }) {
  const words = useWords();
  const text = encodeURIComponent(words.share.text(url));
  return (
    <>
      <Copy value={url} label={copy} />
      <div className="sharing">
        <Button
          component="a"
          href={`https://wa.me/?text=${text}`}
          target="_blank"
          rel="noreferrer"
          variant="default"
        >
          {words.share.whatsapp}
        </Button>
        <Button
          component="a"
          href={`mailto:?subject=${encodeURIComponent(subject)}&body=${text}`}
          variant="default"
        >
          {words.share.mail}
        </Button>
      </div>
    </>
  );
}
