import { refuse } from '../../ground/errors.ts';
import { type Defence, mayBeReplaced } from '../../money/defence.ts';
import type { Dispute } from '../../money/dispute.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import type { DefenceOffer, Provider } from '../../provider/provider.ts';
import { findDefencesOf } from '../../store/rows/defences.sql.ts';
import { findDispute, type Scope } from '../../store/rows/disputes.sql.ts';
import { findFiles } from '../../store/rows/files.sql.ts';
import { refusalOf } from './admission.ts';

/** Whether a dispute can be answered, and with what. */
export interface AnswerDeps {
  sql: Sql;
  clock: Clock;
  providers: ReadonlyMap<string, Provider>;
}

/**
 * A dispute with its newest defence and its files.
 * @returns `refused`: how many were refused before for what they say
 * @throws ApiError `dispute_not_found`
 */
export async function lookUp({ sql }: Pick<AnswerDeps, 'sql'>, scope: Scope, disputeId: string) {
  const [dispute, defences, files] = await Promise.all([
    findDispute(sql, scope, disputeId),
    findDefencesOf(sql, scope, disputeId),
    findFiles(sql, scope, disputeId),
  ]);
  if (!dispute) throw refuse('dispute_not_found');
  const refused = defences.filter(mayBeReplaced).length;
  return { dispute, defence: defences[0], refused, files };
}

export const offerOf = (
  { providers }: Pick<AnswerDeps, 'providers'>,
  { connection }: Dispute,
): DefenceOffer | null => providers.get(connection)?.capabilities.defence ?? null;

/** Why no defence is taken at this moment; null: one is. @param known the newest */
export function hindrance(deps: AnswerDeps, dispute: Dispute, known: Defence | undefined) {
  if (known && !mayBeReplaced(known)) return 'dispute_defended';
  return refusalOf(dispute, offerOf(deps, dispute), deps.clock.now());
}
