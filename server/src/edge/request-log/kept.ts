/**
 * Which of a second's requests are kept. A log of every request would cost as much as the payments themselves at some
 * thousands a second, so there are bounds: for each account and for the process, and apart for each kind, so that a program that polls does
 * not hide what was changed or refused. What is beyond is counted.
 */
const perAccount = 15;
const perProcess = 400;

/** Refused requests and those that change something are what a person looks for. */
export const requestKinds = ['refused', 'changing', 'reading'] as const;
export type RequestKind = (typeof requestKinds)[number];

export interface Kept<Row> {
  /** `make` is called only for what is kept. */
  add(accountId: string, kind: RequestKind, make: () => Row): void;
  /** Counts requests of an account that were taken and could not be stored. */
  leaveOut(accountId: string, count: number): void;
  /** All since the last call, by account; an account's next row counts `leftOut` requests. */
  take(): TakenRequests<Row>[];
}

export interface TakenRequests<Row> {
  accountId: string;
  rows: { kind: RequestKind; row: Row }[];
  /** Requests since the last row that was stored. */
  leftOut: number;
}

interface Counted<Row> extends TakenRequests<Row> {
  /** Of `rows`: every request of the account asks. */
  counts: Record<RequestKind, number>;
}

const none = (): Record<RequestKind, number> => ({ refused: 0, changing: 0, reading: 0 });

export function createKept<Row>(): Kept<Row> {
  let accounts = new Map<string, Counted<Row>>();
  let total = none();

  function of(accountId: string): Counted<Row> {
    let own = accounts.get(accountId);
    if (own === undefined) {
      own = { accountId, rows: [], leftOut: 0, counts: none() };
      accounts.set(accountId, own);
    }
    return own;
  }

  return {
    add(accountId, kind, make) {
      const own = of(accountId);
      if (own.counts[kind] >= perAccount || total[kind] >= perProcess) {
        own.leftOut++;
        return;
      }
      total[kind]++;
      own.counts[kind]++;
      own.rows.push({ kind, row: make() });
    },
    leaveOut(accountId, count) {
      of(accountId).leftOut += count;
    },
    take() {
      const [withRows, without] = [new Map<string, Counted<Row>>(), new Map<string, Counted<Row>>()];
      for (const [id, one] of accounts) (one.rows.length > 0 ? withRows : without).set(id, one);
      // Their counts wait for a row that can tell them.
      accounts = without;
      total = none();
      return [...withRows.values()];
    },
  };
}
