/**
 * Answers as a support view shows them. What is not named here is hidden: names of people, documents, Pix keys, addresses, texts and codes to pay
 * with. Ids, states, times and figures are shown, as in the console.
 */
const openNames: ReadonlySet<string> = new Set([
  // Words of the program.
  ...[
    'action',
    'adapter',
    'cause',
    'code',
    'currency',
    'day',
    'dueDate',
    'error',
    'errorCode',
    'from',
    'kind',
  ],
  ...[
    'message',
    'method',
    'month',
    'notice',
    'permissions',
    'pixKeyType',
    'reasonCode',
    'route',
    'side',
    'state',
  ],
  ...[
    'status',
    'statuses',
    'template',
    'to',
    'type',
    'unit',
    'until',
    'paymentMethod',
    'origin',
    'refunds',
    'by',
  ],
  ...['role', 'environment', 'group', 'outcome', 'scope'],
  // Identifiers that support looks for.
  ...['endToEnd', 'identifier', 'requestKey', 'requestId', 'txid', 'head', 'sha256'],
  // Places in a list.
  ...['next', 'nextBefore', 'nextBelow', 'nextCursor'],
  // Names that the merchant gave to operations, and the account's own.
  ...['accountName', 'operationName', 'operations.name'],
]);

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** A random Pix key has the form of an id, so the name counts as well. */
const isId = (name: string, text: string): boolean => /^(?:id|ids|.*Ids?)$/.test(name) && uuid.test(text);
const isTime = (text: string): boolean => /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?Z)?$/.test(text);

const hidden = '•••';

/** The value without what a support view does not show. @param within the name of what holds it */
export function masked(value: unknown, name = '', within = ''): unknown {
  if (typeof value === 'string')
    return openNames.has(name) || openNames.has(`${within}.${name}`) || isId(name, value) || isTime(value)
      ? value
      : hidden;
  if (Array.isArray(value)) return value.map((one) => masked(one, name, within));
  if (typeof value !== 'object' || value === null) return value;
  // Its names are the merchant's as well.
  if (name === 'metadata') return {};
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, masked(one, key, name)]));
}
