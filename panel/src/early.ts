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

const asked = new Map<string, Promise<Response | null>>();
/** Asked for by the program, which may be as fast as this file: asked again, an answer would be read by nobody and keep its connection. */
const askedByProgram = new Set<string>();

function askEarly(url: string): Promise<Response | null> {
  const answer = fetch(url).catch(() => null);
  asked.set(url, answer);
  return answer;
}

/** Calls the service; what was asked for early is taken from there, once. */
export async function fetchOrTake(request: Request): Promise<Response> {
  if (request.method !== 'GET' || performance.now() >= freshMs) return fetch(request);
  const { pathname, search } = new URL(request.url);
  const url = pathname + search;
  askedByProgram.add(url);
  const early = asked.get(url);
  asked.delete(url);
  return (await early) ?? fetch(request);
}

/** What nobody took gives its connection back. */
function giveUp(): void {
  for (const answer of asked.values()) void answer.then((left) => left?.body?.cancel());
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
  if (!askedByProgram.has(figures)) void askEarly(figures);
}

// In two pieces, between which the browser gets its turn.
void import('react-dom/client').then(() => import('./main.tsx'));
if (localStorage.getItem(keptUnder.language) === 'en') void english();
// The pages that people open first. Without a sign-in there is no session to ask for.
if (['/', '/cobrancas', '/transferencias', '/extrato'].includes(window.location.pathname))
  void askForFigures();
setTimeout(giveUp, freshMs);
