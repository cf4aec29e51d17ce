import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import { refuseFields } from '../../ground/errors.ts';
import { IdParams } from '../../ground/schema.ts';
import type { Secrets } from '../../ground/secrets.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { existsInDict, normalisePixKey, type PixKeyRules } from '../../kinds/transfer/pix-key.ts';
import { note } from '../auth/session.ts';
import { PanelError } from '../errors.ts';
import type { SecurityEventDeps } from '../people/security-events.ts';
import {
  Done,
  Nothing,
  SavedReceiverBody,
  SavedReceiverListSchema,
  SavedReceiverSchema,
} from '../schema/schema.ts';
import { openedKey } from '../views/receivers.ts';
import { deleteReceiver, findReceivers, insertReceiver } from './receivers.sql.ts';

/** All are opened and sent at once. */
const most = 500;

const described: RouteFacts = { permissions: ['transfers'], policy: 'reads', operation: 'syntax' };
/** Only who transfers needs them, and sees whole keys anyway. */
const looks = { api: described, panel: { needs: 'transfers' as const } };
/** A changed receiver is a way to have money sent elsewhere. */
const changes = { api: described, panel: { needs: 'transfers' as const, sensitive: true } };
const tags = ['Merchant'];

export function savedReceiverRoutes(
  api: ApiScope,
  cellOf: CellOf<SecurityEventDeps & { secrets: Secrets }>,
  pixKeys: PixKeyRules,
): void {
  api.get(
    '/receivers',
    {
      schema: { tags, summary: 'Saved receivers, by name', response: { 200: SavedReceiverListSchema } },
      config: looks,
    },
    async ({ member }) => {
      const { sql, secrets } = cellOf(member);
      const rows = await findReceivers(sql, member.accountId);
      const receivers = rows.flatMap((row) => {
        const pixKey = openedKey(secrets, row);
        const { id, name, pixKeyType, createdAt } = row;
        return pixKey === null ? [] : [{ id, name, pixKeyType, pixKey, createdAt: isoOf(createdAt) }];
      });
      return { receivers: receivers.sort((one, other) => one.name.localeCompare(other.name, 'pt-BR')) };
    },
  );

  api.post(
    '/receivers',
    {
      schema: {
        tags,
        summary: 'Save a receiver',
        body: SavedReceiverBody,
        response: { 201: SavedReceiverSchema },
      },
      config: changes,
    },
    async (request, reply) => {
      const { member, body } = request;
      const deps = cellOf(member);
      const { sql, clock, ids, secrets } = deps;
      const { name, pixKeyType } = body;
      const normal = normalisePixKey(pixKeyType, body.pixKey, pixKeys);
      if (!normal.ok || !existsInDict(pixKeyType, normal.key))
        throw refuseFields([{ field: 'pixKey', code: 'invalid_pix_key', pixKeyType }]);
      const id = ids.uuid();
      const createdAt = clock.now();
      const row = { id, name, pixKeyType, pixKey: secrets.seal(normal.key, id), createdAt };
      const { userId } = member.person;
      if (!(await insertReceiver(sql, member.accountId, row, { userId, most })))
        throw new PanelError('receiver_limit_reached');
      await note(deps, request, 'receiver.saved', { receiverId: id });
      return reply.code(201).send({ id, name, pixKeyType, pixKey: normal.key, createdAt: isoOf(createdAt) });
    },
  );

  api.post(
    '/receivers/:id/remove',
    {
      schema: {
        tags,
        summary: 'Forget a receiver',
        params: IdParams('Receiver'),
        body: Nothing,
        response: { 200: Done },
      },
      config: changes,
    },
    async (request) => {
      const { id } = request.params;
      const deps = cellOf(request);
      if (!(await deleteReceiver(deps.sql, request.member.accountId, id))) throw new PanelError('not_found');
      await note(deps, request, 'receiver.removed', { receiverId: id });
      return { ok: true as const };
    },
  );
}
