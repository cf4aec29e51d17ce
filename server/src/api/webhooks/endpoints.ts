import { type Addresses, AddressRefused } from '../../events/webhooks/address.ts';
import {
  clearHealth,
  deleteEndpoint,
  type Endpoint,
  findEndpoint,
  findEndpoints,
  findUrlChanges,
  insertEndpoint,
  insertUrlChange,
  pruneUrlChanges,
  stopDelivering,
  updateEndpoint,
  updateSecrets,
  wakeDelivering,
  wasDeletedSince,
} from '../../events/webhooks/endpoints.sql.ts';
import { isFailing } from '../../events/webhooks/schedule.ts';
import { hintOf, makeSecret } from '../../events/webhooks/sign.ts';
import type { KeyHolder } from '../../ground/caller.ts';
import { refuse, refuseFields } from '../../ground/errors.ts';
import { isPrintable } from '../../ground/printable.ts';
import type { RefreshingCache } from '../../ground/refreshing-cache.ts';
import type { Secrets } from '../../ground/secrets.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Sql, Transaction } from '../../ports/sql.ts';
import { eventSchemaVersion } from '../../store/events/event.ts';
import type { SubscribedTypes } from '../../store/events/subscribed-types.ts';
import { fingerprintOf, madeEarlier, paymentIdFor } from '../../store/rows/idempotency.ts';
import { lockAccount } from '../../store/rows/lock.sql.ts';
import { findKeyUse, insertKeyUse } from '../../store/rows/used-keys.sql.ts';
import type { OperationDirectory } from '../operations/operations.ts';
import { descriptionMost } from './schema.ts';

export const endpointsPerAccount = 10;
const urlChangesPerHour = 10;
const hourMs = 3600_000;
/** A registration waits this long for the name server; a name that does not answer yet is checked when it is used. */
const lookupMs = 3_000;

export interface WebhooksDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  secrets: Pick<Secrets, 'seal' | 'derive'>;
  directory: OperationDirectory;
  addresses: Addresses;
  subscribed: RefreshingCache<SubscribedTypes>;
}

export interface WantedEndpoint {
  url: string;
  events: string[];
  description?: string | null;
  operationIds?: string[] | null;
  requestKey: string;
}

export interface EndpointChange {
  url?: string;
  events?: string[];
  description?: string | null;
  operationIds?: string[] | null;
  enabled?: boolean;
}

export const statusOf = (endpoint: Endpoint): 'active' | 'failing' | 'disabled' =>
  endpoint.enabled ? (isFailing(endpoint) ? 'failing' : 'active') : 'disabled';

/** The oldest first. */
export const listEndpoints = (deps: { sql: Sql }, holder: KeyHolder): Promise<Endpoint[]> =>
  findEndpoints(deps.sql, holder.accountId);

/** @throws ApiError `webhook_not_found` */
export async function getEndpoint(deps: { sql: Sql }, holder: KeyHolder, id: string): Promise<Endpoint> {
  const endpoint = await findEndpoint(deps.sql, holder.accountId, id);
  if (!endpoint || endpoint.deletedAt !== null) throw refuse('webhook_not_found');
  return endpoint;
}

/**
 * Registers an endpoint. Its secret is only in this answer: a repeat is answered without it, because otherwise it could be
 * read again later. A caller that lost the answer rotates the secret.
 * @throws ApiError `webhook_url_not_allowed`, `webhook_limit_reached`, `rate_limited`, `operation_not_found`, `idempotency_conflict`,
 *   `request_key_consumed`
 * @param identity the installation's identity secret
 */
export async function createEndpoint(
  deps: WebhooksDeps,
  identity: Buffer,
  holder: KeyHolder,
  wanted: WantedEndpoint,
): Promise<{ endpoint: Endpoint; secret: string | null; replayed: boolean }> {
  const { accountId } = holder;
  const events = normalisedEvents(wanted.events);
  const description = normalisedDescription(wanted.description ?? null);
  const operationIds = wanted.operationIds ? [...new Set(wanted.operationIds)].sort() : null;
  const fingerprint = fingerprintOf(identity, {
    endpoint: 'webhooks',
    url: wanted.url,
    events: JSON.stringify(events),
    description,
    operationIds: JSON.stringify(operationIds),
  });
  const account = { id: accountId, number: holder.accountNumber };
  const paymentId = paymentIdFor(identity, account, wanted.requestKey);
  const earlier = await deps.sql.tx((tx) => findKeyUse(tx, accountId, wanted.requestKey, paymentId));
  // Names are resolved before the lock; a repeat needs no resolution.
  if (!earlier) {
    await checkUrl(deps, holder, wanted.url);
    await checkOperations(deps, accountId, operationIds);
  }
  const outcome = await deps.sql.tx(async (tx) => {
    await lockAccount(tx, accountId);
    const use = await findKeyUse(tx, accountId, wanted.requestKey, paymentId);
    const made = madeEarlier(use, 'webhook', fingerprint);
    if (made !== undefined) {
      const endpoint = await findEndpoint(tx, accountId, made);
      if (!endpoint || endpoint.deletedAt !== null) throw refuse('request_key_consumed');
      return { endpoint, secret: null, replayed: true };
    }
    if ((await findEndpoints(tx, accountId)).length >= endpointsPerAccount)
      throw refuse('webhook_limit_reached');
    const id = deps.ids.uuid();
    const now = deps.clock.now();
    // One that takes the place of another is a changed address by another name; the first ten of an account are not.
    if (await wasDeletedSince(tx, accountId, now - hourMs)) await countUrlChange(tx, accountId, now);
    const secret = makeSecret(deps.ids);
    const endpoint: Endpoint = {
      accountId,
      id,
      url: wanted.url,
      events,
      description,
      operationIds,
      schemaVersion: eventSchemaVersion,
      enabled: true,
      disabledReason: null,
      disabledAt: null,
      secret: deps.secrets.seal(secret, id),
      secretHint: hintOf(secret),
      previousSecret: null,
      previousSecretUntil: null,
      failedAttempts: 0,
      failedDeliveries: 0,
      failingSince: null,
      createdAt: now,
      updatedAt: now,
      deletedAt: null,
    };
    await Promise.all([
      insertEndpoint(tx, endpoint),
      insertKeyUse(
        tx,
        accountId,
        wanted.requestKey,
        { resource: 'webhook', resourceId: id, fingerprint },
        now,
      ),
    ]);
    return { endpoint, secret, replayed: false };
  });
  deps.subscribed.forget(accountId);
  return outcome;
}

/**
 * @throws ApiError `webhook_not_found`, `webhook_url_not_allowed`, `operation_not_found`, `rate_limited` for the eleventh change of
 *   an address within an hour
 */
export async function changeEndpoint(
  deps: WebhooksDeps,
  holder: KeyHolder,
  id: string,
  change: EndpointChange,
): Promise<Endpoint> {
  const { accountId } = holder;
  const known = await getEndpoint(deps, holder, id);
  if (change.url !== undefined && change.url !== known.url) await checkUrl(deps, holder, change.url);
  const operationIds = change.operationIds ? [...new Set(change.operationIds)].sort() : change.operationIds;
  await checkOperations(deps, accountId, operationIds ?? null);
  const changed = await deps.sql.tx(async (tx) => {
    await lockAccount(tx, accountId);
    const endpoint = await findEndpoint(tx, accountId, id);
    if (!endpoint || endpoint.deletedAt !== null) throw refuse('webhook_not_found');
    const now = deps.clock.now();
    if (change.url !== undefined && change.url !== endpoint.url) await countUrlChange(tx, accountId, now);
    const enabled = change.enabled ?? endpoint.enabled;
    const next: Endpoint = {
      ...endpoint,
      url: change.url ?? endpoint.url,
      events: change.events ? normalisedEvents(change.events) : endpoint.events,
      description:
        change.description === undefined ? endpoint.description : normalisedDescription(change.description),
      operationIds: operationIds === undefined ? endpoint.operationIds : operationIds,
      enabled,
      disabledReason: enabled ? null : (endpoint.disabledReason ?? 'by_request'),
      disabledAt: enabled ? null : (endpoint.disabledAt ?? now),
      updatedAt: Math.max(now, endpoint.updatedAt + 1),
    };
    const writes = [updateEndpoint(tx, next)];
    if (enabled && !endpoint.enabled) {
      Object.assign(next, { failedAttempts: 0, failedDeliveries: 0, failingSince: null });
      writes.push(clearHealth(tx, accountId, id), wakeDelivering(tx, accountId, id, now));
    }
    if (!enabled && endpoint.enabled) writes.push(stopDelivering(tx, accountId, id));
    await Promise.all(writes);
    return next;
  });
  deps.subscribed.forget(accountId);
  return changed;
}

async function countUrlChange(tx: Transaction, accountId: string, now: number): Promise<void> {
  const changes = await findUrlChanges(tx, accountId, now - hourMs);
  if (changes.length >= urlChangesPerHour) {
    const freeAt = (changes[0] ?? now) + hourMs;
    throw refuse('rate_limited', { retryAfterSeconds: Math.max(1, Math.ceil((freeAt - now) / 1000)) });
  }
  await insertUrlChange(tx, accountId, now);
}

const rowsPerStep = 500;

/** Removes changes that count no more. @returns whether there is more to remove at once */
export const stepUrlChangePruning = async ({
  sql,
  clock,
}: Pick<WebhooksDeps, 'sql' | 'clock'>): Promise<boolean> =>
  (await pruneUrlChanges(sql, clock.now() - hourMs, rowsPerStep)) >= rowsPerStep;

/**
 * A repeat changes nothing.
 * @throws ApiError `webhook_not_found`
 */
export async function removeEndpoint(deps: WebhooksDeps, holder: KeyHolder, id: string): Promise<void> {
  const { accountId } = holder;
  await deps.sql.tx(async (tx) => {
    await lockAccount(tx, accountId);
    const endpoint = await findEndpoint(tx, accountId, id);
    if (!endpoint) throw refuse('webhook_not_found');
    if (endpoint.deletedAt === null) await deleteEndpoint(tx, accountId, id, deps.clock.now());
  });
  deps.subscribed.forget(accountId);
}

/**
 * A new secret, in force at once; the one before signs as well until the overlap ends.
 * @throws ApiError `webhook_not_found`, `rotation_in_progress`
 */
export async function rotateSecret(
  deps: WebhooksDeps,
  holder: KeyHolder,
  id: string,
  { overlapHours = 24, force = false }: { overlapHours?: number; force?: boolean },
): Promise<{ secret: string; previousSecretExpiresAt: number }> {
  const { accountId } = holder;
  return deps.sql.tx(async (tx) => {
    await lockAccount(tx, accountId);
    const endpoint = await findEndpoint(tx, accountId, id);
    if (!endpoint || endpoint.deletedAt !== null) throw refuse('webhook_not_found');
    const now = deps.clock.now();
    if (!force && endpoint.previousSecretUntil !== null && endpoint.previousSecretUntil > now) {
      throw refuse('rotation_in_progress');
    }
    const secret = makeSecret(deps.ids);
    const previousSecretExpiresAt = now + overlapHours * hourMs;
    const ends = overlapHours === 0;
    await updateSecrets(tx, {
      ...endpoint,
      previousSecret: ends ? null : endpoint.secret,
      previousSecretUntil: ends ? null : previousSecretExpiresAt,
      secret: deps.secrets.seal(secret, id),
      secretHint: hintOf(secret),
      updatedAt: Math.max(now, endpoint.updatedAt + 1),
    });
    return { secret, previousSecretExpiresAt };
  });
}

function normalisedEvents(events: readonly string[]): string[] {
  return events.includes('*') ? ['*'] : [...new Set(events)].sort();
}

/** The schema lets null pass and cannot say what text may hold besides. */
function normalisedDescription(given: string | null): string | null {
  if (given === null) return null;
  const text = given.normalize('NFC').trim();
  if ([...text].length > descriptionMost) {
    throw refuseFields([{ field: 'description', code: 'out_of_length', min: 0, max: descriptionMost }]);
  }
  if (!isPrintable(text)) {
    throw refuseFields([{ field: 'description', code: 'invalid_characters' }]);
  }
  return text === '' ? null : text;
}

/** @throws ApiError `webhook_url_not_allowed`, whatever the reason: the answer says nothing about the inside */
async function checkUrl(deps: WebhooksDeps, holder: KeyHolder, url: string): Promise<void> {
  try {
    deps.addresses.checkUrl(url, holder);
  } catch (error) {
    if (error instanceof AddressRefused) throw refuse('webhook_url_not_allowed');
    throw error;
  }
  const cut = new AbortController();
  const late = deps.clock.sleep(lookupMs, cut.signal);
  const hostname = new URL(url).hostname.replace(/^\[|\]$/g, '');
  const checked = deps.addresses.resolve(hostname, holder).catch((error: unknown) => {
    // A name that does not exist yet is no danger: it is resolved and checked again whenever it is used.
    if (error instanceof AddressRefused) return error;
  });
  const refused = await Promise.race([checked, late]);
  cut.abort();
  if (refused instanceof AddressRefused) throw refuse('webhook_url_not_allowed');
}

/** @throws ApiError `operation_not_found` */
async function checkOperations(
  deps: WebhooksDeps,
  accountId: string,
  operationIds: readonly string[] | null,
): Promise<void> {
  for (const id of operationIds ?? []) await deps.directory.resolve(accountId, id);
}
