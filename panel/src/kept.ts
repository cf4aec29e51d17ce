/** The values that this browser keeps between two visits, by its name in the local storage. */
export const keptUnder = {
  language: 'vintem.language',
  account: 'vintem.account',
  operation: 'vintem.operation',
} as const;
