import { Alert, Button } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import { dayOf, plainDay } from '../format.ts';
import { useAction } from '../ui/action.ts';
import { Icon } from '../ui/icons.tsx';
import { MoreFoot } from '../ui/listed.tsx';
import { Empty, FormError, Money, PageHead } from '../ui/parts.tsx';
import {
  type Connection,
  type ConnectionMoney,
  desk,
  deskKey,
  type ListedConnection,
  useOperator,
} from './api.ts';
import { useMachineWords } from './machine-words.ts';
import { AccountLink, At, ConnectionLink, CsvLink, Fact, Shown } from './parts.tsx';

/** Connections to providers: whether money can move over them, and what stands in the way. */
export function ConnectionsPage() {
  const { connections: words } = useMachineWords();
  const query = useInfiniteQuery({
    queryKey: [deskKey, 'connections'],
    queryFn: ({ pageParam }) =>
      ask(() =>
        desk.GET('/connections', { params: { query: pageParam === '' ? {} : { after: pageParam } } }),
      ),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
  });
  return (
    <>
      <PageHead title={words.title} lead={words.lead}>
        <CsvLink list="connections" />
      </PageHead>
      <Shown query={query}>
        {({ pages }) => {
          const connections = pages.flatMap((page) => page.connections);
          if (connections.length === 0) return <Empty icon="link" title={words.none} lead={words.noneLead} />;
          return (
            <div className="stack">
              <ConnectionTable connections={connections} />
              <MoreFoot pages={query} label={words.more} />
            </div>
          );
        }}
      </Shown>
    </>
  );
}

function ConnectionTable({ connections }: { connections: ListedConnection[] }) {
  const { connections: words } = useMachineWords();
  return (
    <div className="card scroll">
      <table className="table folding">
        <thead>
          <tr>
            <th scope="col">{words.name}</th>
            <th scope="col">{words.state}</th>
            <th scope="col" className="right">
              {words.accounts}
            </th>
            <th scope="col">{words.certificate}</th>
            <th scope="col">{words.doctor}</th>
          </tr>
        </thead>
        <tbody>
          {connections.map((one) => (
            <tr key={one.name}>
              <td className="wide">
                <strong>
                  <ConnectionLink name={one.name} />
                </strong>
                <div className="soft">
                  {adapterName(one.adapter, words)}, {words.environments[one.environment]}
                </div>
              </td>
              <td data-label={words.state}>
                <State connection={one} />
              </td>
              <td className="right num" data-label={words.accounts}>
                {one.accounts}
              </td>
              <td data-label={words.certificate}>
                <Certificate at={one.certificateExpiresAt} />
              </td>
              <td data-label={words.doctor}>
                <Examined connection={one} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const adapterName = (adapter: string, { ofSettings }: { ofSettings: string }): string =>
  adapter === 'environment' ? ofSettings : adapter;

function State({ connection: { heldSince, refused, state } }: { connection: ListedConnection }) {
  const { connections: words } = useMachineWords();
  if (heldSince !== null) return <span className="status bad">{words.held}</span>;
  if (refused.length > 0) return <span className="status bad">{words.refused}</span>;
  if (state === 'retired') return <span className="status rest">{words.retired}</span>;
  return <span className="status good">{words.open}</span>;
}

const soonMs = 30 * 86_400_000;

function Certificate({ at }: { at: string | null }) {
  const { connections: words } = useMachineWords();
  if (at === null) return <span className="soft">{words.noCertificate}</span>;
  const left = Date.parse(at) - Date.now();
  const mood = left < 0 ? 'bad' : left < soonMs ? 'ask' : 'plain';
  return (
    <time dateTime={at} title={at} className={`num ${mood === 'plain' ? '' : `status ${mood}`}`}>
      {plainDay(dayOf(new Date(at)))}
      {left < 0 && `, ${words.expired}`}
      {mood === 'ask' && `, ${words.soon}`}
    </time>
  );
}

function Examined({ connection: { faults, foundAt } }: { connection: ListedConnection }) {
  const { connections: words } = useMachineWords();
  if (faults === null || foundAt === null) return <span className="soft">{words.never}</span>;
  return (
    <span>
      <span className={`status ${faults === 0 ? 'good' : 'bad'}`}>
        {faults === 0 ? words.fine : words.faults(faults)}
      </span>
      <span className="soft small">
        <At at={foundAt} />
      </span>
    </span>
  );
}

// ------------------------------------------------------------------------------------------------------- one connection

/** How often a page looks whether an examination has ended. */
const lookEveryMs = 2_000;

export function ConnectionPage() {
  const { name } = useParams({ from: '/operator-inside/operator/conexoes/$name' });
  const { connections: words } = useMachineWords();
  const { data: operator } = useOperator();
  const query = useQuery({
    queryKey: [deskKey, 'connection', name],
    queryFn: () => ask(() => desk.GET('/connections/{name}', { params: { path: { name } } })),
    refetchInterval: ({ state }) => (state.data?.examination.underWay ? lookEveryMs : false),
  });
  return (
    <Shown query={query}>
      {(connection) => (
        <>
          <PageHead
            title={connection.name}
            lead={words.environments[connection.environment]}
            back={{ to: '/operator/conexoes', label: words.title }}
          >
            <State connection={connection} />
          </PageHead>
          <div className="stack">
            <Obstacles connection={connection} />
            <div className="cols">
              <div className="stack">
                <Facts connection={connection} />
                <Bound connection={connection} />
              </div>
              <Examination connection={connection} />
            </div>
            {operator?.acts.includes('closes') && <MoneyAt name={connection.name} />}
          </div>
        </>
      )}
    </Shown>
  );
}

/** Why nothing goes over it. */
function Obstacles({ connection: { heldSince, heldReason, refused } }: { connection: Connection }) {
  const { connections: words } = useMachineWords();
  const [first] = refused;
  return (
    <>
      {heldSince !== null && (
        <Alert color="red" variant="light" icon={<Icon name="lock" />}>
          {words.heldLead} {heldReason} (<At at={heldSince} />)
        </Alert>
      )}
      {first && (
        <Alert color="red" variant="light" icon={<Icon name="warning" />}>
          {words.refusedLead(
            refused.map(({ call }) => (words.calls as Record<string, string>)[call] ?? call).join(', '),
          )}{' '}
          {words.probe}: <At at={first.probeAt} />
        </Alert>
      )}
    </>
  );
}

function Facts({ connection }: { connection: Connection }) {
  const { connections: words } = useMachineWords();
  return (
    <section className="card" aria-labelledby="facts">
      <h2 id="facts">{words.facts}</h2>
      <dl className="facts">
        <Fact name={words.adapter}>{adapterName(connection.adapter, words)}</Fact>
        <Fact name={words.environment}>{words.environments[connection.environment]}</Fact>
        <Fact name={words.mode}>{words.modes[connection.mode]}</Fact>
        <Fact name={words.accounts}>{connection.accounts}</Fact>
        <Fact name={words.certificate}>
          <Certificate at={connection.certificateExpiresAt} />
        </Fact>
        {connection.createdAt !== null && (
          <Fact name={words.created}>
            <At at={connection.createdAt} />
          </Fact>
        )}
      </dl>
    </section>
  );
}

/** The last findings of the doctor, and the press that asks for more. */
function Examination({ connection: { name, examination } }: { connection: Connection }) {
  const { connections: words } = useMachineWords();
  const { data: operator } = useOperator();
  const { underWay, unanswered, foundAt, askedBy, findings } = examination;
  const examine = useAction(
    () => ask(() => desk.POST('/connections/{name}/examination', { params: { path: { name } }, body: {} })),
    { rereads: [[deskKey, 'connection', name]] },
  );
  const fine = findings.filter(({ ok }) => ok);
  return (
    <section className="card" aria-labelledby="doctor">
      <h2 id="doctor">{words.doctor}</h2>
      <div className="stack">
        {operator?.acts.includes('examineConnections') && (
          <div className="stack tight">
            <p className="soft">{words.examineLead}</p>
            <FormError error={examine.error} />
            <Button
              variant="default"
              loading={examine.busy}
              disabled={underWay}
              onClick={() => examine.run()}
              style={{ alignSelf: 'start' }}
            >
              {words.examine}
            </Button>
          </div>
        )}
        <div role="status">
          {underWay && <p className="soft">{words.underWay}</p>}
          {unanswered && <p className="status bad">{words.unanswered}</p>}
        </div>
        {foundAt === null ? (
          !underWay && <p className="soft">{words.never}</p>
        ) : (
          <>
            <p className="soft">
              {words.foundAt} <At at={foundAt} />
              {askedBy !== null && `, ${words.askedBy(askedBy)}`}. {words.english}
            </p>
            <Findings findings={findings.filter(({ ok }) => !ok)} />
            {fine.length > 0 && (
              <details className="more">
                <summary>{words.inOrder(fine.length)}</summary>
                <Findings findings={fine} />
              </details>
            )}
          </>
        )}
      </div>
    </section>
  );
}

function Findings({ findings }: { findings: Connection['examination']['findings'] }) {
  const { connections: words } = useMachineWords();
  if (findings.length === 0) return null;
  return (
    <ul className="findings">
      {findings.map((one) => (
        <li key={`${one.check} ${one.message}`} lang="en">
          <span className={`status ${one.ok ? 'good' : 'bad'}`}>{one.check}</span>
          <div>{one.message}</div>
          {one.action !== null && (
            <div className="soft">
              <span lang={document.documentElement.lang}>{words.remedy}</span> {one.action}
            </div>
          )}
        </li>
      ))}
    </ul>
  );
}

function Bound({ connection: { accounts, bound } }: { connection: Connection }) {
  const { connections: words } = useMachineWords();
  return (
    <section className="card" aria-labelledby="bound">
      <h2 id="bound">{words.bound}</h2>
      {bound.length === 0 ? (
        <p className="soft">{words.boundNone}</p>
      ) : (
        <ul className="boundaccounts">
          {bound.map((one) => (
            <li key={one.ownerId}>
              <AccountLink id={one.ownerId} name={one.name} />
              {one.test && <span className="status rest">{words.test}</span>}
              {!one.enabled && <span className="status bad">{words.disabled}</span>}
            </li>
          ))}
        </ul>
      )}
      {bound.length < accounts && <p className="soft">{words.boundMore(bound.length, accounts)}</p>}
    </section>
  );
}

// ---------------------------------------------------------------------------------------------------------------- money

/** The provider's word on its account, cash under way, costs. */
function MoneyAt({ name }: { name: string }) {
  const query = useQuery({
    queryKey: [deskKey, 'connection', name, 'money'],
    queryFn: () => ask(() => desk.GET('/connections/{name}/money', { params: { path: { name } } })),
  });
  return (
    <Shown query={query}>
      {(money) => (
        <>
          <div className="cols">
            <Balance name={name} money={money} />
            <Cash money={money} />
          </div>
          <Days money={money} />
        </>
      )}
    </Shown>
  );
}

function Balance({ name, money }: { name: string; money: ConnectionMoney }) {
  const { connections: words } = useMachineWords();
  const said = (cents: number | null) =>
    cents === null ? <span className="soft">{words.notSaid}</span> : <Money cents={cents} />;
  return (
    <section className="card" aria-labelledby="money">
      <div className="cardhead">
        <h2 id="money">{words.money}</h2>
        <Link to="/operator/fechamentos" search={{ connection: name }} className="end">
          {words.closes}
        </Link>
      </div>
      <dl className="facts">
        <Fact name={words.balance}>{said(money.balanceCents)}</Fact>
        {money.balanceReadAt !== null && (
          <Fact name={words.readAt}>
            <At at={money.balanceReadAt} />
          </Fact>
        )}
        <Fact name={words.blocked}>{said(money.blockedTotalCents)}</Fact>
        <Fact name={words.judicial}>{said(money.blockedJudicialCents)}</Fact>
        <Fact name={words.med}>{said(money.blockedMedCents)}</Fact>
        {money.paysOutTo !== null && (
          <Fact name={words.paysOutTo}>
            <ConnectionLink name={money.paysOutTo} />
          </Fact>
        )}
        <Fact name={words.sends}>{money.maxParallelSends ?? words.unlimited}</Fact>
      </dl>
    </section>
  );
}

function Cash({ money: { cash } }: { money: ConnectionMoney }) {
  const { connections: words } = useMachineWords();
  return (
    <section className="card" aria-labelledby="cash">
      <h2 id="cash">{words.cash}</h2>
      {cash.length === 0 ? (
        <p className="soft">{words.cashNone}</p>
      ) : (
        <table className="table folding">
          <thead>
            <tr>
              <th scope="col">{words.from}</th>
              <th scope="col" className="right">
                {words.amount}
              </th>
              <th scope="col">{words.due}</th>
            </tr>
          </thead>
          <tbody>
            {cash.map((one) => (
              <tr key={`${one.connection} ${one.reference}`}>
                <td className="wide">
                  {one.connection} → {one.toConnection}
                  <div className="mono soft">{one.reference}</div>
                </td>
                <td className="right" data-label={words.amount}>
                  <Money cents={one.amountCents} />
                </td>
                <td data-label={words.due}>
                  <span>
                    <At at={one.dueAt} />{' '}
                    {Date.parse(one.dueAt) < Date.now() && <span className="status bad">{words.late}</span>}
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

/** So many days are shown at once. */
const daysMost = 7;

function Days({ money: { days } }: { money: ConnectionMoney }) {
  const { connections: words } = useMachineWords();
  const [all, setAll] = useState(false);
  return (
    <section className="card" aria-labelledby="days">
      <h2 id="days">{words.days}</h2>
      <p className="soft">{words.daysLead}</p>
      {days.length === 0 ? (
        <p className="soft">{words.daysNone}</p>
      ) : (
        <table className="table folding">
          <thead>
            <tr>
              <th scope="col">{words.day}</th>
              {[words.cost, words.ownIn, words.ownOut].map((head) => (
                <th key={head} scope="col" className="right">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {(all ? days : days.slice(0, daysMost)).map((one) => (
              <tr key={one.day}>
                <td className="wide num">
                  {plainDay(one.day)} {!one.closed && <span className="status wait">{words.dayOpen}</span>}
                </td>
                <td className="right" data-label={words.cost}>
                  <Money cents={one.costCents} />
                </td>
                <td className="right" data-label={words.ownIn}>
                  <Money cents={one.ownInCents} />
                </td>
                <td className="right" data-label={words.ownOut}>
                  <Money cents={one.ownOutCents} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {!all && days.length > daysMost && (
        <Button variant="default" onClick={() => setAll(true)} style={{ marginTop: 14 }}>
          {words.allDays(days.length)}
        </Button>
      )}
    </section>
  );
}
