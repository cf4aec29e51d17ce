import { formatsOfPages } from './format.ts';
import { dayCount, recentQuery } from './pages/home.tsx';
import { statementQuery } from './pages/statement.tsx';
import { queries } from './queries.ts';
import { router } from './router.tsx';
import { overviewQuery, readSession, type View, viewOf } from './session.tsx';
import { keptLanguage, readKeptWords } from './text/text.tsx';
import { shownAmong } from './ui/operation-field.tsx';
import { type Filters, recordsQuery } from './ui/records.tsx';

/** A page that still lacks something by then is shown without it, and says what it waits for. */
const mostMs = 1_500;

type Search = Filters & { dias?: string; operacao?: string };

/** What the pages show that people open first. */
const looks: Readonly<Record<string, (view: View, search: Search) => Promise<unknown>>> = {
  '/': (view, { dias }) =>
    Promise.all([
      queries.prefetchQuery(overviewQuery(view, true)),
      queries.prefetchQuery(overviewQuery(view, false, 2 * dayCount(dias))),
      queries.prefetchQuery(recentQuery(view)),
    ]),
  '/cobrancas': (view, search) => lookAtRecords(view, 'deposit', search),
  '/transferencias': (view, search) => lookAtRecords(view, 'transfer', search),
  '/extrato': async (view, search) => {
    const { operations } = await queries.fetchQuery(overviewQuery(view, true));
    const operation = shownAmong(operations, view.operationId, search.operacao);
    if (operation) await queries.prefetchInfiniteQuery(statementQuery(view, operation.id, search));
  },
};

const lookAtRecords = (view: View, kind: 'deposit' | 'transfer', search: Search) =>
  Promise.all([
    queries.prefetchQuery(overviewQuery(view, true)),
    queries.prefetchInfiniteQuery(recordsQuery(view, kind, search)),
  ]);

/**
 * What the first page shows is read before it is rendered, so that it is rendered once. Rendered first as an empty page and then again with
 * each answer, it kept a slow telephone busy for two thirds of a second.
 */
export async function firstLook(): Promise<void> {
  const late = new Promise<void>((resolve) => setTimeout(resolve, mostMs));
  // What fails here is asked for again by the page, which says so.
  await Promise.race([late, Promise.allSettled([router.load(), readKeptWords(), readPage(), makeFormats()])]);
}

/** While the answers are on their way, one by one, so that the browser gets its turn between them. */
async function makeFormats(): Promise<void> {
  for (const make of formatsOfPages(keptLanguage())) {
    await new Promise((resolve) => setTimeout(resolve));
    make();
  }
}

async function readPage(): Promise<void> {
  const { pathname, search } = router.parseLocation(router.history.location, undefined);
  const look = looks[pathname];
  const session = look && (await readSession());
  const view = session && viewOf(session);
  if (view) await look(view, search as Search);
}
