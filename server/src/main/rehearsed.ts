import { nextQuery } from '../flow/query.ts';
import { withCalls } from '../provider/calls.ts';
import type { Provider } from '../provider/provider.ts';
import type { Operator } from '../store/operator.ts';
import { HeldTooLong, type PlannedPosting, rehearse } from '../store/rehearsal.ts';
import { createTill } from '../store/till.ts';
import type { Runtime } from './runtime.ts';

/**
 * Rehearses an act that asks providers. Their answers are kept: where the wait for them made a rehearsal hold its locks too long, the next one has them
 * without waiting, and each one learns more.
 * @throws OperatorRefused as `rehearse`; also where a rehearsal is too long that learnt nothing new
 */
export async function rehearseAtProviders(
  runtime: Runtime,
  operator: Operator,
  act: (runtime: Runtime, operator: Operator) => Promise<unknown>,
): Promise<PlannedPosting[]> {
  const learnt: Learnt = { answers: new Map(), asked: 0 };
  const untilMs = runtime.clock.monotonicMs() + patienceMs;
  const providers = new Map(
    [...runtime.providers].map(([name, provider]) => [name, remembering(runtime, provider, learnt)]),
  );
  // Windows of lists end now: every rehearsal asks for the same ones.
  const now = runtime.clock.now();
  const clock = { ...runtime.clock, now: () => now };
  for (;;) {
    const before = learnt.asked;
    try {
      return await rehearse(clock, (over) => {
        const { sql, cells } = runtime;
        const made = new Map<Runtime, Runtime>();
        const rehearsed = (cell: Runtime): Runtime => {
          const before = made.get(cell);
          if (before) return before;
          const ofCell = { ...cell, ...{ clock, providers, sql: over(cell.sql) } };
          const one: Runtime = { ...ofCell, till: createTill(ofCell), cells: overAll };
          made.set(cell, one);
          return one;
        };
        const overAll: Runtime['cells'] = {
          ...cells,
          all: () => cells.all().map(rehearsed),
          ofNumbers: async (numbers) =>
            new Map([...(await cells.ofNumbers(numbers))].map(([number, cell]) => [number, rehearsed(cell)])),
        };
        const home = { ...runtime, ...{ clock, providers, sql: over(sql), cells: overAll } };
        return act({ ...home, till: createTill(home) }, { ...operator, clock, sql: over(operator.sql) });
      });
    } catch (error) {
      // Too long by itself, and not for the wait for a provider.
      const isLast = learnt.asked === before || runtime.clock.monotonicMs() > untilMs;
      if (!(error instanceof HeldTooLong) || isLast) throw error;
    }
  }
}

/** Efí makes the report of a day in half a minute. */
const patienceMs = 5 * 60_000;

interface Learnt {
  /** By connection, call and what was asked. */
  answers: Map<string, unknown>;
  /** Calls that were made. */
  asked: number;
}

/** How long one answer may wait for the limit that all processes share. */
const limitWithinMs = 60_000;

/** The same provider, asked once for each thing, within its limit. It sends nothing: every call that changes something there fails. */
function remembering(runtime: Runtime, provider: Provider, learnt: Learnt): Provider {
  const { connection } = provider;
  const limited = async (ask: () => Promise<unknown>): Promise<unknown> => {
    const slot = await nextQuery(runtime, provider, runtime.clock.monotonicMs() + limitWithinMs);
    return ask().finally(() => slot.free());
  };
  const once =
    (name: string, ask: (...args: unknown[]) => Promise<unknown>) =>
    async (...args: unknown[]): Promise<unknown> => {
      const key = JSON.stringify([connection, name, args]);
      const known = learnt.answers.get(key);
      if (known !== undefined) return known;
      learnt.asked++;
      const answer = await limited(() => ask(...args));
      if (isFinal(answer)) learnt.answers.set(key, answer);
      return answer;
    };
  return withCalls(provider, ({ name, does }, work) => (does === 'send' ? silent : once(name, work)));
}

const silent = async (): Promise<never> => {
  throw new Error('a rehearsal sends nothing');
};

/** The provider has answered, and has no report in the making. */
const isFinal = (answer: unknown): boolean =>
  !['unclear', 'pending'].includes((answer as { outcome: string }).outcome);
