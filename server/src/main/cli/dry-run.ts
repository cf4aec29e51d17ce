import { priceOf } from '../../ground/money.ts';
import { accounts } from '../../money/decide.ts';
import type { Operator } from '../../store/operator.ts';
import { type PlannedPosting, rehearseAct } from '../../store/rehearsal.ts';
import { rehearseAtProviders } from '../rehearsed.ts';
import type { Runtime } from '../runtime.ts';
import { type Answer, type CommandInput, table } from './command.ts';

/** Of every command that posts: prints the postings as it would write them, and writes nothing. */
export const dryRunOption = { 'dry-run': { type: 'boolean' } } as const;

const isRehearsed = (values: CommandInput['values']): boolean => values['dry-run'] === true;

/** Does an act that posts, or rehearses it. */
export async function posting<T>(
  values: CommandInput['values'],
  operator: Operator,
  act: (operator: Operator) => Promise<T>,
  answered: (done: T) => Answer,
): Promise<Answer> {
  if (!isRehearsed(values)) return answered(await act(operator));
  return plannedAnswer(await rehearseAct(operator, act));
}

/** The same of an act that asks providers. @param rehearsed what posts in it, where that is a part of it */
export async function postingAtProviders<T>(
  values: CommandInput['values'],
  { runtime, operator }: { runtime: Runtime; operator: Operator },
  act: (runtime: Runtime, operator: Operator) => Promise<T>,
  answered: (done: T) => Answer,
  rehearsed: (runtime: Runtime, operator: Operator) => Promise<unknown> = act,
): Promise<Answer> {
  if (!isRehearsed(values)) return answered(await act(runtime, operator));
  return plannedAnswer(await rehearseAtProviders(runtime, operator, rehearsed));
}

const plannedAnswer = (postings: readonly PlannedPosting[]): Answer => ({
  json: { dryRun: true, postings },
  text: plannedText(postings),
});

/** A line for each side of each posting; amounts as prices. */
export const plannedText = (postings: readonly PlannedPosting[]): string =>
  table(
    postings.flatMap(({ chainId, movement, lines }) =>
      accounts.flatMap((account) => {
        const cents = lines[account] ?? 0;
        if (cents === 0) return [];
        return [[movement, account, cents > 0 ? 'credit' : 'debit', priceOf(Math.abs(cents)), chainId]];
      }),
    ),
    'no postings',
    ['movement', 'account', 'side', 'amount', 'of'],
  );
