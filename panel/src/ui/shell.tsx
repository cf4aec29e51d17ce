import {
  ActionIcon,
  Alert,
  Anchor,
  Button,
  CloseButton,
  TextInput,
  useMantineColorScheme,
} from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { ask, authCall, person } from '../api/client.ts';
import { dateTime } from '../format.ts';
import { dismissedUnder } from '../kept.ts';
import { useNotice, useOverview, useScope } from '../session.tsx';
import type { Language } from '../text/pt.ts';
import { useText, useWords } from '../text/text.tsx';
import { Brand, LanguageSwitch } from './brand.tsx';
import { Choice } from './choice.tsx';
import { counterPath } from './counter-lock.ts';
import { Icon, type IconName } from './icons.tsx';
import { Reauthenticate } from './reauthenticate.tsx';
import { SupportBanner } from './support.tsx';

function NavItem({
  to,
  icon,
  children,
  exact,
  count = 0,
}: {
  to: string;
  icon: IconName;
  children: ReactNode;
  exact?: boolean;
  /** Beside the name; zero: nothing. */
  count?: number;
}) {
  return (
    <li>
      <Link to={to} className="navlink" activeOptions={{ exact: exact ?? false }}>
        <Icon name={icon} />
        {children}
        {count > 0 && <span className="navcount num">{count}</span>}
      </Link>
    </li>
  );
}

function Navigation() {
  const { words } = useText();
  const { session, account, may } = useScope();
  const open = useOverview(true).data?.disputes.length ?? 0;
  return (
    <nav aria-label={words.nav.main}>
      <ul className="navlist">
        <NavItem to="/" icon="home" exact>
          {words.nav.home}
        </NavItem>
        <NavItem to="/cobrancas" icon="charge">
          {words.nav.charges}
        </NavItem>
        <NavItem to="/links" icon="link">
          {words.nav.links}
        </NavItem>
        <NavItem to="/qr-fixos" icon="print">
          {words.nav.codes}
        </NavItem>
        {may('charges') && (
          <NavItem to={counterPath} icon="keypad">
            {words.nav.counter}
          </NavItem>
        )}
        <NavItem to="/transferencias" icon="transfer">
          {words.nav.transfers}
        </NavItem>
        <NavItem to="/operacoes" icon="operations">
          {words.nav.operations}
        </NavItem>
        <NavItem to="/extrato" icon="statement">
          {words.nav.statement}
        </NavItem>
        <NavItem to="/contestacoes" icon="warning" count={open}>
          {words.nav.disputes}
        </NavItem>
        <NavItem to="/conciliacao" icon="scale">
          {words.nav.reconciliation}
        </NavItem>
      </ul>
      {may('keys') || may('webhooks') ? (
        <>
          <p className="navhead">{words.nav.integrations}</p>
          <ul className="navlist">
            <NavItem to="/integracoes/chaves" icon="key">
              {words.nav.keys}
            </NavItem>
            {may('webhooks') && (
              <NavItem to="/integracoes/webhooks" icon="webhook">
                {words.nav.webhooks}
              </NavItem>
            )}
            <NavItem to="/integracoes/requisicoes" icon="code">
              {words.nav.requests}
            </NavItem>
            <NavItem to="/integracoes/eventos" icon="bell">
              {words.nav.events}
            </NavItem>
            {account.test && may('simulate') && (
              <NavItem to="/integracoes/teste" icon="clock">
                {words.nav.testMode}
              </NavItem>
            )}
            <li>
              <a href={words.nav.guidesAt} className="navlink" target="_blank" rel="noreferrer">
                <Icon name="book" />
                {words.nav.guides}
              </a>
            </li>
            <li>
              <a href="/docs/reference" className="navlink" target="_blank" rel="noreferrer">
                <Icon name="link" />
                {words.nav.reference}
              </a>
            </li>
          </ul>
        </>
      ) : null}
      <p className="navhead">{words.nav.settings}</p>
      <ul className="navlist">
        <NavItem to="/empresa" icon="company">
          {words.nav.company}
        </NavItem>
        {may('members') && (
          <NavItem to="/pessoas" icon="people">
            {words.nav.people}
          </NavItem>
        )}
        {session.view === null && (
          <NavItem to="/seguranca" icon="shield" exact>
            {words.nav.security}
          </NavItem>
        )}
        {may('audit') && (
          <NavItem to="/seguranca/registro" icon="history">
            {words.nav.securityEvents}
          </NavItem>
        )}
      </ul>
    </nav>
  );
}

function OperationSwitcher() {
  const { words } = useText();
  const { operationId, chooseOperation } = useScope();
  const { data } = useOverview(true);
  if (!data) return <div style={{ height: 36 }} />;
  return (
    <Choice
      aria-label={words.common.operation}
      data={[
        { value: '', label: words.common.allOperations },
        ...data.operations.map(({ id, name }) => ({ value: id, label: name })),
      ]}
      value={operationId ?? ''}
      onChoice={(value) => chooseOperation(value ? value : null)}
      w="100%"
      maw={260}
    />
  );
}

/** The search over charges and transfers, at the top of every page. */
function FindPayment() {
  const words = useWords();
  const navigate = useNavigate();
  const [text, setText] = useState('');
  return (
    <form
      className="find"
      aria-label={words.find.label}
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== '') void navigate({ to: '/pagamentos', search: { q: text.trim() } });
      }}
    >
      <TextInput
        type="search"
        aria-label={words.find.label}
        placeholder={words.find.hint}
        leftSection={<Icon name="search" size={18} />}
        maxLength={100}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
    </form>
  );
}

/** A line of the person's menu; `chosen` of one among several: whether it is that one. */
function MenuLine({
  chosen,
  onClick,
  children,
}: {
  chosen?: boolean;
  onClick: () => void;
  children: ReactNode;
}) {
  return (
    <button
      type="button"
      className="menuline"
      popoverTarget={personMenu}
      popoverTargetAction="hide"
      {...(chosen !== undefined && { 'aria-pressed': chosen })}
      onClick={onClick}
    >
      {children}
      {chosen && <Icon name="check" size={16} />}
    </button>
  );
}

const personMenu = 'person-menu';

/**
 * The menu of the person. The browser's own popover with buttons: Escape, a click elsewhere and the way of the focus are its work. Not
 * `role="menu"`, which promises the arrow keys of a program's menu and takes neither headings nor groups of choices.
 */
function PersonMenu() {
  const { words, language, choose } = useText();
  const { session, account, chooseAccount } = useScope();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const other: Language = language === 'en' ? 'pt-BR' : 'en';
  return (
    <>
      <ActionIcon variant="default" size={36} aria-label={session.name} popoverTarget={personMenu}>
        <Icon name="user" />
      </ActionIcon>
      <div id={personMenu} popover="auto" className="personmenu">
        <p className="menuhead">
          <strong>{session.name}</strong>
          <br />
          {session.email}
        </p>
        {session.accounts.length > 1 && (
          <fieldset className="menugroup">
            <legend>{words.common.account}</legend>
            {session.accounts.map((one) => (
              <MenuLine key={one.id} chosen={one.id === account.id} onClick={() => chooseAccount(one.id)}>
                {one.name}
              </MenuLine>
            ))}
          </fieldset>
        )}
        <fieldset className="menugroup">
          <legend>{words.common.look}</legend>
          {(['auto', 'light', 'dark'] as const).map((scheme) => (
            <MenuLine key={scheme} chosen={colorScheme === scheme} onClick={() => setColorScheme(scheme)}>
              {words.common.looks[scheme]}
            </MenuLine>
          ))}
        </fieldset>
        <div className="menugroup">
          <MenuLine
            onClick={() => {
              choose(other);
              void ask(() => person.PATCH('/profile', { body: { language: other } }));
            }}
          >
            <span lang={other}>{other === 'en' ? 'English' : 'Português'}</span>
          </MenuLine>
          <MenuLine onClick={() => void navigate({ to: '/seguranca' })}>{words.nav.security}</MenuLine>
          <MenuLine
            onClick={async () => {
              await authCall('POST', '/sign-out');
              queries.clear();
              await navigate({ to: '/entrar' });
            }}
          >
            {words.common.signOut}
          </MenuLine>
        </div>
      </div>
    </>
  );
}

/** The navigation of narrow windows: the browser's own modal dialog, which keeps the focus, closes with Escape and gives the focus back. */
function NavigationDrawer({ opened, close }: { opened: boolean; close: () => void }) {
  const { words } = useText();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (opened) dialog.current?.showModal();
    else dialog.current?.close();
  }, [opened]);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: by the keyboard Escape and the button close it
    <dialog
      ref={dialog}
      className="drawer"
      aria-label={words.nav.menu}
      onClose={close}
      // Outside of what it holds, which fills it, only its backdrop is left to be clicked.
      onClick={(event) => event.target === event.currentTarget && close()}
    >
      {opened && (
        <div className="drawerbody">
          <div className="drawerhead">
            <span>{words.nav.menu}</span>
            <CloseButton aria-label={words.nav.close} c="white" variant="transparent" onClick={close} />
          </div>
          <Navigation />
        </div>
      )}
    </dialog>
  );
}

/** As the styles have it, and known in the first render: what they hide on a telephone is not put together there. */
const useWindow = (query: string): boolean =>
  useMediaQuery(query, undefined, { getInitialValueInEffect: false });

/** Around every page of an account. */
export function Shell() {
  const { words } = useText();
  const { account } = useScope();
  const narrow = useWindow('(max-width: 62em)');
  const [open, setOpen] = useState(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page was opened
  useEffect(() => {
    setOpen(false);
    // Moves the screen reader to the start of the new page. Not needed on the first load, which starts there.
    if (!first.current) main.current?.focus({ preventScroll: true });
    first.current = false;
    window.scrollTo(0, 0);
  }, [path]);
  return (
    <>
      <a className="skip" href="#conteudo">
        {words.nav.skip}
      </a>
      <div className="shell">
        {!narrow && (
          <aside className="side" aria-label={words.product}>
            <Brand />
            <Navigation />
          </aside>
        )}
        <div className="body">
          <TopBar openNavigation={() => setOpen(true)} />
          <SupportBanner />
          <NoticeBanner />
          {account.test && <TestBanner />}
          <main id="conteudo" ref={main} tabIndex={-1}>
            <GuardedPage path={path} />
          </main>
        </div>
      </div>
      <NavigationDrawer opened={open} close={() => setOpen(false)} />
      <Reauthenticate />
    </>
  );
}

function TopBar({ openNavigation }: { openNavigation: () => void }) {
  const { words } = useText();
  const { session } = useScope();
  const small = useWindow('(max-width: 48em)');
  return (
    <header className="topbar">
      <ActionIcon
        className="burger"
        variant="default"
        size={36}
        aria-label={words.nav.menu}
        onClick={openNavigation}
      >
        <Icon name="menu" />
      </ActionIcon>
      <div className="grow">
        <OperationSwitcher />
      </div>
      {!small && <FindPayment />}
      <LanguageSwitch />
      {session.view === null && <PersonMenu />}
    </header>
  );
}

/** The notice of the operator to every account. Who has read it closes it in this tab; another notice shows again. */
function NoticeBanner() {
  const { words, language } = useText();
  const notice = useNotice();
  const [dismissed, setDismissed] = useState(() => sessionStorage.getItem(dismissedUnder));
  if (notice === null) return null;
  const { setAt } = notice;
  if (dismissed === setAt) return null;
  return (
    <section className="banner notice" aria-label={words.notice.label}>
      <Icon name="warning" size={18} />
      <p lang={language}>
        {language === 'en' ? notice.en : notice.pt}{' '}
        <span className="until">{words.notice.until(dateTime(notice.until))}</span>
      </p>
      <CloseButton
        aria-label={words.notice.dismiss}
        variant="transparent"
        c="inherit"
        onClick={() => {
          sessionStorage.setItem(dismissedUnder, setAt);
          setDismissed(setAt);
        }}
      />
    </section>
  );
}

/** Says that no money moves here, and leads to the programs that stand in for the world outside. */
function TestBanner() {
  const { words } = useText();
  const { session } = useScope();
  return (
    <section className="banner" aria-label={words.common.testAccount}>
      <span className="wideonly">{words.common.testBanner}</span>
      <span className="phoneonly">{words.common.testAccount}</span>
      {session.simulatorUrl && (
        <a href={session.simulatorUrl} target="_blank" rel="noreferrer">
          <span className="wideonly">{words.common.openSimulator}</span>
          <span className="phoneonly">{words.common.simulatorShort}</span>
        </a>
      )}
      {session.mailbox && (
        <Link to="/mailbox">
          <span className="wideonly">{words.common.openMailbox}</span>
          <span className="phoneonly">{words.common.mailboxShort}</span>
        </Link>
      )}
    </section>
  );
}

/** The page, and above it by when a second factor must be set up. After that time only the page of security, where that is done, is shown. */
function GuardedPage({ path }: { path: string }) {
  const words = useWords();
  const { session, account } = useScope();
  // Without a second factor in this session the account closes then.
  const dueAt = session.secondFactor ? null : account.secondFactorDueAt;
  const isDue = dueAt !== null && Date.parse(dueAt) <= Date.now();
  return (
    <>
      {dueAt !== null && !isDue && path !== '/seguranca' && (
        <Alert color="yellow" variant="light" mb="md">
          {words.security.dueBy(dateTime(dueAt))}{' '}
          <Anchor component={Link} to="/seguranca">
            {words.transfers.setUp}
          </Anchor>
        </Alert>
      )}
      {isDue && path !== '/seguranca' ? (
        <div className="card stack narrow">
          <h1>{words.security.totp}</h1>
          <p style={{ margin: 0 }}>{words.security.dueNow}</p>
          <Button component={Link} to="/seguranca">
            {words.transfers.setUp}
          </Button>
        </div>
      ) : (
        <Outlet />
      )}
    </>
  );
}
