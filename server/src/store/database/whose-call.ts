import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * For whom a statement is made: an account, callers without one, or (null) everybody, as the till, polling and deliveries are.
 *
 * It says in which line a call waits for a connection (`turns.ts`), and nothing else: what is read or written never depends on it. So it may travel
 * unseen with the work. Rejected: a pool for each account, which would have to be handed through every use case.
 */
const current = new AsyncLocalStorage<() => string | null>();

/** @param who asked only when a call has to wait */
export const onBehalfOf = <Result>(who: () => string | null, work: () => Result): Result =>
  current.run(who, work);

const everybody = (): null => null;
/** Work that many callers share is not kept waiting behind the calls of the one that began it. */
export const forEverybody = <Result>(work: () => Result): Result => current.run(everybody, work);

export const whoseCall = (): string | null => current.getStore()?.() ?? null;
