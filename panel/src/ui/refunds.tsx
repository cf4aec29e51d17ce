import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { ask, type RecordView, type Refunds } from '../api/client.ts';
import { dateTime, money } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { Money, moodOf, When } from './parts.tsx';

/** Read when it is wanted: a look at a payment gives nothing back. */
const AskForRefund = lazy(async () => ({ default: (await import('./refund-dialog.tsx')).AskForRefund }));

type Refund = Refunds['refunds'][number];

const isOpen = ({ status }: Refund): boolean => status === 'unknown' || status === 'pending';

export function useRefunds(id: string, enabled: boolean) {
  const { api, account } = useScope();
  return useQuery({
    queryKey: [account.id, 'refunds', id],
    enabled,
    // At most two hundred, a hundred a page.
    queryFn: async () => {
      const page = (cursor?: string) =>
        ask(() =>
          api.GET('/records/{id}/refunds', {
            params: { path: { id }, query: { ...(cursor !== undefined && { cursor }) } },
          }),
        );
      let last = await page();
      const refunds = [...last.refunds];
      while (last.nextCursor !== null) {
        last = await page(last.nextCursor);
        refunds.push(...last.refunds);
      }
      return { ...last, refunds };
    },
    refetchInterval: (query) => (query.state.data?.refunds.some(isOpen) ? 2_000 : false),
  });
}

/** The refunds of a paid charge, and the button that gives more of it back. */
export function RefundsOf({ charge }: { charge: RecordView }) {
  const words = useWords();
  const { may, session, account } = useScope();
  const { data } = useRefunds(charge.id, charge.status === 'paid');
  const [asking, setAsking] = useState(false);
  // One key for what is asked for, until it is answered for sure: asked again after a lost answer, it is the same refund.
  const [requestKey, setRequestKey] = useState(() => crypto.randomUUID());
  if (!data || (data.refunds.length === 0 && data.closed !== null)) return null;
  const factor = account.test || session.secondFactor;
  return (
    <section className="card" aria-labelledby="refunds">
      <div className="cardhead">
        <h2 id="refunds">{words.refund.title}</h2>
        {may('refunds') && data.closed === null && !session.frozenUntil && factor && (
          <Button size="xs" variant="default" className="end" onClick={() => setAsking(true)}>
            {words.refund.act}
          </Button>
        )}
      </div>
      <p className="soft" style={{ margin: 0 }}>
        {data.closed === null && data.until !== null
          ? words.refund.left(money(data.leftCents), dateTime(data.until))
          : data.closed && words.refund.closed[data.closed]}
        {may('refunds') && data.closed === null && session.frozenUntil && ` ${words.refund.frozen}`}
        {may('refunds') && data.closed === null && !factor && ` ${words.refund.needsFactor}`}
      </p>
      {data.refunds.length > 0 && (
        <ul className="moves" aria-label={words.refund.title}>
          {data.refunds.map((refund) => (
            <RefundLine key={refund.id} refund={refund} />
          ))}
        </ul>
      )}
      {asking && (
        <Suspense fallback={null}>
          <AskForRefund
            charge={charge}
            leftCents={data.leftCents}
            refundFees={data.refundFees}
            requestKey={requestKey}
            settled={() => setRequestKey(crypto.randomUUID())}
            close={() => setAsking(false)}
          />
        </Suspense>
      )}
    </section>
  );
}

function RefundLine({ refund }: { refund: Refund }) {
  const words = useWords();
  const { name, actor } = refund.madeBy;
  const who =
    name === null ? null : actor === 'person' ? words.detail.byPerson(name) : words.detail.byKey(name);
  return (
    <li className="refund">
      <div>
        <span className={`status ${moodOf(refund.status)}`}>{words.refund.states[refund.status]}</span>
        <div className="soft">
          <When at={refund.settledAt ?? refund.createdAt} />
          {who && ` · ${words.refund.askedBy(who)}`}
        </div>
        {refund.reasonCode && <div>{words.refund.reasons[refund.reasonCode] ?? words.refund.refused}</div>}
        {refund.status === 'unknown' && <div className="soft">{words.refund.unknown}</div>}
        {refund.description && <div>{refund.description}</div>}
        {refund.feeBackCents !== undefined && refund.feeBackCents > 0 && refund.status !== 'failed' && (
          <div className="soft">
            {words.refund.feeBack[refund.status === 'completed' ? 'done' : 'coming'](
              money(refund.feeBackCents),
            )}
          </div>
        )}
      </div>
      <div className="right">
        <Money cents={refund.amountCents} />
        {refund.status === 'completed' && (
          <Link to="/pagamentos/$id/reembolsos/$refund" params={{ id: refund.paymentId, refund: refund.id }}>
            {words.detail.receipt}
          </Link>
        )}
      </div>
    </li>
  );
}
