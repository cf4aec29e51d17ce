import { Button } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { Fragment, lazy, Suspense } from 'react';
import { type Detail, Problem, type RecordView } from '../api/client.ts';
import { money, pixKeyText } from '../format.ts';
import { useScope } from '../session.tsx';
import type { Words } from '../text/pt.ts';
import { useWords } from '../text/text.tsx';
import { CardFacts, CardMark } from '../ui/card.tsx';
import { ChargeCode } from '../ui/charge-code.tsx';
import { useDetail } from '../ui/detail.ts';
import { DueFacts, DueMark, hasDueDate } from '../ui/due.tsx';
import { Icon } from '../ui/icons.tsx';
import { movedCents } from '../ui/names.tsx';
import {
  Copy,
  endedWithoutMoney,
  Fact,
  Money,
  moodOf,
  PageHead,
  Rows,
  Status,
  TechnicalIds,
  Trouble,
  When,
} from '../ui/parts.tsx';
import { ReceiverLines } from '../ui/receiver-lines.tsx';
import { lastFiltersOf } from '../ui/records.tsx';
import { RefundsOf } from '../ui/refunds.tsx';
import { DisputesOf, Marks, NetEffect, StorySteps, useStory } from '../ui/story.tsx';
import { TestMode } from '../ui/test-mode.tsx';
import { NotFound } from './not-found.tsx';

/** Of an open charge alone: the page of a paid one does not wait for them. */
const CancelCharge = lazy(async () => ({ default: (await import('../ui/cancel-charge.tsx')).CancelCharge }));
const ChangeDue = lazy(async () => ({ default: (await import('../ui/change-due.tsx')).ChangeDue }));

export function PaymentPage() {
  const words = useWords();
  const { id } = useParams({ strict: false }) as { id: string };
  const { data, error, refetch } = useDetail(id);
  if (error && !data) {
    if (error instanceof Problem && (error.status === 404 || error.status === 400)) return <NotFound />;
    return <Trouble error={error} retry={() => void refetch()} />;
  }
  if (!data) return <Rows count={8} />;
  const { record } = data;
  const charge = record.kind === 'deposit';
  return (
    <>
      <PaymentHead id={id} record={record} />
      <div className="cols">
        <div className="stack">
          <PaymentCard data={data} />
          <section className="card" aria-labelledby="timeline">
            <h2 id="timeline">{words.detail.timeline}</h2>
            <Timeline data={data} />
          </section>
        </div>
        <div className="stack">
          {charge && (record.status === 'pending' || record.status === 'unknown') && (
            <section className="card codefirst">
              <ChargeCode id={id} />
            </section>
          )}
          <DisputesOf disputes={data.disputes} />
          {charge && <RefundsOf charge={record} />}
          <TestMode payment={record} />
          <Ledger data={data} />
          <PaymentEvents id={id} events={data.events} />
        </div>
      </div>
    </>
  );
}

/** The title, and where one goes from here: the receipt, the same again, the code of a draft. */
function PaymentHead({ id, record }: { id: string; record: RecordView }) {
  const words = useWords();
  const { may } = useScope();
  const charge = record.kind === 'deposit';
  const settled = record.status === 'paid' || record.status === 'completed';
  return (
    <PageHead
      title={charge ? words.detail.charge : words.detail.transfer}
      back={{
        to: charge ? '/cobrancas' : '/transferencias',
        label: charge ? words.charges.title : words.transfers.title,
        search: lastFiltersOf(record.kind),
      }}
    >
      {settled && (
        <Button
          component={Link}
          to={`/pagamentos/${id}/comprovante`}
          variant="default"
          leftSection={<Icon name="print" size={18} />}
        >
          {words.detail.receipt}
        </Button>
      )}
      {!charge && record.status !== 'draft' && may('transfers') && record.pixKey !== null && (
        <Button
          renderRoot={(props) => <Link to="/transferencias/nova" search={{ repetir: id }} {...props} />}
          variant="default"
        >
          {words.transfers.repeat}
        </Button>
      )}
      {charge && (record.status === 'pending' || record.status === 'unknown') && may('charges') && (
        <Suspense fallback={null}>
          <CancelCharge charge={record} />
        </Suspense>
      )}
      {record.status === 'pending' && hasDueDate(record) && may('charges') && (
        <Suspense fallback={null}>
          <ChangeDue charge={record} />
        </Suspense>
      )}
      {record.status === 'draft' && (
        <Button component={Link} to={`/transferencias/${id}/codigo`}>
          {words.detail.resume}
        </Button>
      )}
    </PageHead>
  );
}

function PaymentCard({ data }: { data: Detail }) {
  const words = useWords();
  const { record } = data;
  return (
    <section className="card">
      <div className="marks">
        <Status status={record.status} kind={record.kind} />
        <Marks marks={data.marks} />
        <DueMark record={record} />
        <CardMark record={record} />
      </div>
      <p className="big num" style={{ margin: '2px 0 14px' }}>
        {money(movedCents(record))}
      </p>
      <NetEffect data={data} />
      {record.status === 'unknown' && record.kind !== 'deposit' && (
        <p className="soft">{words.transfers.unknownLead}</p>
      )}
      {record.reasonCode && <p>{words.reasons[record.reasonCode] ?? record.reasonCode}</p>}
      {record.notice && <p>{record.notice}</p>}
      <Facts data={data} />
      <TechnicalIds>
        <dt>{words.detail.id}</dt>
        <dd>
          <span className="mono">{record.id}</span> <Copy value={record.id} />
        </dd>
        <dt>{words.detail.requestKey}</dt>
        <dd className="mono">{record.requestKey}</dd>
        {Object.entries(record.metadata ?? {}).map(([name, value]) => (
          <Fragment key={name}>
            <dt className="mono">{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
      </TechnicalIds>
    </section>
  );
}

/** The deliveries to the merchant's programs, and the way to the logs. */
function PaymentEvents({ id, events }: { id: string; events: Detail['events'] }) {
  const words = useWords();
  return (
    <section className="card" aria-labelledby="events">
      <div className="cardhead">
        <h2 id="events">{words.detail.events}</h2>
        <span className="end" style={{ display: 'flex', gap: 14 }}>
          <Link to="/integracoes/requisicoes" search={{ pagamento: id }}>
            {words.requests.ofPayment}
          </Link>
          {events.length > 0 && (
            <Link to="/integracoes/eventos" search={{ pagamento: id }}>
              {words.events.open}
            </Link>
          )}
        </span>
      </div>
      {events.length === 0 ? (
        <p className="soft" style={{ margin: 0 }}>
          {words.detail.noEvents}
        </p>
      ) : (
        <ul className="moves">
          {events.map((event) => (
            <li
              key={event.id}
              style={{
                display: 'flex',
                flexWrap: 'wrap',
                justifyContent: 'space-between',
                gap: '2px 12px',
                padding: '8px 0',
              }}
            >
              <span className="mono">{event.type}</span>
              <span className="soft">
                <When at={event.createdAt} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Facts({ data }: { data: Detail }) {
  const words = useWords();
  const { record } = data;
  const net = record.netAmountCents ?? record.expectedNetAmountCents;
  return (
    <dl className="facts">
      {record.payerName && <Fact name={words.charges.payer}>{record.payerName}</Fact>}
      {record.receiver && (
        <Fact name={words.detail.recipient}>
          <ReceiverLines receiver={record.receiver} />
        </Fact>
      )}
      {record.pixKey && (
        <Fact name={words.detail.recipientKey}>
          {pixKeyText(record.pixKeyType, record.pixKey)}{' '}
          <span className="soft">
            (
            {words.transfers.types[record.pixKeyType as keyof typeof words.transfers.types] ??
              record.pixKeyType}
            )
          </span>
        </Fact>
      )}
      <DueFacts payment={record} />
      <CardFacts payment={record} />
      {record.description && <Fact name={words.common.description}>{record.description}</Fact>}
      {record.fiscalDocuments?.map(({ kind, key }) => (
        <Fact key={kind + key} name={words.detail.fiscalDocuments}>
          {words.detail.fiscalKinds[kind]} <span className="mono">{key}</span> <Copy value={key} />
        </Fact>
      ))}
      <Fact name={words.common.operation}>{data.operationName}</Fact>
      {!endedWithoutMoney(record.status) && (
        <Fact name={words.common.fee}>
          <Money cents={record.providerFeeCents ?? record.feeCents ?? 0} />
        </Fact>
      )}
      {net !== undefined && !endedWithoutMoney(record.status) && (
        <Fact name={words.common.net}>
          <Money cents={net} />
        </Fact>
      )}
      {record.refundedCents !== undefined && (
        <Fact name={words.refund.refunded}>
          <Money cents={record.refundedCents} />
        </Fact>
      )}
      <Fact name={words.common.created}>
        <When at={record.createdAt} />
      </Fact>
      {record.settledAt && (
        <Fact name={words.detail.settled}>
          <When at={record.settledAt} />
        </Fact>
      )}
      {record.endToEnd && (
        <Fact name={words.detail.endToEnd}>
          <span className="mono">{record.endToEnd}</span> <Copy value={record.endToEnd} />
        </Fact>
      )}
    </dl>
  );
}

type Step = Detail['history'][number];

/** Who caused a state: the key, person or operator by name, a rule, or the provider. */
function causeText({ status, cause }: Step, words: Words): string {
  const how = words.detail.causes[cause.by] ?? cause.by;
  const { actor, name } = cause;
  const who =
    name === null
      ? null
      : actor === 'key'
        ? words.detail.byKey(name)
        : actor === 'person'
          ? words.detail.byPerson(name)
          : null;
  if (cause.by === 'api' || (cause.by === 'operator' && actor === 'person')) return who ?? how;
  const ofProvider = cause.by === 'answer' || cause.by === 'webhook' || cause.by === 'query';
  // A rule, or a request about the charge.
  if (!ofProvider) return who === null ? how : `${how}; ${words.detail.askedBy(who)}`;
  const refused = status === 'cancelled' || status === 'failed';
  return refused ? words.detail.refusedByProvider(how) : how;
}

function Timeline({ data }: { data: Detail }) {
  const words = useWords();
  const { kind } = data.record;
  const states = data.history.map((step, at) => ({
    at: step.at,
    key: `${step.status}${step.at}`,
    mood: at === 0 && step.status === 'unknown' ? 'rest' : moodOf(step.status),
    title:
      at === 0 && step.status === 'unknown' ? (
        <span className="status rest">{words.story.created}</span>
      ) : (
        <Status status={step.status} kind={kind} />
      ),
    about: causeText(step, words),
  }));
  return <StorySteps steps={useStory(data, states)} />;
}

function Ledger({ data }: { data: Detail }) {
  const words = useWords();
  const byCard = data.record.paymentMethod === 'card';
  return (
    <div className="card">
      <h2>{words.detail.ledger}</h2>
      {data.lines.length === 0 ? (
        <p className="soft" style={{ margin: 0 }}>
          {words.detail.noLedger}
        </p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <section className="scroll" tabIndex={0} aria-label={words.detail.ledger}>
          <table className="table folding">
            <thead>
              <tr>
                <th scope="col">{words.detail.line}</th>
                <th scope="col" className="right">
                  {words.detail.available}
                </th>
                <th scope="col" className="right">
                  {words.detail.reserved}
                </th>
                <th scope="col" className="right">
                  {words.detail.held}
                </th>
                {byCard && (
                  <th scope="col" className="right">
                    {words.card.toRelease}
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {data.lines.map((line) => (
                <tr key={`${line.seq}${line.template}`}>
                  <td>{words.detail.lines[line.template] ?? line.template}</td>
                  <td className="right" data-label={words.detail.available}>
                    <Money cents={line.availableCents} />
                  </td>
                  <td className="right" data-label={words.detail.reserved}>
                    <Money cents={line.reservedCents} />
                  </td>
                  <td className="right" data-label={words.detail.held}>
                    <Money cents={line.heldCents} />
                  </td>
                  {byCard && (
                    <td className="right" data-label={words.card.toRelease}>
                      <Money cents={line.cardHeldCents} />
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </div>
  );
}
