import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ask, Problem, person } from '../api/client.ts';
import { dateTime } from '../format.ts';
import { useWords } from '../text/text.tsx';
import { Brand, LanguageSwitch } from '../ui/brand.tsx';
import { Empty, PageHead, Rows, Trouble } from '../ui/parts.tsx';

const kept = 'vintem mailbox';

/** The token of the link that the start printed, kept for this browser's next visit and removed from the address line. */
function takeToken(): string {
  const given = window.location.hash.slice(1);
  if (given === '') return window.localStorage.getItem(kept) ?? '';
  window.localStorage.setItem(kept, given);
  window.history.replaceState(null, '', window.location.pathname);
  return given;
}

/** The token of another installation, or of this one with another secret. */
const isRefused = (error: unknown): boolean => error instanceof Problem && error.status === 404;

/** The mails of a test installation. The page needs no session, because the mail that a person needs to sign in is among them. */
export function Mailbox() {
  const words = useWords();
  const [token] = useState(takeToken);
  const [chosen, setChosen] = useState<string | null>(null);
  const { data, error } = useQuery({
    queryKey: ['mailbox'],
    queryFn: () => ask(() => person.GET('/mailbox', { headers: { 'x-mailbox-token': token } })),
    enabled: token !== '',
    refetchInterval: 2_000,
  });
  const mail = data?.mails.find((one) => one.id === chosen) ?? data?.mails[0];
  return (
    <>
      <header className="topbar" style={{ background: 'var(--deep)', borderBottom: 0 }}>
        <div className="grow">
          <span style={{ display: 'inline-block', marginBottom: -18 }}>
            <Brand />
          </span>
        </div>
        <LanguageSwitch />
      </header>
      <main style={{ margin: '0 auto' }}>
        <PageHead title={words.mailbox.title} lead={words.mailbox.lead} />
        {token === '' || isRefused(error) ? (
          <div className="card">
            <Empty icon="mail" title={words.mailbox.link} />
          </div>
        ) : error && !data ? (
          <Trouble error={error} />
        ) : !data ? (
          <Rows />
        ) : data.mails.length === 0 ? (
          <div className="card">
            <Empty icon="mail" title={words.mailbox.empty} />
          </div>
        ) : (
          <div className="mailbox">
            <ul className="moves card" style={{ padding: 8 }}>
              {data.mails.map((one) => (
                <li key={one.id}>
                  <button
                    type="button"
                    className="mailrow"
                    aria-pressed={one.id === mail?.id}
                    onClick={() => setChosen(one.id)}
                  >
                    <strong>{one.subject}</strong>
                    <span className="soft num">{dateTime(new Date(one.date).toISOString())}</span>
                    <span className="soft">{one.to}</span>
                  </button>
                </li>
              ))}
            </ul>
            {mail && (
              <article className="card" aria-live="polite">
                <h2 style={{ marginTop: 0 }}>{mail.subject}</h2>
                <p className="soft" style={{ marginTop: 0 }}>
                  {words.mailbox.to} {mail.to}
                </p>
                <MailText text={mail.text} />
              </article>
            )}
          </div>
        )}
      </main>
    </>
  );
}

/** Addresses of ours in a mail can be followed. */
function MailText({ text }: { text: string }) {
  const parts = text.split(/(https?:\/\/[^\s]+)/);
  return (
    <div style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }} data-testid="mail-text">
      {parts.map((part, at) =>
        /^https?:\/\//.test(part) && URL.canParse(part) ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text
          <a key={at} href={part}>
            {part}
          </a>
        ) : (
          part
        ),
      )}
    </div>
  );
}
