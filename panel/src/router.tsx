import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Navigate,
  Outlet,
} from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Charges } from './pages/charges.tsx';
import type { EventFilters } from './pages/events.tsx';
import { Home, readHome } from './pages/home.tsx';
import { NotFound } from './pages/not-found.tsx';
import type { RequestFilters } from './pages/requests.tsx';
import type { ActivityFilters } from './pages/security-events.tsx';
import { readStatement, Statement, type StatementSearch } from './pages/statement.tsx';
import { Transfers } from './pages/transfers.tsx';
import { queries } from './queries.ts';
import { expectFor, expectSession, type Reading, ScopeProvider, useSession } from './session.tsx';
import { counterPath, isCounterLocked } from './ui/counter-lock.ts';
import { readDetail } from './ui/detail.ts';
import { BeforeSession } from './ui/parts.tsx';
import { type Filters, readRecords } from './ui/records.tsx';
import { Shell } from './ui/shell.tsx';

function Nowhere() {
  return (
    <main>
      <NotFound />
    </main>
  );
}

const root = createRootRouteWithContext()({ component: Outlet, notFoundComponent: Nowhere });

/**
 * Everything below an account: who is not signed in goes to the gate, and a browser that is locked to the counter to the counter. By the route and not by
 * the address: while the counter's code is read, the address is the counter's already and the page still the other one.
 */
function Inside({ children, ofCounter = false }: { children: ReactNode; ofCounter?: boolean }) {
  const { data, error, refetch } = useSession();
  if (data === null || data?.accounts.length === 0) return <Navigate to="/entrar" />;
  if (!data) return <BeforeSession error={error} retry={() => void refetch()} />;
  if (!ofCounter && isCounterLocked()) return <Navigate to={counterPath} />;
  return <ScopeProvider session={data}>{children}</ScopeProvider>;
}

const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  loader: expectSession,
  component: () => (
    <Inside>
      <Shell />
    </Inside>
  ),
});
/** The same without the panel around it. */
const bare = createRoute({
  getParentRoute: () => root,
  id: 'bare',
  loader: expectSession,
  component: () => (
    <Inside>
      <Outlet />
    </Inside>
  ),
});

const till = createRoute({
  getParentRoute: () => root,
  id: 'till',
  loader: expectSession,
  component: () => (
    <Inside ofCounter>
      <Outlet />
    </Inside>
  ),
});

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
const textsOf = (search: Record<string, unknown>, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = text(search[name]);
      return value === undefined ? [] : [[name, value]];
    }),
  );
const filters = (search: Record<string, unknown>): Filters => {
  const found: Filters = {};
  for (const name of ['q', 'status', 'por', 'periodo', 'de', 'ate', 'ordem'] as const) {
    const value = text(search[name]) ?? (typeof search[name] === 'number' ? String(search[name]) : undefined);
    if (value !== undefined) found[name] = value;
  }
  return found;
};

const ofOperation = (search: Record<string, unknown>): { operacao?: string } => textsOf(search, ['operacao']);

const page = <Path extends string>(path: Path, component: ReturnType<typeof lazyRouteComponent>) =>
  createRoute({ getParentRoute: () => inside, path, component });
const open = <Path extends string>(path: Path, component: ReturnType<typeof lazyRouteComponent>) =>
  createRoute({ getParentRoute: () => root, path, component });

/** The operators' console, which merchants never load: a realm of its own. */
const deskPage = (
  name: 'Desk' | 'WorklistPage' | 'FoundPage' | 'AccountPage' | 'StoryPage' | 'IncidentPage',
) => lazyRouteComponent(() => import('./console/pages.tsx'), name);
/** Pages about operators and what they did. */
const peoplePage = (
  name:
    | 'OperatorSignIn'
    | 'OperatorInvitation'
    | 'RequestsPage'
    | 'AuditPage'
    | 'OperatorsPage'
    | 'FactorsPage'
    | 'OperatorOidc',
) => lazyRouteComponent(() => import('./console/people-pages.ts'), name);
/** Pages about the installation itself, which fewer roles have. */
const machinePage = (
  name:
    | 'ConnectionsPage'
    | 'ConnectionPage'
    | 'ClosesPage'
    | 'ClosedDayPage'
    | 'ProcessesPage'
    | 'NoticePage',
) => lazyRouteComponent(() => import('./console/machine.ts'), name);
/**
 * The same on the operators' desk, whose code comes later. The page is asked for beside the session: one after the other a telephone waited for two answers. Without
 * a session both are refused, and the gate opens.
 */
const expectOnDesk = (read?: (api: typeof import('./console/api.ts')) => Promise<unknown>): Reading => ({
  read: import('./console/api.ts').then((api) =>
    Promise.all([queries.prefetchQuery(api.operatorSession), read?.(api)]),
  ),
});
const insideDesk = createRoute({
  getParentRoute: () => root,
  id: 'operator-inside',
  loader: () => expectOnDesk(),
  component: deskPage('Desk'),
});
const onDesk = <Path extends string>(path: Path, component: ReturnType<typeof lazyRouteComponent>) =>
  createRoute({ getParentRoute: () => insideDesk, path, component });

// Start, lists and statement are in the program itself: they weigh a twentieth of it, and as files of their own they would come after it.
const routes = root.addChildren([
  inside.addChildren([
    createRoute({
      getParentRoute: () => inside,
      path: '/',
      validateSearch: (search): { dias?: string } =>
        // A number in the address is parsed as one.
        typeof search.dias === 'number' ? { dias: String(search.dias) } : textsOf(search, ['dias']),
      loader: ({ location }) =>
        expectFor((view) => readHome(view, (location.search as { dias?: string }).dias)),
      component: Home,
    }),
    createRoute({
      getParentRoute: () => inside,
      path: '/cobrancas',
      validateSearch: filters,
      loader: ({ location }) => expectFor((view) => readRecords(view, 'deposit', location.search as Filters)),
      component: Charges,
    }),
    page(
      '/cobrancas/nova',
      lazyRouteComponent(() => import('./pages/new-charge.tsx'), 'NewCharge'),
    ),
    page(
      '/cobrancas/vencimento',
      lazyRouteComponent(() => import('./pages/new-due-charge.tsx'), 'NewDueCharge'),
    ),
    createRoute({
      getParentRoute: () => inside,
      path: '/links',
      validateSearch: ofOperation,
      component: lazyRouteComponent(() => import('./pages/links.tsx'), 'Links'),
    }),
    createRoute({
      getParentRoute: () => inside,
      path: '/links/novo',
      validateSearch: ofOperation,
      component: lazyRouteComponent(() => import('./pages/new-link.tsx'), 'NewLink'),
    }),
    createRoute({
      getParentRoute: () => inside,
      path: '/links/$id',
      validateSearch: ofOperation,
      component: lazyRouteComponent(() => import('./pages/link.tsx'), 'LinkPage'),
    }),
    createRoute({
      getParentRoute: () => inside,
      path: '/links/$id/cartaz',
      validateSearch: ofOperation,
      component: lazyRouteComponent(() => import('./pages/link.tsx'), 'LinkPoster'),
    }),
    createRoute({
      getParentRoute: () => inside,
      path: '/qr-fixos',
      validateSearch: ofOperation,
      component: lazyRouteComponent(() => import('./pages/codes.tsx'), 'Codes'),
    }),
    createRoute({
      getParentRoute: () => inside,
      path: '/qr-fixos/novo',
      validateSearch: ofOperation,
      component: lazyRouteComponent(() => import('./pages/codes.tsx'), 'NewCode'),
    }),
    createRoute({
      getParentRoute: () => inside,
      path: '/qr-fixos/$id',
      validateSearch: ofOperation,
      component: lazyRouteComponent(() => import('./pages/code.tsx'), 'CodePage'),
    }),
    createRoute({
      getParentRoute: () => inside,
      path: '/qr-fixos/$id/cartaz',
      validateSearch: ofOperation,
      component: lazyRouteComponent(() => import('./pages/code.tsx'), 'CodePoster'),
    }),
    createRoute({
      getParentRoute: () => inside,
      path: '/pagamentos',
      validateSearch: filters,
      component: lazyRouteComponent(() => import('./pages/search.tsx'), 'Search'),
    }),
    createRoute({
      getParentRoute: () => inside,
      path: '/pagamentos/$id',
      loader: ({ params }) => expectFor((view) => readDetail(view, params.id)),
      component: lazyRouteComponent(() => import('./pages/payment.tsx'), 'PaymentPage'),
    }),
    page(
      '/pagamentos/$id/comprovante',
      lazyRouteComponent(() => import('./pages/receipt.tsx'), 'Receipt'),
    ),
    page(
      '/pagamentos/$id/reembolsos/$refund',
      lazyRouteComponent(() => import('./pages/receipt.tsx'), 'RefundReceipt'),
    ),
    createRoute({
      getParentRoute: () => inside,
      path: '/transferencias',
      validateSearch: filters,
      loader: ({ location }) =>
        expectFor((view) => readRecords(view, 'transfer', location.search as Filters)),
      component: Transfers,
    }),
    createRoute({
      getParentRoute: () => inside,
      path: '/transferencias/nova',
      validateSearch: (search): { repetir?: string } => textsOf(search, ['repetir']),
      component: lazyRouteComponent(() => import('./pages/new-transfer.tsx'), 'NewTransfer'),
    }),
    page(
      '/transferencias/$id/codigo',
      lazyRouteComponent(() => import('./pages/new-transfer.tsx'), 'TransferCode'),
    ),
    page(
      '/operacoes',
      lazyRouteComponent(() => import('./pages/operations.tsx'), 'Operations'),
    ),
    createRoute({
      getParentRoute: () => inside,
      path: '/extrato',
      validateSearch: (search): StatementSearch & { operacao?: string } =>
        textsOf(search, ['operacao', 'periodo', 'de', 'ate', 'tipo', 'q']),
      loader: ({ location }) => expectFor((view) => readStatement(view, location.search as StatementSearch)),
      component: Statement,
    }),
    createRoute({
      getParentRoute: () => inside,
      path: '/extrato/lancamentos',
      validateSearch: (search): { operacao?: string } => textsOf(search, ['operacao']),
      component: lazyRouteComponent(() => import('./pages/journal.tsx'), 'Journal'),
    }),
    createRoute({
      getParentRoute: () => inside,
      path: '/extrato/fechamentos',
      validateSearch: (search): { operacao?: string } => textsOf(search, ['operacao']),
      component: lazyRouteComponent(() => import('./pages/closes.tsx'), 'Closes'),
    }),
    createRoute({
      getParentRoute: () => inside,
      path: '/contestacoes',
      validateSearch: (search): { operacao?: string } => textsOf(search, ['operacao']),
      component: lazyRouteComponent(() => import('./pages/disputes.tsx'), 'Disputes'),
    }),
    page(
      '/conciliacao',
      lazyRouteComponent(() => import('./pages/reconciliation.tsx'), 'ReconciliationPage'),
    ),
    createRoute({
      getParentRoute: () => inside,
      path: '/integracoes/requisicoes',
      validateSearch: (search): RequestFilters =>
        textsOf(search, ['metodo', 'resposta', 'chave', 'pagamento', 'id', 'periodo', 'de', 'ate']),
      component: lazyRouteComponent(() => import('./pages/requests.tsx'), 'Requests'),
    }),
    createRoute({
      getParentRoute: () => inside,
      path: '/integracoes/eventos',
      validateSearch: (search): EventFilters => textsOf(search, ['tipo', 'pagamento', 'de', 'ate']),
      component: lazyRouteComponent(() => import('./pages/events.tsx'), 'Events'),
    }),
    page(
      '/integracoes/chaves',
      lazyRouteComponent(() => import('./pages/keys.tsx'), 'Keys'),
    ),
    page(
      '/integracoes/webhooks',
      lazyRouteComponent(() => import('./pages/webhooks.tsx'), 'Webhooks'),
    ),
    page(
      '/integracoes/webhooks/$id',
      lazyRouteComponent(() => import('./pages/webhooks.tsx'), 'Deliveries'),
    ),
    page(
      '/integracoes/teste',
      lazyRouteComponent(() => import('./pages/test-mode.tsx'), 'TestModePage'),
    ),
    page(
      '/empresa',
      lazyRouteComponent(() => import('./pages/company.tsx'), 'Company'),
    ),
    page(
      '/pessoas',
      lazyRouteComponent(() => import('./pages/people.tsx'), 'People'),
    ),
    page(
      '/seguranca',
      lazyRouteComponent(() => import('./pages/security.tsx'), 'Security'),
    ),
    createRoute({
      getParentRoute: () => inside,
      path: '/seguranca/registro',
      validateSearch: (search): ActivityFilters =>
        textsOf(search, ['assunto', 'pessoa', 'resultado', 'periodo', 'de', 'ate']),
      component: lazyRouteComponent(() => import('./pages/security-events.tsx'), 'SecurityEvents'),
    }),
    createRoute({ getParentRoute: () => inside, path: '$', component: NotFound }),
  ]),
  till.addChildren([
    createRoute({
      getParentRoute: () => till,
      path: counterPath,
      component: lazyRouteComponent(() => import('./pages/counter.tsx'), 'Counter'),
    }),
  ]),
  bare.addChildren([
    createRoute({
      getParentRoute: () => bare,
      path: '/pagamentos/$id/pagador',
      component: lazyRouteComponent(() => import('./pages/payer.tsx'), 'PayerView'),
    }),
  ]),
  insideDesk.addChildren([
    createRoute({
      getParentRoute: () => insideDesk,
      path: '/operator',
      loader: () => expectOnDesk(({ worklistQuery }) => queries.prefetchQuery(worklistQuery)),
      component: deskPage('WorklistPage'),
    }),
    createRoute({
      getParentRoute: () => insideDesk,
      path: '/operator/busca',
      validateSearch: (search): { q?: string } =>
        // A number in the address is parsed as one.
        typeof search.q === 'number' ? { q: String(search.q) } : textsOf(search, ['q']),
      loader: ({ location }) => {
        const { q } = location.search as { q?: string };
        return expectOnDesk(async (api) => {
          if (q) await queries.prefetchQuery(api.findQuery(q));
        });
      },
      component: deskPage('FoundPage'),
    }),
    createRoute({
      getParentRoute: () => insideDesk,
      path: '/operator/contas/$id',
      loader: ({ params }) =>
        expectOnDesk(({ accountQuery }) => queries.prefetchQuery(accountQuery(params.id))),
      component: deskPage('AccountPage'),
    }),
    createRoute({
      getParentRoute: () => insideDesk,
      path: '/operator/pagamentos/$id',
      loader: ({ params }) => expectOnDesk(({ storyQuery }) => queries.prefetchQuery(storyQuery(params.id))),
      component: deskPage('StoryPage'),
    }),
    createRoute({
      getParentRoute: () => insideDesk,
      path: '/operator/incidentes/$id',
      loader: ({ params }) =>
        expectOnDesk(({ incidentQuery }) => queries.prefetchQuery(incidentQuery(params.id))),
      component: deskPage('IncidentPage'),
    }),
    onDesk('/operator/pedidos', peoplePage('RequestsPage')),
    onDesk('/operator/operadores', peoplePage('OperatorsPage')),
    onDesk('/operator/acesso', peoplePage('FactorsPage')),
    onDesk('/operator/conexoes', machinePage('ConnectionsPage')),
    onDesk('/operator/conexoes/$name', machinePage('ConnectionPage')),
    createRoute({
      getParentRoute: () => insideDesk,
      path: '/operator/fechamentos',
      validateSearch: (search): { connection?: string } => textsOf(search, ['connection']),
      component: machinePage('ClosesPage'),
    }),
    onDesk('/operator/processos', machinePage('ProcessesPage')),
    onDesk('/operator/aviso', machinePage('NoticePage')),
    onDesk('/operator/fechamentos/$day', machinePage('ClosedDayPage')),
    createRoute({
      getParentRoute: () => insideDesk,
      path: '/operator/auditoria',
      validateSearch: (search): { ownerId?: string; actor?: string; action?: string } =>
        textsOf(search, ['ownerId', 'actor', 'action']),
      component: peoplePage('AuditPage'),
    }),
  ]),
  open('/operator/entrar', peoplePage('OperatorSignIn')),
  open('/operator/entrar/oidc', peoplePage('OperatorOidc')),
  open('/operator/convite', peoplePage('OperatorInvitation')),
  open(
    '/entrar',
    lazyRouteComponent(() => import('./pages/sign-in.tsx'), 'SignIn'),
  ),
  open(
    '/senha',
    lazyRouteComponent(() => import('./pages/sign-in.tsx'), 'ForgotPassword'),
  ),
  open(
    '/nova-senha',
    lazyRouteComponent(() => import('./pages/secrets.tsx'), 'NewPassword'),
  ),
  open(
    '/novo-email',
    lazyRouteComponent(() => import('./pages/secrets.tsx'), 'NewEmail'),
  ),
  open(
    '/cancelar-email',
    lazyRouteComponent(() => import('./pages/secrets.tsx'), 'CancelEmail'),
  ),
  open(
    '/convite',
    lazyRouteComponent(() => import('./pages/secrets.tsx'), 'Invitation'),
  ),
  open(
    '/mailbox',
    lazyRouteComponent(() => import('./pages/mailbox.tsx'), 'Mailbox'),
  ),
]);

export const router = createRouter({ routeTree: routes, defaultPreload: 'intent' });

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
