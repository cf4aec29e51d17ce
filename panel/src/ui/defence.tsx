import { Button } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import type { Dispute } from '../api/client.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { DefenceState } from './defence-state.tsx';

/** Read when it is wanted: a first look at a list of disputes answers none. */
const DefenceDialog = lazy(async () => ({
  default: (await import('./defence-dialog.tsx')).DefenceDialog,
}));

/** The defence of a dispute, or the button that begins one. */
export function DefenceOf({ dispute }: { dispute: Dispute }) {
  const words = useWords();
  const { may, session, account } = useScope();
  const [shown, setShown] = useState(false);
  const factor = account.test || session.secondFactor;
  const answers = dispute.answerable && may('disputes');
  const mayAnswer = answers && !session.frozenUntil && factor;
  if (dispute.defence === null && !answers) return null;
  return (
    <div className="soft">
      {dispute.defence && <DefenceState defence={dispute.defence} />}
      {answers && session.frozenUntil && words.defence.frozen}
      {answers && !factor && words.defence.needsFactor}
      {(mayAnswer || dispute.defence) && (
        <Button
          size="xs"
          variant={mayAnswer ? 'default' : 'subtle'}
          style={{ marginTop: 6 }}
          onClick={() => setShown(true)}
        >
          {mayAnswer ? words.defence.act : words.defence.show}
        </Button>
      )}
      {shown && (
        <Suspense fallback={null}>
          <DefenceDialog dispute={dispute} answers={Boolean(mayAnswer)} close={() => setShown(false)} />
        </Suspense>
      )}
    </div>
  );
}
