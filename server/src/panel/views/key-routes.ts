import type { ListedKey } from '../../api/keys/keys.sql.ts';
import {
  activeKeysPerAccount,
  createKey,
  type KeyDeps,
  KeyRefused,
  listKeys,
  narrowKey,
  revokeKey,
  rollKey,
} from '../../api/keys/keys.ts';
import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import type { Log } from '../../ground/log.ts';
import type { Permission } from '../../ground/permissions.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import type { Sql } from '../../ports/sql.ts';
import { findLetterhead } from '../../store/rows/profile.sql.ts';
import { type Member, note, type PanelFacts } from '../auth/session.ts';
import { PanelError } from '../errors.ts';
import type { PanelMails } from '../people/mails.ts';
import { findMembers } from '../people/members.sql.ts';
import { mayGrant } from '../people/roles.ts';
import type { SecurityEventDeps } from '../people/security-events.ts';
import {
  Done,
  KeyListSchema,
  KeyParams,
  NarrowBody,
  NewKeyBody,
  NewKeySchema,
  Nothing,
  RollBody,
} from '../schema/schema.ts';

const described: RouteFacts = { permissions: ['read'], policy: 'reads', operation: 'syntax' };
/** Giving more access needs a fresh password, a second factor and a person who is not frozen; taking access away needs a second factor. */
const asks = (needs: PanelFacts['needs'], more: Omit<PanelFacts, 'needs'> = {}) => ({
  api: described,
  panel: { needs, ...more },
});
const grants = asks('keys', { fresh: true, sensitive: true });
const tags = ['Keys'];

/** API keys, as people manage them. */
export function keyRoutes(
  api: ApiScope,
  cellOf: CellOf<KeyDeps & SecurityEventDeps>,
  mails: PanelMails,
): void {
  collectionRoutes(api, cellOf, mails);
  rollRoute(api, cellOf, mails);
  takeAwayRoutes(api, cellOf);
}

function collectionRoutes(
  api: ApiScope,
  cellOf: CellOf<KeyDeps & SecurityEventDeps>,
  mails: PanelMails,
): void {
  api.get(
    '/keys',
    { schema: { tags, summary: 'API keys', response: { 200: KeyListSchema } }, config: asks('read') },
    async ({ member }) => {
      const deps = cellOf(member);
      const people = new Map(
        (await findMembers(deps.sql, member.accountId)).map((one) => [one.userId, one.name]),
      );
      return {
        keys: (await listKeys(deps, member.accountId)).map(({ createdBy, ...key }) => ({
          ...key,
          createdByName: createdBy === null ? null : (people.get(createdBy) ?? null),
          makerLeft: createdBy !== null && !people.has(createdBy),
          createdAt: isoOf(key.createdAt),
          expiresAt: instant(key.expiresAt),
          revokedAt: instant(key.revokedAt),
          lastUsedAt: instant(key.lastUsedAt),
        })),
      };
    },
  );

  api.post(
    '/keys',
    {
      schema: { tags, summary: 'Create an API key', body: NewKeyBody, response: { 201: NewKeySchema } },
      config: grants,
    },
    async (request, reply) => {
      const { member, body } = request;
      const deps = cellOf(member);
      requireMayGrant(member, body.permissions);
      const now = deps.clock.now();
      const active = (await listKeys(deps, member.accountId)).filter(
        (key) =>
          key.revokedAt === null && key.rolledTo === null && (key.expiresAt === null || key.expiresAt > now),
      );
      if (active.length >= activeKeysPerAccount) throw new PanelError('key_limit_reached');
      if (active.some((key) => key.name === body.name)) throw new PanelError('key_name_taken');
      const made = await orRefusal(
        createKey(deps, { accountId: member.accountId, ...body, createdBy: member.person.userId }),
      );
      await note(deps, request, 'key.created', {
        keyId: made.id,
        name: body.name,
        permissions: body.permissions,
      });
      tell(deps, mails, member, body);
      return reply.code(201).send(made);
    },
  );
}

function rollRoute(api: ApiScope, cellOf: CellOf<KeyDeps & SecurityEventDeps>, mails: PanelMails): void {
  api.post(
    '/keys/:id/roll',
    {
      schema: {
        tags,
        summary: 'Replace an API key by one with the same name, permissions and addresses',
        params: KeyParams,
        body: RollBody,
        response: { 201: NewKeySchema },
      },
      config: grants,
    },
    async (request, reply) => {
      const { member, params, body } = request;
      const deps = cellOf(member);
      const key = await keyOf(deps, member, params.id);
      requireMayGrant(member, key.permissions);
      const made = await orRefusal(
        rollKey(deps, member.accountId, params.id, body.overlapHours * 3600 * 1000, member.person.userId),
      );
      await note(deps, request, 'key.rolled', { keyId: made.id, from: params.id });
      tell(deps, mails, member, key);
      return reply.code(201).send(made);
    },
  );
}

function takeAwayRoutes(api: ApiScope, cellOf: CellOf<KeyDeps & SecurityEventDeps>): void {
  api.patch(
    '/keys/:id',
    {
      schema: {
        tags,
        summary: 'Take permissions away from an API key',
        params: KeyParams,
        body: NarrowBody,
        response: { 200: Done },
      },
      config: asks('keys', { fresh: true, secondFactor: true }),
    },
    async (request) => {
      const { member, params, body } = request;
      const deps = cellOf(member);
      await keyOf(deps, member, params.id);
      await orRefusal(narrowKey(deps, member.accountId, params.id, body.permissions));
      await note(deps, request, 'key.narrowed', { keyId: params.id, permissions: body.permissions });
      return { ok: true as const };
    },
  );

  api.delete(
    '/keys/:id',
    {
      schema: {
        tags,
        summary: 'Revoke an API key',
        params: KeyParams,
        body: Nothing,
        response: { 200: Done },
      },
      // Without a fresh password and also while frozen: a person who sees a key misused must be able to stop it.
      config: asks('keys', { secondFactor: true }),
    },
    async (request) => {
      const { member, params } = request;
      const deps = cellOf(member);
      await keyOf(deps, member, params.id);
      await revokeKey(deps, params.id);
      await note(deps, request, 'key.revoked', { keyId: params.id });
      return { ok: true as const };
    },
  );
}

/** @throws PanelError `not_found` */
async function keyOf(deps: { sql: Sql }, member: Member, id: string): Promise<ListedKey> {
  const key = (await listKeys(deps, member.accountId)).find((one) => one.id === id);
  if (!key) throw new PanelError('not_found');
  return key;
}

function tell(
  deps: { sql: Sql; log: Log },
  mails: PanelMails,
  member: Member,
  key: { name: string; permissions: readonly Permission[] },
): void {
  const { email } = member.person;
  findLetterhead(deps.sql, member.accountId)
    .then((letterhead) =>
      mails.keyCreated(email, { ...key, accountName: member.accountName, by: email }, letterhead),
    )
    .catch((err: unknown) => deps.log.error({ err }, 'a mail was not sent'));
}

const instant = (ms: number | null): string | null => (ms === null ? null : isoOf(ms));

/** @throws PanelError `role_denied` */
function requireMayGrant(member: Member, permissions: ListedKey['permissions']): void {
  if (!permissions.every((permission) => mayGrant(member.role, permission))) {
    throw new PanelError('role_denied');
  }
}

const orRefusal = <Made>(making: Promise<Made>): Promise<Made> =>
  making.catch((error: unknown) => {
    throw error instanceof KeyRefused ? new PanelError('key_refused') : error;
  });
