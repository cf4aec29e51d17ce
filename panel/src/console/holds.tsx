import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import type { paths } from '../api/console.d.ts';
import { dateTimeSeconds } from '../format.ts';

import { useAction } from '../ui/action.ts';
import { FormError, Money, MoneyInput, Rows, Trouble } from '../ui/parts.tsx';
import { desk, deskKey, useOperator } from './api.ts';
import { AskedNote, Planned } from './decision.tsx';
import { ReasonField } from './reason-field.tsx';
import { useConsoleWords } from './words.ts';

type Hold =
  paths['/operations/{id}/holds']['get']['responses'][200]['content']['application/json']['holds'][number];
type Shown = paths['/holds/{id}/acts']['post']['responses'][200]['content']['application/json'];

/** The holds of an operation: to place one shows its postings first, to end one asks a second person. */
export function Holds({ operationId, name }: { operationId: string; name: string }) {
  const words = useConsoleWords();
  const [open, setOpen] = useState(false);
  return (
    <details className="card more" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{words.holds.title(name)}</summary>
      {open && <HoldList operationId={operationId} />}
    </details>
  );
}

function HoldList({ operationId }: { operationId: string }) {
  const words = useConsoleWords();
  const { data: operator } = useOperator();
  const query = useQuery({
    queryKey: [deskKey, 'holds', operationId],
    queryFn: () => ask(() => desk.GET('/operations/{id}/holds', { params: { path: { id: operationId } } })),
  });
  if (query.data === undefined)
    return query.error ? <Trouble error={query.error} retry={() => void query.refetch()} /> : <Rows />;
  const { holds } = query.data;
  return (
    <div className="stack" style={{ marginTop: 14 }}>
      {holds.length === 0 && <p className="soft">{words.holds.none}</p>}
      {holds.map((hold) => (
        <div key={hold.id}>
          <p style={{ margin: 0 }}>
            <Money cents={hold.amountCents} /> <span className="soft">{words.holds.captured}</span>{' '}
            <Money cents={hold.capturedCents} />{' '}
            <span className={`status ${hold.releasedAt === null ? 'ask' : 'rest'}`}>
              {hold.releasedAt === null ? words.holds.open : words.holds.ended}
            </span>
          </p>
          <p className="soft" style={{ margin: '2px 0 0' }}>
            {hold.reason}, {words.holds.by(hold.placedBy, dateTimeSeconds(hold.placedAt))}
          </p>
          {hold.releasedAt === null && operator?.acts.includes('releaseHold') && <Release hold={hold} />}
        </div>
      ))}
      {operator?.acts.includes('placeHold') && <Place operationId={operationId} />}
    </div>
  );
}

/** Shows first what an act would write; what is confirmed is exactly that. */
function Place({ operationId }: { operationId: string }) {
  const words = useConsoleWords();
  const [amountCents, setAmount] = useState(0);
  const [reason, setReason] = useState('');
  const [shown, setShown] = useState<(Shown & { requestKey: string }) | null>(null);
  const params = { path: { id: operationId } };
  const look = useAction(async () => {
    const seen = await ask(() => desk.POST('/operations/{id}/holds/acts', { params, body: { amountCents } }));
    setShown({ ...seen, requestKey: crypto.randomUUID() });
  });
  const place = useAction(
    async () => {
      if (shown === null) return;
      const { requestKey } = shown;
      const body = { amountCents, reason: reason.trim(), shown: shown.shown, requestKey };
      await ask(() => desk.POST('/operations/{id}/holds', { params, body }));
      setShown(null);
      setReason('');
    },
    {
      rereads: [
        [deskKey, 'holds', operationId],
        [deskKey, 'account'],
      ],
    },
  );
  return (
    <form className="stack narrow" onSubmit={shown === null ? look.submit : place.submit}>
      <h3 style={{ margin: 0, fontSize: 16 }}>{words.holds.place}</h3>
      <MoneyInput
        label={words.holds.amount}
        cents={amountCents}
        onCents={(cents) => {
          setAmount(cents);
          setShown(null);
        }}
      />
      <ReasonField label={words.decide.why} value={reason} onText={setReason} />
      {shown !== null && <Planned postings={shown.postings} />}
      <FormError error={look.error ?? place.error} />
      <Button
        type="submit"
        loading={look.busy || place.busy}
        disabled={amountCents === 0 || reason.trim().length < 5}
        style={{ alignSelf: 'start' }}
      >
        {shown === null ? words.holds.look : words.holds.confirm}
      </Button>
    </form>
  );
}

function Release({ hold: { id } }: { hold: Hold }) {
  const words = useConsoleWords();
  const [reason, setReason] = useState('');
  const [shown, setShown] = useState<Shown | null>(null);
  const params = { path: { id } };
  const look = useAction(async () => {
    setShown(await ask(() => desk.POST('/holds/{id}/acts', { params, body: {} })));
  });
  const request = useAction(
    async () => {
      if (shown === null) return;
      await ask(() =>
        desk.POST('/holds/{id}/release', { params, body: { reason: reason.trim(), shown: shown.shown } }),
      );
    },
    { rereads: [[deskKey, 'worklist']] },
  );
  if (request.done) return <AskedNote text={words.decide.asked} />;
  if (shown === null)
    return (
      <div className="stack">
        <FormError error={look.error} />
        <Button
          variant="default"
          loading={look.busy}
          onClick={() => look.run()}
          style={{ alignSelf: 'start' }}
        >
          {words.holds.release}
        </Button>
      </div>
    );
  return (
    <form className="stack narrow" onSubmit={request.submit}>
      <Planned postings={shown.postings} />
      <ReasonField label={words.decide.why} value={reason} onText={setReason} />
      <FormError error={request.error} />
      <Button
        type="submit"
        loading={request.busy}
        disabled={reason.trim().length < 5}
        style={{ alignSelf: 'start' }}
      >
        {words.decide.request}
      </Button>
    </form>
  );
}
