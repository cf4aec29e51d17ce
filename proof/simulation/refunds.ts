import type { Finding, Rows } from './checks.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

/** A merchant gives back what was paid to it: whole, in parts, more than there is, the same request twice, after a lost answer. */
export interface Refunds {
  /** Plans what is asked for during the storm. */
  plan(): void;
  /** Repeats unanswered requests under their request keys. */
  again(): void;
  /** Answered refunds are on record. */
  check(rows: Rows): Finding[];
}

type Answer = { status: number; body: unknown; replayed: boolean } | null;

interface Asked {
  operationId: string;
  paymentId: string;
  body: { amountCents?: number; requestKey: string };
  id: string | null;
}

/** The answers that a request for a refund may get; 503 means that nothing is known to be committed. */
const lawful: ReadonlySet<number> = new Set([201, 400, 403, 404, 503]);

export function createRefunds(parts: {
  world: World;
  chance: Random;
  operations: readonly string[];
  requestKey(): string;
  call(method: string, path: string, body?: object, operationId?: string): Promise<Answer>;
  say(line: string): void;
  findings: Finding[];
}): Refunds {
  const { world, chance, operations, requestKey, call, say, findings } = parts;
  const made: Asked[] = [];
  const unanswered = new Set<Asked>();

  async function submit(one: Asked): Promise<void> {
    unanswered.add(one);
    const { paymentId, body, operationId } = one;
    const reply = await call('POST', `/payments/${paymentId}/refunds`, body, operationId);
    if (!reply) return;
    const { status } = reply;
    const said = (reply.body ?? {}) as { id?: string; code?: string; status?: string };
    say(
      `refund of ${paymentId.slice(0, 8)} ${body.amountCents ?? 'all'} -> ${status} ${said.status ?? said.code}`,
    );
    world.count(`refund ${status} ${said.status ?? said.code}`);
    if (!lawful.has(status)) findings.push({ invariant: 18, what: `${status} to a refund` });
    if (status !== 503) unanswered.delete(one);
    if (status !== 201 || said.id === undefined) return;
    if (one.id !== null && one.id !== said.id)
      findings.push({ invariant: 10, what: `a request key reached the refunds ${one.id} and ${said.id}` });
    one.id = said.id;
  }

  /** Asks for some of a paid charge; `parts` of it one after the other or at once. */
  async function giveBack(operationId: string): Promise<void> {
    const reply = await call('GET', '/payments?kind=deposit&status=paid', undefined, operationId);
    const paid = (
      (reply?.body as { payments?: { id: string; amountCents: number }[] } | null)?.payments ?? []
    ).at(chance.below(2));
    if (!paid) return;
    const ask = (amountCents?: number): Asked => {
      const body = { ...(amountCents === undefined ? {} : { amountCents }), requestKey: requestKey() };
      const one = { operationId, paymentId: paid.id, body, id: null };
      made.push(one);
      return one;
    };
    const half = Math.ceil(paid.amountCents / 2);
    const wanted = chance.pick([
      () => [ask()],
      () => [ask(half)],
      () => [ask(300), ask(300)],
      () => [ask(half), ask(half), ask(half)],
      () => [ask(paid.amountCents + 1)],
    ])();
    await Promise.all(wanted.map(submit));
    if (chance.chance(0.3)) await submit(chance.pick(wanted));
  }

  return {
    plan() {
      for (let one = 0; one < 2; one++)
        world.at(
          world.now() + chance.below(chance.pick([5_000, 60_000, 600_000])),
          // The third operation has received nothing.
          () => void giveBack(chance.pick(operations.slice(0, 2))),
        );
    },
    again() {
      for (const one of unanswered) world.at(world.now() + chance.below(5_000), () => void submit(one));
    },
    check: ({ refunds }) =>
      made
        .filter(({ id }) => id !== null && !refunds.some((refund) => refund.id === id))
        .map(({ id }) => ({ invariant: 18, what: `the refund ${id} was answered and is not there` })),
  };
}
