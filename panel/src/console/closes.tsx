import { Button } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import { money, plainDay } from '../format.ts';
import { MoreFoot } from '../ui/listed.tsx';
import { Empty, Money, PageHead } from '../ui/parts.tsx';
import { type Close, type ClosedDay, desk, deskKey } from './api.ts';
import { useMachineWords } from './machine-words.ts';
import { AccountLink, At, ConnectionLink, Fact, Shown } from './parts.tsx';
import { Saved } from './saved.tsx';

/** Closed days by connection, the newest first. The filter stands in the address. */
export function ClosesPage() {
  const { closes: words } = useMachineWords();
  const { connection } = useSearch({ from: '/operator-inside/operator/fechamentos' });
  const query = useInfiniteQuery({
    queryKey: [deskKey, 'closes', connection],
    queryFn: ({ pageParam }) =>
      ask(() =>
        desk.GET('/closes', {
          params: { query: { ...(connection && { connection }), ...(pageParam && { below: pageParam }) } },
        }),
      ),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
  });
  return (
    <>
      <PageHead title={words.title} lead={words.lead}>
        <Button
          component="a"
          variant="default"
          href={`/operator/api/closes.csv${connection ? `?connection=${encodeURIComponent(connection)}` : ''}`}
          download
        >
          {words.csv}
        </Button>
      </PageHead>
      <div className="stack">
        <Saved page="closes" search={connection === undefined ? {} : { connection }} />
        {connection !== undefined && (
          <p style={{ margin: 0 }}>
            {words.only(connection)}. <Link to="/operator/fechamentos">{words.all}</Link>
          </p>
        )}
        <Shown query={query}>
          {({ pages }) => {
            const closes = pages.flatMap((page) => page.closes);
            if (closes.length === 0) return <Empty icon="book" title={words.none} lead={words.noneLead} />;
            return <CloseTable closes={closes} />;
          }}
        </Shown>
        <MoreFoot pages={query} label={words.more} />
      </div>
    </>
  );
}

const moods: Record<Close['verdict'], string> = {
  agrees: 'good',
  assumed: 'ask',
  known: 'ask',
  differs: 'bad',
  uncompared: 'rest',
};

function Verdict({ verdict }: { verdict: Close['verdict'] }) {
  const { closes: words } = useMachineWords();
  return <span className={`status ${moods[verdict]}`}>{words.verdicts[verdict]}</span>;
}

const orDash = (cents: number | null) => (cents === null ? '–' : <Money cents={cents} />);

function CloseTable({ closes }: { closes: Close[] }) {
  const { closes: words } = useMachineWords();
  return (
    <div className="card scroll">
      <table className="table folding narrowcells">
        <thead>
          <tr>
            <th scope="col">{words.day}</th>
            {[
              ...[words.opening, words.in, words.out, words.refunds, words.fees],
              ...[words.closing, words.provider, words.difference],
            ].map((head) => (
              <th key={head} scope="col" className="right">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {closes.map((one) => (
            <tr key={`${one.day} ${one.connection}`}>
              <td className="wide">
                <Link to="/operator/fechamentos/$day" params={{ day: one.day }} className="num">
                  {plainDay(one.day)}
                </Link>
                <div>{one.connection}</div>
                <Verdict verdict={one.verdict} />
              </td>
              <td className="right off" data-label={words.opening}>
                <Money cents={one.openingCents} />
              </td>
              <td className="right" data-label={words.in}>
                <Money cents={one.inCents} />
              </td>
              <td className="right" data-label={words.out}>
                <Money cents={one.outCents} />
              </td>
              <td className="right off" data-label={words.refunds}>
                <Money cents={one.refundCents} />
              </td>
              <td className="right off" data-label={words.fees}>
                <Money cents={one.feeCents} />
              </td>
              <td className="right" data-label={words.closing}>
                <Money cents={one.closingCents} />
              </td>
              <td className="right" data-label={words.provider}>
                {orDash(one.providerCents)}
              </td>
              <td className="right" data-label={words.difference}>
                {orDash(one.differenceCents)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// --------------------------------------------------------------------------------------------------------------- one day

export function ClosedDayPage() {
  const { day } = useParams({ from: '/operator-inside/operator/fechamentos/$day' });
  const { closes: words } = useMachineWords();
  const query = useQuery({
    queryKey: [deskKey, 'closes', 'of', day],
    queryFn: () => ask(() => desk.GET('/closes/{day}', { params: { path: { day } } })),
  });
  return (
    <>
      <PageHead
        title={words.dayTitle(plainDay(day))}
        lead={words.dayLead}
        back={{ to: '/operator/fechamentos', label: words.back }}
      />
      <Shown query={query}>
        {({ closes }) => (
          <div className="stack">
            {closes.map((one) => (
              <CloseCard key={one.connection} close={one} />
            ))}
            <Operations day={day} />
          </div>
        )}
      </Shown>
    </>
  );
}

type Detail = ClosedDay['closes'][number];

/** A connection's day: its sum, what the provider said, and on which ground the two agree. */
function CloseCard({ close }: { close: Detail }) {
  const { closes: words } = useMachineWords();
  return (
    <section className="card" aria-label={close.connection}>
      <div className="cardhead">
        <h2>
          <ConnectionLink name={close.connection} />
        </h2>
        <span className="end">
          <Verdict verdict={close.verdict} />
        </span>
      </div>
      <p>
        {words.grounds[close.verdict]}{' '}
        {close.incidentId !== null && (
          <Link to="/operator/incidentes/$id" params={{ id: close.incidentId }}>
            {words.incident}
          </Link>
        )}
      </p>
      <div className="cols">
        <dl className="facts sums">
          <Fact name={words.opening}>
            <Money cents={close.openingCents} />
          </Fact>
          <Fact name={words.in}>
            <Money cents={close.inCents} />
          </Fact>
          <Fact name={words.out}>
            <Money cents={-close.outCents} />
          </Fact>
          <Fact name={words.refunds}>
            <Money cents={-close.refundCents} />
          </Fact>
          <Fact name={words.closing}>
            <strong>
              <Money cents={close.closingCents} />
            </strong>
          </Fact>
          <Fact name={words.fees}>
            <Money cents={close.feeCents} />
          </Fact>
          <Fact name={words.costs}>{orDash(close.costCents)}</Fact>
          <Fact name={words.ownIn}>{orDash(close.ownInCents)}</Fact>
          <Fact name={words.ownOut}>{orDash(close.ownOutCents)}</Fact>
        </dl>
        <dl className="facts sums">
          <Fact name={words.closing}>
            <Money cents={close.closingCents} />
          </Fact>
          <Fact name={words.since}>{orDash(close.sinceCents)}</Fact>
          <Fact name={words.transit}>
            {orDash(close.inTransitCents === null ? null : -close.inTransitCents)}
          </Fact>
          <Fact name={words.provider}>{orDash(close.providerCents)}</Fact>
          <Fact name={words.difference}>
            <strong>{orDash(close.differenceCents)}</strong>
          </Fact>
          <Fact name={words.blocked}>{orDash(close.blockedCents)}</Fact>
          <Fact name={words.held}>
            <Money cents={close.heldCents} />
          </Fact>
        </dl>
      </div>
      {close.answers !== null && <Answers answers={close.answers} verdict={close.verdict} />}
      <details className="more">
        <summary>{words.head}</summary>
        <dl className="facts">
          {close.comparedAt !== null && (
            <Fact name={words.comparedAt}>
              <At at={close.comparedAt} />
            </Fact>
          )}
          <Fact name={words.closedAt}>
            <At at={close.closedAt} />
          </Fact>
          <Fact name={words.head}>
            <span className="mono">{close.head}</span>
          </Fact>
        </dl>
      </details>
    </section>
  );
}

/** The difference under each answer to what has left; the one that was taken is marked. */
function Answers({
  answers,
  verdict,
}: {
  answers: NonNullable<Detail['answers']>;
  verdict: Detail['verdict'];
}) {
  const { closes: words } = useMachineWords();
  const taken = verdict === 'assumed' ? 'ifPending' : 'ifSettled';
  return (
    <div className="answers">
      <h3>{words.answers}</h3>
      <p className="soft">
        {words.answersLead(
          money(answers.settledCents),
          money(answers.pendingCents),
          money(answers.unsentCents),
        )}
      </p>
      <dl className="facts">
        {(['ifNone', 'ifSettled', 'ifPending', 'ifAll'] as const).map((one) => (
          <Fact key={one} name={words[one]}>
            <Money cents={answers[one]} />{' '}
            {one === taken && <span className="status ask">{words.taken}</span>}
          </Fact>
        ))}
      </dl>
    </div>
  );
}

/** The operations of the day: read when a person wants them, page by page. */
function Operations({ day }: { day: string }) {
  const { closes: words } = useMachineWords();
  const [wanted, setWanted] = useState(false);
  const query = useInfiniteQuery({
    queryKey: [deskKey, 'closes', 'operations', day],
    queryFn: ({ pageParam }) =>
      ask(() =>
        desk.GET('/closes/{day}/operations', {
          params: { path: { day }, query: pageParam === '' ? {} : { after: pageParam } },
        }),
      ),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    enabled: wanted,
  });
  return (
    <section className="card" aria-labelledby="operations">
      <div className="cardhead">
        <h2 id="operations">{words.operations}</h2>
        <span className="soft">{words.operationsLead}</span>
        <Button
          component="a"
          variant="default"
          size="xs"
          className="end"
          href={`/operator/api/closes/${day}/operations.csv`}
          download
        >
          {words.csv}
        </Button>
      </div>
      {!wanted ? (
        <Button variant="default" onClick={() => setWanted(true)}>
          {words.show}
        </Button>
      ) : (
        <Shown query={query}>
          {({ pages }) => {
            const operations = pages.flatMap((page) => page.operations);
            if (operations.length === 0) return <p className="soft">{words.operationsNone}</p>;
            return <OperationTable operations={operations} />;
          }}
        </Shown>
      )}
      <MoreFoot pages={query} label={words.more} />
    </section>
  );
}

interface OperationClose {
  ownerId: string;
  operationId: string;
  openingCents: number;
  inCents: number;
  outCents: number;
  feeCents: number;
  refundCents: number;
  holdCents: number;
  closingCents: number;
}

function OperationTable({ operations }: { operations: OperationClose[] }) {
  const { closes: words } = useMachineWords();
  const columns = [
    ['openingCents', words.opening],
    ['inCents', words.in],
    ['outCents', words.out],
    ['feeCents', words.fees],
    ['refundCents', words.refunds],
    ['holdCents', words.holds],
    ['closingCents', words.closing],
  ] as const;
  return (
    <div className="scroll">
      <table className="table folding narrowcells">
        <thead>
          <tr>
            <th scope="col">{words.account}</th>
            {columns.map(([name, head]) => (
              <th key={name} scope="col" className="right">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {operations.map((one) => (
            <tr key={one.operationId}>
              <td className="wide">
                <AccountLink id={one.ownerId} />
                <div className="mono soft">{one.operationId}</div>
              </td>
              {columns.map(([name, head]) => (
                <td key={name} className="right" data-label={head}>
                  <Money cents={one[name]} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
