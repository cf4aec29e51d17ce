import type { IncomingHttpHeaders } from 'node:http';
import type { Bank, Client, Entry } from './bank.ts';
import type { World } from './world.ts';

/** What every call works on. */
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

export type Request = {
  method: string;
  /** The decoded parts of the path. */
  path: string[];
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: string;
};
