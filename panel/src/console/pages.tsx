import { Alert, Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { Fragment, type ReactNode, useState } from 'react';
import { ask } from '../api/client.ts';
import { dateTimeSeconds, money } from '../format.ts';
import { useWords } from '../text/text.tsx';
import { useAction } from '../ui/action.ts';
import { Icon } from '../ui/icons.tsx';
import { Empty, FormError, Money, PageHead, Status } from '../ui/parts.tsx';
import {
  accountQuery,
  desk,
  deskKey,
  type Found,
  findQuery,
  incidentQuery,
  type Story,
  storyQuery,
  useOperator,
  type Worklist,
  worklistQuery,
} from './api.ts';
import { AskedNote, Decision } from './decision.tsx';
import { DefenceForMerchant } from './defence.tsx';
import { Holds } from './holds.tsx';
import { OddMoneyRule } from './odd-money-rule.tsx';
import { AccountLink, At, ConnectionLink, CsvLink, Fact, Id, Shown } from './parts.tsx';
import { ReasonField } from './reason-field.tsx';
import { ReturnOfTransfer } from './returned.tsx';
import { ViewPanel } from './view-panel.tsx';
import { useConsoleWords } from './words.ts';

export { Desk } from './frame.tsx';

const incidentWord = (words: ReturnType<typeof useWords>, kind: string): string =>
  (words.reconciliation.kinds as Record<string, string>)[kind] ?? kind;

// --------------------------------------------------------------------------------------------------------------- worklist

export function WorklistPage() {
  const words = useConsoleWords();
  const query = useQuery(worklistQuery);
  return (
    <>
      <PageHead title={words.worklist.title} lead={words.worklist.lead}>
        <CsvLink list="worklist" />
      </PageHead>
      <Shown query={query}>
        {({ items, withdrawalsPausedAt, withdrawalsPausedReason, most }) => (
          <div className="stack">
            {withdrawalsPausedAt !== null && (
              <Alert color="yellow" variant="light" icon={<Icon name="warning" />}>
                {words.worklist.paused(dateTimeSeconds(withdrawalsPausedAt))} {withdrawalsPausedReason}
              </Alert>
            )}
            {withdrawalsPausedAt !== null && <Switch act="resume" />}
            {items.length === 0 ? (
              <Empty icon="check" title={words.worklist.none} lead={words.worklist.noneLead} />
            ) : (
              <Items items={items} />
            )}
            {withdrawalsPausedAt === null && <Switch act="pause" />}
            {items.length >= most && <p className="soft">{words.worklist.more(most)}</p>}
          </div>
        )}
      </Shown>
    </>
  );
}

/** Pauses all withdrawals, or asks a second person to end the pause. */
function Switch({ act }: { act: 'pause' | 'resume' }) {
  const { [act]: words, ...all } = useConsoleWords();
  const { data: operator } = useOperator();
  const [reason, setReason] = useState('');
  const press = useAction(
    () => {
      const body = { reason: reason.trim() };
      return act === 'pause'
        ? ask(() => desk.POST('/withdrawals/pause', { body }))
        : ask(() => desk.POST('/withdrawals/resume', { body }));
    },
    { rereads: [[deskKey, 'worklist']] },
  );
  if (!operator?.acts.includes(act === 'pause' ? 'pauseWithdrawals' : 'resumeWithdrawals')) return null;
  if (press.done && act === 'resume') return <AskedNote text={all.decide.asked} />;
  return (
    <details className="card more">
      <summary>{words.action}</summary>
      <form className="stack narrow" onSubmit={press.submit}>
        <p className="soft" style={{ margin: 0 }}>
          {words.lead}
        </p>
        <ReasonField label={words.why} value={reason} onText={setReason} />
        <FormError error={press.error} />
        <Button
          type="submit"
          {...(act === 'pause' && { color: 'red' })}
          loading={press.busy}
          style={{ alignSelf: 'start' }}
        >
          {words.submit}
        </Button>
      </form>
    </details>
  );
}

function Items({ items }: { items: Worklist['items'] }) {
  const words = useConsoleWords();
  return (
    <div className="card scroll">
      <table className="table folding">
        <thead>
          <tr>
            <th scope="col">{words.worklist.what}</th>
            <th scope="col" className="right">
              {words.worklist.amount}
            </th>
            <th scope="col">{words.worklist.since}</th>
            <th scope="col">{words.worklist.due}</th>
            <th scope="col">{words.worklist.account}</th>
            <th scope="col">{words.worklist.who}</th>
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={`${item.kind} ${item.connection} ${item.id}`}>
              <td className="wide">
                <ItemName item={item} />
                <Runbook kind={item.kind} />
                {item.freezes && (
                  <div>
                    <span className="status bad">{words.worklist.freezes}</span>
                  </div>
                )}
              </td>
              <td className="right" data-label={words.worklist.amount}>
                {item.amountCents === null ? '–' : <Money cents={item.amountCents} />}
              </td>
              <td data-label={words.worklist.since}>
                <At at={item.since} />
              </td>
              <td data-label={words.worklist.due}>{item.dueAt === null ? '–' : <At at={item.dueAt} />}</td>
              <td data-label={words.worklist.account}>
                {item.ownerId === null ? item.connection : <AccountLink id={item.ownerId} />}
              </td>
              <td data-label={words.worklist.who}>
                <Taken item={item} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Pages of the documentation that say what to do, where one is about just that. */
const runbooks: { [Kind in Worklist['items'][number]['kind']]?: string } = {
  incident: 'VintemIncidentOpen',
  dispute: 'VintemDisputeDeadline',
  unknown_transfer: 'VintemTransferUnknown',
  statement_line: 'VintemStatementLinesOpen',
  unread_item: 'VintemUnreadItems',
  certificate: 'VintemCertificateExpires',
  uncompared: 'VintemWithdrawalsPaused',
};

function Runbook({ kind }: { kind: Worklist['items'][number]['kind'] }) {
  const words = useConsoleWords();
  const page = runbooks[kind];
  if (page === undefined) return null;
  return (
    <div>
      <a href={`/docs/operators/runbooks/${page}`} target="_blank" rel="noreferrer">
        {words.worklist.runbook}
      </a>
    </div>
  );
}

/** Who works at an entry. A press takes it, also from another operator, or gives it back. */
function Taken({ item }: { item: Worklist['items'][number] }) {
  const words = useConsoleWords();
  const { data: operator } = useOperator();
  const { kind, id, connection, takenBy, isMine } = item;
  const press = useAction(
    () => {
      const body = { kind, id, ...(connection !== null && { connection }) };
      return isMine
        ? ask(() => desk.POST('/worklist/claims/removal', { body }))
        : ask(() => desk.POST('/worklist/claims', { body }));
    },
    { rereads: [[deskKey, 'worklist']] },
  );
  return (
    <>
      {takenBy ?? '–'}
      {operator?.acts.includes('takeWork') && (
        <Button variant="subtle" px={6} loading={press.busy} onClick={() => press.run()}>
          {isMine ? words.worklist.leave : words.worklist.take}
        </Button>
      )}
      <FormError error={press.error} />
    </>
  );
}

function ItemName({ item }: { item: Worklist['items'][number] }) {
  const words = useConsoleWords();
  const panel = useWords();
  const kind = words.worklist.kinds[item.kind];
  if (item.kind === 'incident') {
    return (
      <Link to="/operator/incidentes/$id" params={{ id: item.id }} className="row">
        {kind}: {incidentWord(panel, item.about)}
      </Link>
    );
  }
  if (item.kind === 'request' || item.kind === 'alone') {
    return (
      <Link to="/operator/pedidos" className="row">
        {kind}
      </Link>
    );
  }
  if (item.paymentId !== null) {
    return (
      <Link to="/operator/pagamentos/$id" params={{ id: item.paymentId }} className="row">
        {kind}
      </Link>
    );
  }
  if (item.kind === 'certificate' || (item.kind === 'uncompared' && item.connection !== null)) {
    return (
      <Link to="/operator/conexoes/$name" params={{ name: item.id }} className="row">
        {kind}: {item.id}
      </Link>
    );
  }
  return (
    <>
      {kind}
      {item.kind === 'cash' && ` ${words.worklist.cashTo(item.about)}`}
      {item.kind !== 'uncompared' && <div className="mono soft">{item.id}</div>}
    </>
  );
}

// ----------------------------------------------------------------------------------------------------------------- search

export function FoundPage() {
  const words = useConsoleWords();
  const { q } = useSearch({ from: '/operator-inside/operator/busca' });
  const text = q ?? '';
  const query = useQuery({ ...findQuery(text), enabled: text !== '' });
  return (
    <>
      <PageHead title={words.search.title(text)} />
      <Shown query={query}>
        {({ found, more }) =>
          found.length === 0 ? (
            <Empty icon="search" title={words.search.none} lead={words.search.noneLead} />
          ) : (
            <div className="stack">
              <ul className="card deskfound">
                {found.map((one) => (
                  <li key={`${one.kind} ${one.id}`} className="refund">
                    <div>
                      <FoundLink found={one} />
                      <div className="mono soft">{one.id}</div>
                    </div>
                    <div className="right">
                      {one.amountCents !== null && <Money cents={one.amountCents} />}
                      {one.kind === 'payment' && (
                        <div>
                          <Status status={one.state} kind="" />
                        </div>
                      )}
                    </div>
                  </li>
                ))}
              </ul>
              {more && <p className="soft">{words.search.more}</p>}
            </div>
          )
        }
      </Shown>
    </>
  );
}

function FoundLink({ found }: { found: Found }) {
  const words = useConsoleWords();
  const panel = useWords();
  const kind = words.search.kinds[found.kind];
  const params = { id: found.id };
  if (found.kind === 'payment') {
    return (
      <Link to="/operator/pagamentos/$id" params={params}>
        {kind}
      </Link>
    );
  }
  if (found.kind === 'incident') {
    return (
      <Link to="/operator/incidentes/$id" params={params}>
        {kind}: {incidentWord(panel, found.state)}
      </Link>
    );
  }
  const named = ['account', 'operation', 'link', 'code'].includes(found.kind);
  return (
    <Link to="/operator/contas/$id" params={{ id: found.ownerId }}>
      {named ? `${kind}: ${found.state}` : kind}
    </Link>
  );
}

// ---------------------------------------------------------------------------------------------------------------- account

export function AccountPage() {
  const { id } = useParams({ from: '/operator-inside/operator/contas/$id' });
  const words = useConsoleWords();
  const query = useQuery(accountQuery(id));
  return (
    <Shown query={query}>
      {(account) => (
        <>
          <PageHead title={account.name} lead={words.account.kind}>
            {account.test && <span className="status rest">{words.account.test}</span>}
            {!account.enabled && <span className="status bad">{words.account.disabled}</span>}
            {account.withdrawalsBlocked && <span className="status bad">{words.account.blocked}</span>}
          </PageHead>
          <div className="stack">
            <section className="card" aria-labelledby="conditions">
              <h2 id="conditions">{words.account.conditions}</h2>
              <dl className="facts">
                <Fact name="Id">
                  <Id value={account.ownerId} />
                </Fact>
                <Fact name={words.account.connection}>
                  <ConnectionName name={account.connection} />
                </Fact>
                <Fact name={words.account.depositFee}>
                  {words.account.fee(money(account.depositFeeCents), percentOf(account.depositFeeBps))}
                </Fact>
                <Fact name={words.account.withdrawalFee}>
                  {words.account.fee(money(account.withdrawalFeeCents), percentOf(account.withdrawalFeeBps))}
                </Fact>
                <Fact name={words.account.deposits}>
                  {words.account.range(
                    money(account.minimumDepositCents),
                    money(account.maximumDepositCents),
                  )}
                </Fact>
                <Fact name={words.account.withdrawals}>
                  {words.account.range(
                    money(account.minimumWithdrawalCents),
                    money(account.maximumWithdrawalCents),
                  )}
                </Fact>
                <Fact name={words.account.incidents}>{account.openIncidents}</Fact>
              </dl>
            </section>
            <OddMoneyRule id={account.ownerId} rule={account} />
            <ViewPanel id={account.ownerId} />
            <section className="card" aria-labelledby="operations">
              <h2 id="operations">{words.account.operations}</h2>
              <table className="table folding">
                <thead>
                  <tr>
                    <th scope="col">{words.account.operation}</th>
                    {[
                      words.account.available,
                      words.account.reserved,
                      words.account.held,
                      words.account.owed,
                    ].map((head) => (
                      <th key={head} scope="col" className="right">
                        {head}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {account.operations.map((one) => (
                    <tr key={one.id}>
                      <td className="wide">
                        {one.name} {one.isDefault && <span className="soft">({words.account.main})</span>}
                        {one.deletedAt !== null && (
                          <span className="status rest">{words.account.deleted}</span>
                        )}
                        {one.frozen && <span className="status bad">{words.account.frozen}</span>}
                        <div className="mono soft">{one.id}</div>
                      </td>
                      <td className="right" data-label={words.account.available}>
                        <Money cents={one.availableCents} />
                      </td>
                      <td className="right" data-label={words.account.reserved}>
                        <Money cents={one.reservedCents} />
                      </td>
                      <td className="right" data-label={words.account.held}>
                        <Money cents={one.heldCents} />
                      </td>
                      <td className="right" data-label={words.account.owed}>
                        <Money cents={one.receivableCents} />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </section>
            {account.operations.map((one) => (
              <Holds key={one.id} operationId={one.id} name={one.name} />
            ))}
          </div>
        </>
      )}
    </Shown>
  );
}

/** A link for a role that may look at connections. */
function ConnectionName({ name }: { name: string }) {
  const { data: operator } = useOperator();
  return operator?.acts.includes('lookAtConnections') ? <ConnectionLink name={name} /> : name;
}

const percentOf = (bps: number): string => (bps / 100).toLocaleString('pt-BR', { maximumFractionDigits: 2 });

// ---------------------------------------------------------------------------------------------------------------- payment

export function StoryPage() {
  const { id } = useParams({ from: '/operator-inside/operator/pagamentos/$id' });
  const words = useConsoleWords();
  const { data: operator } = useOperator();
  const query = useQuery(storyQuery(id));
  return (
    <Shown query={query}>
      {(story) => (
        <>
          <PageHead title={story.kind === 'transfer' ? words.payment.transfer : words.payment.charge}>
            <Status status={story.status} kind={story.kind} />
            <Button
              component="a"
              variant="default"
              href={`/operator/api/payments/${story.id}/evidence`}
              download
            >
              {words.payment.evidence}
            </Button>
          </PageHead>
          <div className="stack">
            <div className="cols">
              <Facts story={story} />
              <History story={story} />
            </div>
            <Postings story={story} />
            <Neighbours story={story} />
            {operator?.acts.includes('bookReturn') && story.status === 'completed' && (
              <ReturnOfTransfer id={story.id} />
            )}
            {operator?.acts.includes('personalData') && <PersonalData id={story.id} />}
          </div>
        </>
      )}
    </Shown>
  );
}

function Facts({ story }: { story: Story }) {
  const words = useConsoleWords();
  const panel = useWords();
  const reason =
    story.reasonCode && ((panel.reasons as Record<string, string>)[story.reasonCode] ?? story.reasonCode);
  return (
    <section className="card" aria-labelledby="facts">
      <h2 id="facts">{words.payment.facts}</h2>
      <p className="big num" style={{ margin: '0 0 14px' }}>
        {money(story.amountCents)}
      </p>
      <dl className="facts">
        {story.feeCents !== null && (
          <Fact name={words.payment.fee}>
            <Money cents={story.feeCents} />
          </Fact>
        )}
        {story.refundedCents > 0 && (
          <Fact name={words.payment.refunded}>
            <Money cents={story.refundedCents} />
          </Fact>
        )}
        {story.returnedCents > 0 && (
          <Fact name={words.payment.returned}>
            <Money cents={story.returnedCents} />
          </Fact>
        )}
        {reason && <Fact name={words.payment.reason}>{reason}</Fact>}
        <Fact name={words.account.kind}>
          <AccountLink id={story.ownerId} />
        </Fact>
        <Fact name={words.payment.connection}>
          {story.connection === null ? '–' : <ConnectionName name={story.connection} />}
        </Fact>
        <Fact name="Id">
          <Id value={story.id} />
        </Fact>
        <Fact name={words.payment.providerId}>
          <Id value={story.providerId} />
        </Fact>
        {story.endToEnd !== null && (
          <Fact name="End-to-end">
            <Id value={story.endToEnd} />
          </Fact>
        )}
        <Fact name="requestKey">
          <span className="mono">{story.requestKey}</span>
        </Fact>
        <Fact name={words.payment.created}>
          <At at={story.createdAt} />
        </Fact>
        {story.settledAt !== null && (
          <Fact name={words.payment.settled}>
            <At at={story.settledAt} />
          </Fact>
        )}
        {story.expiresAt !== null && (
          <Fact name={words.payment.expires}>
            <At at={story.expiresAt} />
          </Fact>
        )}
      </dl>
    </section>
  );
}

interface Step {
  at: string;
  key: string;
  what: ReactNode;
}

/** The life of the payment in the order of its clocks: states, words of the provider, events with their deliveries, and what comes next. */
function History({ story }: { story: Story }) {
  const words = useConsoleWords();
  const panel = useWords();
  const steps: Step[] = [
    ...story.history.map(({ at, status, by, actor, name }) => ({
      at,
      key: `${at} ${status}`,
      what: (
        <>
          <Status status={status} kind={story.kind} />
          <p className="soft">
            {(panel.detail.causes as Record<string, string>)[by] ?? by}
            {actor !== null && `, ${words.payment.actors[actor]}`}
            {name !== null && ` ${name}`}
          </p>
        </>
      ),
    })),
    ...story.words.map(({ at, name, message }) => ({
      at,
      key: `${at} ${name}`,
      what: (
        <>
          {words.payment.words}: <span className="mono">{name}</span>
          {message && <p className="soft">{message}</p>}
        </>
      ),
    })),
    ...story.events.map(({ id, type, createdAt, deliveries }) => ({
      at: createdAt,
      key: id,
      what: (
        <>
          {words.payment.event}: <span className="mono">{type}</span>
          {deliveries.map((one) => (
            <Delivery key={one.endpointId} delivery={one} />
          ))}
        </>
      ),
    })),
  ].sort((one, other) => (one.at < other.at ? -1 : 1));
  return (
    <section className="card" aria-labelledby="history">
      <h2 id="history">{words.payment.history}</h2>
      <ol className="timeline">
        {steps.map(({ at, key, what }) => (
          <li key={key}>
            <div className="soft" style={{ fontSize: 13 }}>
              <At at={at} />
            </div>
            {what}
          </li>
        ))}
        {story.intents.map((one) => (
          <li key={one.id}>
            <div className="soft" style={{ fontSize: 13 }}>
              {words.payment.next} <At at={one.dueAt} />
            </div>
            {words.payment.intents}: {words.payment.attempts(one.attempts)}
            {!one.known && <p className="soft">{words.payment.notKnown}</p>}
          </li>
        ))}
      </ol>
    </section>
  );
}

function Delivery({ delivery }: { delivery: Story['events'][number]['deliveries'][number] }) {
  const words = useConsoleWords();
  const { endpointId, status, attempts, lastAt, lastResult } = delivery;
  return (
    <p className="soft">
      {words.payment.deliveries[status]} · <span className="mono">{endpointId}</span> ·{' '}
      {words.payment.attempts(attempts)}
      {lastAt !== null && (
        <>
          {' · '}
          <At at={lastAt} /> {lastResult}
        </>
      )}
    </p>
  );
}

function Postings({ story }: { story: Story }) {
  const words = useConsoleWords();
  const panel = useWords();
  if (story.postings.length === 0) return null;
  const names = Object.keys(words.payment.columns) as (keyof typeof words.payment.columns)[];
  return (
    <section className="card" aria-labelledby="postings">
      <h2 id="postings">{words.payment.postings}</h2>
      <table className="table folding">
        <tbody>
          {story.postings.map((one) => (
            <tr key={`${one.postedAt} ${one.seq} ${one.template}`}>
              <td className="wide">
                {(panel.detail.lines as Record<string, string>)[one.template] ?? one.template}
                <div className="soft" style={{ fontSize: 13 }}>
                  <At at={one.postedAt} />
                </div>
              </td>
              <td className="right wide">
                {names
                  .filter((name) => one[name] !== 0)
                  .map((name) => (
                    <div key={name}>
                      <span className="soft">{words.payment.columns[name]}</span> <Money cents={one[name]} />
                    </div>
                  ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Refunds, changes, disputes and incidents of the payment. */
function Neighbours({ story }: { story: Story }) {
  const words = useConsoleWords();
  const { data: operator } = useOperator();
  const panel = useWords();
  return (
    <>
      <Neighbour name={words.payment.refunds} rows={story.refunds}>
        {(one) => (
          <>
            <Status status={one.status} kind="refund" /> <span className="mono soft">{one.id}</span>
          </>
        )}
      </Neighbour>
      <Neighbour name={words.payment.changes} rows={story.changes}>
        {(one) => (
          <>
            {one.endedAt === null ? words.payment.changeOpen : <At at={one.endedAt} />}{' '}
            {one.outcome !== null &&
              ((words.payment.changeOutcomes as Record<string, string>)[one.outcome] ?? one.outcome)}{' '}
            <span className="mono soft">{one.id}</span>
          </>
        )}
      </Neighbour>
      <Neighbour
        name={words.payment.disputes}
        rows={story.disputes}
        below={(one) =>
          one.endedAt === null &&
          operator?.acts.includes('defendForMerchant') && (
            <DefenceForMerchant id={story.operationId} disputeId={one.id} />
          )
        }
      >
        {(one) => (
          <>
            {(panel.disputes.states as Record<string, string>)[one.status] ?? one.status}{' '}
            {one.deadlineAt !== null && (
              <span className="soft">
                {words.worklist.due}: <At at={one.deadlineAt} />
              </span>
            )}
          </>
        )}
      </Neighbour>
      <Neighbour name={words.payment.incidents} rows={story.incidents}>
        {(one) => (
          <>
            <Link to="/operator/incidentes/$id" params={{ id: one.id }}>
              {incidentWord(panel, one.kind)}
            </Link>{' '}
            <span className="soft">
              {one.state === 'open' ? words.incident.open : words.incident.resolved}
            </span>
            {one.bookedCents !== null && (
              <span className="soft">
                {', '}
                {words.incident.inBooks} {money(one.bookedCents)}
              </span>
            )}
          </>
        )}
      </Neighbour>
    </>
  );
}

function Neighbour<Row extends { id: string; amountCents: number }>({
  name,
  rows,
  children,
  below,
}: {
  name: string;
  rows: readonly Row[];
  children: (row: Row) => ReactNode;
  /** In the whole width. */
  below?: (row: Row) => ReactNode;
}) {
  if (rows.length === 0) return null;
  return (
    <section className="card" aria-label={name}>
      <h2>{name}</h2>
      {rows.map((row) => (
        <Fragment key={row.id}>
          <div className="refund">
            <div>{children(row)}</div>
            <Money cents={row.amountCents} />
          </div>
          {below?.(row)}
        </Fragment>
      ))}
    </section>
  );
}

function PersonalData({ id }: { id: string }) {
  const words = useConsoleWords();
  const [reason, setReason] = useState('');
  const [data, setData] = useState<{
    payerName: string | null;
    receiverName: string | null;
    receiverTaxId: string | null;
    description: string | null;
    people: string[];
  } | null>(null);
  const show = useAction(async () =>
    setData(
      await ask(() =>
        desk.POST('/payments/{id}/personal-data', {
          params: { path: { id } },
          body: { reason: reason.trim() },
        }),
      ),
    ),
  );
  return (
    <section className="card" aria-labelledby="people">
      <h2 id="people">{words.payment.people}</h2>
      {data === null ? (
        <form className="stack narrow" onSubmit={show.submit}>
          <p className="soft" style={{ margin: 0 }}>
            {words.payment.peopleLead}
          </p>
          <ReasonField label={words.payment.why} value={reason} onText={setReason} />
          <FormError error={show.error} />
          <Button type="submit" variant="default" loading={show.busy} style={{ alignSelf: 'start' }}>
            {words.payment.show}
          </Button>
        </form>
      ) : (
        <div role="status">
          <dl className="facts">
            <Fact name={words.payment.payer}>{data.payerName ?? words.payment.unknown}</Fact>
            <Fact name={words.payment.receiver}>{data.receiverName ?? words.payment.unknown}</Fact>
            <Fact name={words.payment.document}>{data.receiverTaxId ?? words.payment.unknown}</Fact>
            <Fact name={words.payment.description}>{data.description ?? words.payment.unknown}</Fact>
            {data.people.length > 0 && (
              <Fact name={words.payment.peopleOfAccount}>{data.people.join(', ')}</Fact>
            )}
          </dl>
        </div>
      )}
    </section>
  );
}

// --------------------------------------------------------------------------------------------------------------- incident

export function IncidentPage() {
  const { id } = useParams({ from: '/operator-inside/operator/incidentes/$id' });
  const words = useConsoleWords();
  const panel = useWords();
  const query = useQuery(incidentQuery(id));
  return (
    <Shown query={query}>
      {(incident) => (
        <>
          <PageHead title={incidentWord(panel, incident.kind)} lead={words.incident.title}>
            <span className={`status ${incident.state === 'open' ? 'ask' : 'rest'}`}>
              {incident.state === 'open' ? words.incident.open : words.incident.resolved}
            </span>
          </PageHead>
          <div className="stack">
            {incident.freezes && incident.state === 'open' && (
              <Alert color="yellow" variant="light" icon={<Icon name="warning" />}>
                {words.incident.freezes}
              </Alert>
            )}
            <section className="card" aria-label={words.incident.facts}>
              <p className="big num" style={{ margin: '0 0 14px' }}>
                {money(incident.amountCents)}
              </p>
              <dl className="facts">
                <Fact name={words.incident.account}>
                  <AccountLink id={incident.ownerId} />
                </Fact>
                {incident.paymentId !== null && (
                  <Fact name={words.incident.payment}>
                    <Link to="/operator/pagamentos/$id" params={{ id: incident.paymentId }} className="mono">
                      {incident.paymentId}
                    </Link>
                  </Fact>
                )}
                <Fact name={words.incident.about}>
                  <span className="mono">{incident.reference}</span>
                </Fact>
                <Fact name={words.incident.opened}>
                  <At at={incident.openedAt} />
                </Fact>
                {incident.facts.map(({ name, value }) => (
                  <Fact key={name} name={(words.incident.amounts as Record<string, string>)[name] ?? name}>
                    {name in words.incident.amounts ? (
                      money(Number(value))
                    ) : (
                      <span className="mono">{value}</span>
                    )}
                  </Fact>
                ))}
                {incident.related.map((other) => (
                  <Fact key={other} name={words.incident.related}>
                    <Link to="/operator/incidentes/$id" params={{ id: other }} className="mono">
                      {other}
                    </Link>
                  </Fact>
                ))}
              </dl>
            </section>
            {incident.resolution !== null && (
              <section className="card" aria-labelledby="decision">
                <h2 id="decision">{words.incident.decision}</h2>
                <p style={{ margin: 0 }}>
                  {(panel.reconciliation.actions as Record<string, string>)[incident.resolution.action] ??
                    incident.resolution.action}
                  , <span className="soft">{words.incident.by(incident.resolution.actor)}</span>
                </p>
                <p>{incident.resolution.reason}</p>
              </section>
            )}
            {incident.keptAt !== null && incident.state === 'open' && (
              <p className="soft">
                {words.decide.kept} <At at={incident.keptAt} />
              </p>
            )}
            {incident.state === 'open' && <Decision id={incident.id} keptAt={incident.keptAt} />}
          </div>
        </>
      )}
    </Shown>
  );
}
