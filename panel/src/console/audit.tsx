import { Button, TextInput } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import { dateTimeSeconds } from '../format.ts';

import { MoreFoot } from '../ui/listed.tsx';
import { Empty, PageHead, Rows, Trouble } from '../ui/parts.tsx';
import { type AuditEntry, desk, deskKey, useOperator } from './api.ts';
import { Saved } from './saved.tsx';
import { useConsoleWords } from './words.ts';

/** Account number 0 is the installation itself. */
const installation = '00000000-0000-0000-0000-000000000000';

/** Who did what, the newest first. Filters stand in the address. */
export function AuditPage() {
  const words = useConsoleWords();
  const filters = useSearch({ from: '/operator-inside/operator/auditoria' });
  const { data: operator } = useOperator();
  // Those who do not read the log see what they did themselves.
  const isOwn = !operator?.acts.includes('audit');
  const query = useInfiniteQuery({
    queryKey: [deskKey, 'audit', isOwn, filters],
    queryFn: ({ pageParam }) =>
      ask(() => {
        const params = { query: { ...filters, ...(pageParam && { below: pageParam }) } };
        return isOwn ? desk.GET('/audit/own', { params }) : desk.GET('/audit', { params });
      }),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
  });
  const entries = query.data?.pages.flatMap((page) => page.entries) ?? [];
  const file = new URLSearchParams(filters as Record<string, string>).toString();
  return (
    <>
      <PageHead title={words.audit.title} lead={isOwn ? words.audit.ownLead : words.audit.lead}>
        <Button
          component="a"
          variant="default"
          href={`/operator/api/audit${isOwn ? '/own' : ''}.csv${file && `?${file}`}`}
          download
        >
          {words.audit.csv}
        </Button>
      </PageHead>
      <div className="stack">
        {!isOwn && <Saved page="audit" search={filters} />}
        {!isOwn && <Filters key={file} filters={filters} />}
        {query.data === undefined ? (
          query.error ? (
            <Trouble error={query.error} retry={() => void query.refetch()} />
          ) : (
            <Rows />
          )
        ) : entries.length === 0 && !query.hasNextPage ? (
          <Empty icon="search" title={words.audit.none} lead={words.audit.noneLead} />
        ) : (
          <Entries entries={entries} />
        )}
        <MoreFoot pages={query} label={words.audit.more} />
      </div>
    </>
  );
}

type Wanted = { ownerId?: string; actor?: string; action?: string };

function Filters({ filters }: { filters: Wanted }) {
  const words = useConsoleWords();
  const navigate = useNavigate();
  const [wanted, setWanted] = useState(filters);
  const field = (name: keyof Wanted, label: string) => (
    <TextInput
      label={label}
      maxLength={200}
      value={wanted[name] ?? ''}
      onChange={(event) => setWanted({ ...wanted, [name]: event.currentTarget.value })}
    />
  );
  return (
    <form
      className="card filters"
      onSubmit={(event) => {
        event.preventDefault();
        const search = Object.fromEntries(
          Object.entries(wanted).flatMap(([name, text]) => (text.trim() === '' ? [] : [[name, text.trim()]])),
        );
        void navigate({ to: '/operator/auditoria', search });
      }}
    >
      {field('actor', words.audit.who)}
      {field('action', words.audit.did)}
      {field('ownerId', words.audit.account)}
      <Button type="submit" variant="default">
        {words.audit.filter}
      </Button>
    </form>
  );
}

function Entries({ entries }: { entries: AuditEntry[] }) {
  const words = useConsoleWords();
  return (
    <div className="card scroll">
      <table className="table folding">
        <thead>
          <tr>
            <th scope="col">{words.audit.did}</th>
            <th scope="col">{words.audit.who}</th>
            <th scope="col">{words.audit.at}</th>
            <th scope="col">{words.audit.account}</th>
            <th scope="col">{words.audit.detail}</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((one) => (
            <tr key={one.id}>
              <td className="wide">
                <span className="mono">{one.action}</span>
                {one.reason !== null && <div>{one.reason}</div>}
              </td>
              <td data-label={words.audit.who} className="breaks">
                {one.actor}
              </td>
              <td data-label={words.audit.at}>
                <time dateTime={one.at} title={one.at} className="num">
                  {dateTimeSeconds(one.at)}
                </time>
              </td>
              <td data-label={words.audit.account}>
                {one.ownerId === installation ? (
                  words.audit.installation
                ) : (
                  <Link to="/operator/contas/$id" params={{ id: one.ownerId }} className="mono">
                    {one.ownerId}
                  </Link>
                )}
              </td>
              <td data-label={words.audit.detail}>
                <details>
                  <summary>{words.audit.show}</summary>
                  <div className="mono soft breaks">
                    {one.subject} {one.detail}
                  </div>
                  <div className="mono soft breaks">
                    {one.seq === null ? words.audit.before : words.audit.chained(one.seq, one.hash ?? '')}
                  </div>
                </details>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
