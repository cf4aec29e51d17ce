/** Something that is stored, by every identifier that a person may have of it. */
export interface Known {
  operationIds: readonly string[];
  accountId: string;
  paymentId: string;
  requestKey: string;
  endToEnd: string;
  amountCents: number;
  /** `2026-11-28`. */
  day: string;
  eventId: string;
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
