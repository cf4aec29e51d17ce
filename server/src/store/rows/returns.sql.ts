import type { KnownReturn } from '../../money/returns.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { boolean, cents, describeRows, text, timestamptz, uuid } from '../database/define-table.ts';
import { rankOf, type Table } from '../database/table.ts';

/** The known returns of a payment, or of a Pix that is no payment of ours. */
export interface KnownReturns {
  accountId: string;
  payment: string;
  returns: readonly KnownReturn[];
}

type Row = Omit<KnownReturns, 'returns'> & KnownReturn;

/** A return never changes. More of its names may become known, and that it was posted after all. */
export const returnRows = describeRows<Row>({
  name: 'known_return',
  alias: 'r',
  key: ['accountId', 'payment', 'reference'],
  verbs: ['upsert'],
  columns: {
    accountId: uuid,
    payment: text,
    reference: text,
    pix: text.orNull.changes,
    id: text.orNull.changes.named('return_id'),
    rtrId: text.orNull.changes,
    amountCents: cents,
    at: timestamptz,
    posted: boolean.changes,
  },
});

const select: Statement = {
  name: 'known_return_read',
  text: `SELECT ${returnRows.columns}
    FROM known_return r JOIN unnest($1::uuid[], $2::text[]) AS k (account_id, payment) USING (account_id, payment)
    ORDER BY r.at, r.reference`,
};

/** 36 characters of account, then the payment. */
export const knownReturnsKey = (accountId: string, payment: string): string => accountId + payment;

export const knownReturns: Table<KnownReturns> = {
  name: 'known_return',
  rank: rankOf('known_return'),
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
  write: (tx, { inserted, updated }) => {
    const rows = [...inserted, ...updated].flatMap(({ accountId, payment, returns }) =>
      returns.map((one) => ({ ...one, accountId, payment })),
    );
    return [returnRows.insert(tx, rows)];
  },
};

const ofPayout: Statement = {
  name: 'known_return_of_payout',
  text: `SELECT FROM known_return r WHERE r.rtr_id = $1 AND r.pix = '' LIMIT 1`,
};

/** Whether the books of a cell have this return of a payout. What went back to a payer may have the same id: it is the other side of one Pix. */
export const isReturnOfPayout = async (sql: Queries, rtrId: string): Promise<boolean> =>
  (await sql.run(ofPayout, [rtrId])).length > 0;

const returnOf = ({ accountId: _, payment: __, ...row }: Row): KnownReturn => row;
