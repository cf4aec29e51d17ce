import type { Dispute } from '../api/client.ts';
import { useWords } from '../text/text.tsx';

type State = NonNullable<Dispute['defence']>;

/** How far a defence has come. */
export function DefenceState({ defence }: { defence: State }) {
  const words = useWords();
  return (
    <div>
      {words.defence.states[defence.status]}
      {defence.reasonCode && `: ${words.defence.reasons[defence.reasonCode] ?? words.defence.refused}`}
    </div>
  );
}
