import { createCodePayers } from './code-payers.ts';
import { createDuePayers } from './due-payers.ts';
import type { Merchant, Truth } from './giving-back.ts';
import { createLinkPayers } from './link-payers.ts';
import { type Answer, sleep } from './processes.ts';

/** The payers of a shop's street on bad days: of payment links, of printed codes, and of charges with a due date. */
export interface Surroundings {
  merchants: readonly Merchant[];
  call(merchant: Merchant, method: string, path: string, body?: unknown): Promise<Answer>;
  /** A stranger at a public page, from an address. */
  visit(method: string, path: string, from: string, body?: unknown): Promise<Answer>;
  /** A call to the simulator's own control. */
  control(method: string, path: string, body?: unknown): Promise<Answer>;
  chance(): number;
  isRunning(): boolean;
  /** Whether lists and comparison have run. */
  isTold(): boolean;
  /** Counts an answer. */
  note(label: string): void;
  /** A payer has a code of this charge: it may be paid, given back and contested. */
  made(merchant: Merchant, paymentId: string): void;
}

/** An event in a merchant's list. */
interface ShownEvent {
  type: string;
  data: { id: string; dueChange?: { id: string } };
}

/** By what they are about. */
export type EventsOf = ReadonlyMap<string, readonly ShownEvent[]>;

export const timesOf = (events: EventsOf, id: string | null, type: string): number =>
  (events.get(id ?? '') ?? []).filter((one) => one.type === type).length;

/** All rows of a list; null: a page of it had no answer. */
export async function pagesOf<Row>(list: (query: string) => Promise<Answer>): Promise<Row[] | null> {
  const rows: Row[] = [];
  for (let cursor = ''; ; ) {
    const { status, body } = await list(`limit=100${cursor && `&cursor=${cursor}`}`);
    if (status !== 200) return null;
    rows.push(...(body.payments ?? body.events));
    if (!body.hasMore) return rows;
    cursor = encodeURIComponent(body.nextCursor);
  }
}

type Own = Parameters<typeof createCodePayers>[1];

export function createStreet(around: Surroundings, own: Own, withBank: boolean) {
  const { merchants, call } = around;
  const ofBank = { ...around, merchants: withBank ? merchants : [] };
  const links = createLinkPayers(around);
  const codes = createCodePayers(ofBank, own);
  const dues = createDuePayers(ofBank);
  const all = [links, codes, dues];

  async function events(): Promise<EventsOf> {
    const shown: ShownEvent[] = [];
    for (const merchant of merchants) {
      const list = () => pagesOf<ShownEvent>((page) => call(merchant, 'GET', `/events?${page}`));
      let read = await list();
      for (let tries = 0; read === null && tries < 10; tries++, await sleep(1_000)) read = await list();
      shown.push(...(read ?? []));
    }
    return Map.groupBy(shown, ({ data }) => data.id);
  }

  const look = async (): Promise<unknown> => Promise.all(all.map((one) => one.look()));
  const behind = (truth: Truth) => [...links.behind(truth), ...dues.behind(truth)];

  return {
    begin: (): Promise<unknown>[] => all.flatMap((one) => one.begin()),
    ended: (): Promise<unknown> => Promise.all(all.map((one) => one.ended())),
    repeat: (): Promise<unknown> => Promise.all(all.map((one) => one.repeat())),

    /**
     * Hours go by until each payment says what the provider says.
     * @param queries of payments, which are due otherwise on the days to come
     * @param lists which are read otherwise every ten minutes
     */
    async settle(
      truthNow: () => Promise<Truth>,
      queries: (paymentIds: readonly string[]) => Promise<unknown>,
      lists: () => Promise<unknown>,
    ): Promise<void> {
      for (const by = performance.now() + 5 * 60_000; performance.now() < by; await sleep(2_000)) {
        await look();
        const truth = await truthNow();
        const late = behind(truth).map(({ id }) => id);
        const unlisted = codes.behind(truth);
        if (late.length + unlisted === 0) return;
        await queries(late);
        if (unlisted > 0) await lists();
      }
    },
    look,

    /** The provider's truth, with each Pix that came for no charge as one of its payment. */
    withCodes: (truth: Truth): Truth => ({
      ...truth,
      charges: [...truth.charges, ...codes.asCharges(truth)],
    }),
    owners: (): [string, string][] => all.flatMap((one) => one.owners()),
    odd: (truth: Truth): string[] => [...links.odd(truth), ...dues.odd(truth)],

    /** Where payments, counters and events are not what each payer did. */
    async faults(truth: Truth): Promise<string[]> {
      const told = await events();
      return [
        ...behind(truth).map(({ why }) => why),
        ...links.faults(truth, told),
        ...codes.faults(truth, told),
        ...dues.faults(truth, told),
      ];
    },
    figures: (truth: Truth) => ({
      links: links.figures(),
      ...(withBank && { codes: codes.figures(truth), dues: dues.figures() }),
    }),
  };
}
