import type { Clock } from '../ports/clock.ts';
import { type ApiError, refuse } from './errors.ts';

/**
 * One deadline for a whole request, by monotonic time from its arrival: looking up key and operation, and the till, share these eight
 * seconds. Each with a limit of its own, a database and a provider that hang in turn kept a caller for more than twenty.
 */
export const answerWithinMs = 8_000;

/** The result of `work`, within the time that is left. @throws ApiError `processing_unavailable`, or `refusal`, when it is over first */
export async function before<Answer>(
  clock: Clock,
  deadlineMs: number,
  work: Promise<Answer>,
  refusal: () => ApiError = () => refuse('processing_unavailable'),
): Promise<Answer> {
  const cut = new AbortController();
  const over = clock.sleep(Math.max(0, deadlineMs - clock.monotonicMs()), cut.signal).then(() => {
    if (!cut.signal.aborted) throw refusal();
    return work;
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    cut.abort(null);
  }
}
