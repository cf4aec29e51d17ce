import type { Answer } from './asking.ts';
import type { Finding, Rows } from './checks.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

/** A merchant takes charges back: before, beside and behind their payment, twice at once, and after a lost answer. */
export interface Cancels {
  /** Plans what is asked for during the storm. */
  plan(): void;
  /** Repeats unanswered requests. */
  again(): void;
  /** An answered end holds. */
  check(rows: Rows): Finding[];
}

interface Asked {
  operationId: string;
  paymentId: string;
}

/** The answers that a request for a cancel may get; 503 means that nothing is known to be committed. */
const lawful: ReadonlySet<number> = new Set([200, 400, 403, 404, 503]);

export function createCancels(parts: {
  world: World;
  chance: Random;
  operations: readonly string[];
  requestKey(): string;
  /** A payer pays it, if the bank knows it as open. */
  pay(txid: string): void;
  call(method: string, path: string, body?: object, operationId?: string): Promise<Answer>;
  say(line: string): void;
  findings: Finding[];
}): Cancels {
  const { world, chance, operations, requestKey, pay, call, say, findings } = parts;
  const unanswered = new Set<Asked>();
  /** Charges that were answered as taken back. */
  const failed = new Set<string>();

  async function submit(one: Asked): Promise<void> {
    unanswered.add(one);
    const { paymentId, operationId } = one;
    const reply = await call('POST', `/payments/${paymentId}/cancel`, {}, operationId);
    if (!reply) return;
    const { status } = reply;
    const said = (reply.body ?? {}) as { status?: string; code?: string };
    say(`cancel of ${paymentId.slice(0, 8)} -> ${status} ${said.status ?? said.code}`);
    world.count(`cancel ${status} ${said.status ?? said.code}`);
    if (!lawful.has(status)) findings.push({ invariant: 18, what: `${status} to a cancel` });
    if (status !== 503) unanswered.delete(one);
    if (status === 200 && said.status === 'failed') failed.add(paymentId);
  }

  async function takeBack(one: Asked): Promise<void> {
    await Promise.all(chance.chance(0.3) ? [submit(one), submit(one)] : [submit(one)]);
    if (chance.chance(0.3)) await submit(one);
  }

  /** A charge that its merchant takes back, and that a payer may pay at about that time. */
  async function regret(operationId: string): Promise<void> {
    const body = { amountCents: 700, payerName: 'Ana', description: 'x', requestKey: requestKey() };
    const reply = await call('POST', '/pix/charges', body, operationId);
    const { id } = (reply?.body ?? {}) as { id?: string };
    const soon = (): number => world.now() + chance.below(chance.pick([50, 3_000, 60_000]));
    if (id === undefined) return;
    world.at(soon(), () => void takeBack({ operationId, paymentId: id }));
    if (chance.chance(0.5)) world.at(soon(), () => pay(id.replaceAll('-', '')));
  }

  return {
    plan() {
      for (let one = 0; one < 3; one++)
        world.at(
          world.now() + chance.below(chance.pick([3_000, 20_000, 90_000])),
          () => void regret(chance.pick(operations)),
        );
    },
    again() {
      for (const one of unanswered) world.at(world.now() + chance.below(5_000), () => void submit(one));
    },
    check: ({ payments }) =>
      payments
        .filter(({ id, status }) => failed.has(id) && status !== 'failed')
        .map(({ id, status }) => ({
          invariant: 69,
          what: `the charge ${id} was answered as taken back and is ${status}`,
        })),
  };
}
