/** Something that is stored, by every identifier that a person may have of it. */
export interface Known {
  operationIds: readonly string[];
  accountId: string;
  paymentId: string;
  requestKey: string;
  endToEnd: string;
  amountCents: number;
  /** When it was paid, ms since 1970. */
  paidAt: number;
  /** `2026-11-28`. */
  day: string;
  eventId: string;
  /** A charge of which a part was given back, and one that is disputed. */
  refundedId: string;
  disputedId: string;
}

const none = '00000000-0000-4000-8000-000000000000';

/** Calls of the public API for each of two operations. */
export const callsOf = ({ paymentId, requestKey, endToEnd, eventId, day }: Known): string[] => [
  ...['', '&status=unknown', '&status=pending', '&status=cancelled', '&kind=transfer', `&createdTo=${day}T12:00:00Z`].map(
    (filter) => `/payments?limit=100${filter}`,
  ),
  ...[`endToEnd=${endToEnd}`, `endToEnd=E${'0'.repeat(31)}`, `requestKey=${requestKey}`].map((one) => `/payments?${one}`),
  `/payments/${paymentId}`,
  `/payments/${paymentId}/refunds`,
  `/refunds/${paymentId}`,
  '/account',
  '/operations',
  '/webhooks',
  '/events?limit=100',
  '/events?limit=100&type=transfer.returned',
  `/events?paymentId=${paymentId}`,
  `/events/${eventId}`,
  '/disputes',
  '/static-codes',
  '/payment-links',
  '/statement?limit=100',
  `/statement?from=${day}T03:00:00Z&to=${day}T15:00:00Z&limit=100`,
]; // biome-ignore format: a list of addresses

/** Pages of the merchants' panel, below the account. */
export const panelPages = (known: Known): string[] => {
  const [first, second] = known.operationIds;
  const { paymentId, requestKey, endToEnd, amountCents, day } = known;
  const ofDay = `from=${day}T03:00:00Z&to=${day}T23:00:00Z`;
  const ofAmount = `minimumCents=${amountCents}&maximumCents=${amountCents}`;
  return [
    '/overview', '/overview?days=90', `/overview?operationId=${second}`,
    ...['', '?status=unknown', '?status=cancelled', '?kind=transfer', `?operationId=${second}&status=paid`].map((filter) => `/records${filter}`),
    ...['nothing', paymentId, paymentId.replaceAll('-', ''), requestKey, endToEnd, 'maria@loja.example', '529.982.247-25'].map(
      (text) => `/records?search=${encodeURIComponent(text)}`,
    ),
    ...['', '&order=oldest', '&order=largest', '&status=paid&search=nobody', `&${ofDay}&order=smallest`, '&kind=transfer&mark=returned',
      `&search=${encodeURIComponent('529.982.247-25')}`].map((filter) => `/records?by=paid${filter}`),
    '/records?order=largest', `/records?order=smallest&${ofDay}`, `/records?by=paid&operationId=${second}`,
    '/records?minimumCents=9999999', `/records?${ofAmount}`, `/records?${ofAmount}&${ofDay}`, '/records?mark=refunded', '/records?mark=disputed',
    `/records/${paymentId}`,
    `/statement?operationId=${first}`, '/statement', `/statement?from=${day}&to=${day}`,
    `/statement?search=nothing`, `/statement?amountCents=${amountCents}`, `/statement?search=${endToEnd}`,
    `/journal?operationId=${first}`, '/journal', '/closes', '/operation-disputes', '/odd-money', '/members', '/security-events', '/reconciliation',
    '/requests', '/keys', '/operations', '/receivers',
  ]; // biome-ignore format: a list of addresses
};

/** Pages of the operators' console: each list, and every form of the search. */
export const consolePages = ({ accountId, operationIds, paymentId, requestKey, endToEnd, eventId, day }: Known): string[] => [
  '/worklist', '/requests', '/operators', '/connections', '/connections/simulator', '/connections/simulator/money', '/processes', '/notice',
  '/audit', `/audit?ownerId=${accountId}`, '/audit?action=nothing', '/closes', `/closes/${day}`, `/closes/${day}/operations`,
  `/accounts/${accountId}`, `/payments/${paymentId}`, `/payments/${paymentId}/evidence`, `/operations/${operationIds[0]}/holds`,
  ...[
    paymentId, paymentId.replaceAll('-', ''), requestKey, none, endToEnd, `E${'0'.repeat(31)}`, `D${'0'.repeat(31)}`, accountId, `${operationIds[0]}`,
    eventId, '11.222.333/0001-81', 'Loja', 'nothing', 'R$ 123,45',
  ].map((text) => `/find?text=${encodeURIComponent(text)}`),
]; // biome-ignore format: a list of addresses

/** The quarter of an hour that files are of which are refused for a whole day: at this size it holds some 20,000 journals of the first operation. */
const quarter = ({ paidAt }: Known): string =>
  `from=${new Date(paidAt - 900_000).toISOString()}&to=${new Date(paidAt).toISOString()}`;

/** Files of the public API. */
export const callFiles = (known: Known): string[] =>
  ['csv', 'ofx', 'pdf'].map((ending) => `/statement.${ending}?${quarter(known)}`);

/** Files of the panel, below the account. The first two are all that the account has. */
export const panelFiles = (known: Known): string[] => {
  const { operationIds, day } = known;
  const [first, second] = operationIds;
  const ofDay = `from=${day}T03:00:00Z&to=${day}T04:00:00Z`;
  return [
    '/records.csv', `/journal.csv?operationId=${first}`,
    ...['kind=transfer', 'mark=refunded', 'mark=disputed', 'search=nobody', ofDay, `by=paid&${ofDay}`, `by=paid&order=oldest&operationId=${second}`].map(
      (filter) => `/records.csv?${filter}`,
    ),
    // A day of the first one is too long for its statement, and the panel takes days alone: the calls above have its parts of a day.
    ...['csv', 'ofx', 'pdf'].map((ending) => `/statement.${ending}?operationId=${second}&from=${day}&to=${day}`),
    `/closes.csv`, `/closes.csv?month=${day.slice(0, 7)}`, `/closes.pdf?month=${day.slice(0, 7)}`,
    '/events.csv?type=transfer.returned', '/requests.csv', '/incidents.csv', '/operations.csv', '/keys.csv', '/members.csv',
  ]; // biome-ignore format: a list of addresses
};

/** Files of the console. */
export const consoleFiles = ({ paymentId, refundedId, disputedId, day }: Known): string[] => [
  ...[
    '/audit.csv',
    '/closes.csv',
    `/closes/${day}/operations.csv`,
    '/worklist.csv',
    '/requests.csv',
    '/operators.csv',
    '/connections.csv',
  ],
  ...[paymentId, refundedId, disputedId].map((id) => `/payments/${id}/evidence`),
];
