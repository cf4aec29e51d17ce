/**
 * Which of a second's requests are kept. A log of every request would cost as much as the payments themselves at some
 * thousands a second, so there are budgets: for each account and for the process, refused requests apart from the others, since
 * those are what somebody looks for. What is beyond is counted.
 */
const perAccount = 15;
const perProcess = 400;

export interface Kept<Row> {
  /** `make` is called only for what is kept. */
  add(accountId: string, refused: boolean, make: () => Row): void;
  /** All since the last call; an account's last row tells how many more there were. */
  take(): (Row & { leftOut: number })[];
}

interface OfAccount<Row> {
  rows: Row[];
  refused: number;
  leftOut: number;
}

export function createKept<Row>(): Kept<Row> {
  let accounts = new Map<string, OfAccount<Row>>();
  let total = { refused: 0, others: 0 };
  return {
    add(accountId, refused, make) {
      let own = accounts.get(accountId);
      if (own === undefined) {
        own = { rows: [], refused: 0, leftOut: 0 };
        accounts.set(accountId, own);
      }
      const kind = refused ? 'refused' : 'others';
      const ofKind = refused ? own.refused : own.rows.length - own.refused;
      if (ofKind >= perAccount || total[kind] >= perProcess) {
        own.leftOut++;
        return;
      }
      total[kind]++;
      if (refused) own.refused++;
      own.rows.push(make());
    },
    take() {
      const taken = [...accounts.values()].flatMap(({ rows, leftOut }) =>
        rows.map((row, at) => ({ ...row, leftOut: at === rows.length - 1 ? leftOut : 0 })),
      );
      accounts = new Map();
      total = { refused: 0, others: 0 };
      return taken;
    },
  };
}
