import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { dateTimeSeconds } from '../format.ts';

import { Copy, Rows, Trouble } from '../ui/parts.tsx';
import { useConsoleWords } from './words.ts';

/** A time as São Paulo reads it, to the second; the time in UTC stands in its title. */
export function At({ at }: { at: string }) {
  return (
    <time dateTime={at} title={at} className="num">
      {dateTimeSeconds(at)}
    </time>
  );
}

/** The answer of a query, or that it is on its way, or why it is not there. */
export function Shown<Data>({
  query,
  children,
}: {
  query: { data: Data | undefined; error: unknown; refetch: () => unknown };
  children: (data: Data) => ReactNode;
}) {
  if (query.data !== undefined) return children(query.data);
  if (query.error) return <Trouble error={query.error} retry={() => void query.refetch()} />;
  return <Rows />;
}

export const AccountLink = ({ id, name }: { id: string; name?: string }) => (
  <Link to="/operator/contas/$id" params={{ id }} {...(name === undefined && { className: 'mono' })}>
    {name ?? id}
  </Link>
);

export const ConnectionLink = ({ name }: { name: string }) => (
  <Link to="/operator/conexoes/$name" params={{ name }}>
    {name}
  </Link>
);

export const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </>
);

export const Id = ({ value }: { value: string }) => (
  <span style={{ display: 'inline-flex', gap: 8, flexWrap: 'wrap', alignItems: 'center' }}>
    <span className="mono">{value}</span>
    <Copy value={value} />
  </span>
);

/** The list of a page as a file for spreadsheets. */
export function CsvLink({ list }: { list: 'worklist' | 'requests' | 'connections' | 'operators' }) {
  const words = useConsoleWords();
  return (
    <Button component="a" variant="default" href={`/operator/api/${list}.csv`} download>
      {words.downloadCsv}
    </Button>
  );
}
