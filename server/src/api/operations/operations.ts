import type { Static } from 'typebox';
import type { CellOf } from '../../edge/edge.ts';
import { recordDivergences } from '../../flow/divergences.ts';
import type { Caller, KeyHolder } from '../../ground/caller.ts';
import { ApiError, refuse } from '../../ground/errors.ts';
import type { Log } from '../../ground/log.ts';
import { refreshingCache } from '../../ground/refreshing-cache.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { chainStart } from '../../money/journal.ts';
import type { ChainState } from '../../operate/verify/invariants.ts';
import { findLastCheckpoint } from '../../operate/verify/verify.sql.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Queries, Sql } from '../../ports/sql.ts';
import { eventRow, events } from '../../store/events/event.ts';
import { fingerprintOf, madeEarlier, paymentIdFor } from '../../store/rows/idempotency.ts';
import { type LockedBalance, lockAccount } from '../../store/rows/lock.sql.ts';
import { findKeyUse, insertKeyUse } from '../../store/rows/used-keys.sql.ts';
import {
  deleteRow,
  findHash,
  findJournalSums,
  findObstacles,
  findOperation,
  findOperationIds,
  findOperations,
  findSeq,
  findStates,
  insertOperation,
  type JournalSums,
  type OperationRow,
  renameRow,
} from './operations.sql.ts';
import type { OperationSchema } from './schema.ts';

export const operationsPerAccount = 10;

export interface OperationsDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  /** The installation's identity secret. */
  identity: Buffer;
  log: Log;
  directory: OperationDirectory;
}

// ---------------------------------------------------------------------------------------------------------------- directory

/** Which operations an account has right now, kept for a second at most. */
export interface OperationDirectory {
  /**
   * The id of the named operation, or of the main one of this moment for null.
   * @throws ApiError `operation_not_found`
   */
  resolve(accountId: string, named: string | null): string | Promise<string>;
  forget(accountId: string): void;
}

interface LiveOperations {
  main: string;
  ids: ReadonlySet<string>;
}

export function operationDirectory(deps: { sql: Sql; clock: Clock }): OperationDirectory {
  const known = refreshingCache<LiveOperations>({
    clock: deps.clock,
    maxAgeMs: 1000,
    maxEntries: 10_000,
    read: async (accountId) => {
      const rows = await findOperationIds(deps.sql, accountId);
      const main = rows.find((row) => row.main);
      return main && { main: main.id, ids: new Set(rows.map((row) => row.id)) };
    },
  });

  function pick(live: LiveOperations | undefined, named: string | null): string | undefined {
    return named === null ? live?.main : live?.ids.has(named) ? named : undefined;
  }

  async function readAndPick(accountId: string, named: string | null): Promise<string> {
    // Another process may have created an unknown one a moment ago.
    known.forget(accountId);
    const found = pick(await known.get(accountId), named);
    if (found === undefined) throw refuse('operation_not_found');
    return found;
  }

  return {
    resolve(accountId, named) {
      const live = known.get(accountId);
      if (live instanceof Promise) {
        return live.then((read) => pick(read, named) ?? readAndPick(accountId, named));
      }
      return pick(live, named) ?? readAndPick(accountId, named);
    },
    forget: (accountId) => known.forget(accountId),
  };
}

/**
 * Runs a call on the caller's operation. Where the header named none and the main operation was deleted between looking it
 * up and the lock, once more on its successor: a call without the header never misses the account.
 */
export async function onCurrentOperation<Parts extends { directory: OperationDirectory }, Answer>(
  cellOf: CellOf<Parts>,
  { cell, caller }: { cell: string; caller: Caller },
  call: (parts: Parts, caller: Caller) => Promise<Answer>,
): Promise<Answer> {
  const parts = cellOf({ cell });
  try {
    return await call(parts, caller);
  } catch (error) {
    if (caller.operationNamed || !(error instanceof ApiError) || error.code !== 'operation_not_found')
      throw error;
    parts.directory.forget(caller.accountId);
    const operationId = await parts.directory.resolve(caller.accountId, null);
    return call(parts, { ...caller, operationId });
  }
}

// -------------------------------------------------------------------------------------------------------------------- calls

/** The oldest first. */
export const listOperations = (deps: { sql: Sql }, holder: KeyHolder): Promise<OperationRow[]> =>
  findOperations(deps.sql, holder.accountId);

/**
 * Creates an operation, or answers a repeat with the state of what it created, under its present name.
 * @throws ApiError `idempotency_conflict`, `request_key_consumed`, `operation_limit_reached`
 */
export async function createOperation(
  deps: OperationsDeps,
  holder: KeyHolder,
  wanted: { name: string; requestKey: string },
): Promise<{ operation: OperationRow; replayed: boolean }> {
  const { accountId } = holder;
  const fingerprint = fingerprintOf(deps.identity, { endpoint: 'operations', name: wanted.name });
  const account = { id: accountId, number: holder.accountNumber };
  const paymentId = paymentIdFor(deps.identity, account, wanted.requestKey);
  const outcome = await deps.sql.tx(async (tx) => {
    await lockAccount(tx, accountId);
    // A repeat is answered from what the first request asked for, so also after a rename.
    const use = await findKeyUse(tx, accountId, wanted.requestKey, paymentId);
    const made = madeEarlier(use, 'operation', fingerprint);
    if (made !== undefined) {
      const operation = await findOperation(tx, accountId, made);
      if (!operation) throw refuse('request_key_consumed');
      return { operation, replayed: true };
    }
    const id = deps.ids.uuid();
    const slots = (await findStates(tx, accountId, id)).map((state) => state.slot);
    const slot = firstFree(slots);
    if (slot === undefined) throw refuse('operation_limit_reached');
    const now = deps.clock.now();
    const operation: OperationRow = {
      id,
      name: wanted.name,
      main: false,
      createdAt: now,
      balanceCents: 0,
      balanceUpdatedAt: now,
    };
    await Promise.all([
      insertOperation(tx, {
        accountId,
        id,
        name: wanted.name,
        slot,
        main: false,
        createdAt: now,
        head: chainStart,
      }),
      insertKeyUse(
        tx,
        accountId,
        wanted.requestKey,
        { resource: 'operation', resourceId: id, fingerprint },
        now,
      ),
      ...announce(deps, tx, holder, now, [['operation.created', operation]]),
    ]);
    return { operation, replayed: false };
  });
  deps.directory.forget(accountId);
  return outcome;
}

function firstFree(taken: readonly (number | null)[]): number | undefined {
  for (let slot = 1; slot <= operationsPerAccount; slot++) if (!taken.includes(slot)) return slot;
  return undefined;
}

/** @throws ApiError `operation_not_found` */
export async function renameOperation(
  deps: OperationsDeps,
  holder: KeyHolder,
  id: string,
  name: string,
): Promise<OperationRow> {
  return deps.sql.tx(async (tx) => {
    const now = deps.clock.now();
    const changed = await renameRow(tx, holder.accountId, id, name, now);
    const operation = await findOperation(tx, holder.accountId, id);
    if (!operation) throw refuse('operation_not_found');
    if (changed) await Promise.all(announce(deps, tx, holder, now, [['operation.updated', operation]]));
    return operation;
  });
}

/**
 * Deletes an operation whose balance is a confirmed zero and that has nothing unfinished. A repeat changes nothing.
 *
 * The balance is compared with the sum of its journals: from the last checkpoint of `verify` up to some moment before the lock, page by
 * page, since no statement may take long, and the few that came after under it. So the comparison is exact and the lock short.
 * @throws ApiError what blocks it; `ledger_divergence` when balance and journals differ
 */
export async function deleteOperation(deps: OperationsDeps, holder: KeyHolder, id: string): Promise<void> {
  const { accountId } = holder;
  const summedTo = await findSeq(deps.sql, accountId, id);
  const before = await sumUpTo(deps.sql, accountId, id, summedTo);
  // Reads past index entries of finished payments that vacuum has not removed yet, and marks them, so that the same under the lock is short.
  await findObstacles(deps.sql, accountId, id);
  let differs = false;
  const deleted = deps.sql.tx(async (tx) => {
    const account = await lockAccount(tx, accountId);
    const states = await findStates(tx, accountId, id);
    const state = states.find((one) => one.id === id);
    const balance = account?.balances.find((one) => one.operationId === id);
    if (state && state.deletedAt !== null) return;
    if (!state || !balance) throw refuse('operation_not_found');
    const others = states.filter((one) => one.id !== id);
    if (others.length === 0) throw refuse('last_operation');

    const [after, lastHash, obstacles] = await Promise.all([
      findJournalSums(tx, accountId, id, summedTo, balance.seq),
      balance.seq === 0 ? chainStart : findHash(tx, accountId, id, balance.seq),
      findObstacles(tx, accountId, id),
    ]);
    if (!agrees(balance, addSums(before, after), lastHash)) {
      deps.log.error(
        { accountId, operationId: id },
        'the balance of an operation differs from its journals: its deletion was refused',
      );
      differs = true;
      throw refuse('ledger_divergence');
    }
    if (obstacles.diverged) throw refuse('ledger_divergence');
    if (balance.available !== 0 || balance.receivable !== 0) throw refuse('operation_has_balance');
    if (balance.held !== 0 || balance.holdWanted !== 0) throw refuse('operation_on_hold');
    if (balance.reserved !== 0 || balance.cardHeld !== 0 || obstacles.unfinished)
      throw refuse('operation_has_unfinished_payments');
    // Every terminal state came from the provider, since no other cause exists, except what a restore brought back.
    if (obstacles.unconfirmed) throw refuse('balance_not_confirmed');

    const now = deps.clock.now();
    const gone = await findOperation(tx, accountId, id);
    const nextMain = state.main ? (others[0]?.id ?? null) : null;
    await deleteRow(tx, accountId, id, nextMain, now);
    const heir = nextMain === null ? undefined : await findOperation(tx, accountId, nextMain);
    const news: News[] = [];
    if (gone) news.push(['operation.deleted', gone]);
    if (heir) news.push(['operation.updated', heir]);
    await Promise.all(announce(deps, tx, holder, now, news));
  });
  try {
    await deleted;
  } catch (error) {
    if (differs) await recordDifference(deps, accountId, id);
    throw error;
  }
  deps.directory.forget(accountId);
}

/** Opens the incident that an operator has to resolve. Its failing changes nothing for the caller. */
async function recordDifference(deps: OperationsDeps, accountId: string, operationId: string): Promise<void> {
  const fault = 'the balance differed from its journals when it was to be deleted';
  const found = { accountId, operationId, paymentId: null, invariant: 3, fault };
  try {
    await recordDivergences({ ...deps, actor: 'vintem' }, [found]);
  } catch (error) {
    deps.log.error({ err: error, accountId, operationId }, 'no incident could be opened');
  }
}

type News = [type: 'operation.created' | 'operation.updated' | 'operation.deleted', operation: OperationRow];

/** In the transaction of the change: no change without its event, and no event without its change. */
function announce(
  deps: OperationsDeps,
  tx: Queries,
  holder: KeyHolder,
  at: number,
  news: readonly News[],
): Promise<unknown>[] {
  const inserted = news.map(([type, operation]) =>
    eventRow(deps.ids, {
      accountId: holder.accountId,
      operationId: operation.id,
      paymentId: null,
      type,
      livemode: !holder.test,
      change: null,
      data: { ...viewOfOperation(operation), operationId: operation.id },
      at,
    }),
  );
  return events.write(tx, { inserted, updated: [], deleted: [] });
}

export const viewOfOperation = (operation: OperationRow): Static<typeof OperationSchema> => ({
  id: operation.id,
  name: operation.name,
  isDefault: operation.main,
  balanceCents: operation.balanceCents,
  balanceUpdatedAt: isoOf(operation.balanceUpdatedAt),
  createdAt: isoOf(operation.createdAt),
});

/** Journals per statement: some tens of milliseconds. */
const journalsPerPage = 20_000;

const noJournals: JournalSums = {
  journals: 0,
  available: 0,
  reserved: 0,
  held: 0,
  receivable: 0,
  cardHeld: 0,
};

const sumsAt = ({ seq, available, reserved, held, receivable, cardHeld }: ChainState): JournalSums => ({
  journals: seq,
  available,
  reserved,
  held,
  receivable: -receivable,
  cardHeld,
});

async function sumUpTo(sql: Sql, accountId: string, id: string, upTo: number): Promise<JournalSums> {
  const checkpoint = await findLastCheckpoint(sql, { accountId, chainId: id });
  let sums = checkpoint && checkpoint.seq <= upTo ? sumsAt(checkpoint) : noJournals;
  for (let after = sums.journals; after < upTo; after += journalsPerPage) {
    const page = await findJournalSums(sql, accountId, id, after, Math.min(after + journalsPerPage, upTo));
    sums = addSums(sums, page);
  }
  return sums;
}

const addSums = (a: JournalSums, b: JournalSums): JournalSums => ({
  journals: a.journals + b.journals,
  available: a.available + b.available,
  reserved: a.reserved + b.reserved,
  held: a.held + b.held,
  receivable: a.receivable + b.receivable,
  cardHeld: a.cardHeld + b.cardHeld,
});

/** Every column is the sum of its lines, no journal is missing, and the head is the last one's hash. */
const agrees = (balance: LockedBalance, sums: JournalSums, lastHash: Buffer | undefined): boolean =>
  balance.seq === sums.journals &&
  balance.available === sums.available &&
  balance.reserved === sums.reserved &&
  balance.held === sums.held &&
  balance.receivable === sums.receivable &&
  balance.cardHeld === sums.cardHeld &&
  lastHash !== undefined &&
  balance.head.equals(lastHash);
