import type { IncomingHttpHeaders } from 'node:http';
import {
  type Account,
  accountFor,
  accountNameFor,
  accountNameOf,
  type Bank,
  type Client,
  type Entry,
} from './bank.ts';
import type { World } from './world.ts';

/** The state that every call works on. */
export type Desk = {
  bank: Bank;
  world: World;
  /** Whether this is a client of the provider; its secret is checked too. */
  isClient(client: Client): boolean;
  /** Hands changes to the journal and looks at the clock again; an answer is sent only after they are written. */
  commit(writes: Entry[]): void;
  /** The header that was verified last: a client shows the same one for an hour, at every request. */
  lastToken?: { header: string; client: string; end: number };
};

/** The state that a client's call works on: it sees the rows of its account. */
export type ClientDesk = Desk & { client: string };

/** The name of the account that the client works for. */
export const accountName = ({ bank, client }: ClientDesk): string => accountNameFor(bank, client);

export const ownAccount = (desk: ClientDesk): Account => accountFor(desk.bank, desk.client);

/** The row, where it is of the client's account. */
export function ownOf<Row extends { key: string } | { payerKey: string }>(
  desk: ClientDesk,
  row: Row | undefined,
): Row | undefined {
  if (row === undefined) return undefined;
  const key = 'key' in row ? row.key : row.payerKey;
  return accountNameOf(desk.bank, key) === accountName(desk) ? row : undefined;
}

export type Request = {
  method: string;
  /** The decoded parts of the path. */
  path: string[];
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  /** Of a form with files, its bytes one by one (latin1). */
  body: string;
};
