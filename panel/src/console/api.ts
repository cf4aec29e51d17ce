import { queryOptions, useQuery } from '@tanstack/react-query';
import createClient from 'openapi-fetch';
import { ask, Problem } from '../api/client.ts';
import type { paths } from '../api/console.d.ts';

/** Of the last key or press; a page that reads again by itself keeps no session open without one. */
let attendedAt = Date.now();
const attended = (): void => {
  attendedAt = Date.now();
};
for (const name of ['keydown', 'pointerdown', 'wheel', 'touchmove'] as const)
  document.addEventListener(name, attended, { passive: true });
const unattendedMs = 60_000;

/** The calls of the operators' console, a realm of its own: another cookie, another sign behind changes. */
const own = { csrf: '' };

/** Of a call beside `desk`. */
export const deskHeaders = (): Record<string, string> => ({
  'x-csrf-token': own.csrf,
  'accept-language': document.documentElement.lang,
});

export const desk = createClient<paths>({ baseUrl: '/operator/api' });
desk.use({
  onRequest: ({ request }) => {
    for (const [name, value] of Object.entries(deskHeaders())) request.headers.set(name, value);
    if (Date.now() - attendedAt > unattendedMs) request.headers.set('x-unattended', '1');
    return request;
  },
});

type Answer<Path extends keyof paths> = paths[Path] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body } } } };
}
  ? Body
  : never;

export type OperatorSession = Answer<'/session'>;
export type Worklist = Answer<'/worklist'>;
export type Story = Answer<'/payments/{id}'>;
export type Found = Answer<'/find'>['found'][number];

export type AuditEntry = Answer<'/audit'>['entries'][number];
export type ListedConnection = Answer<'/connections'>['connections'][number];
export type Connection = Answer<'/connections/{name}'>;
export type ConnectionMoney = Answer<'/connections/{name}/money'>;
export type Close = Answer<'/closes'>['closes'][number];
export type Processes = Answer<'/processes'>;
export type ClosedDay = Answer<'/closes/{day}'>;
export type Factors = Answer<'/factors'>;
export type OperatorPerson = Answer<'/operators'>['operators'][number];
export type OperatorChange = NonNullable<
  paths['/operators/changes']['post']['requestBody']
>['content']['application/json'];
export type Invitation = NonNullable<
  paths['/requests/{id}/agreement']['post']['responses'][200]['content']['application/json']['invitation']
>;
export type Notice = NonNullable<Answer<'/notice'>['notice']>;
export type SavedView = Answer<'/views'>['views'][number];
export type Asked = Answer<'/requests'>['requests'][number];

/** The first part of every key of the console. */
export const deskKey = 'operator';

export const operatorSession = queryOptions({
  queryKey: [deskKey, 'session'],
  queryFn: async (): Promise<OperatorSession | null> => {
    try {
      const session = await ask(() => desk.GET('/session'));
      own.csrf = session.csrf;
      return session;
    } catch (error) {
      if (error instanceof Problem && error.status === 401) return null;
      throw error;
    }
  },
  staleTime: 60_000,
});

/** The operator who is signed in, or null. */
export const useOperator = () => useQuery(operatorSession);

/** One payment of any account with its whole story. */
export const storyQuery = (id: string) =>
  queryOptions({
    queryKey: [deskKey, 'payment', id],
    queryFn: () => ask(() => desk.GET('/payments/{id}', { params: { path: { id } } })),
  });

export const accountQuery = (id: string) =>
  queryOptions({
    queryKey: [deskKey, 'account', id],
    queryFn: () => ask(() => desk.GET('/accounts/{id}', { params: { path: { id } } })),
  });

export const incidentQuery = (id: string) =>
  queryOptions({
    queryKey: [deskKey, 'incident', id],
    queryFn: () => ask(() => desk.GET('/incidents/{id}', { params: { path: { id } } })),
  });

/** Whatever has this identifier, or the accounts with this in their names. */
export const findQuery = (text: string) =>
  queryOptions({
    queryKey: [deskKey, 'find', text],
    queryFn: () => ask(() => desk.GET('/find', { params: { query: { text } } })),
  });

export const worklistQuery = queryOptions({
  queryKey: [deskKey, 'worklist'],
  queryFn: () => ask(() => desk.GET('/worklist')),
  refetchInterval: 10_000,
});
