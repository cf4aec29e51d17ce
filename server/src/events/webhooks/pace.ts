import { isStrained, type Result, succeeded } from './schedule.ts';

/**
 * How many deliveries of an endpoint are under way at once: a pure rule. With five an endpoint that answers in 100 ms gets 50 events a second,
 * and one that gets more than that stays behind without end. So places are added while answers are good and events wait, and taken back as
 * soon as answers fail or become slower than they were with five.
 */
export const placesAtFirst = 5;
export const placesMost = 64;
/** An endpoint that takes longer keeps five places: more would hold sockets and earn little. */
const slowMs = 1_000;
const successesPerStep = 10;

export interface Pace {
  /** Deliveries under way at once. */
  most: number;
  /** Below it each success adds a place, so that they double in the time of an answer; above it ten do. */
  quickBelow: number;
  successes: number;
  /** Of the answers since a window of `most` of them began. */
  answered: number;
  answeredMs: number;
  /** Mean time of an answer while there are five places at most, in milliseconds; null: not known yet. */
  usualMs: number | null;
}

export const paceAtFirst: Pace = {
  most: placesAtFirst,
  quickBelow: placesMost,
  successes: 0,
  answered: 0,
  answeredMs: 0,
  usualMs: null,
};

/** @param waits whether deliveries wait for a place */
export function paceAfter(pace: Pace, result: Result, waits: boolean): Pace {
  if (isStrained(result)) return halved(pace, 1);
  if (!succeeded(result)) return halved(pace, Math.min(pace.most, placesAtFirst));
  const measured = measure(pace, result);
  if (measured.most < pace.most) return measured;
  return grown(measured, waits);
}

function halved(pace: Pace, least: number): Pace {
  const most = Math.max(least, Math.floor(pace.most / 2));
  return { ...pace, most, quickBelow: most, successes: 0, answered: 0, answeredMs: 0 };
}

/** At the end of a window: what is usual with five places, and otherwise whether the receiver has become slower with more. */
function measure(pace: Pace, { durationMs }: Result): Pace {
  const answered = pace.answered + 1;
  const answeredMs = pace.answeredMs + durationMs;
  if (answered < pace.most) return { ...pace, answered, answeredMs };
  const meanMs = answeredMs / answered;
  const next = { ...pace, answered: 0, answeredMs: 0 };
  if (pace.most <= placesAtFirst) return { ...next, usualMs: meanMs };
  return meanMs > 2 * (pace.usualMs ?? 0) + 50 ? halved(pace, placesAtFirst) : next;
}

function grown(pace: Pace, waits: boolean): Pace {
  if (pace.most >= placesAtFirst) {
    const mayGrow = waits && pace.usualMs !== null && pace.usualMs <= slowMs && pace.most < placesMost;
    if (!mayGrow) return { ...pace, successes: 0 };
    if (pace.most < pace.quickBelow) return { ...pace, most: pace.most + 1 };
  }
  const successes = pace.successes + 1;
  return successes < successesPerStep
    ? { ...pace, successes }
    : { ...pace, most: pace.most + 1, successes: 0 };
}
