import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ask, Problem, type StaticCode } from '../api/client.ts';
import { money } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from '../ui/action.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icons.tsx';
import { ChargesOf, useSourceAddress } from '../ui/of-source.tsx';
import { Copy, FormError, PageHead, Rows, TechnicalIds, Trouble, When } from '../ui/parts.tsx';
import { Poster } from '../ui/poster.tsx';
import { Qr } from '../ui/qr.tsx';
import { NotFound } from './not-found.tsx';

function useCode(id: string, operationId: string) {
  const { api, account } = useScope();
  return useQuery({
    queryKey: [account.id, 'static-codes', id, operationId],
    enabled: operationId !== '',
    queryFn: () =>
      ask(() =>
        api.GET('/static-codes/{id}', {
          params: { path: { id } },
          headers: { 'x-service-operation': operationId },
        }),
      ),
  });
}

/** A static code: its picture, its poster, and each Pix that it brought. */
export function CodePage() {
  const words = useWords();
  const { may } = useScope();
  const { id, operationId } = useSourceAddress();
  const { data, error, refetch } = useCode(id, operationId);
  if (error && !data) {
    if (error instanceof Problem && (error.status === 404 || error.status === 400)) return <NotFound />;
    return <Trouble error={error} retry={() => void refetch()} />;
  }
  if (!data) return <Rows count={8} />;
  return (
    <>
      <PageHead title={data.name} back={{ to: '/qr-fixos', label: words.codes.title }}>
        {data.status === 'active' && (
          <Button
            renderRoot={(props) => (
              <Link
                to="/qr-fixos/$id/cartaz"
                params={{ id }}
                search={{ operacao: data.operationId }}
                {...props}
              />
            )}
            leftSection={<Icon name="print" size={18} />}
          >
            {words.codes.poster}
          </Button>
        )}
        {may('charges') && <RetireCode code={data} />}
      </PageHead>
      <div className="stack">
        <div className="cols">
          <CodeCard code={data} />
          <section className="card stack" aria-label={words.codes.code}>
            <Qr text={data.copyPaste} label={words.codes.qrAlt} />
            <Copy value={data.copyPaste} label={words.codes.copy} />
            <div className="code" data-testid="copy-paste">
              {data.copyPaste}
            </div>
          </section>
        </div>
        <ChargesOf
          path="static-codes"
          id={id}
          operationId={data.operationId}
          title={words.codes.charges}
          none={words.codes.noCharges}
        />
      </div>
    </>
  );
}

function CodeCard({ code }: { code: StaticCode }) {
  const words = useWords();
  return (
    <section className="card" aria-label={words.codes.one}>
      <span className={`status ${code.status === 'active' ? 'good' : 'rest'}`}>
        {words.codes.states[code.status]}
      </span>
      <p className="big num" style={{ margin: '2px 0 14px' }}>
        {code.amountCents === null ? words.codes.anyAmount : money(code.amountCents)}
      </p>
      <dl className="facts">
        <dt>{words.codes.payments}</dt>
        <dd className="num">{code.paidCount}</dd>
        <dt>{words.codes.received}</dt>
        <dd>
          <span className="num">{money(code.paidCents)}</span>{' '}
          <span className="soft">{words.links.receivedHint}</span>
        </dd>
        <dt>{words.codes.created}</dt>
        <dd>
          <When at={code.createdAt} />
        </dd>
      </dl>
      <TechnicalIds>
        <dt>{words.detail.id}</dt>
        <dd>
          <span className="mono">{code.id}</span> <Copy value={code.id} />
        </dd>
        <dt>{words.codes.identifier}</dt>
        <dd className="mono">{code.identifier}</dd>
      </TechnicalIds>
    </section>
  );
}

/** Retires a code once a person has confirmed it, or takes a retired one into use again. */
function RetireCode({ code }: { code: StaticCode }) {
  const words = useWords();
  const { api, account } = useScope();
  const [asking, setAsking] = useState(false);
  const change = useAction(
    async (status: StaticCode['status']) => {
      await ask(() =>
        api.PATCH('/static-codes/{id}', {
          params: { path: { id: code.id } },
          body: { status },
          headers: { 'x-service-operation': code.operationId },
        }),
      );
      setAsking(false);
    },
    { rereads: [[account.id]] },
  );
  if (code.status === 'retired') {
    return (
      <>
        <Button variant="default" loading={change.busy} onClick={() => change.run('active')}>
          {words.codes.reuse}
        </Button>
        <FormError error={change.error} />
      </>
    );
  }
  return (
    <>
      <Button variant="default" onClick={() => setAsking(true)}>
        {words.codes.retire}
      </Button>
      {asking && (
        <Dialog opened title={words.codes.retireTitle} close={() => setAsking(false)}>
          <div className="stack">
            <p style={{ margin: 0 }}>{words.codes.retireLead}</p>
            <FormError error={change.error} />
            <Button color="red" loading={change.busy} onClick={() => change.run('retired')}>
              {words.codes.retireConfirm}
            </Button>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** The code on paper, for a counter. */
export function CodePoster() {
  const words = useWords();
  const { id, operationId } = useSourceAddress();
  const { data, error } = useCode(id, operationId);
  if (error && !data) return <Trouble error={error} />;
  if (!data) return <Rows />;
  return (
    <Poster
      name={data.name}
      amountCents={data.amountCents}
      code={data.copyPaste}
      codeAlt={words.codes.qrAlt}
      steps={words.codes.posterSteps}
      foot={data.identifier}
      back={{ to: `/qr-fixos/${id}`, label: data.name, search: { operacao: data.operationId } }}
    />
  );
}
