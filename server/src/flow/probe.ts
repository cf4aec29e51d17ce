import { before } from '../ground/deadline.ts';
import { ApiError } from '../ground/errors.ts';
import type { CallKind } from '../kinds/kind.ts';
import type { Clock } from '../ports/clock.ts';
import { type Breakers, probeEveryMs } from './breaker.ts';

/**
 * The probe of an open breaker, for commands that begin a send.
 *
 * The breaker's rows belong to all processes and all accounts, so no payment's transaction writes them: it would hold that row until its
 * commit, and every batch of every process would wait there. A command that meets an open breaker whose probe is due says so and changes
 * nothing. The probe is then taken by a statement of its own, and the command runs again with it. A probe that was not used after all (the
 * command was refused for another reason) is given back at once, so that a request that can never be accepted keeps no other call out.
 */

/** Thrown by `decide`: only a command with the probe may begin this send. Uncaught, it is the refusal of an open breaker. */
export class ProbeDue extends ApiError {
  constructor() {
    super('provider_unavailable', { retryAfterSeconds: probeEveryMs / 1000 });
  }
}

interface ProbeDeps {
  breakers: Pick<Breakers, 'takeProbe' | 'returnProbe'>;
  clock: Clock;
}

/**
 * @param submit runs the command; `hasProbe`: it may begin a send although the breaker is open
 * @param begins whether the command began a send
 * @throws ProbeDue when another call has the probe; what `submit` throws
 */
export async function withProbe<Answer>(
  { breakers, clock }: ProbeDeps,
  { connection, call, deadlineMs }: { connection: string; call: CallKind; deadlineMs: number },
  submit: (hasProbe: boolean) => Promise<Answer>,
  begins: (answer: Answer) => boolean,
): Promise<Answer> {
  try {
    return await submit(false);
  } catch (error) {
    if (!(error instanceof ProbeDue)) throw error;
  }
  const probe = await before(clock, deadlineMs, breakers.takeProbe(connection, call));
  // Another call has taken the probe and set when the next one is due: the refusal names that time.
  if (!probe) return submit(false);
  let used = false;
  try {
    const answer = await submit(true);
    used = begins(answer);
    return answer;
  } finally {
    if (!used) await breakers.returnProbe(probe);
  }
}
