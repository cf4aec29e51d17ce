import type { KnownReturn } from '../../money/returns.ts';
import type { Statement } from '../../ports/sql.ts';
import type { Table } from '../database/table.ts';

/** The known returns of a payment, or of a Pix that is no payment of ours. */
export interface KnownReturns {
  accountId: string;
  payment: string;
  returns: readonly KnownReturn[];
}

type Row = Omit<KnownReturns, 'returns'> & KnownReturn;

const select: Statement = {
  name: 'known_return_read',
  text: `SELECT r.account_id AS "accountId", r.payment, r.reference, r.pix, r.return_id AS id, r.rtr_id AS "rtrId",
      r.amount_cents AS "amountCents", r.at, r.posted
    FROM known_return r JOIN unnest($1::uuid[], $2::text[]) AS k (account_id, payment) USING (account_id, payment)
    ORDER BY r.at, r.reference`,
};

/** A return never changes. More of its names may become known, and that it was posted after all. */
const upsert: Statement = {
  name: 'known_return_upsert',
  text: `INSERT INTO known_return (account_id, payment, reference, pix, return_id, rtr_id, amount_cents, at, posted)
    VALUES (unnest($1::uuid[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[]), unnest($5::text[]), unnest($6::text[]), unnest($7::bigint[]),
      unnest($8::timestamptz[]), unnest($9::boolean[]))
    ON CONFLICT (account_id, payment, reference) DO UPDATE SET pix = excluded.pix, return_id = excluded.return_id,
      rtr_id = excluded.rtr_id, posted = excluded.posted`,
};

/** 36 characters of account, then the payment. */
export const knownReturnsKey = (accountId: string, payment: string): string => accountId + payment;

export const knownReturns: Table<KnownReturns> = {
  name: 'known_return',
  rank: 12,
  keyOf: ({ accountId, payment }) => knownReturnsKey(accountId, payment),
  read: async (tx, keys) => {
    const rows = await tx.run<Row>(select, [
      keys.map((key) => key.slice(0, 36)),
      keys.map((key) => key.slice(36)),
    ]);
    const groups = Map.groupBy(rows, (row) => knownReturnsKey(row.accountId, row.payment));
    return [...groups.values()].map((group) => {
      const { accountId, payment } = group[0] as Row;
      return { accountId, payment, returns: group.map(returnOf) };
    });
  },
  write: (tx, { inserted, updated }) => [tx.run(upsert, columnsOf([...inserted, ...updated]))],
};

const returnOf = ({ accountId: _, payment: __, ...row }: Row): KnownReturn => row;

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
