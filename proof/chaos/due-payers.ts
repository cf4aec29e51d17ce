import { createAsking, faultsOfRequest, newRequest, type Request } from './asking.ts';
import { type ChargeTruth, chargesIn, counted, type Merchant, type Truth } from './giving-back.ts';
import { receivedBy } from './link-payers.ts';
import { type Answer, inTurns, sleep } from './processes.ts';
import { type EventsOf, type Surroundings, timesOf } from './street.ts';

/**
 * Charges with a due date on bad days: merchants make them with fine, interest, discounts and rebate, change them and cancel them while payers pay early, on the day, late,
 * by the terms from before a change, twice, or an amount that no terms lead to. The provider says what a payer owes on a day. At the end each charge says what the provider
 * says: the Pix that paid it, of what amount, or that it ended.
 */
interface Due {
  merchant: Merchant;
  body: { requestKey: string; amountCents: number; dueDate: string; [name: string]: unknown };
  request: Request;
  shown: ShownDue | null;
  /** Its last day was moved into the past, at the provider alone. */
  expired: boolean;
}

interface ShownDue {
  status: string;
  amountCents: number;
  reasonCode?: string | null;
  endToEnd?: string | null;
  amountPaidCents?: number;
  changeId?: string;
}

const dayMs = 24 * 3_600_000;
const dayAt = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
/** A day of Brasília. */
const inDays = (days: number): string => dayAt(Date.now() - 3 * 3_600_000 + days * dayMs);
/** No terms lead to it. */
const oddCents = 1_234_567;
const providerId = (id: string): string => id.replaceAll('-', '');
const payer = {
  ...{ name: 'Maria Silva', document: '111.444.777-35' },
  address: {
    ...{ street: 'Rua A, 1', city: 'Recife', state: 'PE', postalCode: '50030000' },
    neighborhood: 'Boa Vista',
  },
};

/** The fates of requests about a charge, beside those of everything else. */
const behaviours = [
  {},
  { change: 'lose-answer', cancel: 'lose-request' },
  { components: 'sent' },
  { change: 'late-change', cancel: 'late-cancel' },
  { change: 'lose-request', cancel: 'lose-answer', components: 'sent' },
  { change: 'refuse', cancel: 'error-500' },
  { change: 'error-500', cancel: 'garbage' },
  { change: 'garbage', cancel: 'hang' },
  { change: 'hang' },
];

export const requestWeather = (turn: number): object => behaviours[turn % behaviours.length] ?? {};

export function createDuePayers(around: Surroundings) {
  const { merchants, call, control, chance, isRunning, isTold, note, made: madeCharge } = around;
  const { insist, repeat, until } = createAsking(around);
  const dues: Due[] = [];
  const underWay: Promise<unknown>[] = [];
  const made = (): Due[] => dues.filter(({ request }) => request.id !== null);
  const cents = (): number => 2_000 + Math.floor(chance() * 8_000);

  function newDue(merchant: Merchant): Due {
    const days = 2 + Math.floor(chance() * 6);
    const body = {
      ...{ requestKey: crypto.randomUUID(), amountCents: cents(), dueDate: inDays(days), payer },
      ...{ validAfterDue: 5, description: 'bad day' },
      ...(chance() < 0.6 && { fine: { type: 'percent', value: 200 } }),
      ...(chance() < 0.6 && { interest: { type: 'percent_month', value: 300, days: 'calendar' } }),
      ...(chance() < 0.5 && { discounts: [{ until: inDays(1), type: 'fixed', value: 150 }] }),
      ...(chance() < 0.3 && { rebate: { type: 'fixed', value: 50 } }),
    };
    const request = newRequest('due charge', () => call(merchant, 'POST', '/pix/due-charges', body));
    const due: Due = { merchant, body, request, shown: null, expired: false };
    dues.push(due);
    return due;
  }

  async function shop(merchant: Merchant): Promise<void> {
    while (isRunning()) {
      const due = newDue(merchant);
      await insist(due.request);
      const { id } = due.request;
      if (id !== null) {
        madeCharge(merchant, id);
        underWay.push(atTheBank(due, id), ...requests(due, id));
      }
      await sleep(1_500 + chance() * 2_500);
    }
  }

  /** The merchant changes it, perhaps twice or back, and may take it back. */
  function requests({ merchant, body }: Due, id: string): Promise<unknown>[] {
    const soon = async (within: number, method: string, path: string, fields: object): Promise<void> => {
      await sleep(chance() * within);
      if (!isRunning()) return;
      const answer = await call(merchant, method, path, fields);
      note(`due ${method} ${answer.status}${answer.status >= 400 ? ` ${answer.body?.code ?? ''}` : ''}`);
    };
    const change = (fields: object) => soon(5_000, 'PATCH', `/pix/due-charges/${id}`, fields);
    const other = { amountCents: cents(), ...(chance() < 0.5 && { dueDate: inDays(9) }) };
    return [
      ...(chance() < 0.4 ? [change(other)] : []),
      ...(chance() < 0.2 ? [change(other)] : []),
      ...(chance() < 0.15 ? [change({ amountCents: body.amountCents, dueDate: body.dueDate })] : []),
      ...(chance() < 0.2 ? [soon(6_000, 'POST', `/payments/${id}/cancel`, {})] : []),
    ];
  }

  const act = (id: string, action: string, fields: object = {}): Promise<Answer> =>
    control('POST', `/control/charges/${providerId(id)}/${action}`, fields);

  async function atTheBank(due: Due, id: string): Promise<void> {
    await sleep(chance() * 4_000);
    const fate = chance();
    // The provider says what is paid on a day that is still to come.
    const late = dayAt(Date.parse(due.body.dueDate) + (1 + Math.floor(chance() * 4)) * dayMs);
    const on = fate < 0.25 ? {} : { on: late };
    if (fate < 0.5) await until(() => act(id, 'pay', on));
    else if (fate < 0.6) await until(() => act(id, 'pay', { on: due.body.dueDate }));
    else if (fate < 0.7) {
      await until(() => act(id, 'pay', on));
      await act(id, 'pay', on);
    } else if (fate < 0.76) await until(() => act(id, 'pay', { amountCents: due.body.amountCents }));
    else if (fate < 0.8) await until(() => act(id, 'pay', { amountCents: oddCents }));
    else if (fate < 0.86) {
      due.expired = await until(() => act(id, 'expire'));
      if (chance() < 0.5) await act(id, 'pay', { amountCents: due.body.amountCents });
    } else if (fate < 0.9) await until(() => act(id, 'remove'));
  }

  return {
    begin: (): Promise<unknown>[] => merchants.map(shop),
    ended: (): Promise<unknown> => Promise.all(underWay),

    /** The same charge must come back. */
    repeat: (): Promise<void> => repeat(() => dues.map(({ request }) => request)),

    look: (): Promise<void> =>
      inTurns(made(), async (due) => {
        const { status, body } = await call(due.merchant, 'GET', `/payments/${due.request.id}`);
        if (status === 200) due.shown = body;
      }),

    behind(truth: Truth): { id: string; why: string }[] {
      const rows = chargesIn(truth);
      return made().flatMap((due) => {
        const id = due.request.id as string;
        const why = disagreement(due, rows.get(providerId(id)), isTold());
        return why === null ? [] : [{ id, why: `the due-date charge ${id} ${why}` }];
      });
    },
    owners: (): [string, string][] =>
      made().map(({ request, merchant }) => [providerId(request.id as string), merchant.accountId]),
    /** Paid with another amount alone. */
    odd: (truth: Truth): string[] => {
      const rows = chargesIn(truth);
      return made()
        .map(({ request }) => providerId(request.id as string))
        .filter((id) => {
          const received = receivedBy(rows.get(id));
          return received.length > 0 && received.every(({ amountCents }) => amountCents === oddCents);
        });
    },

    faults: (_truth: Truth, events: EventsOf): string[] => [
      ...dues.flatMap(({ request }) => faultsOfRequest('a due-date charge', request)),
      ...made().flatMap((due) => faultsOfEvents(due, events)),
    ],

    figures: () => ({
      asked: dues.length,
      states: counted(made(), ({ shown }) =>
        shown?.reasonCode ? `${shown.status} ${shown.reasonCode}` : (shown?.status ?? 'unread'),
      ),
      otherAmount: made().filter(
        ({ shown }) => shown?.amountPaidCents !== undefined && shown.amountPaidCents !== shown.amountCents,
      ).length,
      changed: made().filter(({ shown, body }) => shown !== null && shown.amountCents !== body.amountCents)
        .length,
      refused: counted(
        dues.filter(({ request }) => request.refused !== null),
        ({ request }) => request.refused as string,
      ),
    }),
  };
}

function disagreement({ shown, expired }: Due, row: ChargeTruth | undefined, isTold: boolean): string | null {
  if (shown === null) return 'cannot be read';
  const says = `is ${JSON.stringify(shown)}, the provider says ${JSON.stringify(row ?? null)}`;
  const { status } = shown;
  if (row === undefined) return ['failed', 'unknown'].includes(status) ? null : says;
  const paidBy = receivedBy(row).filter(({ amountCents }) => amountCents !== oddCents);
  if (paidBy.length > 0) {
    if (status === 'expired' && !isTold) return null;
    const pix = paidBy.find(({ endToEnd }) => endToEnd === shown.endToEnd);
    return status === 'paid' && pix !== undefined && pix.amountCents === shown.amountPaidCents ? null : says;
  }
  if (row.status === 'removed') return status === 'failed' ? null : says;
  if (!['pending', 'expired', 'unknown'].includes(status)) return says;
  // A change that is over was carried out, or was not.
  const isSettled =
    status === 'pending' && shown.changeId === undefined && !expired && receivedBy(row).length === 0;
  return !isSettled || row.amountCents === shown.amountCents ? null : says;
}

/** The payment of a charge was reported once, and so was the end of each of its changes. */
function faultsOfEvents({ request, shown }: Due, events: EventsOf): string[] {
  const id = request.id as string;
  const times = timesOf(events, id, 'charge.paid');
  const changes = (events.get(id) ?? []).flatMap(({ type, data }) =>
    type === 'charge.changed' ? [data.dueChange?.id ?? ''] : [],
  );
  return [
    ...(times === (shown?.status === 'paid' ? 1 : 0)
      ? []
      : [`the ${shown?.status} due-date charge ${id} reported charge.paid ${times} times`]),
    ...(new Set(changes).size === changes.length ? [] : [`a change of ${id} was reported twice`]),
  ];
}
