import { Button } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { ask } from '../api/client.ts';
import type { paths } from '../api/contract.d.ts';
import { dateTimeSeconds } from '../format.ts';
import { useScope } from '../session.tsx';
import { useText } from '../text/text.tsx';
import { Listed } from '../ui/listed.tsx';
import { Empty, PageHead } from '../ui/parts.tsx';

type Event =
  paths['/security-events']['get']['responses'][200]['content']['application/json']['events'][number];

/** What happened to the access of this account in the last year, newest first. */
export function SecurityEvents() {
  const { words, language } = useText();
  const { api, account } = useScope();
  const pages = useInfiniteQuery({
    queryKey: [account.id, 'security-events'],
    queryFn: ({ pageParam }) =>
      ask(() =>
        api.GET('/security-events', {
          params: { query: { limit: 50, ...(pageParam && { below: pageParam }) } },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextBelow,
  });
  const events = pages.data?.pages.flatMap((page) => page.events) ?? [];
  return (
    <>
      <PageHead title={words.securityEvents.title} lead={words.securityEvents.lead} />
      <Listed
        pages={pages}
        count={events.length}
        noMatch={null}
        empty={
          <div className="card">
            <Empty icon="shield" title={words.securityEvents.empty} lead={words.securityEvents.lead} />
          </div>
        }
      >
        <section className="card" aria-label={words.securityEvents.title}>
          <ul className="moves">
            {events.map((one) => (
              <li key={one.id} className="keyrow">
                <div style={{ minWidth: 0 }}>
                  <strong>{words.securityEvents.kinds[one.kind]}</strong>{' '}
                  <span className={`status ${one.outcome === 'ok' ? 'good' : 'bad'}`}>
                    {words.securityEvents.outcomes[one.outcome]}
                  </span>
                  <div className="soft" style={{ fontSize: 14, overflowWrap: 'anywhere' }}>
                    {whoOf(one, words.securityEvents.operator, words.securityEvents.unknown)}
                    {one.ipAddress && <span className="num"> · {one.ipAddress}</span>}
                    {detailOf(one, words) && <span> · {detailOf(one, words)}</span>}
                  </div>
                </div>
                <span className="soft num">{dateTimeSeconds(one.at, language)}</span>
              </li>
            ))}
          </ul>
          {pages.hasNextPage && (
            <Button
              variant="default"
              loading={pages.isFetchingNextPage}
              onClick={() => void pages.fetchNextPage()}
            >
              {words.securityEvents.more}
            </Button>
          )}
        </section>
      </Listed>
    </>
  );
}

const whoOf = (event: Event, operator: string, unknown: string): string =>
  event.actor === 'operator' ? operator : (event.name ?? event.email ?? unknown);

/** What people can read of the detail; ids are left to the log. */
function detailOf({ detail, subjectName }: Event, words: ReturnType<typeof useText>['words']): string {
  const shown = subjectName === null ? [] : [subjectName];
  for (const [name, label] of Object.entries(words.securityEvents.details)) {
    const value = detail[name];
    if (value === undefined) continue;
    const text = [value].flat().join(', ');
    shown.push(`${label}: ${name === 'role' ? words.roles[text as keyof typeof words.roles] : text}`);
  }
  return shown.join(' · ');
}
