import './console.css';
import { Button, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link, Navigate, Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { ask } from '../api/client.ts';
import { useAction } from '../ui/action.ts';
import { LanguageSwitch } from '../ui/brand.tsx';
import { Icon } from '../ui/icons.tsx';
import { BeforeSession } from '../ui/parts.tsx';
import { desk, deskKey, type OperatorSession, operatorSession, useOperator } from './api.ts';
import { Prove } from './proof.tsx';
import { useConsoleWords } from './words.ts';

/** Around every page of an operator who is signed in. */
export function Desk() {
  const { data, error, refetch } = useOperator();
  if (data === null) return <Navigate to="/operator/entrar" />;
  if (!data) return <BeforeSession error={error} retry={() => void refetch()} />;
  return <Frame session={data} />;
}

function Frame({ session }: { session: OperatorSession }) {
  const words = useConsoleWords();
  const main = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const first = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: with each page
  useEffect(() => {
    // Moves the screen reader to the start of the new page. Not needed on the first load, which starts there.
    if (!first.current) main.current?.focus({ preventScroll: true });
    first.current = false;
    // On a telephone the line of pages scrolls.
    document.querySelector('.deskhead nav .active')?.scrollIntoView({ block: 'nearest', inline: 'center' });
    window.scrollTo(0, 0);
  }, [path]);
  useGoTo(session);
  return (
    <div className="desk">
      <a className="skip" href="#conteudo">
        {words.skip}
      </a>
      <header className="deskhead">
        <Link to="/operator" className="brand">
          <img src="/vintem.svg" alt="" width="30" height="30" />
          <span>
            vintem <small>{words.name}</small>
          </span>
        </Link>
        <Search />
        <span className="who">
          {session.name}, {words.roles[session.role]}
        </span>
        <LanguageSwitch />
        <SignOut />
        <nav aria-label={words.nav.main}>
          <ul>
            {placesOf(session).map(({ name, to, key }) => (
              <li key={to}>
                <Link
                  to={to}
                  className="navlink"
                  title={`g ${key}`}
                  activeOptions={{ exact: to === '/operator' }}
                >
                  {words.nav[name]}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
      </header>
      <Prove />
      <main id="conteudo" ref={main} tabIndex={-1}>
        <Outlet />
      </main>
    </div>
  );
}

/** The pages of the console with the act that each shows, and the letter that leads there behind a `g`. */
const places = [
  { name: 'worklist', to: '/operator', key: 'w', act: 'worklist' },
  { name: 'requests', to: '/operator/pedidos', key: 'r', act: 'requests' },
  { name: 'connections', to: '/operator/conexoes', key: 'c', act: 'lookAtConnections' },
  { name: 'closes', to: '/operator/fechamentos', key: 'f', act: 'closes' },
  { name: 'processes', to: '/operator/processos', key: 'p', act: 'processes' },
  { name: 'notice', to: '/operator/aviso', key: 'n', act: 'notice' },
  { name: 'audit', to: '/operator/auditoria', key: 'l', act: 'ownAudit' },
  { name: 'operators', to: '/operator/operadores', key: 'o', act: 'operators' },
  { name: 'factors', to: '/operator/acesso', key: 's', act: 'ownFactors' },
] as const;

const placesOf = ({ acts }: OperatorSession) => places.filter(({ act }) => acts.includes(act));

/** Keys that a field does not want, and that are no key of the browser. */
const isFree = (event: KeyboardEvent): boolean =>
  !(event.target instanceof HTMLElement && event.target.matches('input, textarea, select')) &&
  !event.ctrlKey &&
  !event.metaKey &&
  !event.altKey;

/** `g` and a letter lead to a page. */
function useGoTo(session: OperatorSession): void {
  const navigate = useNavigate();
  useEffect(() => {
    let begun = false;
    const go = (event: KeyboardEvent) => {
      if (!isFree(event)) return;
      const place = begun ? placesOf(session).find(({ key }) => key === event.key) : undefined;
      begun = event.key === 'g' && !begun;
      if (!place) return;
      event.preventDefault();
      void navigate({ to: place.to });
    };
    document.addEventListener('keydown', go);
    return () => document.removeEventListener('keydown', go);
  }, [session, navigate]);
}

/** One box for everything. `/` leads there from anywhere but a field. */
function Search() {
  const words = useConsoleWords();
  const navigate = useNavigate();
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useState('');
  useEffect(() => {
    const lead = (event: KeyboardEvent) => {
      if (event.key !== '/' || !isFree(event)) return;
      event.preventDefault();
      field.current?.focus();
    };
    document.addEventListener('keydown', lead);
    return () => document.removeEventListener('keydown', lead);
  }, []);
  return (
    <search>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== '') void navigate({ to: '/operator/busca', search: { q: text.trim() } });
        }}
      >
        <TextInput
          ref={field}
          aria-label={words.search.label}
          aria-keyshortcuts="/"
          placeholder={words.search.hint}
          maxLength={200}
          leftSection={<Icon name="search" size={18} />}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Button type="submit" variant="default">
          {words.search.submit}
        </Button>
      </form>
    </search>
  );
}

function SignOut() {
  const words = useConsoleWords();
  const queries = useQueryClient();
  const leave = useAction(async () => {
    await ask(() => desk.POST('/sign-out', { body: {} }));
    // The next one in this page does not see what this one saw.
    queries.setQueryData(operatorSession.queryKey, null);
    const isOther = ([realm, what]: readonly unknown[]) => realm === deskKey && what !== 'session';
    queries.removeQueries({ predicate: ({ queryKey }) => isOther(queryKey) });
  });
  return (
    <Button variant="default" loading={leave.busy} onClick={() => leave.run()}>
      {words.nav.signOut}
    </Button>
  );
}
