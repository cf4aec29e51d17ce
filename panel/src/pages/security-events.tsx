import { Button } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { ask } from '../api/client.ts';
import type { paths } from '../api/contract.d.ts';
import { dateTimeSeconds } from '../format.ts';
import { useScope } from '../session.tsx';
import type { Words } from '../text/pt.ts';
import { useText, useWords } from '../text/text.tsx';
import { Choice } from '../ui/choice.tsx';
import { Listed, ListFoot } from '../ui/listed.tsx';
import { Empty, PageHead } from '../ui/parts.tsx';
import { daysOf, PeriodField, type PeriodSearch } from '../ui/period.tsx';

type Event =
  paths['/security-events']['get']['responses'][200]['content']['application/json']['events'][number];

type Query = NonNullable<paths['/security-events']['get']['parameters']['query']>;

export interface ActivityFilters extends PeriodSearch {
  assunto?: string;
  pessoa?: string;
  resultado?: string;
}

/** Who did what in this account in the last year, newest first. What is asked for stands in the address. */
export function SecurityEvents() {
  const words = useWords();
  const { api, account } = useScope();
  const filters = useSearch({ strict: false }) as ActivityFilters;
  const query = queryOf(filters, words);
  const people = useQuery({
    queryKey: [account.id, 'members'],
    queryFn: () => ask(() => api.GET('/members')),
  });
  const pages = useInfiniteQuery({
    queryKey: [account.id, 'security-events', query],
    queryFn: ({ pageParam }) =>
      ask(() =>
        api.GET('/security-events', {
          params: { query: { ...query, limit: 50, ...(pageParam && { below: pageParam }) } },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextBelow,
  });
  const filtered = Object.keys(query).length > 0;
  const events = pages.data?.pages.flatMap((page) => page.events) ?? [];
  return (
    <>
      <PageHead title={words.securityEvents.title} lead={words.securityEvents.lead} />
      <ActivityFilterCard filters={filters} filtered={filtered} members={people.data?.members ?? []} />
      <Listed
        pages={pages}
        count={events.length + (pages.hasNextPage ? 1 : 0)}
        noMatch={filtered ? words.securityEvents.noMatch : null}
        empty={
          <div className="card">
            <Empty icon="shield" title={words.securityEvents.empty} lead={words.securityEvents.lead} />
          </div>
        }
      >
        <section className="card" aria-label={words.securityEvents.title}>
          <ul className="moves">
            {events.map((one) => (
              <EventRow key={one.id} event={one} />
            ))}
          </ul>
          <ListFoot file="security-events.csv" filters={query} pages={pages} />
        </section>
      </Listed>
    </>
  );
}

/** The query of the list and of its file. */
function queryOf(filters: ActivityFilters, words: Words): Query {
  const { de, ate } = daysOf(filters, null);
  return {
    ...(filters.assunto &&
      filters.assunto in words.securityEvents.groups && {
        group: filters.assunto as NonNullable<Query['group']>,
      }),
    ...((filters.resultado === 'ok' || filters.resultado === 'refused') && { outcome: filters.resultado }),
    ...(filters.pessoa && { userId: filters.pessoa }),
    ...(de && { from: de }),
    ...(ate && { to: ate }),
  };
}

function ActivityFilterCard({
  filters,
  filtered,
  members,
}: {
  filters: ActivityFilters;
  filtered: boolean;
  members: { userId: string; name: string }[];
}) {
  const words = useWords();
  const navigate = useNavigate();
  const show = (search: ActivityFilters) =>
    void navigate({ to: '/seguranca/registro', search, replace: true });
  const { assunto, pessoa, resultado, ...period } = filters;
  return (
    <section className="card" aria-label={words.common.search} style={{ marginBottom: 18 }}>
      <form className="filters" style={{ margin: 0 }} onSubmit={(event) => event.preventDefault()}>
        <Choice
          label={words.securityEvents.group}
          data={[
            { value: '', label: words.common.any },
            ...Object.entries(words.securityEvents.groups).map(([value, label]) => ({ value, label })),
          ]}
          value={assunto ?? ''}
          onChoice={(value) => show({ ...filters, assunto: value || undefined } as ActivityFilters)}
        />
        <Choice
          label={words.securityEvents.person}
          data={[
            { value: '', label: words.common.any },
            ...members.map(({ userId, name }) => ({ value: userId, label: name })),
          ]}
          value={pessoa ?? ''}
          onChoice={(value) => show({ ...filters, pessoa: value || undefined } as ActivityFilters)}
        />
        <Choice
          label={words.securityEvents.outcome}
          data={[
            { value: '', label: words.common.any },
            { value: 'ok', label: words.securityEvents.outcomes.ok },
            { value: 'refused', label: words.securityEvents.outcomes.refused },
          ]}
          value={resultado ?? ''}
          onChoice={(value) => show({ ...filters, resultado: value || undefined } as ActivityFilters)}
        />
        <PeriodField
          search={period}
          fallback={null}
          onSearch={(next) =>
            show({
              ...(assunto && { assunto }),
              ...(pessoa && { pessoa }),
              ...(resultado && { resultado }),
              ...next,
            })
          }
        />
        {filtered && (
          <Button className="wide" variant="subtle" onClick={() => show({})}>
            {words.common.clear}
          </Button>
        )}
      </form>
    </section>
  );
}

function EventRow({ event }: { event: Event }) {
  const words = useWords();
  return (
    <li className="keyrow">
      <div style={{ minWidth: 0 }}>
        <strong>{words.securityEvents.kinds[event.kind]}</strong>{' '}
        <span className={`status ${event.outcome === 'ok' ? 'good' : 'bad'}`}>
          {words.securityEvents.outcomes[event.outcome]}
        </span>
        <div className="soft" style={{ fontSize: 14, overflowWrap: 'anywhere' }}>
          {whoOf(event, words.securityEvents.operator, words.securityEvents.unknown)}
          {event.ipAddress && <span className="num"> · {event.ipAddress}</span>}
          {detailOf(event, words) && <span> · {detailOf(event, words)}</span>}
        </div>
      </div>
      <span className="soft num">{dateTimeSeconds(event.at)}</span>
    </li>
  );
}

const whoOf = (event: Event, operator: string, unknown: string): string =>
  event.actor === 'operator' ? operator : (event.name ?? event.email ?? unknown);

/** The readable part of the detail; ids are left to the log. */
function detailOf({ detail, subjectName }: Event, words: ReturnType<typeof useText>['words']): string {
  const shown = subjectName === null ? [] : [subjectName];
  for (const [name, label] of Object.entries(words.securityEvents.details)) {
    const value = detail[name];
    if (value === undefined) continue;
    const texts = [value].flat().map((one) => namesOf(name, words)[String(one)] ?? String(one));
    shown.push(`${label}: ${texts.join(', ')}`);
  }
  return shown.join(' · ');
}

/** The words for the codes that a detail holds. */
function namesOf(detail: string, words: ReturnType<typeof useText>['words']): Record<string, string> {
  if (detail === 'role') return words.roles;
  if (detail === 'permissions') return words.keys.permissionNames;
  return words.securityEvents.values;
}
