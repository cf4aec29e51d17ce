import { Button, TextInput } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { ask, type Schemas } from '../api/client.ts';
import type { paths } from '../api/contract.d.ts';
import { endOfDay, startOfDay } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from '../ui/action.ts';
import { Choice } from '../ui/choice.tsx';
import { Listed, ListFoot, LogFilters, Panes } from '../ui/listed.tsx';
import { Empty, FormError, PageHead, Rows, When } from '../ui/parts.tsx';
import { deliveryMoods, useWebhooks } from './webhooks.tsx';

export interface EventFilters {
  tipo?: string;
  pagamento?: string;
  de?: string;
  ate?: string;
}

type Told = Schemas['Event'];
type EventType = NonNullable<NonNullable<paths['/events']['get']['parameters']['query']>['type']>;

const types = [
  'charge.created',
  'charge.paid',
  'charge.expired',
  'charge.failed',
  'charge.changed',
  'charge.unexpected_payment',
  'charge.card_refused',
  'charge.card_available',
  'charge.card_chargeback',
  'transfer.created',
  'transfer.unknown',
  'transfer.completed',
  'transfer.cancelled',
  'transfer.returned',
  'charge.refunded',
  'refund.completed',
  'refund.failed',
  'operation.created',
  'operation.updated',
  'operation.deleted',
] as const satisfies readonly EventType[];

/** The events of the account: newest first, each with its payload and the results of its deliveries. */
export function Events() {
  const words = useWords();
  const { api, account } = useScope();
  const filters = useSearch({ strict: false }) as EventFilters;
  const [chosen, setChosen] = useState<string | null>(null);
  const query = queryOf(filters);
  const pages = useInfiniteQuery({
    queryKey: [account.id, 'events', query],
    queryFn: ({ pageParam }) =>
      ask(() =>
        api.GET('/events', {
          params: { query: { ...query, limit: 30, ...(pageParam && { cursor: pageParam }) } },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
  });
  const events = pages.data?.pages.flatMap((page) => page.events as Told[]) ?? [];
  const shown = events.find((one) => one.id === chosen) ?? events[0];
  const filtered = Object.keys(query).length > 0;
  return (
    <>
      <PageHead title={words.events.title} lead={words.events.lead} />
      <div className="stack">
        <EventFilterCard filters={filters} filtered={filtered} />
        <Listed
          pages={pages}
          count={events.length}
          noMatch={filtered ? words.events.noMatch : null}
          empty={
            <div className="card">
              <Empty icon="clock" title={words.events.empty} lead={words.events.emptyLead} />
            </div>
          }
        >
          <Panes
            label={words.events.title}
            list={events}
            shown={shown}
            choose={setChosen}
            line={(one) => <EventLine event={one} />}
            foot={<ListFoot file="events.csv" filters={query} pages={pages} />}
          >
            {shown && <EventCard key={shown.id} event={shown} />}
          </Panes>
        </Listed>
      </div>
    </>
  );
}

/** The query of the list and of its file. */
const queryOf = (filters: EventFilters) => ({
  ...(filters.tipo && { type: filters.tipo as EventType }),
  ...(filters.pagamento && { paymentId: filters.pagamento }),
  ...(filters.de && { createdFrom: startOfDay(filters.de) }),
  ...(filters.ate && { createdTo: endOfDay(filters.ate) }),
});

function EventFilterCard({ filters, filtered }: { filters: EventFilters; filtered: boolean }) {
  const words = useWords();
  const navigate = useNavigate();
  const choose = (more: EventFilters) =>
    void navigate({
      to: '/integracoes/eventos',
      search: Object.fromEntries(Object.entries({ ...filters, ...more }).filter(([, value]) => value)),
      replace: true,
    });
  return (
    <LogFilters
      paymentId={filters.pagamento}
      clear={filtered && (() => void navigate({ to: '/integracoes/eventos', search: {}, replace: true }))}
    >
      <Choice
        label={words.events.type}
        data={[{ value: '', label: words.common.any }, ...types.map((value) => ({ value, label: value }))]}
        value={filters.tipo ?? ''}
        onChoice={(value) => choose({ tipo: value })}
        className="wide"
        miw={200}
      />
      <TextInput
        type="date"
        label={words.common.from}
        value={filters.de ?? ''}
        onChange={(event) => choose({ de: event.currentTarget.value })}
      />
      <TextInput
        type="date"
        label={words.common.to}
        value={filters.ate ?? ''}
        onChange={(event) => choose({ ate: event.currentTarget.value })}
      />
    </LogFilters>
  );
}

function EventLine({ event }: { event: Told }) {
  return (
    <>
      <span className="mono">
        <strong>{event.type}</strong>
      </span>
      <span className="soft">
        <When at={event.timestamp} />
      </span>
    </>
  );
}

function EventCard({ event }: { event: Told }) {
  const words = useWords();
  const { may } = useScope();
  const paymentId = /^(charge|transfer)\./.test(event.type)
    ? String((event.data as { id?: string }).id ?? '')
    : '';
  return (
    <section className="card" aria-label={event.type}>
      <div className="cardhead">
        <h2 className="mono">{event.type}</h2>
        {paymentId && (
          <Button
            className="end"
            size="xs"
            variant="default"
            component={Link}
            to={`/pagamentos/${paymentId}`}
          >
            {words.events.payment}
          </Button>
        )}
      </div>
      <p className="soft" style={{ marginTop: 0 }}>
        <When at={event.timestamp} /> · <span className="mono">webhook-id {event.id}</span>
      </p>
      {may('webhooks') && <EventDeliveries eventId={event.id} />}
      <h3 style={{ fontSize: 14, margin: '12px 0 6px' }}>{words.webhooks.payload}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre className="code" tabIndex={0}>
        {JSON.stringify(event, null, 2)}
      </pre>
    </section>
  );
}

/** The endpoints that it went to, with a button that sends it again. */
function EventDeliveries({ eventId }: { eventId: string }) {
  const words = useWords();
  const endpoints = useWebhooks().data?.webhooks;
  if (!endpoints) return <Rows count={1} />;
  return (
    <>
      <h3 style={{ fontSize: 14, margin: '0 0 6px' }}>{words.webhooks.deliveries}</h3>
      {endpoints.length === 0 ? (
        <p className="soft" style={{ margin: 0 }}>
          {words.webhooks.empty}
        </p>
      ) : (
        <ul className="moves">
          {endpoints.map((endpoint) => (
            <EventDelivery key={endpoint.id} endpoint={endpoint} eventId={eventId} />
          ))}
        </ul>
      )}
    </>
  );
}

function EventDelivery({ endpoint, eventId }: { endpoint: Schemas['Webhook']; eventId: string }) {
  const words = useWords();
  const { api, account } = useScope();
  const { id } = endpoint;
  const queryKey = [account.id, 'deliveries', id, eventId];
  const { data } = useQuery({
    queryKey,
    queryFn: () =>
      ask(() => api.GET('/webhooks/{id}/deliveries', { params: { path: { id }, query: { eventId } } })),
    // An attempt takes a moment.
    refetchInterval: (query) => (query.state.data?.deliveries[0]?.status === 'pending' ? 1_500 : false),
  });
  const delivery = data?.deliveries[0];
  const again = useAction(
    (deliveryId: string) =>
      ask(() =>
        api.POST('/webhooks/{id}/deliveries/{deliveryId}/retry', {
          params: { path: { id, deliveryId } },
          body: {},
        }),
      ),
    { rereads: [queryKey] },
  );
  return (
    <li className="keyrow">
      <div style={{ minWidth: 0 }}>
        <Link
          to="/integracoes/webhooks/$id"
          params={{ id }}
          style={{ display: 'inline', padding: 0, overflowWrap: 'anywhere' }}
        >
          {endpoint.description || endpoint.url}
        </Link>
        {data && (
          <div>
            <span className={`status ${delivery ? deliveryMoods[delivery.status] : 'rest'}`}>
              {delivery ? words.webhooks.deliveryStates[delivery.status] : words.events.notSent}
            </span>
          </div>
        )}
        <FormError error={again.error} />
      </div>
      {delivery && (
        <Button size="xs" variant="default" loading={again.busy} onClick={() => again.run(delivery.id)}>
          {words.webhooks.retry}
        </Button>
      )}
    </li>
  );
}
