import createClient, { type Middleware } from 'openapi-fetch';
import type { components, paths } from './contract.d.ts';

export type Schemas = components['schemas'];
export type Payment = Schemas['Payment'];
export type RecordView = Schemas['Record'];
export type Overview = Answer<'/overview'>;
export type Detail = Answer<'/records/{id}'>;
export type RecordsPage = Answer<'/records'>;
export type ListedRecord = RecordsPage['records'][number];
export type Refunds = Answer<'/records/{id}/refunds'>;
export type Dispute = Answer<'/operation-disputes'>['disputes'][number];
export type Defence = Answer<'/operation-disputes/{id}/defence'>;
export type DisputeFile = Schemas['DisputeFile'];
export type JournalLine = Answer<'/journal'>['lines'][number];
export type MerchantProfile = Answer<'/merchant-profile'>;
export type SavedReceiver = Answer<'/receivers'>['receivers'][number];
export type PaymentLink = Schemas['PaymentLink'];
export type StaticCode = Schemas['StaticCode'];
export type MailChoice = Answer<'/mail-choice'>;
export type Session = Answer<'/session'>;

type Answer<Path extends keyof paths> = paths[Path] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body } } } };
}
  ? Body
  : never;

/** A refusal of the service. `code` names the case; `message` says it in the language of the panel. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: readonly { field?: string; code?: string; triesLeft?: number }[];
  constructor(
    status: number,
    body: { code?: string; message?: string | string[]; details?: unknown[] } | undefined,
  ) {
    super([body?.message ?? ''].flat().join('; '));
    this.status = status;
    this.code = body?.code ?? 'unreachable';
    this.details = (body?.details ?? []) as Problem['details'];
  }
}

/** Set once the session is known; goes with every change. */
const request = { csrf: '', language: 'pt-BR' };

export const setCsrf = (csrf: string): void => {
  request.csrf = csrf;
};
export const setRequestLanguage = (language: string): void => {
  request.language = language;
};

export const changeHeaders = (): Record<string, string> => ({
  'x-csrf-token': request.csrf,
  'accept-language': request.language,
});

const headers: Middleware = {
  onRequest: ({ request: sent }) => {
    for (const [name, value] of Object.entries(changeHeaders())) sent.headers.set(name, value);
    return sent;
  },
};

export const person = createClient<paths>({ baseUrl: '/panel/api' });
person.use(headers);

const bare = createClient<paths>({ baseUrl: '/panel/api' });

/** A page has begun this call before the program was there. The browser gives the answer to a call with the same headers, so it has none of ours. */
export const readSession = () => bare.GET('/session');

const clients = new Map<string, typeof person>();

/** The calls below an account. */
export function accountClient(accountId: string): typeof person {
  let client = clients.get(accountId);
  if (!client) {
    client = createClient<paths>({ baseUrl: `/panel/api/accounts/${accountId}` });
    client.use(headers);
    clients.set(accountId, client);
  }
  return client;
}

interface Answered<Data> {
  data?: Data | undefined;
  error?: unknown;
  response: Response;
}

/** Asks for the password or a factor again; resolves with whether it was given. Set by the dialog. */
const gate: { ask: () => Promise<boolean> } = { ask: async () => false };
export const onReauthentication = (ask: () => Promise<boolean>): void => {
  gate.ask = ask;
};

/** Refusals of the panel and of the console that a person answers at once. */
const wantsProof: ReadonlySet<string> = new Set(['reauthentication_required', 'fresh_factor_required']);

/** The answer of a call, or a Problem. A call that wants a fresh password or factor is made again once it was given. */
export const ask = <Data>(call: () => Promise<Answered<Data>>): Promise<Data> =>
  answerOf(() => withSession(call));

async function answerOf<Data>(call: () => Promise<Answered<Data>>): Promise<Data> {
  const first = await attempt(call);
  if (!(first instanceof Problem)) return first.data;
  if (wantsProof.has(first.code) && (await gate.ask())) {
    const second = await attempt(call);
    if (!(second instanceof Problem)) return second.data;
    throw second;
  }
  throw first;
}

/** Calls of better-auth that have begun, and the latest one that is under way: each may end the session and begin another. */
const renewals: { begun: number; latest: Promise<void> | null } = { begun: 0, latest: null };

/**
 * A call that such a one overtakes arrives with a session that has ended, and is made again with the new one. Otherwise a list that is read
 * while a person sets up a second factor sent them to the gate, before they saw their backup codes.
 */
async function withSession<Data>(call: () => Promise<Answered<Data>>): Promise<Answered<Data>> {
  const sentAfter = renewals.latest === null ? renewals.begun : null;
  const answer = await call();
  if (answer.response.status !== 401 || sentAfter === renewals.begun) return answer;
  await renewals.latest;
  return call();
}

async function renewing<Data>(call: () => Promise<Answered<Data>>): Promise<Answered<Data>> {
  const answer = call();
  const ended = answer.then(
    () => {},
    () => {},
  );
  renewals.begun++;
  renewals.latest = ended;
  try {
    return await answer;
  } finally {
    if (renewals.latest === ended) renewals.latest = null;
  }
}

async function attempt<Data>(call: () => Promise<Answered<Data>>): Promise<{ data: Data } | Problem> {
  try {
    const { data, error, response } = await call();
    if (response.ok) return { data: data as Data };
    return new Problem(response.status, error as ConstructorParameters<typeof Problem>[1]);
  } catch {
    return new Problem(0, undefined);
  }
}

/** A call of better-auth. */
export async function authCall<Data = Record<string, unknown>>(
  method: 'GET' | 'POST',
  path: string,
  body?: object,
): Promise<Data> {
  const call = async (): Promise<Answered<Data>> => {
    const response = await fetch(`/panel/api/auth${path}`, {
      method,
      headers: { ...changeHeaders(), ...(method === 'POST' && { 'content-type': 'application/json' }) },
      ...(method === 'POST' && { body: JSON.stringify(body ?? {}) }),
    });
    const text = await response.text();
    const data = text === '' ? undefined : JSON.parse(text);
    return response.ok ? { data, response } : { error: data, response };
  };
  return answerOf(() => (method === 'POST' ? renewing(call) : withSession(call)));
}
