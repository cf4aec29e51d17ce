import { createOperator } from '../../server/src/console/people/operators.ts';
import type { OperatorRole } from '../../server/src/operate/acts.ts';
import { type Answer, totpOf } from './panel.ts';
import type { Service } from './service.ts';

export const operatorPassword = 'jabuti roxo de guarda-chuva';

/** A browser's tab at the console: it keeps its cookie. */
export interface Desk {
  csrf: string;
  cookie: string;
  /** The secret of the authenticator app, as the app has it. */
  appSecret: string;
  email: string;
  call(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Answer>;
}

/** The operator at the shell. */
export const shellOf = ({ runtime }: Pick<Service, 'runtime'>) => ({ ...runtime, actor: 'root' });

export function openDesk(service: Pick<Service, 'url'>, always: Record<string, string> = {}): Desk {
  const desk: Desk = {
    csrf: '',
    cookie: '',
    appSecret: '',
    email: '',
    call: async (method, path, body, headers = {}) => {
      const answer = await fetch(`${service.url}/operator/api${path}`, {
        method,
        headers: {
          cookie: desk.cookie,
          origin: service.url,
          'x-csrf-token': desk.csrf,
          ...(body && { 'content-type': 'application/json' }),
          ...always,
          ...headers,
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      const [given] = answer.headers.getSetCookie();
      if (given) desk.cookie = given.split(';')[0] ?? '';
      const text = await answer.text();
      const parsed = text.startsWith('{') ? JSON.parse(text) : text;
      return { status: answer.status, headers: answer.headers, body: parsed };
    },
  };
  return desk;
}

let operators = 0;

/** A new operator who has accepted the invitation, and is signed in. */
export async function newOperator(
  service: Service,
  role: OperatorRole,
  always: Record<string, string> = {},
): Promise<Desk> {
  const email = `operador${++operators}@vintem.example`;
  const { token } = await createOperator(shellOf(service), { email, name: 'Rita Lima', role });
  return acceptInvitation(openDesk(service, always), email, token);
}

export async function acceptInvitation(desk: Desk, email: string, token: string): Promise<Desk> {
  desk.email = email;
  const app = await desk.call('POST', '/enrolment/app', { token });
  desk.appSecret = new URL(app.body.appUri).searchParams.get('secret') ?? '';
  const code = totpOf(desk.appSecret, Date.now());
  const accepted = await desk.call('POST', '/enrolment/accept', { token, password: operatorPassword, code });
  if (accepted.status !== 200)
    throw new Error(`the invitation was not accepted: ${JSON.stringify(accepted.body)}`);
  desk.csrf = (await desk.call('GET', '/session')).body.csrf;
  return desk;
}

/** Shows a code of the app again, as changes of the sign-in ask for. */
export async function prove(service: Pick<Service, 'database'>, desk: Desk): Promise<Answer> {
  await passOperatorCodes(service);
  return desk.call('POST', '/factors/proof', { code: totpOf(desk.appSecret, Date.now()) });
}

/** As if the half minute of the codes that were used had passed. */
export const passOperatorCodes = ({ database }: Pick<Service, 'database'>): Promise<unknown> =>
  database.admin('UPDATE operator_person SET app_step = NULL');

export const signIn = (desk: Desk, fields: object = {}): Promise<Answer> =>
  desk.call('POST', '/sign-in', {
    email: desk.email,
    password: operatorPassword,
    code: totpOf(desk.appSecret, Date.now()),
    ...fields,
  });
