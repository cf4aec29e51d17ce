import type { ApiScope, RouteFacts } from '../http/edge.ts';
import type { ListedKey } from '../keys/keys.sql.ts';
import {
  activeKeysPerAccount,
  createKey,
  KeyRefused,
  listKeys,
  narrowKey,
  revokeKey,
  rollKey,
} from '../keys/keys.ts';
import { isoOf } from '../payments/view.ts';
import { PanelError } from './errors.ts';
import type { PanelHouse } from './house.ts';
import { panelMails } from './mails.ts';
import { mayGrant } from './roles.ts';
import {
  Done,
  KeyListSchema,
  KeyParams,
  NarrowBody,
  NewKeyBody,
  NewKeySchema,
  Nothing,
  RollBody,
} from './schema.ts';
import { type Member, note, type PanelFacts, requireSecondFactor } from './session.ts';

const described: RouteFacts = { permissions: ['read'], policy: 'reads', operation: 'syntax' };
const asks = (needs: PanelFacts['needs'], fresh = false) => ({
  api: described,
  panel: { needs, ...(fresh && { fresh }) },
});

/** API keys, as people manage them. */
export function keyRoutes(api: ApiScope, house: PanelHouse): void {
  const { clock } = house;
  const tags = ['Keys'];

  /** @throws PanelError `not_found` */
  async function keyOf(member: Member, id: string): Promise<ListedKey> {
    const key = (await listKeys(house, member.accountId)).find((one) => one.id === id);
    if (!key) throw new PanelError('not_found');
    return key;
  }
  function tell(member: Member, key: { name: string; permissions: readonly string[] }): void {
    const { email } = member.person;
    panelMails(house)
      .keyCreated(email, { ...key, accountName: member.accountName, by: email })
      .catch((err: unknown) => house.log.error({ err }, 'a mail was not sent'));
  }

  api.get(
    '/keys',
    { schema: { tags, summary: 'API keys', response: { 200: KeyListSchema } }, config: asks('read') },
    async ({ member }) => ({
      keys: (await listKeys(house, member.accountId)).map((key) => ({
        ...key,
        createdAt: isoOf(key.createdAt),
        expiresAt: instant(key.expiresAt),
        revokedAt: instant(key.revokedAt),
        lastUsedAt: instant(key.lastUsedAt),
      })),
    }),
  );

  api.post(
    '/keys',
    {
      schema: { tags, summary: 'Create an API key', body: NewKeyBody, response: { 201: NewKeySchema } },
      config: asks('keys', true),
    },
    async (request, reply) => {
      const { member, body } = request;
      requireMayGrant(member, body.permissions);
      const now = clock.now();
      const active = (await listKeys(house, member.accountId)).filter(
        (key) =>
          key.revokedAt === null && key.rolledTo === null && (key.expiresAt === null || key.expiresAt > now),
      );
      if (active.length >= activeKeysPerAccount) throw new PanelError('key_limit_reached');
      if (active.some((key) => key.name === body.name)) throw new PanelError('key_name_taken');
      const made = await orRefusal(createKey(house, { accountId: member.accountId, ...body }));
      await note(house, request, 'key.created', { id: made.id, permissions: body.permissions });
      tell(member, body);
      return reply.code(201).send(made);
    },
  );

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
      config: asks('keys', true),
    },
    async (request, reply) => {
      const { member, params, body } = request;
      const key = await keyOf(member, params.id);
      requireMayGrant(member, key.permissions);
      const made = await orRefusal(
        rollKey(house, member.accountId, params.id, body.overlapHours * 3600 * 1000),
      );
      await note(house, request, 'key.rolled', { from: params.id, to: made.id });
      tell(member, key);
      return reply.code(201).send(made);
    },
  );

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
      config: asks('keys', true),
    },
    async (request) => {
      const { member, params, body } = request;
      await keyOf(member, params.id);
      await orRefusal(narrowKey(house, member.accountId, params.id, body.permissions));
      await note(house, request, 'key.narrowed', { id: params.id, permissions: body.permissions });
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
      // Without a fresh password: whoever sees a key misused must not have to look for one.
      config: asks('keys'),
    },
    async (request) => {
      const { member, params } = request;
      await keyOf(member, params.id);
      await revokeKey(house, params.id);
      await note(house, request, 'key.revoked', { id: params.id });
      return { ok: true as const };
    },
  );
}

const instant = (ms: number | null): string | null => (ms === null ? null : isoOf(ms));

/** @throws PanelError `role_denied`, `second_factor_required` */
function requireMayGrant(member: Member, permissions: ListedKey['permissions']): void {
  if (!permissions.every((permission) => mayGrant(member.role, permission))) {
    throw new PanelError('role_denied');
  }
  if (permissions.includes('transfers')) requireSecondFactor(member);
}

const orRefusal = <Made>(making: Promise<Made>): Promise<Made> =>
  making.catch((error: unknown) => {
    throw error instanceof KeyRefused ? new PanelError('key_refused') : error;
  });
