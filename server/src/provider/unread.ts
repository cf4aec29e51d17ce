import type { UnreadItem, UnreadKind } from './provider.ts';

/** Members under which the protocols name a payment of ours, a Pix and a dispute. */
const providerIds = new Set(['txid', 'idEnvio', 'correlationID', 'externalReference']);
const endToEndIds = new Set(['endToEndId', 'e2eId', 'endToEnd', 'endToEndIdentifier']);
const disputeIds = new Set(['idInfracao']);
/** Names of a line of the provider's costs: at Woovi, at Inter, at Asaas, Stark Bank and Stripe. Those that readers take (`ProviderCost.reference`). */
const lineIds = ['globalID', 'idTransacao', 'id'];

/** Ids are opaque texts of letters, digits and hyphens; anything else may be a name or a key. */
const isId = /^[A-Za-z0-9-]{1,80}$/;
const deepest = 3;

/** Stark Bank knows payments by tags, which it writes in small letters: ours begins with this. */
export const starkTag = 'vintem/';
const tagId = /^vintem\/([a-z0-9-]{1,80})$/;

/** An item that cannot be read, with the ids that stand in it. */
export function unreadItem(kind: UnreadKind, body: unknown): UnreadItem {
  const providerId = idIn(body, providerIds, deepest) ?? idInTags(body, deepest);
  const endToEnd = idIn(body, endToEndIds, deepest);
  const ofDispute = kind === 'dispute' ? (idIn(body, disputeIds, 1) ?? idIn(body, new Set(['id']), 1)) : null;
  // The Pix that a cost is of may have more than one.
  const name = kind === 'cost' ? lineIn(body) : (ofDispute ?? endToEnd ?? providerId);
  return { kind, name, providerId, endToEnd, body };
}

/** A line's name in the reference of its cost (`line:…`). */
export const lineNameOf = (reference: string): string => reference.replace(/^line:/, '');

function lineIn(body: unknown): string | null {
  if (typeof body !== 'object' || body === null) return null;
  const names = lineIds.map((one) => (body as Record<string, unknown>)[one]);
  const name = names.find((one) => (typeof one === 'string' && one !== '') || Number.isSafeInteger(one));
  return name === undefined ? null : String(name).slice(0, 200);
}

function idInTags(body: unknown, depth: number): string | null {
  if (typeof body !== 'object' || body === null) return null;
  const { tags } = body as { tags?: unknown };
  for (const tag of Array.isArray(tags) ? tags : []) {
    const found = typeof tag === 'string' ? tagId.exec(tag)?.[1] : undefined;
    if (found !== undefined) return found;
  }
  if (depth <= 1 || Array.isArray(body)) return null;
  for (const value of Object.values(body)) {
    const found = idInTags(value, depth - 1);
    if (found !== null) return found;
  }
  return null;
}

/** The first text that stands under one of the names: an object's own members before what they contain. */
function idIn(body: unknown, names: ReadonlySet<string>, depth: number): string | null {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return null;
  for (const [name, value] of Object.entries(body))
    if (names.has(name) && typeof value === 'string' && isId.test(value)) return value;
  if (depth <= 1) return null;
  for (const value of Object.values(body)) {
    const found = idIn(value, names, depth - 1);
    if (found !== null) return found;
  }
  return null;
}
