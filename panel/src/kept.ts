/** Until this browser's tab is closed: when the notice was set that was dismissed here. */
export const dismissedUnder = 'vintem.notice';

/** The values that this browser keeps between two visits, by its name in the local storage. */
export const keptUnder = {
  language: 'vintem.language',
  account: 'vintem.account',
  operation: 'vintem.operation',
  /** This browser is locked to the counter. */
  counter: 'vintem.counter',
  /** The sound at the counter when a charge is paid. */
  counterSound: 'vintem.counter-sound',
  /** Followed by the account: a notification shows each Pix that is received. */
  receivedNotice: 'vintem.received-notice',
  /** The last events about paid charges that this browser has seen. */
  seenEvents: 'vintem.seen-events',
} as const;
