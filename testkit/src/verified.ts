import type { Runtime } from '../../server/src/main/runtime.ts';
import { type Check, type Evidence, examine } from '../../server/src/operate/verify/invariants.ts';
import {
  storedEvidence,
  type Verified,
  type VerifyOptions,
  verify,
  verifyCells,
} from '../../server/src/operate/verify/verify.ts';
import type { Clock } from '../../server/src/ports/clock.ts';
import type { Sql } from '../../server/src/ports/sql.ts';
import { paymentIdFor } from '../../server/src/store/rows/idempotency.ts';
import type { Service } from './service.ts';
import { truthOf } from './truth.ts';

/** `vintem verify --full` over all accounts of a cell, or as the options say. */
export const verifiedCell = (runtime: Runtime, options: Partial<VerifyOptions> = {}): Promise<Verified> =>
  verify(runtime, {
    accountId: null,
    full: true,
    idOf: (account, requestKey) => paymentIdFor(runtime.identity, account, requestKey),
    ...options,
  });

/** The same over all cells of a service. */
export async function verified(
  { runtime }: Pick<Service, 'runtime'>,
  options: Partial<VerifyOptions> = {},
): Promise<Verified> {
  const account = options.accountId ?? null;
  const own = account === null ? undefined : await runtime.cells.ofAccount(account);
  const cells = own ? [own] : runtime.cells.all();
  return verifyTogether(cells, runtime.clock, {
    accountId: null,
    full: true,
    idOf: (one, requestKey) => paymentIdFor(runtime.identity, one, requestKey),
    ...options,
  });
}

/** Each cell by itself, and what a provider holds true of all of them together. */
export async function verifyTogether(
  cells: readonly { cell: string; sql: Sql }[],
  clock: Clock,
  { provider, ...options }: VerifyOptions,
): Promise<Verified> {
  const [only] = cells;
  if (only && cells.length === 1)
    return verify({ sql: only.sql, clock }, provider ? { ...options, provider } : options);
  const books = await verifyCells(cells, clock, options);
  if (!provider) return books;
  const { checks } = await examine(
    together(cells.map(({ sql }) => storedEvidence({ sql, clock }, { ...options, provider }))),
  );
  const found = [...books.checks.filter(({ ok }) => !ok), ...checks];
  return { ...books, ok: found.every(({ ok }) => ok), checks: found };
}

/** The invariants that do not hold over what a service has stored. */
export const violationsOfBooks = async (
  service: Pick<Service, 'runtime'>,
  options: Partial<VerifyOptions> = {},
): Promise<Check[]> => (await verified(service, options)).checks.filter((check) => !check.ok);

/** The same, compared with what its provider holds true. */
export const violations = async (service: Service): Promise<Check[]> =>
  violationsOfBooks(service, { provider: await truthOf(service.simulator) });

/** The rows of several cells as those of one. Neither days of connections nor the audit log are in it: each cell examines its own. */
function together(cells: readonly Evidence[]): Evidence {
  const [first] = cells;
  if (!first) throw new Error('there is no cell');
  const cellOf = new Map<string, Evidence>();
  const of = (accountId: string): Evidence => cellOf.get(accountId) ?? first;
  async function* each<Row>(rows: (cell: Evidence) => AsyncIterable<Row>): AsyncGenerator<Row> {
    for (const cell of cells) yield* rows(cell);
  }
  return {
    ...first,
    async *accounts() {
      for (const cell of cells)
        for await (const account of cell.accounts()) {
          cellOf.set(account.id, cell);
          yield account;
        }
    },
    chains: () => each((cell) => cell.chains()),
    start: (chain) => of(chain.accountId).start(chain),
    journals: (chain, seq) => of(chain.accountId).journals(chain, seq),
    closes: (chain, seq) => of(chain.accountId).closes(chain, seq),
    async *connectionCloses() {},
    payments: first.payments && (() => each((cell) => cell.payments?.() ?? cell.openPayments())),
    openPayments: () => each((cell) => cell.openPayments()),
    paymentsById: (accountId, ids) => of(accountId).paymentsById(accountId, ids),
    async *auditChains() {},
    async *strayAudits() {},
    strayRows: () => each((cell) => cell.strayRows()),
  };
}
