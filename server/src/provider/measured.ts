import type { Histograms } from '../ground/histogram.ts';
import type { Log } from '../ground/log.ts';
import type { Traces } from '../ground/traces.ts';
import type { Clock } from '../ports/clock.ts';
import { type ProviderCall, withCalls } from './calls.ts';
import type { Provider, ProviderWords } from './provider.ts';

interface MeasuredDeps {
  clock: Pick<Clock, 'monotonicMs'>;
  log: Pick<Log, 'warn'>;
  measures: { providerCalls: Histograms; providerErrors: Histograms };
  traces?: Traces | null;
}

/**
 * The same provider; how long each call took is counted by connection, call and outcome (`error`: it threw). The provider's words to a call that keeps
 * none are logged: such a call names no person but the merchant.
 */
export function measured(provider: Provider, { clock, log, measures, traces }: MeasuredDeps): Provider {
  const errorNames = namesOfErrors();
  const timed =
    <Args extends unknown[], Answer>(
      { name: call, keepsNoWords }: ProviderCall,
      work: (...args: Args) => Promise<Answer>,
    ) =>
    async (...args: Args): Promise<Answer> => {
      const began = clock.monotonicMs();
      let outcome = 'error';
      let error: string | undefined;
      try {
        const answer = await (traces
          ? traces.around(
              'provider call',
              { 'vintem.connection': provider.connection, 'vintem.call': call },
              () => work(...args),
              outcomeOf,
            )
          : work(...args));
        outcome = outcomeOf(answer);
        error = errorNames.of(answer);
        const words = keepsNoWords ? wordsOf(answer) : undefined;
        if (words)
          log.warn(
            { connection: provider.connection, call, error: words.name, message: words.message },
            'the provider did not take a call',
          );
        return answer;
      } finally {
        const seconds = (clock.monotonicMs() - began) / 1000;
        measures.providerCalls.of(provider.connection, call, outcome).observe(seconds);
        if (error !== undefined)
          measures.providerErrors.of(provider.connection, call, error).observe(seconds);
      }
    };
  return withCalls(provider, (call, work) => timed(call, work));
}

/** A provider may make up names: beyond these, they are counted together. */
const namesMost = 100;

function namesOfErrors() {
  const known = new Set<string>();
  return {
    of(answer: unknown): string | undefined {
      const name = wordsOf(answer)?.name;
      if (name === undefined) return undefined;
      if (known.size < namesMost) known.add(name);
      return known.has(name) ? name : 'other';
    },
  };
}

const outcomeOf = (answer: unknown): string => (answer as { outcome?: string } | undefined)?.outcome ?? 'ok';

const wordsOf = (answer: unknown): ProviderWords | undefined =>
  (answer as { words?: ProviderWords } | undefined)?.words;
