import type { TakesUp } from '../../flow/accept.ts';
import type { Caller } from '../../ground/caller.ts';
import { cursorOf, placeOf } from '../../ground/cursor.ts';
import { refuse } from '../../ground/errors.ts';
import { askedMetadata, type Metadata, metadataOf } from '../../money/metadata.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Queries, Sql } from '../../ports/sql.ts';
import { newStaticIdentifier } from '../../provider/br-code.ts';
import type { Provider } from '../../provider/provider.ts';
import {
  fingerprintOf,
  madeEarlier,
  paymentIdFor,
  printedBitsFor,
  sharedIdFor,
} from '../../store/rows/idempotency.ts';
import { lockAccount } from '../../store/rows/lock.sql.ts';
import { findShownMerchant } from '../../store/rows/profile.sql.ts';
import {
  changeStaticCode,
  countStaticCodes,
  findStaticCode,
  findStaticCodePage,
  insertIdentifier,
  type StaticCode,
  staticCodes,
  storeCodeText,
} from '../../store/rows/static-codes.sql.ts';
import { findKeyUse, insertKeyUse } from '../../store/rows/used-keys.sql.ts';

export interface StaticCodeDeps {
  sql: Sql;
  clock: Clock;
  /** The installation's identity secret. */
  identity: Buffer;
  /** By connection. */
  providers: ReadonlyMap<string, Provider>;
  connections: TakesUp;
  /** Signs cursors. */
  cursorKey: Buffer;
}

export interface StaticCodeOrder {
  name: string;
  amountCents?: number | null;
  requestKey: string;
  metadata?: Metadata;
}

/** Of one account, retired ones included: paper cannot be taken back, so none is ever forgotten. */
export const staticCodesPerAccount = 2_000;

/** No profile has a city, and a code without one is none. */
const city = 'BRASIL';

/**
 * Makes a static code, or answers a repeat with it as it is now. Identifier and code commit before any provider learns of them and before the
 * merchant can print them: from the first payment on it is known whose they are.
 * @throws ApiError `not_offered_by_provider`, `provider_not_configured`, `idempotency_conflict`, `static_code_limit_reached`, 503
 */
export async function createStaticCode(
  deps: StaticCodeDeps,
  caller: Caller,
  order: StaticCodeOrder,
): Promise<{ code: StaticCode; replayed: boolean }> {
  await deps.connections.takeUp(caller.connection);
  const recorded = await record(deps, caller, order);
  if (recorded.code.copyPaste !== null) return recorded;
  // The provider makes its codes itself: the code is recorded, and a repeat of the request asks for its text again.
  const text = await textOf(
    providerOf(deps, recorded.code.connection),
    recorded.code,
    await merchantOf(deps, caller),
  );
  const code = await storeCodeText(deps.sql, recorded.code, text);
  if (!code) throw new Error('a static code that was recorded is not there');
  return { ...recorded, code };
}

async function record(
  deps: StaticCodeDeps,
  caller: Caller,
  order: StaticCodeOrder,
): Promise<{ code: StaticCode; replayed: boolean }> {
  const { accountId, operationId, accountNumber, connection } = caller;
  const metadata = metadataOf(order.metadata);
  const { name, amountCents = null, requestKey } = order;
  const fingerprint = fingerprintOf(deps.identity, {
    ...{ endpoint: 'static-codes', operationId, name, amountCents },
    ...askedMetadata(metadata),
  });
  const paymentId = paymentIdFor(deps.identity, { id: accountId, number: accountNumber }, requestKey);
  const now = deps.clock.now();
  const fresh: StaticCode = {
    ...{ accountId, operationId, name, amountCents, connection, metadata, requestKey },
    id: sharedIdFor(deps.identity, accountId, 'static_code', requestKey),
    identifier: newStaticIdentifier(printedBitsFor(deps.identity, accountId, requestKey)),
    copyPaste: null,
    status: 'active',
    paidCount: 0,
    paidCents: 0,
    createdAt: now,
    updatedAt: now,
  };
  const merchant = await merchantOf(deps, caller);
  return deps.sql.tx(async (tx) => {
    await lockAccount(tx, accountId);
    const use = await findKeyUse(tx, accountId, requestKey, paymentId);
    const made = madeEarlier(use, 'static_code', fingerprint);
    if (made !== undefined) {
      const code = await findStaticCode(tx, caller, made);
      if (!code) throw refuse('request_key_consumed');
      return { code, replayed: true };
    }
    const provider = providerOf(deps, connection);
    if ((await countStaticCodes(tx, accountId, staticCodesPerAccount)) >= staticCodesPerAccount)
      throw refuse('static_code_limit_reached', { params: { limit: String(staticCodesPerAccount) } });
    const isLocal = provider.capabilities.staticCodes === 'local';
    const code = isLocal ? { ...fresh, copyPaste: await textOf(provider, fresh, merchant) } : fresh;
    await insert(tx, code, fingerprint, now);
    return { code, replayed: false };
  });
}

const insert = (tx: Queries, code: StaticCode, fingerprint: Buffer, now: number): Promise<unknown> =>
  Promise.all([
    insertIdentifier(tx, code),
    staticCodes.insert(tx, [code]),
    insertKeyUse(
      tx,
      code.accountId,
      code.requestKey,
      { resource: 'static_code', resourceId: code.id, fingerprint },
      now,
    ),
  ]);

const merchantOf = async ({ sql }: StaticCodeDeps, { accountId }: Caller): Promise<string> =>
  (await findShownMerchant(sql, accountId)).name;

/** @throws ApiError `provider_not_configured`, `not_offered_by_provider` */
function providerOf({ providers }: StaticCodeDeps, connection: string): Provider {
  const provider = providers.get(connection);
  if (!provider || provider.identity === null) throw refuse('provider_not_configured');
  if (provider.capabilities.staticCodes === null) throw refuse('not_offered_by_provider');
  return provider;
}

/** @throws ApiError `provider_unavailable`, `not_offered_by_provider` */
async function textOf(
  { createStaticCode }: Provider,
  { identifier, name, amountCents }: StaticCode,
  merchantName: string,
): Promise<string> {
  if (!createStaticCode) throw refuse('not_offered_by_provider');
  const outcome = await createStaticCode({ identifier, name, amountCents, merchantName, merchantCity: city });
  if (outcome.outcome === 'accepted') return outcome.report.copyPaste;
  throw refuse('provider_unavailable', { retryAfterSeconds: 5 });
}

/** @throws ApiError `static_code_not_found` */
export async function getStaticCode(
  { sql }: Pick<StaticCodeDeps, 'sql'>,
  caller: Caller,
  id: string,
): Promise<StaticCode> {
  const code = await findStaticCode(sql, caller, id);
  if (!code) throw refuse('static_code_not_found');
  return code;
}

/** @throws ApiError `static_code_not_found` */
export async function updateStaticCode(
  { sql, clock }: Pick<StaticCodeDeps, 'sql' | 'clock'>,
  caller: Caller,
  id: string,
  change: { name?: string; status?: StaticCode['status'] },
): Promise<StaticCode> {
  const code = await sql.tx((tx) => changeStaticCode(tx, caller, id, change, clock.now()));
  if (!code) throw refuse('static_code_not_found');
  return code;
}

/** Those of the operation, newest first. @throws ApiError `invalid_cursor` */
export async function listStaticCodes(
  { sql, clock, cursorKey }: Pick<StaticCodeDeps, 'sql' | 'clock' | 'cursorKey'>,
  { accountId, operationId }: Caller,
  { limit = 100, cursor }: { limit?: number; cursor?: string },
): Promise<{ codes: StaticCode[]; nextCursor: string | null }> {
  const list = JSON.stringify(['static codes', accountId, operationId]);
  const now = clock.now();
  const below = cursor === undefined ? null : placeOf(cursorKey, list, cursor, now);
  const found = await findStaticCodePage(sql, { accountId, operationId }, below, limit + 1);
  const last = found.length > limit ? (found[limit - 1] as StaticCode) : null;
  return { codes: found.slice(0, limit), nextCursor: last && cursorOf(cursorKey, list, last, now) };
}
