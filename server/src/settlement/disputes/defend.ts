import { refuse } from '../../ground/errors.ts';
import type { Secrets } from '../../ground/secrets.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import type { DefenceOffer, Provider } from '../../provider/provider.ts';
import { type Defence, isLate, mayBeReplaced } from './defence.ts';
import { findDefence, findDefences, insertDefence } from './defences.sql.ts';
import { type Dispute, hasEnded } from './dispute.ts';
import { findDispute, type Scope } from './disputes.sql.ts';

export interface DefendDeps {
  sql: Sql;
  clock: Clock;
  secrets: Secrets;
  providers: ReadonlyMap<string, Provider>;
}

/** What the calls do with defences. */
export interface Defences {
  of(scope: Scope, disputeId: string): Promise<DefenceOf>;
  defend(scope: Scope, disputeId: string, text: string): Promise<MadeDefence>;
}

export const defencesOf = (deps: DefendDeps): Defences => ({
  of: (scope, disputeId) => defenceOf(deps, scope, disputeId),
  defend: (scope, disputeId, text) => defend(deps, scope, disputeId, text),
});

export interface MadeDefence {
  defence: OpenedDefence;
  /** It was there before. */
  replayed: boolean;
}

/** A defence in plain text; `text` is null once the payer is anonymised, or where the secret that sealed it is lost. */
export interface OpenedDefence extends Omit<Defence, 'body'> {
  text: string | null;
}

/** What a dispute can still be answered with, and what it was answered with. */
export interface DefenceOf {
  /** Null: no defence is taken, or no further one. */
  offer: DefenceOffer | null;
  defence: OpenedDefence | null;
}

/** @throws ApiError `dispute_not_found` */
async function defenceOf(deps: DefendDeps, scope: Scope, disputeId: string): Promise<DefenceOf> {
  const { dispute, defence } = await lookUp(deps, scope, disputeId);
  const refusal = refusalOf(deps, dispute, defence);
  return {
    offer: refusal === null ? offerOf(deps, dispute) : null,
    defence: defence ? opened(deps, defence) : null,
  };
}

/** Of several disputes, by their ids: whether one can be answered, and the defence that there is. */
export async function defencesOfPage(
  deps: DefendDeps,
  scope: Scope,
  disputes: readonly Dispute[],
): Promise<Map<string, { answerable: boolean; defence: Defence | null }>> {
  const ids = disputes.map(({ id }) => id);
  const found = disputes.length > 0 ? await findDefences(deps.sql, scope, ids) : [];
  const known = new Map(found.map((defence) => [defence.disputeId, defence]));
  return new Map(
    disputes.map((dispute) => {
      const defence = known.get(dispute.id);
      return [
        dispute.id,
        { answerable: refusalOf(deps, dispute, defence) === null, defence: defence ?? null },
      ];
    }),
  );
}

/**
 * Commits the merchant's answer to a dispute; a step of its connection sends it. The same text again is the same defence.
 * @throws ApiError `dispute_not_found`, `not_offered_by_provider`, `dispute_ended`, `defence_window_closed`, `dispute_defended`,
 *   `defence_too_long`
 */
async function defend(deps: DefendDeps, scope: Scope, disputeId: string, text: string): Promise<MadeDefence> {
  const { sql, clock, secrets } = deps;
  const { dispute, defence: known } = await lookUp(deps, scope, disputeId);
  if (known && !mayBeReplaced(known)) return replayed(deps, known, text);
  const refusal = refusalOf(deps, dispute, known);
  if (refusal !== null) throw refuse(refusal);
  const most = offerOf(deps, dispute)?.textMost ?? 0;
  if (text.length > most) throw refuse('defence_too_long', { params: { most: String(most) } });
  const made = await insertDefence(sql, dispute, secrets.seal(text, dispute.id), clock.now());
  if (made) return { defence: opened(deps, made), replayed: false };
  // Another call was first.
  const other = await findDefence(sql, scope, disputeId);
  if (!other) throw refuse('dispute_not_found');
  return replayed(deps, other, text);
}

function replayed(deps: DefendDeps, known: Defence, text: string): MadeDefence {
  const defence = opened(deps, known);
  if (defence.text !== text) throw refuse('dispute_defended');
  return { defence, replayed: true };
}

async function lookUp({ sql }: DefendDeps, scope: Scope, disputeId: string) {
  const [dispute, defence] = await Promise.all([
    findDispute(sql, scope, disputeId),
    findDefence(sql, scope, disputeId),
  ]);
  if (!dispute) throw refuse('dispute_not_found');
  return { dispute, defence };
}

const offerOf = ({ providers }: DefendDeps, { connection }: Dispute): DefenceOffer | null =>
  providers.get(connection)?.capabilities.defence ?? null;

/** Why no defence is taken at this moment; null: one is. */
function refusalOf(deps: DefendDeps, dispute: Dispute, known: Defence | undefined) {
  if (known && !mayBeReplaced(known)) return 'dispute_defended';
  if (offerOf(deps, dispute) === null) return 'not_offered_by_provider';
  if (hasEnded(dispute.status)) return 'dispute_ended';
  if (dispute.status === 'defending') return 'dispute_defended';
  return isLate(dispute, deps.clock.now()) ? 'defence_window_closed' : null;
}

function opened({ secrets }: DefendDeps, { body, ...defence }: Defence): OpenedDefence {
  return { ...defence, text: textOf(secrets, body, defence.disputeId) };
}

function textOf(secrets: Secrets, body: Buffer | null, disputeId: string): string | null {
  if (body === null) return null;
  try {
    return secrets.open(body, disputeId).toString();
  } catch {
    return null;
  }
}
