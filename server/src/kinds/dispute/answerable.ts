import { refuse } from '../../ground/errors.ts';
import type { Secrets } from '../../ground/secrets.ts';
import { type Defence, isLate, mayBeReplaced } from '../../money/defence.ts';
import { type Dispute, hasEnded } from '../../money/dispute.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Sql } from '../../ports/sql.ts';
import type { DefenceOffer, Provider } from '../../provider/provider.ts';
import { findDefence } from '../../store/rows/defences.sql.ts';
import { findDispute, type Scope } from '../../store/rows/disputes.sql.ts';
import { findFiles } from '../../store/rows/files.sql.ts';

/** Whether a dispute can be answered, and with what. */
export interface DefendDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  secrets: Secrets;
  providers: ReadonlyMap<string, Provider>;
}

/** @throws ApiError `dispute_not_found` */
export async function lookUp({ sql }: DefendDeps, scope: Scope, disputeId: string) {
  const [dispute, defence, files] = await Promise.all([
    findDispute(sql, scope, disputeId),
    findDefence(sql, scope, disputeId),
    findFiles(sql, scope, disputeId),
  ]);
  if (!dispute) throw refuse('dispute_not_found');
  return { dispute, defence, files };
}

export const offerOf = ({ providers }: DefendDeps, { connection }: Dispute): DefenceOffer | null =>
  providers.get(connection)?.capabilities.defence ?? null;

/** Why no defence is taken at this moment; null: one is. */
export function refusalOf(deps: DefendDeps, dispute: Dispute, known: Defence | undefined) {
  if (known && !mayBeReplaced(known)) return 'dispute_defended';
  if (offerOf(deps, dispute) === null) return 'not_offered_by_provider';
  if (hasEnded(dispute.status)) return 'dispute_ended';
  if (dispute.status === 'defending') return 'dispute_defended';
  return isLate(dispute, deps.clock.now()) ? 'defence_window_closed' : null;
}
