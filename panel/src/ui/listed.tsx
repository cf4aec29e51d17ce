import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useRef } from 'react';
import { useScope } from '../session.tsx';
import { useText, useWords } from '../text/text.tsx';
import { Icon } from './icons.tsx';
import { Rows, Trouble } from './parts.tsx';

interface Pages {
  isPending: boolean;
  error: unknown;
  refetch: () => Promise<unknown>;
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => Promise<unknown>;
}

/** A list as it comes: loading, failed, empty, without a match, or there. */
export function Listed({
  pages,
  count,
  noMatch,
  empty,
  children,
}: {
  pages: Pick<Pages, 'isPending' | 'error' | 'refetch'>;
  count: number;
  /** The text for a list that filters leave empty; null: nothing is filtered. */
  noMatch: string | null;
  empty: ReactNode;
  children: ReactNode;
}) {
  if (count > 0) return children;
  if (pages.error) return <Trouble error={pages.error} retry={() => void pages.refetch()} />;
  if (pages.isPending) return <Rows count={6} />;
  if (noMatch === null) return empty;
  return (
    <p className="soft" style={{ textAlign: 'center', padding: '28px 0', margin: 0 }}>
      {noMatch}
    </p>
  );
}

/** The scope of a log: its filters, a way to clear them, and the payment that it was opened for. */
export function LogFilters({
  paymentId,
  clear,
  children,
}: {
  paymentId: string | undefined;
  /** False: nothing is filtered. */
  clear: false | (() => void);
  children: ReactNode;
}) {
  const words = useWords();
  return (
    <section className="card" aria-label={words.common.search}>
      <form className="filters" style={{ margin: 0 }} onSubmit={(event) => event.preventDefault()}>
        {children}
        {clear && (
          <Button className="wide" variant="subtle" onClick={clear}>
            {words.common.clear}
          </Button>
        )}
      </form>
      {paymentId && (
        <p className="soft" style={{ margin: '10px 0 0' }}>
          {words.events.ofPayment}{' '}
          <Link to="/pagamentos/$id" params={{ id: paymentId }} className="mono">
            {paymentId}
          </Link>
        </p>
      )}
    </section>
  );
}

/** A list with a detail pane; the first item is selected by default. */
export function Panes<One extends { id: string }>({
  label,
  list,
  shown,
  choose,
  line,
  foot,
  children,
}: {
  label: string;
  list: readonly One[];
  shown: One | undefined;
  choose: (id: string) => void;
  line: (one: One) => ReactNode;
  foot: ReactNode;
  children: ReactNode;
}) {
  const detail = useRef<HTMLDivElement>(null);
  // On a phone it stands below the list: who chooses goes there, and the keyboard with them.
  const show = (id: string) => {
    choose(id);
    if (!detail.current || detail.current.getBoundingClientRect().top < window.innerHeight / 2) return;
    detail.current.focus({ preventScroll: true });
    detail.current.scrollIntoView();
  };
  return (
    <div className="panes">
      <div className="card" style={{ padding: 8 }}>
        <ul className="moves" aria-label={label}>
          {list.map((one) => (
            <li key={one.id}>
              <button
                type="button"
                className="mailrow"
                aria-pressed={one.id === shown?.id}
                onClick={() => show(one.id)}
              >
                {line(one)}
              </button>
            </li>
          ))}
        </ul>
        {foot}
      </div>
      <div ref={detail} tabIndex={-1} className="detailpane">
        {children}
      </div>
    </div>
  );
}

/** A file of the account, in the language of the panel, for spreadsheets in the form that they want. */
export function FileLink({
  file,
  filters = {},
  children,
}: {
  /** Below the account, as `records.csv`. */
  file: string;
  filters?: Record<string, unknown>;
  children: ReactNode;
}) {
  const { language } = useText();
  const { account } = useScope();
  const query = new URLSearchParams({
    language,
    separator: language === 'en' ? 'comma' : 'semicolon',
    bom: 'yes',
  });
  for (const [name, value] of Object.entries(filters))
    if (value !== undefined) query.set(name, String(value));
  return (
    <Button
      component="a"
      href={`/panel/api/accounts/${account.id}/${file}?${query}`}
      download
      variant="subtle"
      leftSection={<Icon name="down" size={18} />}
    >
      {children}
    </Button>
  );
}

/** The next page of a list; nothing when this is the last one. */
export function MoreButton({
  pages,
  label,
}: {
  pages: Pick<Pages, 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'>;
  label?: string | undefined;
}) {
  const words = useWords();
  if (!pages.hasNextPage) return null;
  return (
    <Button variant="default" loading={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
      {label ?? words.common.more}
    </Button>
  );
}

/** Below a list: the next page of it; nothing when this is the last one. */
export function MoreFoot({ pages, label }: Parameters<typeof MoreButton>[0]) {
  if (!pages.hasNextPage) return null;
  return (
    <div className="listfoot">
      <MoreButton pages={pages} label={label} />
    </div>
  );
}

/** Below a list: the next page of it, and the whole of it as a file for spreadsheets. */
export function ListFoot({
  file,
  filters = {},
  pages,
  more,
  children,
}: {
  /** Below the account, as `records.csv`. */
  file: string;
  filters?: Record<string, unknown>;
  pages?: Pick<Pages, 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'>;
  /** The label of the button for the next page. */
  more?: string;
  children?: ReactNode;
}) {
  const words = useWords();
  return (
    <div className="listfoot">
      {pages && <MoreButton pages={pages} label={more} />}
      {children}
      <span style={{ marginLeft: 'auto' }}>
        <FileLink file={file} filters={filters}>
          {words.common.exportCsv}
        </FileLink>
      </span>
    </div>
  );
}
