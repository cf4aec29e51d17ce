/**
 * What the first look at a page needs, asked for while the program itself is still on its way: the browser reads this file before the others,
 * because it is small. So program, session and figures come side by side and not one after the other.
 */

export const english = () => import('./text/en.ts');

export const keptUnder = {
  language: 'vintem.language',
  account: 'vintem.account',
  operation: 'vintem.operation',
} as const;

/** Home shows a month beside the one before. */
export const overviewDays = 60;

/** An answer that the program has not taken by then is asked for anew. */
const freshMs = 10_000;

/** Answers by URL that the program has not taken yet; null: the program has asked for this URL, so nobody would read an early answer. */
const asked = new Map<string, Promise<Response | null> | null>();

function askEarly(url: string): Promise<Response | null> {
  const answer = fetch(url).catch(() => null);
  asked.set(url, answer);
  return answer;
}

/** Calls the service; what was asked for early is taken from there, once. */
export async function fetchOrTake(request: Request): Promise<Response> {
  if (request.method !== 'GET' || performance.now() >= freshMs) return fetch(request);
  const { pathname, search } = new URL(request.url);
  const early = asked.get(pathname + search);
  asked.set(pathname + search, null);
  return (await early) ?? fetch(request);
}

/** Cancels the answers that the program did not take. An unread answer keeps its connection open as long as the page. */
function cancelRest(): void {
  for (const answer of asked.values()) {
    // A stream that broke by itself needs no cancelling.
    void answer?.then((left) => left?.body?.cancel()).catch(() => {});
  }
  asked.clear();
}

async function askForFigures(): Promise<void> {
  const session = await askEarly('/panel/api/session');
  if (!session?.ok) return;
  // The program reads the answer itself.
  const { accounts } = (await session.clone().json()) as { accounts: { id: string }[] };
  const account = accounts.find(({ id }) => id === localStorage.getItem(keptUnder.account)) ?? accounts[0];
  // Figures of one operation are asked for by the page, which knows whether the choice is one of this account.
  if (!account || localStorage.getItem(keptUnder.operation)) return;
  const figures = `/panel/api/accounts/${account.id}/overview?days=${overviewDays}`;
  if (!asked.has(figures)) void askEarly(figures);
}

// In two pieces, between which the browser gets its turn.
void import('react-dom/client').then(() => import('./main.tsx'));
if (localStorage.getItem(keptUnder.language) === 'en') void english();
// The pages that people open first. Without a sign-in there is no session to ask for.
if (['/', '/cobrancas', '/transferencias', '/extrato'].includes(window.location.pathname))
  void askForFigures();
setTimeout(cancelRest, freshMs);
