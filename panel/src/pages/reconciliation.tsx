import { Alert, Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import { dateTime, money, time } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from '../ui/action.ts';
import { Icon } from '../ui/icons.tsx';
import { ListFoot } from '../ui/listed.tsx';
import { PaymentName } from '../ui/names.tsx';
import { OddMoney } from '../ui/odd-money.tsx';
import { FormError, Money, PageHead, Rows, Trouble, When } from '../ui/parts.tsx';

function useReconciliation() {
  const { api, account } = useScope();
  return useQuery({
    queryKey: [account.id, 'reconciliation'],
    queryFn: () => ask(() => api.GET('/reconciliation')),
  });
}

type Reconciliation = NonNullable<ReturnType<typeof useReconciliation>['data']>;

/** Payments that agree with the ledger and the provider, payments not confirmed yet, and decisions that wait for a person. */
export function ReconciliationPage() {
  const words = useWords();
  const { data, error, refetch } = useReconciliation();
  return (
    <>
      <PageHead title={words.reconciliation.title} lead={words.reconciliation.lead} />
      {error && !data ? (
        <Trouble error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Rows count={8} />
      ) : (
        <div className="stack">
          <div className="cols">
            <ProviderCard data={data} />
            <LedgerCard data={data} />
          </div>
          <OddMoney />
          <UnknownCard data={data} />
          <IncidentsCard data={data} />
          <p className="soft" style={{ margin: 0, fontSize: 13 }}>
            {words.common.updatedAt(time(data.at))}
          </p>
        </div>
      )}
    </>
  );
}

function Sound({ good, children }: { good: boolean; children: string }) {
  return (
    <p style={{ display: 'flex', gap: 8, alignItems: 'center', margin: '0 0 10px' }}>
      <span className={good ? 'plus' : 'minus'}>
        <Icon name={good ? 'check' : 'warning'} size={18} />
      </span>
      {children}
    </p>
  );
}

function ProviderCard({ data }: { data: Reconciliation }) {
  const words = useWords();
  const { statementReadTo, compared } = data;
  return (
    <section className="card" aria-labelledby="provider">
      <h2 id="provider">{words.reconciliation.provider}</h2>
      {statementReadTo ? (
        <Sound good>{words.reconciliation.readTo(dateTime(statementReadTo))}</Sound>
      ) : (
        <p className="soft">{words.reconciliation.notRead}</p>
      )}
      <p className="soft" style={{ margin: 0 }}>
        {words.reconciliation.providerAbout}
      </p>
      {compared && (
        <dl className="facts" style={{ marginTop: 14 }}>
          <dt>{words.reconciliation.comparedAt}</dt>
          <dd>
            <When at={compared.at} />
          </dd>
          <dt>{words.reconciliation.both}</dt>
          <dd className="num">{compared.compared}</dd>
          <dt>{words.reconciliation.missing}</dt>
          <dd className="num">{compared.missing}</dd>
          <dt>{words.reconciliation.different}</dt>
          <dd className="num">{compared.different}</dd>
        </dl>
      )}
    </section>
  );
}

function LedgerCard({ data }: { data: Reconciliation }) {
  const words = useWords();
  const agrees = data.operations.every((one) => one.balanceCents === one.ledgerCents);
  return (
    <div className="card">
      <h2>{words.reconciliation.books}</h2>
      <Sound good={agrees}>{agrees ? words.reconciliation.agrees : words.reconciliation.differs}</Sound>
      <table className="table folding">
        <thead>
          <tr>
            <th scope="col">{words.common.operation}</th>
            <th scope="col" className="right">
              {words.reconciliation.balance}
            </th>
            <th scope="col" className="right">
              {words.reconciliation.ledger}
            </th>
            <th scope="col" className="right">
              {words.reconciliation.lines}
            </th>
          </tr>
        </thead>
        <tbody>
          {data.operations.map((one) => (
            <tr key={one.id}>
              <td>{one.name}</td>
              <td className="right">
                <Money cents={one.balanceCents} />
              </td>
              <td className="right off">
                <Money cents={one.ledgerCents} />
              </td>
              <td className="right num off">{one.lines}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function UnknownCard({ data }: { data: Reconciliation }) {
  const words = useWords();
  const { api, account } = useScope();
  const [answer, setAnswer] = useState<string | null>(null);
  const query = useAction(
    async (id: string) => {
      setAnswer(null);
      const { record } = await ask(() =>
        api.POST('/records/{id}/query', { params: { path: { id } }, body: {} }),
      );
      setAnswer(
        record.status === 'unknown'
          ? words.reconciliation.stillUnknown
          : words.reconciliation.nowKnown(money(record.amountCents), words.status[record.status]),
      );
    },
    { rereads: [[account.id]] },
  );
  return (
    <section className="card" aria-labelledby="unknown">
      <h2 id="unknown">{words.reconciliation.unknown}</h2>
      {data.unknown.length === 0 ? (
        <Sound good>{words.reconciliation.noUnknown}</Sound>
      ) : (
        <>
          <p className="soft" style={{ marginTop: 0 }}>
            {words.home.unknownAbout}
          </p>
          <ul className="moves">
            {data.unknown.map((one) => (
              <li key={one.id} className="keyrow">
                <div style={{ minWidth: 0 }}>
                  <PaymentName id={one.id} names={one.payment} />{' '}
                  <strong className="num">{money(one.amountCents)}</strong>
                  <div className="soft" style={{ fontSize: 14 }}>
                    {words.common.created} <When at={one.createdAt} />
                  </div>
                </div>
                <Button size="sm" variant="default" loading={query.busy} onClick={() => query.run(one.id)}>
                  {words.reconciliation.queryNow}
                </Button>
              </li>
            ))}
          </ul>
        </>
      )}
      {answer && (
        <Alert color="mata" role="status" mt="sm">
          {answer}
        </Alert>
      )}
      <FormError error={query.error} />
    </section>
  );
}

function IncidentsCard({ data }: { data: Reconciliation }) {
  const words = useWords();
  const { incidents } = data;
  const open = incidents.filter((one) => one.state === 'open').length;
  return (
    <section className="card" aria-labelledby="incidents">
      <h2 id="incidents">{words.reconciliation.incidents}</h2>
      <Sound good={open === 0}>
        {open === 0 ? words.reconciliation.noOpenIncident : words.home.incidentTitle(open)}
      </Sound>
      {open > 0 && (
        <p className="soft" style={{ marginTop: 0 }}>
          {words.home.incidentAbout}
        </p>
      )}
      {incidents.length > 0 && (
        <>
          <table className="table folding">
            <thead>
              <tr>
                <th scope="col">{words.reconciliation.kind}</th>
                <th scope="col" className="right">
                  {words.common.amount}
                </th>
                <th scope="col">{words.common.status}</th>
                <th scope="col">{words.reconciliation.decision}</th>
                <th scope="col" className="right">
                  {words.reconciliation.openedAt}
                </th>
              </tr>
            </thead>
            <tbody>
              {incidents.map((one) => (
                <tr key={one.id}>
                  <td>
                    {words.reconciliation.kinds[one.kind] ?? one.kind}
                    <div style={{ fontSize: 14 }}>
                      <PaymentName id={one.paymentId} names={one.payment} />
                    </div>
                  </td>
                  <td className="right">
                    <Money cents={one.amountCents} />
                  </td>
                  <td>
                    <span className={`status ${one.state === 'open' ? 'bad' : 'rest'}`}>
                      {words.reconciliation.states[one.state]}
                    </span>
                  </td>
                  <td className="soft">
                    {one.action === null
                      ? '–'
                      : `${words.reconciliation.actions[one.action] ?? one.action}: ${one.reason ?? words.oddMoney.byAccount}`}
                  </td>
                  <td className="right soft">
                    <When at={one.openedAt} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <ListFoot file="incidents.csv" />
        </>
      )}
    </section>
  );
}
