import { defencesOfPage } from '../../flow/defend.ts';
import type { AnswerDeps } from '../../kinds/defence/answerable.ts';
import { viewsOf } from '../../kinds/dispute/held-views.ts';
import type { Dispute } from '../../money/dispute.ts';
import { findNames, type RecordDeps, type Viewer } from './records.ts';

export type DisputeDeps = AnswerDeps & Pick<RecordDeps, 'secrets'>;

/** Disputes of any operations of the account, each with the names of its payment and its defence, in the order given. */
export async function disputeViews(deps: DisputeDeps, member: Viewer, disputes: readonly Dispute[]) {
  const byOperation = Map.groupBy(disputes, ({ operationId }) => operationId);
  const parts = await Promise.all(
    [...byOperation].map(async ([operationId, some]) => {
      const scope = { accountId: member.accountId, operationId };
      const paymentIds = some.map(({ paymentId }) => paymentId);
      const [views, answers, namesById] = await Promise.all([
        viewsOf(deps.sql, scope, some),
        defencesOfPage(deps, scope, some),
        findNames(deps, member, paymentIds, [operationId]),
      ]);
      return views.map((view) => {
        const { answerable = false, defence = null } = answers.get(view.id) ?? {};
        return {
          ...view,
          payment: namesById(view.paymentId),
          answerable,
          defence: defence && {
            status: defence.status,
            ...(defence.reason !== null && { reasonCode: defence.reason }),
          },
        };
      });
    }),
  );
  const byId = new Map(parts.flat().map((view) => [view.id, view]));
  return disputes.flatMap(({ id }) => byId.get(id) ?? []);
}
