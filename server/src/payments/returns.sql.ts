import type { Table } from '../db/table.ts';
import type { Statement } from '../ports/sql.ts';
import { isRtrId, type KnownReturn } from './returns.ts';

/** The known returns of a payment, or of a Pix that is no payment of ours. */
export interface KnownReturns {
  accountId: string;
  payment: string;
  returns: readonly KnownReturn[];
}

type Row = Omit<KnownReturns, 'returns'> & KnownReturn;

/**
 * The second part reads what was posted before this table existed: then the journal's reference is `id` or else `rtrId`,
 * and the Pix is not stored. References with a hyphen name the incident by which an operator posted it.
 */
const select: Statement = {
  name: 'known_return_read',
  text: `SELECT r.account_id AS "accountId", r.payment, r.reference, r.pix, r.return_id AS id, r.rtr_id AS "rtrId",
      r.amount_cents AS "amountCents", r.at, r.posted
    FROM known_return r JOIN unnest($1::uuid[], $2::text[]) AS k (account_id, payment) USING (account_id, payment)
    UNION ALL
    SELECT j.account_id, j.subject::text, j.reference, NULL, NULL, NULL, abs(j.clearing), j.effective_at, true
    FROM unnest($1::uuid[], $3::uuid[]) AS k (account_id, subject)
      JOIN journal j USING (account_id, subject)
      JOIN payment p ON p.account_id = j.account_id AND p.id = j.subject
    WHERE (j.event IN (5, 6) OR j.event = 7 AND (p.kind = 'transfer' OR j.suspense < 0)) AND j.reference NOT LIKE '%-%'
      AND NOT EXISTS (SELECT FROM known_return r
        WHERE r.account_id = j.account_id AND r.payment = j.subject::text AND r.reference = j.reference)
    ORDER BY 8, 3`,
};

/** A return never changes. More of its names may become known, and that it was posted after all. */
const upsert: Statement = {
  name: 'known_return_upsert',
  text: `INSERT INTO known_return (account_id, payment, reference, pix, return_id, rtr_id, amount_cents, at, posted)
    SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[],
      $8::timestamptz[], $9::boolean[])
    ON CONFLICT (account_id, payment, reference) DO UPDATE SET pix = excluded.pix, return_id = excluded.return_id,
      rtr_id = excluded.rtr_id, posted = excluded.posted`,
};

const isUuid = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);

/** 36 characters of account, then the payment. */
export const knownReturnsKey = (accountId: string, payment: string): string => accountId + payment;

export const knownReturns: Table<KnownReturns> = {
  name: 'known_return',
  rank: 12,
  keyOf: ({ accountId, payment }) => knownReturnsKey(accountId, payment),
  read: async (tx, keys) => {
    const payments = keys.map((key) => key.slice(36));
    const rows = await tx.run<Row>(select, [
      keys.map((key) => key.slice(0, 36)),
      payments,
      payments.map((payment) => (isUuid(payment) ? payment : null)),
    ]);
    const groups = Map.groupBy(rows, (row) => knownReturnsKey(row.accountId, row.payment));
    return [...groups.values()].map((group) => {
      const { accountId, payment } = group[0] as Row;
      return { accountId, payment, returns: group.map(returnOf) };
    });
  },
  write: (tx, { inserted, updated }) => [tx.run(upsert, columnsOf([...inserted, ...updated]))],
};

function returnOf({ accountId: _, payment: __, ...row }: Row): KnownReturn {
  if (row.id !== null || row.rtrId !== null || row.pix !== null) return row;
  return isRtrId(row.reference) ? { ...row, rtrId: row.reference } : { ...row, id: row.reference };
}

function columnsOf(all: readonly KnownReturns[]): unknown[] {
  const rows = all.flatMap(({ accountId, payment, returns }) =>
    returns.map((one) => ({ ...one, accountId, payment })),
  );
  return [
    rows.map((row) => row.accountId),
    rows.map((row) => row.payment),
    rows.map((row) => row.reference),
    rows.map((row) => row.pix),
    rows.map((row) => row.id),
    rows.map((row) => row.rtrId),
    rows.map((row) => row.amountCents),
    rows.map((row) => new Date(row.at).toISOString()),
    rows.map((row) => row.posted),
  ];
}
