import { type Answer, inTurns, sleep } from './processes.ts';

/** Something that a caller asks for under one key until it is answered, and what came of it. */
export interface Request {
  /** Counts its answers. */
  label: string;
  send(): Promise<Answer>;
  id: string | null;
  /** The contradiction between a second answer and the first. */
  otherId: string | null;
  /** The service refused it: nothing was made. */
  refused: string | null;
}

export const newRequest = (label: string, send: () => Promise<Answer>): Request => ({
  ...{ label, send, id: null, otherId: null, refused: null },
});

export const isAnswered = ({ id, refused }: Request): boolean => id !== null || refused !== null;

export const faultsOfRequest = (what: string, { id, otherId, refused }: Request): string[] => [
  ...(otherId === null ? [] : [`one key, two answers to ${what}: ${id} and ${otherId}`]),
  ...(id === null && refused === null ? [`${what} was never answered`] : []),
];

interface Surroundings {
  chance(): number;
  isRunning(): boolean;
  /** Counts an answer. */
  note(label: string): void;
}

export function createAsking({ chance, isRunning, note }: Surroundings) {
  /** Asks once; a caller without an answer, with 429 or with 5xx, knows nothing and asks again with the same key. */
  async function ask(one: Request): Promise<Answer> {
    const wasMade = one.id !== null;
    const answer = await one.send();
    const { status, body } = answer;
    note(`${one.label} ${status}${status >= 400 ? ` ${body?.code ?? ''}` : ''}`);
    if (status === 201) {
      if (one.id !== null && one.id !== body.id) one.otherId = body.id;
      Object.assign(one, { id: one.id ?? body.id, refused: null });
    } else if (status >= 400 && status < 500 && status !== 429) {
      const code = body?.code ?? String(status);
      if (one.id === null) one.refused = code;
      // Nothing that was made is refused any more.
      if (wasMade) one.otherId ??= `refused: ${code}`;
    }
    return answer;
  }

  return {
    ask,
    /** Some are asked for twice at once, and what had no answer is asked for again. */
    async insist(one: Request): Promise<void> {
      await Promise.all(chance() < 0.2 ? [ask(one), ask(one)] : [ask(one)]);
      for (let tries = 0; !isAnswered(one) && isRunning() && tries < 3; tries++) {
        await sleep(500 + chance() * 1_000);
        await ask(one);
      }
    },
    /** Repeats what has no answer until it has one; then each once more: its answer must be the same. */
    async repeat(requests: () => readonly Request[]): Promise<void> {
      const open = () => requests().filter((one) => !isAnswered(one));
      for (let tries = 0; tries < 30 && open().length > 0; tries++, await sleep(1_000))
        await inTurns(open(), ask);
      await inTurns(
        requests().filter(({ id }) => id !== null),
        ask,
      );
    },
    /** Until the provider has carried it out, while the day lasts. */
    async until(carryOut: () => Promise<Answer>): Promise<boolean> {
      for (let tries = 0; tries < 15 && isRunning(); tries++) {
        if ((await carryOut()).status === 200) return true;
        await sleep(1_000);
      }
      return false;
    },
  };
}
