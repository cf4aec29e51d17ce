import { keptUnder } from '../kept.ts';

/** The page of the counter: the only one that a locked browser shows. */
export const counterPath = '/balcao';

/**
 * Whether this browser is locked to the counter. The lock keeps a person at the counter from the rest of the panel; it is no wall against one who
 * opens the tools of the browser, since the session behind it is its owner's.
 */
export const isCounterLocked = (): boolean => localStorage.getItem(keptUnder.counter) !== null;

export const lockCounter = (): void => localStorage.setItem(keptUnder.counter, 'locked');
export const unlockCounter = (): void => localStorage.removeItem(keptUnder.counter);
