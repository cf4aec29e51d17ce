import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { money } from '../format.ts';
import { useWords } from '../text/text.tsx';
import { When } from './parts.tsx';

/** A payment link or a static code: what its payers paid by it. */
export interface SourceRow {
  id: string;
  operationId: string;
  name: string;
  amount: string;
  status: ReactNode;
  payments: ReactNode;
  paidCents: number;
  createdAt: string;
}

/** Payment links or static codes, each with its page. */
export function SourceTable({
  rows,
  to,
  heads,
  names,
}: {
  rows: readonly SourceRow[];
  /** Of the operations, where several are shown. */
  names: Map<string, string> | null;
  to: '/links/$id' | '/qr-fixos/$id';
  heads: { name: string; payments: string; received: string };
}) {
  const { common } = useWords();
  return (
    <table className="table folding">
      <thead>
        <tr>
          <th scope="col">{heads.name}</th>
          <th scope="col" className="right">
            {common.amount}
          </th>
          {names && <th scope="col">{common.operation}</th>}
          <th scope="col">{common.status}</th>
          <th scope="col" className="right">
            {heads.payments}
          </th>
          <th scope="col" className="right">
            {heads.received}
          </th>
          <th scope="col" className="right">
            {common.created}
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ id, operationId, name, amount, status, payments, paidCents, createdAt }) => (
          <tr key={id} className="link">
            <td>
              <Link to={to} params={{ id }} search={{ operacao: operationId }} className="row">
                {name}
              </Link>
            </td>
            <td className="right" data-label={common.amount}>
              {amount}
            </td>
            {names && <td data-label={common.operation}>{names.get(operationId)}</td>}
            <td>{status}</td>
            <td className="right num" data-label={heads.payments}>
              {payments}
            </td>
            <td className="right num" data-label={heads.received}>
              {money(paidCents)}
            </td>
            <td className="right soft">
              <When at={createdAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
