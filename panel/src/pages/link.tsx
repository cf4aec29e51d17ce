import { Alert, Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ask, type PaymentLink, Problem } from '../api/client.ts';
import { money } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from '../ui/action.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icons.tsx';
import { LinkStatus, linkAmount, paidOf, wayOf } from '../ui/link-facts.tsx';
import { ChargesOf, useSourceAddress } from '../ui/of-source.tsx';
import { Copy, FormError, PageHead, Rows, TechnicalIds, Trouble, When } from '../ui/parts.tsx';
import { Poster } from '../ui/poster.tsx';
import { Qr } from '../ui/qr.tsx';
import { Share } from '../ui/share.tsx';
import { NotFound } from './not-found.tsx';

function useLink(id: string, operationId: string) {
  const { api, account } = useScope();
  return useQuery({
    queryKey: [account.id, 'payment-links', id, operationId],
    enabled: operationId !== '',
    queryFn: () =>
      ask(() =>
        api.GET('/payment-links/{id}', {
          params: { path: { id } },
          headers: { 'x-service-operation': operationId },
        }),
      ),
  });
}

/** A payment link: where to send it, what it brought, and how to stop it. */
export function LinkPage() {
  const words = useWords();
  const { may } = useScope();
  const { id, operationId } = useSourceAddress();
  const { data, error, refetch } = useLink(id, operationId);
  if (error && !data) {
    if (error instanceof Problem && (error.status === 404 || error.status === 400)) return <NotFound />;
    return <Trouble error={error} retry={() => void refetch()} />;
  }
  if (!data) return <Rows count={8} />;
  const overpaid = data.maxPayments === null ? 0 : data.paidCount - data.maxPayments;
  return (
    <>
      <PageHead title={data.title} back={{ to: '/links', label: words.links.title }}>
        {data.status === 'active' && (
          <Button
            renderRoot={(props) => (
              <Link
                to="/links/$id/cartaz"
                params={{ id }}
                search={{ operacao: data.operationId }}
                {...props}
              />
            )}
            variant="default"
            leftSection={<Icon name="print" size={18} />}
          >
            {words.links.poster}
          </Button>
        )}
        {may('charges') && data.status !== 'completed' && <StopLink link={data} />}
      </PageHead>
      {overpaid > 0 && (
        <Alert color="yellow" variant="light" mb="md" icon={<Icon name="warning" />}>
          {words.links.overpaid(overpaid)}
        </Alert>
      )}
      <div className="stack">
        <div className="cols">
          <LinkCard link={data} />
          {data.status === 'active' ? <ShareCard link={data} /> : <ClosedCard />}
        </div>
        <ChargesOf
          path="payment-links"
          id={id}
          operationId={data.operationId}
          title={words.links.charges}
          none={words.links.noCharges}
        />
      </div>
    </>
  );
}

function ShareCard({ link }: { link: PaymentLink }) {
  const words = useWords();
  return (
    <section className="card stack" aria-label={words.links.share}>
      <h2 style={{ margin: 0 }}>{words.links.share}</h2>
      <Qr text={link.url} label={words.links.qrAlt} />
      <Share url={link.url} copy={words.share.copy} subject={link.title} />
      <div className="code" data-testid="link-url">
        {link.url}
      </div>
      <Button component="a" href={link.url} target="_blank" rel="noreferrer" variant="subtle">
        {words.links.openPage}
      </Button>
    </section>
  );
}

/** In its place once it takes no payment any more: an address where nothing can be paid is not to be sent. */
function ClosedCard() {
  const words = useWords();
  const { may } = useScope();
  return (
    <section className="card stack" aria-label={words.links.closed}>
      <h2 style={{ margin: 0 }}>{words.links.closed}</h2>
      <p style={{ margin: 0 }}>{words.links.closedLead}</p>
      {may('charges') && (
        <Button component={Link} to="/links/novo" variant="default">
          {words.links.another}
        </Button>
      )}
    </section>
  );
}

function LinkCard({ link }: { link: PaymentLink }) {
  const words = useWords();
  return (
    <section className="card" aria-label={words.links.one}>
      <LinkStatus link={link} />
      <p className="big num" style={{ margin: '2px 0 14px' }}>
        {linkAmount(link, words)}
      </p>
      <dl className="facts">
        {link.description && (
          <>
            <dt>{words.links.description}</dt>
            <dd>{link.description}</dd>
          </>
        )}
        <dt>{words.links.methods}</dt>
        <dd>{words.links.ways[wayOf(link)]}</dd>
        <dt>{words.links.payments}</dt>
        <dd className="num" data-testid="paid-of">
          {paidOf(link, words)}
        </dd>
        <dt>{words.links.received}</dt>
        <dd>
          <span className="num">{money(link.paidCents)}</span>{' '}
          <span className="soft">{words.links.receivedHint}</span>
        </dd>
        <dt>{words.links.ends}</dt>
        <dd>{link.expiresAt === null ? words.links.noEnd : <When at={link.expiresAt} />}</dd>
        <dt>{words.links.payerName}</dt>
        <dd>{words.links.payerNames[link.payerFields.name]}</dd>
        <dt>{words.links.payerDocument}</dt>
        <dd>{words.links.payerNames[link.payerFields.document]}</dd>
        <dt>{words.links.created}</dt>
        <dd>
          <When at={link.createdAt} />
        </dd>
      </dl>
      <TechnicalIds>
        <dt>{words.detail.id}</dt>
        <dd>
          <span className="mono">{link.id}</span> <Copy value={link.id} />
        </dd>
      </TechnicalIds>
    </section>
  );
}

/** Stops a link once a person has confirmed it, or opens a stopped one again. */
function StopLink({ link }: { link: PaymentLink }) {
  const words = useWords();
  const { api, account } = useScope();
  const [asking, setAsking] = useState(false);
  const change = useAction(
    async (status: 'active' | 'disabled') => {
      await ask(() =>
        api.PATCH('/payment-links/{id}', {
          params: { path: { id: link.id } },
          body: { status },
          headers: { 'x-service-operation': link.operationId },
        }),
      );
      setAsking(false);
    },
    { rereads: [[account.id]] },
  );
  if (link.status === 'disabled') {
    return (
      <>
        <Button loading={change.busy} onClick={() => change.run('active')}>
          {words.links.reopen}
        </Button>
        <FormError error={change.error} />
      </>
    );
  }
  if (link.status !== 'active') return null;
  return (
    <>
      <Button variant="default" onClick={() => setAsking(true)}>
        {words.links.stop}
      </Button>
      {asking && (
        <Dialog opened title={words.links.stopTitle} close={() => setAsking(false)}>
          <div className="stack">
            <p style={{ margin: 0 }}>{words.links.stopLead}</p>
            <FormError error={change.error} />
            <Button color="red" loading={change.busy} onClick={() => change.run('disabled')}>
              {words.links.stopConfirm}
            </Button>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** The page of a link as a QR code on paper: a telephone's camera opens it. */
export function LinkPoster() {
  const words = useWords();
  const { id, operationId } = useSourceAddress();
  const { data, error } = useLink(id, operationId);
  if (error && !data) return <Trouble error={error} />;
  if (!data) return <Rows />;
  return (
    <Poster
      name={data.title}
      amountCents={data.amountCents}
      code={data.url}
      codeAlt={words.links.qrAlt}
      steps={wayOf(data) === 'pix' ? words.links.posterSteps : words.links.posterStepsByCard}
      foot={data.url.replace(/^https?:\/\//, '')}
      back={{ to: `/links/${id}`, label: data.title, search: { operacao: data.operationId } }}
    />
  );
}
