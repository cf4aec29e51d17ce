import { Alert, Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import type { paths } from '../api/contract.d.ts';
import { money } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from './action.ts';
import './choices.css';
import { PaymentName } from './names.tsx';
import { FormError, Money, When } from './parts.tsx';

type Waiting = paths['/odd-money']['get']['responses'][200]['content']['application/json']['waiting'][number];
type Allowed =
  paths['/odd-money/{id}/acts']['post']['responses'][200]['content']['application/json']['allowed'][number];

/** Money in suspense of the account: what waits, who decides, and the decision where the operator leaves it to the account. */
export function OddMoney() {
  const words = useWords();
  const { api, account, may } = useScope();
  const { data } = useQuery({
    queryKey: [account.id, 'odd-money'],
    queryFn: () => ask(() => api.GET('/odd-money')),
  });
  if (!data || data.waiting.length === 0) return null;
  return (
    <section className="card" aria-labelledby="odd-money">
      <div className="cardhead">
        <h2 id="odd-money">{words.oddMoney.title}</h2>
        <span className="end">
          <Money cents={data.sumCents} />
        </span>
      </div>
      <p className="soft" style={{ marginTop: 0 }}>
        {data.mostCents > 0 ? words.oddMoney.lead(money(data.mostCents)) : words.oddMoney.leadOperator}
      </p>
      <ul className="moves undecided">
        {data.waiting.map((one) => (
          <li key={one.id}>
            <div className="cardhead" style={{ marginBottom: 0 }}>
              <div style={{ minWidth: 0 }}>
                <strong className="num">{money(one.amountCents)}</strong>{' '}
                {words.reconciliation.kinds[one.kind] ?? one.kind}
                <div className="soft" style={{ fontSize: 14 }}>
                  <PaymentName id={one.paymentId} names={one.payment} /> <When at={one.openedAt} />
                </div>
              </div>
            </div>
            {one.why !== null ? (
              <p className="soft" style={{ margin: '6px 0 0', fontSize: 14 }}>
                {words.oddMoney.why[one.why] ?? words.home.incidentAbout}
              </p>
            ) : may('refunds') ? (
              <Decision one={one} />
            ) : (
              <p className="soft" style={{ margin: '6px 0 0', fontSize: 14 }}>
                {words.oddMoney.byFinance}
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The acts are shown with their postings first, and what is decided is exactly what was shown. */
function Decision({ one }: { one: Waiting }) {
  const words = useWords();
  const { api } = useScope();
  const path = { id: one.id };
  const [allowed, setAllowed] = useState<Allowed[] | null>(null);
  const look = useAction(async () => {
    const answer = await ask(() => api.POST('/odd-money/{id}/acts', { params: { path }, body: {} }));
    setAllowed(answer.allowed);
  });
  if (allowed === null)
    return (
      <div className="stack" style={{ marginTop: 10 }}>
        <FormError error={look.error} />
        <Button
          variant="default"
          loading={look.busy}
          onClick={() => look.run()}
          style={{ alignSelf: 'start' }}
          aria-label={`${words.oddMoney.decide}: ${money(one.amountCents)}`}
        >
          {words.oddMoney.decide}
        </Button>
      </div>
    );
  if (allowed.length === 0)
    return (
      <Alert color="yellow" variant="light" role="status" mt="sm">
        {words.oddMoney.nothingAllowed}
      </Alert>
    );
  return <Acts one={one} allowed={allowed} again={() => look.run()} close={() => setAllowed(null)} />;
}

interface ActsProps {
  one: Waiting;
  allowed: Allowed[];
  again: () => void;
  close: () => void;
}

function Acts({ one, allowed, again, close }: ActsProps) {
  const words = useWords();
  const { api, account } = useScope();
  const [action, setAction] = useState<Allowed['action'] | null>(null);
  const chosen = allowed.find((each) => each.action === action);
  const decide = useAction(
    async () => {
      if (!chosen) return;
      await ask(() =>
        api.POST('/odd-money/{id}/decision', {
          params: { path: { id: one.id } },
          body: { action: chosen.action, shown: chosen.shown },
        }),
      );
    },
    { rereads: [[account.id]] },
  );
  return (
    <form className="stack" style={{ marginTop: 10 }} onSubmit={decide.submit}>
      <fieldset className="choices">
        <legend>{words.oddMoney.choose}</legend>
        {allowed.map((each) => (
          <label key={each.action} className="choice">
            <span className="choicehead">
              <input
                type="radio"
                name={`action ${one.id}`}
                checked={each.action === action}
                onChange={() => setAction(each.action)}
              />
              <strong>{words.oddMoney.acts[each.action](money(one.amountCents))}</strong>
            </span>
            <span className="planned">
              {words.oddMoney.consequences[each.action](one.kind === 'amount_mismatch')}
              <Postings postings={each.postings} />
            </span>
          </label>
        ))}
      </fieldset>
      <FormError error={decide.error} />
      <div className="actbuttons">
        <Button type="submit" loading={decide.busy} disabled={!chosen}>
          {words.oddMoney.submit}
        </Button>
        <Button variant="default" onClick={again}>
          {words.oddMoney.again}
        </Button>
        <Button variant="subtle" onClick={close}>
          {words.common.cancel}
        </Button>
      </div>
    </form>
  );
}

function Postings({ postings }: { postings: Allowed['postings'] }) {
  const words = useWords();
  return postings.map((posting, place) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: two postings may be equal, and none moves
    <span key={place} className="plannedposting">
      <span>{words.detail.lines[posting.movement] ?? posting.movement}</span>
      {posting.lines.map(({ column, cents }) => (
        <span key={column}>
          <span className="soft">{words.oddMoney.columns[column] ?? column}</span> <Money cents={cents} />
        </span>
      ))}
    </span>
  ));
}
