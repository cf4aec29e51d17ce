import { Alert, Button, Textarea } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import type { paths } from '../api/console.d.ts';
import { useWords } from '../text/text.tsx';
import { useAction } from '../ui/action.ts';
import '../ui/choices.css';
import { Icon } from '../ui/icons.tsx';
import { FormError, Money } from '../ui/parts.tsx';
import { desk, deskKey, useOperator } from './api.ts';
import { useConsoleWords } from './words.ts';

type Allowed =
  paths['/incidents/{id}/acts']['post']['responses'][200]['content']['application/json']['allowed'][number];

/** The decisions that an open incident allows. Their postings are shown first, and what is decided is exactly what was shown. */
export function Decision({ id, keptAt }: { id: string; keptAt: string | null }) {
  const words = useConsoleWords();
  const { data: operator } = useOperator();
  const [allowed, setAllowed] = useState<Allowed[] | null>(null);
  const look = useAction(async () => {
    const answer = await ask(() => desk.POST('/incidents/{id}/acts', { params: { path: { id } }, body: {} }));
    setAllowed(answer.allowed);
  });
  if (!operator?.acts.includes('resolveIncident')) return null;
  return (
    <section className="card" aria-labelledby="decide">
      <h2 id="decide">{words.decide.title}</h2>
      <p className="soft">{words.decide.lead}</p>
      {allowed === null ? (
        <div className="stack">
          <FormError error={look.error} />
          <Button loading={look.busy} onClick={() => look.run()} style={{ alignSelf: 'start' }}>
            {words.decide.look}
          </Button>
        </div>
      ) : (
        <Acts
          id={id}
          allowed={allowed}
          again={() => {
            setAllowed(null);
            look.run();
          }}
        />
      )}
      {keptAt === null && <Keep id={id} />}
    </section>
  );
}

function Acts({ id, allowed, again }: { id: string; allowed: Allowed[]; again: () => void }) {
  const words = useConsoleWords();
  const [action, setAction] = useState<string | null>(null);
  const [reason, setReason] = useState('');
  const chosen = allowed.find((one) => one.action === action);
  const [requestId, setRequestId] = useState<string | null>(null);
  const resolve = useAction(
    async () => {
      if (!chosen) return;
      const answer = await ask(() =>
        desk.POST('/incidents/{id}/resolution', {
          params: { path: { id } },
          body: { action: chosen.action, shown: chosen.shown, reason: reason.trim() },
        }),
      );
      setRequestId(answer.requestId);
    },
    {
      rereads: [
        [deskKey, 'incident', id],
        [deskKey, 'worklist'],
      ],
    },
  );
  if (requestId !== null) return <AskedNote text={words.decide.asked} />;
  return (
    <form className="stack" onSubmit={resolve.submit}>
      <fieldset className="choices">
        <legend>{words.decide.choose}</legend>
        {allowed.map((one) => (
          <label key={one.action} className="choice">
            <span className="choicehead">
              <input
                type="radio"
                name="action"
                checked={one.action === action}
                onChange={() => setAction(one.action)}
              />
              <strong>{words.decide.acts[one.action]}</strong>
              {one.movedCents > 0 && (
                <span className="end">
                  <Money cents={one.movedCents} />
                </span>
              )}
            </span>
            <Planned postings={one.postings} />
          </label>
        ))}
      </fieldset>
      {chosen && !chosen.alone && (
        <Alert color="yellow" variant="light" icon={<Icon name="warning" />}>
          {words.decide.second}
        </Alert>
      )}
      <Textarea
        label={words.decide.why}
        description={words.decide.whyHint}
        required
        withAsterisk={false}
        minLength={5}
        maxLength={500}
        autosize
        minRows={2}
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
      <FormError error={resolve.error} />
      <div className="deskbuttons">
        <Button type="submit" loading={resolve.busy} disabled={!chosen || reason.trim().length < 5}>
          {chosen && !chosen.alone ? words.decide.request : words.decide.submit}
        </Button>
        <Button variant="default" onClick={again}>
          {words.decide.again}
        </Button>
      </div>
    </form>
  );
}

/** It waits for a second person now. */
export function AskedNote({ text }: { text: string }) {
  const words = useConsoleWords();
  return (
    <Alert color="green" variant="light" icon={<Icon name="check" />} role="status">
      {text} <Link to="/operator/pedidos">{words.requests.title}</Link>
    </Alert>
  );
}

/** Postings as they would be written. */
export function Planned({ postings }: { postings: Allowed['postings'] }) {
  const words = useConsoleWords();
  const panel = useWords();
  if (postings.length === 0) return <span className="soft planned">{words.decide.nothing}</span>;
  return (
    <span className="planned">
      {postings.map((posting, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two postings may be equal, and none moves
        <span key={place} className="plannedposting">
          <span>{(panel.detail.lines as Record<string, string>)[posting.movement] ?? posting.movement}</span>
          {posting.lines.map(({ column, cents }) => (
            <span key={column} className="plannedline">
              <span className="soft">
                {(words.payment.columns as Record<string, string>)[column] ?? column}
              </span>{' '}
              <Money cents={cents} />
            </span>
          ))}
        </span>
      ))}
    </span>
  );
}

function Keep({ id }: { id: string }) {
  const words = useConsoleWords();
  const [reason, setReason] = useState('');
  const keep = useAction(
    () =>
      ask(() =>
        desk.POST('/incidents/{id}/keep', { params: { path: { id } }, body: { reason: reason.trim() } }),
      ),
    { rereads: [[deskKey, 'incident', id]] },
  );
  return (
    <details className="more">
      <summary>{words.decide.keep}</summary>
      <form className="stack narrow" onSubmit={keep.submit}>
        <p className="soft" style={{ margin: 0 }}>
          {words.decide.keepLead}
        </p>
        <Textarea
          label={words.decide.keepWhy}
          required
          withAsterisk={false}
          minLength={5}
          maxLength={200}
          autosize
          minRows={2}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
        <FormError error={keep.error} />
        <Button type="submit" variant="default" loading={keep.busy} style={{ alignSelf: 'start' }}>
          {words.decide.keepSubmit}
        </Button>
      </form>
    </details>
  );
}
