import { Alert, Button, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ask, Problem, type RecordView, type Refunds } from '../api/client.ts';
import { dateTime, money } from '../format.ts';
import { useScope } from '../session.tsx';
import { useText, useWords } from '../text/text.tsx';
import { useAction } from './action.ts';
import { Dialog } from './dialog.tsx';
import { Icon } from './icons.tsx';
import { FormError, Money, MoneyInput, moodOf, When } from './parts.tsx';

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
  const { language } = useText();
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
          ? words.refund.left(money(data.leftCents), dateTime(data.until, language))
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
        <AskForRefund
          charge={charge}
          leftCents={data.leftCents}
          refundFees={data.refundFees}
          requestKey={requestKey}
          settled={() => setRequestKey(crypto.randomUUID())}
          close={() => setAsking(false)}
        />
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

function AskForRefund({
  charge,
  leftCents,
  refundFees,
  requestKey,
  settled,
  close,
}: {
  charge: RecordView;
  leftCents: number;
  refundFees: Refunds['refundFees'];
  requestKey: string;
  /** The service has decided: what is asked for next is another refund. */
  settled: () => void;
  close: () => void;
}) {
  const words = useWords();
  const { api, account } = useScope();
  const [cents, setCents] = useState(leftCents);
  const [description, setDescription] = useState('');
  const give = useAction(
    async () => {
      try {
        await ask(() =>
          api.POST('/records/{id}/refunds', {
            params: { path: { id: charge.id } },
            body: { amountCents: cents, description, requestKey },
          }),
        );
        settled();
        close();
      } catch (problem) {
        if (problem instanceof Problem && problem.status >= 400 && problem.status < 500) settled();
        throw problem;
      }
    },
    { rereads: [[account.id]] },
  );
  return (
    <Dialog opened title={words.refund.dialogTitle} close={close}>
      <form className="stack" onSubmit={give.submit}>
        <p style={{ margin: 0 }}>
          {charge.paymentMethod === 'card'
            ? words.card.refundLead
            : words.refund.lead(charge.payerName ?? '')}
        </p>
        <MoneyInput
          data-autofocus
          label={words.common.amount}
          description={words.refund.most(money(leftCents))}
          cents={cents}
          onCents={setCents}
          error={cents > leftCents ? words.refund.tooMuch : null}
        />
        <TextInput
          label={`${words.refund.message} (${words.common.optional})`}
          maxLength={140}
          autoComplete="off"
          value={description}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
        <Alert color="yellow" variant="light" icon={<Icon name="warning" />}>
          {`${words.refund.final} ${words.refund.fees[refundFees]}`}
        </Alert>
        <FormError error={give.error} />
        <Button type="submit" loading={give.busy} disabled={cents === 0 || cents > leftCents}>
          {words.refund.give(money(cents))}
        </Button>
      </form>
    </Dialog>
  );
}
