import { Alert, Button, Skeleton } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useDeferredValue } from 'react';
import { ask, type Overview } from '../api/client.ts';
import { money, shortDateTime, time } from '../format.ts';
import { queries } from '../queries.ts';
import { overviewQuery, useOverview, useScope, type View } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { DayChart, periods } from '../ui/chart.tsx';
import { DefenceOf } from '../ui/defence.tsx';
import { Icon } from '../ui/icons.tsx';
import { feeOf, folded, nameOfLine, type Row, sumsOf } from '../ui/movements.ts';
import { PaymentName, partyOf } from '../ui/names.tsx';
import { Empty, Money, PageHead, Rows, Trouble, When } from '../ui/parts.tsx';
import { Deadline } from './disputes.tsx';

/** Days that the address asks for. */
const dayCount = (dias: string | undefined): number => periods.find((one) => String(one) === dias) ?? 30;

/** The queries of the start page. */
export const readHome = (view: View, dias: string | undefined): Promise<unknown> =>
  Promise.all([
    queries.prefetchQuery(overviewQuery(view, true)),
    queries.prefetchQuery(overviewQuery(view, false, 2 * dayCount(dias))),
    queries.prefetchQuery(recentQuery(view)),
  ]);

export function Home() {
  const words = useWords();
  const { account, operationId, may } = useScope();
  const { dias } = useSearch({ strict: false }) as { dias?: string };
  const navigate = useNavigate();
  const count = dayCount(dias);
  const { data, error, refetch } = useOverview(false, 2 * count);
  // Shown below the figures, and asked for beside them.
  useRecent();
  const shown = data?.operations.filter((one) => operationId === null || one.id === operationId) ?? [];
  return (
    <>
      <PageHead
        title={words.home.title}
        lead={[account.name, data && words.common.updatedAt(time(data.at))].filter(Boolean).join(' · ')}
      >
        {may('transfers') && (
          <Button variant="default" component={Link} to="/transferencias/nova">
            {words.transfers.new}
          </Button>
        )}
        {may('charges') && (
          <Button component={Link} to="/cobrancas/nova" leftSection={<Icon name="plus" size={18} />}>
            {words.charges.new}
          </Button>
        )}
      </PageHead>
      {error && !data ? (
        <Trouble error={error} retry={() => void refetch()} />
      ) : !data ? (
        <div className="stack" role="status" aria-label={words.common.loading}>
          <Skeleton height={138} radius="lg" />
          <Skeleton height={300} radius="lg" />
        </div>
      ) : (
        <div className="stack">
          <Warnings data={data} />
          <Deadlines disputes={data.disputes} endingKeys={data.endingKeys} />
          <FirstSteps data={data} />
          <Balances operations={shown} />
          <Holds data={data} operations={shown} />
          <Attention data={data} />
          <AfterFirstLook>
            <DayChart
              days={data.days}
              complete={data.daysComplete}
              count={count}
              choose={(days) => void navigate({ to: '/', search: { dias: String(days) }, replace: true })}
            />
            {operationId === null && data.operations.length > 1 && (
              <ByOperation operations={data.operations} />
            )}
            <Recent />
          </AfterFirstLook>
        </div>
      )}
    </>
  );
}

/** Below what a telephone shows first, and half of the page: it is put together when that is shown. */
const AfterFirstLook = ({ children }: { children: ReactNode }): ReactNode =>
  useDeferredValue(true, false) && children;

function Warnings({ data }: { data: Overview }) {
  const words = useWords();
  const { restrictions, operations } = data;
  const texts = [
    ...(restrictions.enabled ? [] : [words.home.disabled]),
    ...(restrictions.withdrawalsPaused ? [words.home.paused] : []),
    ...(restrictions.withdrawalsBlocked ? [words.home.blocked] : []),
    ...operations.filter((one) => one.frozen).map((one) => words.home.frozen(one.name)),
  ];
  return texts.map((text) => (
    <Alert key={text} color="yellow" variant="light" icon={<Icon name="warning" />}>
      {text}
    </Alert>
  ));
}

type Operation = Overview['operations'][number];

const sumOf = (
  operations: Operation[],
  field: 'availableCents' | 'reservedCents' | 'heldCents' | 'cardHeldCents' | 'receivableCents',
) => operations.reduce((sum, one) => sum + one[field], 0);

function Balances({ operations }: { operations: Operation[] }) {
  const words = useWords();
  const receivable = sumOf(operations, 'receivableCents');
  const byCard = sumOf(operations, 'cardHeldCents');
  return (
    <dl className="balances" style={{ margin: 0 }}>
      <div className="first">
        <dt>{words.home.available}</dt>
        <dd className="num">{money(sumOf(operations, 'availableCents') - receivable)}</dd>
        <dd className="about">
          {receivable > 0 ? words.home.receivable(money(receivable)) : words.home.availableAbout}
        </dd>
      </div>
      <div>
        <dt>{words.home.reserved}</dt>
        <dd className="num">{money(sumOf(operations, 'reservedCents'))}</dd>
        <dd className="about">{words.home.reservedAbout}</dd>
      </div>
      <div>
        <dt>{words.home.held}</dt>
        <dd className="num">{money(sumOf(operations, 'heldCents'))}</dd>
        <dd className="about">{words.home.heldAbout}</dd>
      </div>
      {byCard > 0 && (
        <div>
          <dt>{words.card.toRelease}</dt>
          <dd className="num">{money(byCard)}</dd>
          <dd className="about">{words.card.toReleaseAbout}</dd>
        </div>
      )}
    </dl>
  );
}

/** The first steps of a new account; each step ticks itself off, and with the last one the guide is gone. */
function FirstSteps({ data }: { data: Overview }) {
  const words = useWords();
  const { may } = useScope();
  const { firstSteps } = data;
  if (firstSteps === null) return null;
  const steps = [
    ...(may('keys') ? [{ name: 'key', to: '/integracoes/chaves' } as const] : []),
    ...(may('charges') ? [{ name: 'charge', to: '/cobrancas/nova' } as const] : []),
    ...(may('webhooks') ? [{ name: 'webhook', to: '/integracoes/webhooks' } as const] : []),
    ...(may('transfers') ? [{ name: 'transfer', to: '/transferencias/nova' } as const] : []),
  ];
  const done = steps.filter(({ name }) => firstSteps[name]).length;
  if (done === steps.length) return null;
  return (
    <section className="card" aria-labelledby="first-steps">
      <div className="cardhead">
        <h2 id="first-steps">{words.home.firstSteps}</h2>
        <span className="soft">{words.home.stepsDone(done, steps.length)}</span>
      </div>
      <ol className="steps">
        {steps.map(({ name, to }) => (
          <li key={name}>
            <span className={firstSteps[name] ? 'plus' : 'soft'}>
              <Icon name={firstSteps[name] ? 'check' : 'clock'} size={18} />
            </span>
            {firstSteps[name] ? (
              <span className="soft">
                {words.home.steps[name]} <span className="visuallyhidden">({words.home.stepDone})</span>
              </span>
            ) : (
              <Link to={to}>{words.home.steps[name]}</Link>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Why amounts are held: what the operator wrote, beside each. */
function Holds({ data, operations }: { data: Overview; operations: Operation[] }) {
  const words = useWords();
  if (data.holds.length === 0) return null;
  const names = new Map(operations.map(({ id, name }) => [id, name]));
  return (
    <section className="card" aria-labelledby="holds">
      <h2 id="holds">{words.home.holdsTitle}</h2>
      <ul className="moves">
        {data.holds.map((one) => (
          <li key={`${one.operationId}${one.placedAt}`} className="keyrow">
            <span style={{ minWidth: 0, overflowWrap: 'anywhere' }}>
              <HoldReason reason={one.reason} />
              <span className="soft" style={{ display: 'block', fontSize: 13 }}>
                {operations.length > 1 && `${names.get(one.operationId) ?? ''} · `}
                <When at={one.placedAt} />
              </span>
            </span>
            <Money cents={one.wantedCents} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The operator's reason; of a dispute the service names the payment. */
function HoldReason({ reason }: { reason: string }) {
  const words = useWords();
  const [, id] = /^dispute of payment ([0-9a-f-]{36})$/.exec(reason) ?? [];
  if (id === undefined) return reason;
  return (
    <Link to="/pagamentos/$id" params={{ id }}>
      {words.home.disputeHold}
    </Link>
  );
}

/** Acts that end by a date, the next one first: home begins with them. */
function Deadlines({ disputes, endingKeys }: Pick<Overview, 'disputes' | 'endingKeys'>) {
  const words = useWords();
  if (disputes.length === 0 && endingKeys.length === 0) return null;
  return (
    <section className="card" aria-labelledby="deadlines">
      <div className="cardhead">
        <h2 id="deadlines">{words.home.deadlines}</h2>
        {disputes.length > 0 && <span className="soft">{words.home.disputesTitle(disputes.length)}</span>}
      </div>
      {disputes.length > 0 && (
        <p className="soft" style={{ margin: '2px 0 6px' }}>
          {words.home.disputesAbout}
        </p>
      )}
      <ul className="moves">
        {disputes.map((one) => (
          <li key={one.id} className="keyrow">
            <span style={{ minWidth: 0, overflowWrap: 'anywhere' }}>
              <PaymentName id={one.paymentId} names={one.payment} />
              <span className="soft" style={{ display: 'block', fontSize: 13 }}>
                <Deadline at={one.deadlineAt} ended={false} />
              </span>
            </span>
            <span className="due">
              <Money cents={one.amountCents} />
              <DefenceOf dispute={one} />
            </span>
          </li>
        ))}
        {endingKeys.map(({ id, name, expiresAt }) => (
          <li key={id} className="keyrow">
            <span style={{ minWidth: 0, overflowWrap: 'anywhere' }}>
              {words.home.keyEnds(name)}
              <span className="soft" style={{ display: 'block', fontSize: 13 }}>
                <Deadline at={expiresAt} ended={false} />
              </span>
            </span>
            <Link to="/integracoes/chaves">{words.home.replaceKey}</Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Attention({ data }: { data: Overview }) {
  const words = useWords();
  const { unknown, incidents, disputes } = data;
  if (unknown.length === 0 && incidents.length === 0) {
    if (disputes.length > 0) return null;
    return (
      <p className="soft" style={{ display: 'flex', gap: 8, alignItems: 'center', margin: 0 }}>
        <span className="plus">
          <Icon name="check" size={18} />
        </span>
        {words.home.calm}
      </p>
    );
  }
  return (
    <section className="card" aria-labelledby="attention">
      <h2 id="attention">{words.home.attention}</h2>
      {unknown.length > 0 && (
        <>
          <strong>{words.home.unknownTitle(unknown.length)}</strong>
          <p className="soft" style={{ margin: '2px 0 6px' }}>
            {words.home.unknownAbout}
          </p>
          <ul className="moves">
            {unknown.map((one) => (
              <li key={one.id}>
                <Link to="/pagamentos/$id" params={{ id: one.id }} className="move">
                  <span className={`arrow ${one.kind === 'transfer' ? 'out' : ''}`}>
                    <Icon name={one.kind === 'transfer' ? 'out' : 'in'} size={18} />
                  </span>
                  <span style={{ minWidth: 0 }}>
                    <span className="who" style={{ display: 'block' }}>
                      {one.payment && partyOf(one.payment)}
                    </span>
                    <span className="soft" style={{ fontSize: 13 }}>
                      <When at={one.createdAt} />
                    </span>
                  </span>
                  <Money cents={one.amountCents} />
                </Link>
              </li>
            ))}
          </ul>
        </>
      )}
      {incidents.length > 0 && (
        <>
          <strong>{words.home.incidentTitle(incidents.length)}</strong>
          <p className="soft" style={{ margin: '2px 0 6px' }}>
            {words.home.incidentAbout}
          </p>
          <ul className="moves">
            {incidents.map((one) => (
              <li key={one.id} style={{ padding: '8px 4px' }}>
                <div>
                  {words.reconciliation.kinds[one.kind] ?? one.kind}: <Money cents={one.amountCents} />
                </div>
                <div style={{ fontSize: 14 }}>
                  <PaymentName id={one.paymentId} names={one.payment} />
                </div>
                <div className="soft" style={{ fontSize: 13 }}>
                  <When at={one.openedAt} />
                  {one.freezes && ` · ${words.home.incidentFreezes}`}
                </div>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function ByOperation({ operations }: { operations: Operation[] }) {
  const words = useWords();
  return (
    <section className="card later" aria-labelledby="by-operation">
      <h2 id="by-operation">{words.home.byOperation}</h2>
      <table className="table folding">
        <thead>
          <tr>
            <th scope="col">{words.common.operation}</th>
            <th scope="col" className="right">
              {words.home.available}
            </th>
            <th scope="col" className="right">
              {words.home.reserved}
            </th>
            <th scope="col" className="right">
              {words.home.held}
            </th>
          </tr>
        </thead>
        <tbody>
          {operations.map((one) => (
            <tr key={one.id}>
              <td>{one.name}</td>
              <td className="right">
                <Money cents={one.availableCents - one.receivableCents} />
              </td>
              <td className="right off">
                <Money cents={one.reservedCents} />
              </td>
              <td className="right off">
                <Money cents={one.heldCents} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The newest lines of the statement: what is not paid has moved nothing. */
const recentQuery = ({ api, account, operationId }: View) =>
  queryOptions({
    queryKey: [account.id, 'recent', operationId],
    queryFn: () =>
      ask(() =>
        api.GET('/statement', {
          params: { query: { limit: 8, sums: 'none', ...(operationId && { operationId }) } },
        }),
      ),
  });

const useRecent = () => useQuery(recentQuery(useScope()));

function Recent() {
  const words = useWords();
  const { data, error } = useRecent();
  return (
    <section className="card later" aria-labelledby="recent">
      <div className="cardhead">
        <h2 id="recent">{words.home.recent}</h2>
        <span className="end" style={{ display: 'flex', gap: 14 }}>
          <Link to="/extrato">{words.home.wholeStatement}</Link>
        </span>
      </div>
      {error ? (
        <Trouble error={error} />
      ) : !data ? (
        <Rows count={4} />
      ) : data.lines.length === 0 ? (
        <Empty icon="charge" title={words.home.noMoves} lead={words.home.noMovesLead} />
      ) : (
        <ul className="moves">
          {folded(data.lines).map((line) => (
            <Move key={`${line.operationId}${line.id}`} line={line} />
          ))}
        </ul>
      )}
    </section>
  );
}

function Move({ line }: { line: Row }) {
  const words = useWords();
  const { paymentId } = line;
  const { debitCents, creditCents } = sumsOf(line);
  const out = line.amountCents < 0;
  const fee = feeOf(line, words);
  const name = nameOfLine(line, words);
  const party = line.payment === null ? line.reason : partyOf(line.payment) || line.payment.description;
  const content = (
    <>
      <span className={`arrow ${out ? 'out' : ''}`}>
        <Icon name={out ? 'out' : 'in'} size={18} />
      </span>
      <span style={{ minWidth: 0 }}>
        <span className="who" style={{ display: 'block', fontWeight: 550 }}>
          {party || name}
        </span>
        <span className="soft" style={{ display: 'block', fontSize: 13 }}>
          <time dateTime={line.at} className="num">
            {shortDateTime(line.at)}
          </time>
          {party && ` · ${name}`}
          {fee && ` · ${fee}`}
        </span>
      </span>
      <span className={`num ${out ? '' : 'plus'}`} style={{ fontWeight: 600 }}>
        {out ? '−' : ''}
        {money(out ? -debitCents : creditCents)}
      </span>
    </>
  );
  return (
    <li>
      {paymentId === null ? (
        <span className="move">{content}</span>
      ) : (
        <Link to="/pagamentos/$id" params={{ id: paymentId }} className="move">
          {content}
        </Link>
      )}
    </li>
  );
}
