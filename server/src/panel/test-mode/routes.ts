import { resetAccount } from '../../api/test-mode/reset.ts';
import {
  actRoutes,
  clockRoutes,
  disputeActRoutes,
  resetOptions,
  type TestDeps,
} from '../../api/test-mode/routes.ts';
import type { ApiScope, CellOf } from '../../edge/edge.ts';
import { note } from '../auth/session.ts';
import type { SecurityEventDeps } from '../people/security-events.ts';

/** Test mode by a person: the calls that keys have. */
export function testModeRoutes(api: ApiScope, cellOf: CellOf<TestDeps & SecurityEventDeps>): void {
  actRoutes(api, cellOf);
  disputeActRoutes(api, cellOf);
  clockRoutes(api, cellOf);
  api.post(
    '/reset',
    {
      ...resetOptions,
      // It takes the account from everybody: by those who may end operations, with their password.
      config: { ...resetOptions.config, panel: { needs: 'operations', sensitive: true, fresh: true } },
    },
    async (request, reply) => {
      const before = request.member.accountId;
      const deps = cellOf(request);
      const fresh = await resetAccount(deps, request.caller);
      // The person belongs to the fresh account now, and reads there who began it.
      request.member = { ...request.member, accountId: fresh.ownerId };
      await note(deps, request, 'account.reset', { before });
      return reply.code(201).send(fresh);
    },
  );
}
