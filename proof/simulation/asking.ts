import type { Reply } from './calls.ts';
import type { Finding } from './checks.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

/** The answer of the service; null: its process is dead. */
export type Answer = Reply | null;

export interface Call {
  /** As it is counted and reported. */
  what: string;
  run(): Promise<Answer>;
  /** With the body of an answer below 300. */
  answered(body: { id?: string; code?: string; status?: string }): void;
}

export interface Asking {
  submit(one: Call): Promise<void>;
  /** Repeats unanswered requests. */
  again(): void;
}

/** 503 means that nothing is known to be committed. */
const lawful: ReadonlySet<number> = new Set([200, 201, 400, 403, 404, 503]);

/** The requests of a merchant, each of which is repeated until it is answered. */
export function createAsking({
  world,
  chance,
  say,
  findings,
}: {
  world: World;
  chance: Random;
  say(line: string): void;
  findings: Finding[];
}): Asking {
  const unanswered = new Set<Call>();
  async function submit(one: Call): Promise<void> {
    unanswered.add(one);
    const reply = await one.run();
    if (!reply) return;
    const { status } = reply;
    const body = (reply.body ?? {}) as Parameters<Call['answered']>[0];
    say(`${one.what} -> ${status} ${body.status ?? body.code}`);
    world.count(`${one.what} ${status} ${body.status ?? body.code}`);
    if (!lawful.has(status)) findings.push({ invariant: 18, what: `${status} to a ${one.what}` });
    if (status !== 503) unanswered.delete(one);
    if (status < 300) one.answered(body);
  }
  return {
    submit,
    again() {
      for (const one of unanswered) world.at(world.now() + chance.below(5_000), () => void submit(one));
    },
  };
}
