import { TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import type { paths } from '../api/contract.d.ts';
import { dateTimeSeconds } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { Choice } from '../ui/choice.tsx';
import { Listed, ListFoot, LogFilters, Panes } from '../ui/listed.tsx';
import { Empty, PageHead } from '../ui/parts.tsx';
import { daysOf, PeriodField, type PeriodSearch } from '../ui/period.tsx';

export interface RequestFilters extends PeriodSearch {
  id?: string;
  metodo?: string;
  resposta?: string;
  chave?: string;
  pagamento?: string;
}

type Query = NonNullable<paths['/requests']['get']['parameters']['query']>;
type Logged = paths['/requests']['get']['responses'][200]['content']['application/json']['requests'][number];

const methods = ['GET', 'POST', 'PATCH', 'DELETE'] as const satisfies readonly Query['method'][];
const classes = ['2xx', '4xx', '5xx'] as const satisfies readonly Query['status'][];

const moodOf = (status: number) => (status < 300 ? 'good' : status < 500 ? 'wait' : 'bad');

/** The API requests of the merchant's own programs, newest first, with their answers. */
export function Requests() {
  const words = useWords();
  const { api, account } = useScope();
  const filters = useSearch({ strict: false }) as RequestFilters;
  const [chosen, setChosen] = useState<string | null>(null);
  const query = queryOf(filters);
  const pages = useInfiniteQuery({
    queryKey: [account.id, 'requests', query],
    queryFn: ({ pageParam }) =>
      ask(() =>
        api.GET('/requests', {
          params: { query: { ...query, limit: 30, ...(pageParam && { cursor: pageParam }) } },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
  });
  const keys = useQuery({
    queryKey: [account.id, 'keys'],
    queryFn: () => ask(() => api.GET('/keys')),
  });
  const requests = pages.data?.pages.flatMap((page) => page.requests) ?? [];
  const shown = requests.find((one) => one.id === chosen) ?? requests[0];
  const filtered = Object.keys(query).length > 0;
  return (
    <>
      <PageHead title={words.requests.title} lead={words.requests.lead} />
      <div className="stack">
        <RequestFilterCard filters={filters} filtered={filtered} keys={keys.data?.keys ?? []} />
        <Listed
          pages={pages}
          count={requests.length}
          noMatch={filtered ? words.requests.noMatch : null}
          empty={
            <div className="card">
              <Empty icon="code" title={words.requests.empty} lead={words.requests.emptyLead} />
            </div>
          }
        >
          <Panes
            label={words.requests.title}
            list={requests}
            shown={shown}
            choose={setChosen}
            line={(one) => <RequestLine request={one} />}
            foot={<ListFoot file="requests.csv" filters={{ ...query }} pages={pages} />}
          >
            {shown && <RequestCard request={shown} />}
          </Panes>
        </Listed>
      </div>
    </>
  );
}

/** The query of the list and of its file. */
function queryOf(filters: RequestFilters): Query {
  const days = daysOf(filters, null);
  return {
    ...(filters.metodo && { method: filters.metodo as (typeof methods)[number] }),
    ...(filters.resposta && { status: filters.resposta as (typeof classes)[number] }),
    ...(filters.chave && { keyId: filters.chave }),
    ...(filters.pagamento && { paymentId: filters.pagamento }),
    ...(filters.id && { requestId: filters.id }),
    ...(days.de && { from: days.de }),
    ...(days.ate && { to: days.ate }),
  };
}

function RequestFilterCard({
  filters,
  filtered,
  keys,
}: {
  filters: RequestFilters;
  filtered: boolean;
  keys: { id: string; name: string }[];
}) {
  const words = useWords();
  const navigate = useNavigate();
  const choose = (more: RequestFilters) =>
    void navigate({
      to: '/integracoes/requisicoes',
      search: Object.fromEntries(Object.entries({ ...filters, ...more }).filter(([, value]) => value)),
      replace: true,
    });
  const any = { value: '', label: words.common.any };
  return (
    <LogFilters
      paymentId={filters.pagamento}
      clear={filtered && (() => void navigate({ to: '/integracoes/requisicoes', search: {}, replace: true }))}
    >
      <Choice
        label={words.requests.method}
        data={[any, ...methods]}
        value={filters.metodo ?? ''}
        onChoice={(value) => choose({ metodo: value })}
      />
      <Choice
        label={words.requests.answer}
        data={[any, ...classes.map((value) => ({ value, label: words.requests.classes[value] }))]}
        value={filters.resposta ?? ''}
        onChoice={(value) => choose({ resposta: value })}
      />
      <Choice
        label={words.requests.key}
        data={[any, ...keys.map(({ id, name }) => ({ value: id, label: name }))]}
        value={filters.chave ?? ''}
        onChoice={(value) => choose({ chave: value })}
        className="wide"
        miw={180}
      />
      <RequestId
        key={filters.id ? 'some' : 'none'}
        value={filters.id ?? ''}
        onValue={(id) => choose({ id })}
      />
      <PeriodField
        search={filters}
        fallback={null}
        onSearch={(period) => choose({ periodo: '', de: '', ate: '', ...period })}
      />
    </LogFilters>
  );
}

function RequestLine({ request }: { request: Logged }) {
  return (
    <>
      <span className="mono" style={{ overflowWrap: 'anywhere' }}>
        <strong>{request.method}</strong> {pathOf(request)}
      </span>
      <span style={{ display: 'flex', gap: 12, flexWrap: 'wrap' }}>
        <span className={`status ${moodOf(request.status)}`}>
          {request.status}
          {request.errorCode && ` ${request.errorCode}`}
        </span>
        <span className="soft num">{dateTimeSeconds(request.at)}</span>
      </span>
    </>
  );
}

function RequestId({ value, onValue }: { value: string; onValue: (id: string) => void }) {
  const [text, setText] = useState(value);
  const later = useDebouncedCallback((id: string) => onValue(id.trim()), 350);
  return (
    <TextInput
      className="grow"
      type="search"
      label="X-Request-Id"
      value={text}
      maxLength={200}
      onChange={(event) => {
        setText(event.currentTarget.value);
        later(event.currentTarget.value);
      }}
    />
  );
}

/** Without what every address of the API begins with. */
const pathOf = ({ route }: Logged): string => route.replace(/^\/api\/v1\/public/, '');

function RequestCard({ request }: { request: Logged }) {
  const words = useWords();
  const { body } = request;
  return (
    <section className="card" aria-label={words.requests.one}>
      <div className="cardhead">
        <h2 className="mono" style={{ overflowWrap: 'anywhere' }}>
          {request.method} {pathOf(request)}
        </h2>
        <span className={`status ${moodOf(request.status)}`}>{request.status}</span>
      </div>
      <dl className="facts">
        {request.errorCode && (
          <>
            <dt>{words.requests.code}</dt>
            <dd className="mono">{request.errorCode}</dd>
          </>
        )}
        <dt>{words.common.date}</dt>
        <dd className="num">{dateTimeSeconds(request.at)}</dd>
        <dt>{words.requests.duration}</dt>
        <dd className="num">{request.durationMs} ms</dd>
        <dt>{words.requests.key}</dt>
        <dd>
          {request.keyName} <span className="mono soft">{request.keyId}</span>
        </dd>
        <dt>{words.requests.from}</dt>
        <dd className="num">{request.ip}</dd>
        <dt>X-Request-Id</dt>
        <dd className="mono">{request.requestId}</dd>
        {request.clientRequestId && (
          <>
            <dt>{words.requests.clientId}</dt>
            <dd className="mono">{request.clientRequestId}</dd>
          </>
        )}
        {request.paymentId && (
          <>
            <dt>{words.requests.payment}</dt>
            <dd>
              <Link to="/pagamentos/$id" params={{ id: request.paymentId }} className="mono">
                {request.paymentId}
              </Link>
            </dd>
          </>
        )}
      </dl>
      {body && <Sent body={body} />}
      {request.leftOut > 0 && (
        <p className="soft" style={{ margin: '14px 0 0' }}>
          {words.requests.leftOut(request.leftOut)}
        </p>
      )}
    </section>
  );
}

/** The body as far as it is kept: a name and a kind where the value is personal or secret. */
function Sent({ body }: { body: NonNullable<Logged['body']> }) {
  const words = useWords();
  return (
    <>
      <h3 style={{ fontSize: 14, margin: '16px 0 6px' }}>{words.requests.body}</h3>
      <dl className="facts">
        {Object.entries(body.values).map(([name, value]) => (
          <div key={name} style={{ display: 'contents' }}>
            <dt className="mono">{name}</dt>
            <dd className="mono">{String(value)}</dd>
          </div>
        ))}
        {Object.entries(body.fields).map(([name, kind]) => (
          <div key={name} style={{ display: 'contents' }}>
            <dt className="mono">{name}</dt>
            <dd className="soft">{words.requests.hidden(kind)}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
