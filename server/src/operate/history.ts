import { type HistoryStep, isOfCall } from '../money/payment.ts';
import type { Queries, Statement } from '../ports/sql.ts';

/** A state of a payment and who caused it, for people. */
export interface ShownStep {
  status: string;
  /** ISO 8601. */
  at: string;
  cause: {
    by: string;
    id: string;
    /** Of the API key, the person or the operator; null: not recorded, or no name applies. */
    name: string | null;
    /** The kind of the name: a key and a person both cause `api` and `rule`. */
    actor: 'key' | 'person' | 'operator' | null;
  };
}

const select: Statement = {
  name: 'payment_history_names',
  text: `WITH decided AS MATERIALIZED (SELECT i.id::text AS id, i.resolution->>'actor' AS actor
      FROM incident i WHERE i.account_id = $1 AND i.id = ANY ($4::uuid[]))
    SELECT id, name, false AS "isPerson" FROM api_key WHERE account_id = $1 AND id = ANY ($2::text[])
    UNION ALL SELECT id::text, name, true FROM panel_user WHERE id = ANY ($3::uuid[])
    UNION ALL SELECT d.id, coalesce(u.name, d.actor), u.id IS NOT NULL FROM decided d LEFT JOIN panel_user u ON d.actor = 'panel:' || u.id`,
};

interface Name {
  id: string;
  name: string | null;
  isPerson: boolean;
}

/** The history of a payment with names in place of ids. Names are of today: a renamed key shows its new name. */
export async function namedHistory(
  sql: Queries,
  accountId: string,
  history: readonly HistoryStep[],
): Promise<ShownStep[]> {
  const actors = history.map(({ cause }) => actorOf(cause));
  const idsOf = (actor: NonNullable<Actor>['actor']): string[] =>
    actors.flatMap((one) => (one?.actor === actor ? [one.id] : []));
  const rows = actors.some(Boolean)
    ? await sql.run<Name>(select, [accountId, idsOf('key'), idsOf('person'), idsOf('operator')])
    : [];
  const names = new Map(rows.map((row) => [row.id, row]));
  return history.map(({ status, at, cause }, index) => {
    const caused = actors[index];
    const found = caused ? names.get(caused.id) : undefined;
    // A person of the account may decide about odd money, as an operator does.
    const actor = found?.isPerson ? 'person' : (caused?.actor ?? null);
    return { status, at, cause: { by: cause.by, id: cause.id, name: found?.name ?? null, actor } };
  });
}

type Actor = { actor: 'key' | 'person' | 'operator'; id: string } | null;

function actorOf(cause: HistoryStep['cause']): Actor {
  if (cause.by === 'operator') return { actor: 'operator', id: cause.id };
  if (!isOfCall(cause)) return null;
  if (cause.keyId) return { actor: 'key', id: cause.keyId };
  return cause.userId ? { actor: 'person', id: cause.userId } : null;
}
