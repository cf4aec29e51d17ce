import { Button } from '@mantine/core';
import { useState } from 'react';
import { money } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { Icon } from './icons.tsx';
import { hasOwn, Letterhead, useMerchantProfile } from './merchant.tsx';
import { PageHead } from './parts.tsx';
import { Qr } from './qr.tsx';
import { Segments } from './segments.tsx';

const sizes = ['a6', 'a4', 'roll'] as const;
type Size = (typeof sizes)[number];

/**
 * A poster to print on A4, A6 or a receipt printer's roll. The browser prints it: it knows the paper and the printer, and saves the same page as a
 * PDF. All measures on it are parts of its width, so one drawing fits each paper.
 */
export function Poster({
  name,
  amountCents,
  code,
  codeAlt,
  steps,
  foot,
  back,
}: {
  /** The name of the link or the code. */
  name: string;
  /** Null: the payer chooses it. */
  amountCents: number | null;
  /** The text of the QR code. */
  code: string;
  codeAlt: string;
  steps: readonly string[];
  /** To find the paper again. */
  foot: string;
  back: { to: string; label: string; search: object };
}) {
  const words = useWords();
  const { account } = useScope();
  const { data: profile } = useMerchantProfile();
  const [size, setSize] = useState<Size>('a6');
  return (
    <>
      <div className="noprint">
        <PageHead title={words.poster.title} lead={words.poster.hint} back={back}>
          <Segments
            label={words.poster.size}
            data={sizes.map((value) => ({ value, label: words.poster.sizes[value] }))}
            value={size}
            onChoice={setSize}
          />
          <Button leftSection={<Icon name="print" size={18} />} onClick={() => window.print()}>
            {words.poster.print}
          </Button>
        </PageHead>
      </div>
      <article className={`poster ${size}`} aria-label={words.poster.title}>
        <div className="postersheet">
          <Letterhead profile={profile} forPayer />
          <h2>{words.poster.pay}</h2>
          {!(profile && hasOwn(profile)) && <p className="posteramount">{account.name}</p>}
          <p className="postername">{name}</p>
          <p className="posteramount">
            {amountCents === null ? words.poster.yourAmount : money(amountCents)}
          </p>
          <Qr text={code} label={codeAlt} wide />
          <ol>
            {steps.map((step) => (
              <li key={step}>{step}</li>
            ))}
          </ol>
          <p className="posterfoot">
            {foot}
            {account.test && (
              <>
                <br />
                <strong>{words.common.testBanner}</strong>
              </>
            )}
          </p>
        </div>
      </article>
    </>
  );
}
