import {
  actRoutes,
  clockRoutes,
  disputeActRoutes,
  resetOptions,
  type TestCalls,
} from '../../api/test-mode/routes.ts';
import type { ApiScope } from '../../edge/edge.ts';
import { note } from '../auth/session.ts';
import type { PanelDeps } from '../deps.ts';

/** Test mode by a person: the calls that keys have. */
export function testModeRoutes(api: ApiScope, deps: PanelDeps, calls: TestCalls): void {
  actRoutes(api, calls);
  disputeActRoutes(api, calls);
  clockRoutes(api, calls);
  api.post(
    '/reset',
    {
      ...resetOptions,
      // It takes the account from everybody: by those who may end operations, with their password.
      config: { ...resetOptions.config, panel: { needs: 'operations', sensitive: true, fresh: true } },
    },
    async (request, reply) => {
      const before = request.member.accountId;
      const fresh = await calls.reset(request.caller);
      // The person belongs to the fresh account now, and reads there who began it.
      request.member = { ...request.member, accountId: fresh.ownerId };
      await note(deps, request, 'account.reset', { before });
      return reply.code(201).send(fresh);
    },
  );
}
