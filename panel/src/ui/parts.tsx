import { Alert, Button, CopyButton, Skeleton, TextInput, type TextInputProps } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { type ReactNode, type Ref, useEffect } from 'react';
import { Problem } from '../api/client.ts';
import { dateTime, money, plainMoney } from '../format.ts';
import { useWords } from '../text/text.tsx';
import { Icon, type IconName } from './icons.tsx';

export function Money({ cents }: { cents: number }) {
  return <span className="num">{money(cents)}</span>;
}

/** A movement: what comes in has its sign and another colour. */
export function SignedMoney({ cents }: { cents: number }) {
  return (
    <span className={`num ${cents > 0 ? 'plus' : ''}`}>
      {cents > 0 ? '+' : ''}
      {money(cents)}
    </span>
  );
}

export function When({ at }: { at: string }) {
  return (
    <time dateTime={at} className="num">
      {dateTime(at)}
    </time>
  );
}

const moods: Record<string, string> = {
  paid: 'good',
  completed: 'good',
  pending: 'wait',
  draft: 'wait',
  unknown: 'ask',
  failed: 'bad',
  expired: 'rest',
  cancelled: 'rest',
  open: 'ask',
  defending: 'wait',
  accepted: 'bad',
  rejected: 'good',
};

/** The colour of a state. */
export const moodOf = (status: string): string => moods[status] ?? 'rest';

/** Nothing was sent or received, and no fee was taken. */
export const endedWithoutMoney = (status: string): boolean =>
  status === 'failed' || status === 'expired' || status === 'cancelled';

export function Status({ status, kind }: { status: string; kind: string }) {
  const words = useWords();
  const name = status === 'pending' && kind === 'transfer' ? 'processing' : status;
  return (
    <span className={`status ${moodOf(status)}`}>
      {words.status[name as keyof typeof words.status] ?? status}
    </span>
  );
}

/** The head of a page; its title is the document's. */
export function PageHead({
  title,
  lead,
  back,
  children,
}: {
  title: string;
  lead?: string;
  /** Where the reader came from. */
  back?: { to: string; label: string; search?: object };
  children?: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · vintem`;
  }, [title]);
  return (
    <div className="pagehead">
      <div className="grow">
        {back && (
          <Link to={back.to} {...(back.search && { search: back.search as never })} className="backlink">
            <Icon name="back" size={16} />
            {back.label}
          </Link>
        )}
        <h1>{title}</h1>
        {lead && <p>{lead}</p>}
      </div>
      {children}
    </div>
  );
}

export function Empty({
  icon,
  title,
  lead,
  children,
}: {
  icon: IconName;
  title: string;
  lead?: string;
  children?: ReactNode;
}) {
  return (
    <div className="empty">
      <Icon name={icon} size={40} />
      <h2>{title}</h2>
      {lead && <p>{lead}</p>}
      {children}
    </div>
  );
}

export function Rows({ count = 5 }: { count?: number }) {
  const words = useWords();
  return (
    <div className="stack" role="status" aria-label={words.common.loading}>
      {Array.from({ length: count }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: all alike
        <Skeleton key={at} height={38} />
      ))}
    </div>
  );
}

/** A problem, in words that say what to do. */
export function problemText(error: unknown, words: ReturnType<typeof useWords>): string {
  if (!(error instanceof Problem)) return words.errors.unexpected;
  if (error.code === 'unreachable' || error.status === 0) return words.errors.unreachable;
  return error.message || words.errors.unexpected;
}

/** A page whose session is not known yet, or could not be read. */
export function BeforeSession({ error, retry }: { error: unknown; retry: () => void }) {
  const words = useWords();
  if (error)
    return (
      <main>
        <Trouble error={error} retry={retry} />
      </main>
    );
  return (
    <main aria-label={words.common.loading}>
      <Rows />
    </main>
  );
}

export function Trouble({ error, retry }: { error: unknown; retry?: () => void }) {
  const words = useWords();
  return (
    <Alert color="red" variant="light" role="alert" title={words.errors.title} icon={<Icon name="warning" />}>
      <p>{problemText(error, words)}</p>
      {retry && (
        <Button size="xs" variant="default" onClick={retry}>
          {words.common.retry}
        </Button>
      )}
    </Alert>
  );
}

export function FormError({ error }: { error: unknown }) {
  const words = useWords();
  if (!error) return null;
  return (
    <Alert color="red" variant="light" role="alert" icon={<Icon name="warning" />}>
      {typeof error === 'string' ? error : problemText(error, words)}
    </Alert>
  );
}

/** A row of a description list. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** Ids that programs need and people seldom: folded away. Takes the rows of a description list. */
export function TechnicalIds({ children }: { children: ReactNode }) {
  const words = useWords();
  return (
    <details className="technical">
      <summary>{words.detail.technical}</summary>
      <dl className="facts">{children}</dl>
    </details>
  );
}

export function Copy({ value, label }: { value: string; label?: string }) {
  const words = useWords();
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Button
          variant={label ? 'filled' : 'default'}
          size={label ? 'md' : 'compact-xs'}
          leftSection={<Icon name={copied ? 'check' : 'copy'} size={label ? 18 : 14} />}
          onClick={copy}
        >
          <span aria-live="polite">{copied ? words.common.copied : (label ?? words.common.copy)}</span>
        </Button>
      )}
    </CopyButton>
  );
}

/** Cents, typed as digits from the right: 1 2 3 4 is R$ 12,34, with no comma to find. As `%` the same digits are a percentage with two places. */
export function MoneyInput({
  cents,
  onCents,
  unit = 'R$',
  ...rest
}: {
  cents: number;
  onCents: (cents: number) => void;
  unit?: 'R$' | '%';
  ref?: Ref<HTMLInputElement>;
} & Omit<TextInputProps, 'value' | 'onChange'>) {
  return (
    <TextInput
      {...rest}
      inputMode="numeric"
      autoComplete="off"
      leftSection={<span className="soft">{unit}</span>}
      styles={{ input: { fontVariantNumeric: 'tabular-nums' } }}
      value={cents === 0 ? '' : plainMoney(cents)}
      placeholder="0,00"
      onChange={(event) =>
        onCents(Math.min(Number(event.currentTarget.value.replace(/\D/g, '')), 999_999_999))
      }
    />
  );
}
