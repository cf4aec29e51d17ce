import { appendFileSync } from 'node:fs';

/** One call of one client, as it saw it. A call without an answer is `info`: it may have happened, to the end of time. */
export interface Entry {
  client: number;
  invokedAt: number;
  returnedAt: number | null;
  call: 'transfer' | 'charge' | 'payment' | 'account';
  operationId: string;
  requestKey: string | null;
  paymentId: string | null;
  amountCents: number | null;
  result: 'ok' | 'fail' | 'info';
  status: number | null;
  /** The content of the answer: a payment's state, or an error's code. */
  says: string | null;
  balanceCents: number | null;
}

export interface History {
  add(entry: Entry): void;
  count: number;
}

/** Each entry is on disk before the next call of its client goes out. */
export function historyIn(path: string): History {
  const history: History = {
    count: 0,
    add: (entry) => {
      appendFileSync(path, `${JSON.stringify(entry)}\n`);
      history.count++;
    },
  };
  return history;
}

/** The service's state when everything has come to rest. */
export interface Final {
  operations: { id: string; balanceCents: number; reservedCents: number }[];
  payments: {
    id: string;
    operationId: string;
    kind: string;
    status: string;
    amountCents: number;
    feeCents: number;
  }[];
}

/** The provider's truth. */
export interface Truth {
  charges: { txid: string; amountCents: number; status: string; paidAt?: string }[];
  payouts: {
    idEnvio: string;
    amountCents: number;
    status?: string;
    timesReceived: number;
    timesAccepted: number;
  }[];
  balanceCents: number;
}

/** The longest time without an acknowledged transfer between two instants, ms. */
export function longestWithout(history: readonly Entry[], from: number, to: number): number {
  const times = history
    .filter(({ call, result }) => call === 'transfer' && result === 'ok')
    .map(({ returnedAt }) => returnedAt as number)
    .filter((at) => at > from && at < to);
  const all = [from, ...times.sort((one, other) => one - other), to];
  return Math.max(...all.slice(1).map((at, n) => at - (all[n] as number)));
}
