import type { FastifyRequest } from 'fastify';
import { callerNetwork } from '../../edge/caller-address.ts';
import type { ApiScope } from '../../edge/edge.ts';
import type { Secrets } from '../../ground/secrets.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { stepOf } from '../../panel/auth/app-codes.ts';
import { type Attempts, withLinkSecret } from '../../panel/auth/attempts.ts';
import { PanelError } from '../../panel/errors.ts';
import { emailOf } from '../../panel/people/members.ts';
import { hashPassword, isPassword } from '../../panel/people/password.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Sql } from '../../ports/sql.ts';
import { type Credentials, findCredentials, holdOperator, useAppStep } from '../people/operators.sql.ts';
import { enrol, lookAtInvitation, noteOperator, offerApp } from '../people/operators.ts';
import type { Asked } from '../people/passkeys.sql.ts';
import { consoleConfig } from '../route.ts';
import {
  AppSchema,
  Done,
  EnrolBody,
  InvitationBody,
  InvitedSchema,
  Nothing,
  SessionSchema,
  SignInBody,
} from '../schema.ts';
import { AskedToSign, PasskeySignInBody } from './factor-schema.ts';
import { counts, type Passkeys, type Shown } from './passkeys.ts';
import { actsOf, type ConsoleSessions } from './sessions.ts';

const tags = ['Operator'];

interface SignInDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  secrets: Pick<Secrets, 'seal' | 'open'>;
  attempts: Attempts;
  sessions: ConsoleSessions;
  passkeys: Passkeys;
}

/** How operators come in. These calls have no session yet; the others of the console do. */
export function signInRoutes(api: ApiScope, deps: SignInDeps): void {
  const { sql, sessions } = deps;

  api.post(
    '/sign-in',
    {
      schema: { tags, summary: 'Sign in', body: SignInBody, response: { 200: Done } },
      config: consoleConfig,
    },
    async (request, reply) => {
      const { id, step, email } = await provenBy(deps, request, request.body);
      const cookie = await sql.tx(async (tx) => {
        // Of several calls with the same code, and beside a suspension, one at most continues.
        if (!(await useAppStep(tx, id, step))) throw new PanelError('sign_in_failed');
        await noteOperator(tx, deps, {
          actor: email,
          action: 'operator.sign_in',
          subject: id,
          detail: { network: callerNetwork(request), method: 'password' },
        });
        return sessions.begin(tx, id, request);
      });
      await settle(deps.attempts, request, { id, email });
      reply.header('set-cookie', cookie);
      return { ok: true as const };
    },
  );

  passkeySignInRoutes(api, deps);
  enrolmentRoutes(api, deps);
}

/** A passkey that has verified its user is two factors. It says itself whose it is. */
function passkeySignInRoutes(api: ApiScope, deps: SignInDeps): void {
  const { attempts, passkeys } = deps;
  const askedBy = (request: FastifyRequest): Asked => ({
    ...{ purpose: 'sign_in', sessionId: null, network: callerNetwork(request) },
  });

  api.post(
    '/sign-in/passkey/options',
    {
      schema: {
        tags,
        summary: 'What a passkey has to sign',
        body: Nothing,
        response: { 200: AskedToSign },
      },
      config: consoleConfig,
    },
    async (request) => {
      await attempts.take('operatorChallenge', callerNetwork(request));
      return passkeys.ask(askedBy(request), null);
    },
  );

  api.post(
    '/sign-in/passkey',
    {
      schema: { tags, summary: 'Sign in with a passkey', body: PasskeySignInBody, response: { 200: Done } },
      config: consoleConfig,
    },
    async (request, reply) => {
      await attempts.take('operatorSignInNetwork', callerNetwork(request));
      const shown = await passkeys.shownBy(askedBy(request), request.body.response);
      const cookie = shown && (await beginWithPasskey(deps, request, shown));
      if (cookie === null) throw new PanelError('passkey_refused');
      await attempts.giveBack('operatorSignInNetwork', callerNetwork(request));
      reply.header('set-cookie', cookie);
      return { ok: true as const };
    },
  );
}

/** @returns the cookie of the session; null: its operator may not sign in any more, or a copy of the passkey signed before */
const beginWithPasskey = (deps: SignInDeps, request: FastifyRequest, shown: Shown): Promise<string | null> =>
  deps.sql.tx(async (tx) => {
    const { operatorId } = shown.passkey;
    const email = await holdOperator(tx, operatorId);
    if (email === undefined || !(await counts(tx, deps, shown))) return null;
    await noteOperator(tx, deps, {
      actor: email,
      action: 'operator.sign_in',
      subject: operatorId,
      detail: { network: callerNetwork(request), method: 'passkey', passkeyId: shown.passkey.id },
    });
    return deps.sessions.begin(tx, operatorId, request);
  });

/** Hashed once, so that an address of none costs what a wrong password costs. */
let hashOfNone: Promise<string> | undefined;

/** The operator whose password and code these are. Counted before either is looked at. @throws PanelError `sign_in_failed`, `too_many_attempts` */
async function provenBy(
  { sql, ids, clock, secrets, attempts }: SignInDeps,
  request: FastifyRequest,
  given: { email: string; password: string; code: string },
): Promise<{ id: string; step: number; email: string }> {
  const email = emailOf(given.email);
  const network = callerNetwork(request);
  await attempts.take('operatorSignInNetwork', network);
  await attempts.take('operatorSignIn', `${email} ${network}`);
  await attempts.take('operatorSignInEmail', email);
  const person: Credentials | undefined = await findCredentials(sql, email);
  hashOfNone ??= hashPassword(ids.bytes(16).toString('base64url'), ids.bytes(16));
  const isRight = await isPassword(person?.password ?? (await hashOfNone), given.password);
  if (!person || !isRight) throw new PanelError('sign_in_failed');
  // The same answer as for a wrong password: it does not say that the password was right.
  if (!(await attempts.tryTake('operatorCode', person.id))) throw new PanelError('sign_in_failed');
  const secret = secrets.open(person.appSecret, person.id).toString();
  const step = await stepOf(secret, given.code, clock.now());
  if (step === null) throw new PanelError('sign_in_failed');
  return { id: person.id, step, email };
}

async function settle(
  attempts: Attempts,
  request: FastifyRequest,
  { id, email }: { id: string; email: string },
): Promise<void> {
  const network = callerNetwork(request);
  await attempts.giveBack('operatorSignInNetwork', network);
  await attempts.forget('operatorSignIn', `${email} ${network}`);
  await attempts.giveBack('operatorSignInEmail', email);
  await attempts.forget('operatorCode', id);
}

function enrolmentRoutes(api: ApiScope, deps: SignInDeps): void {
  const { sessions, attempts } = deps;
  api.post(
    '/enrolment/look',
    {
      schema: {
        tags,
        summary: 'Whose invitation it is',
        body: InvitationBody,
        response: { 200: InvitedSchema },
      },
      config: consoleConfig,
    },
    async (request) => {
      const { email, name, role } = await withLinkSecret(attempts, callerNetwork(request), () =>
        lookAtInvitation(deps, request.body.token),
      );
      return { email, name, role };
    },
  );

  api.post(
    '/enrolment/app',
    {
      schema: {
        tags,
        summary: 'A new secret for the authenticator app',
        body: InvitationBody,
        response: { 200: AppSchema },
      },
      config: consoleConfig,
    },
    async (request) => ({
      appUri: await withLinkSecret(attempts, callerNetwork(request), () =>
        offerApp(deps, request.body.token),
      ),
    }),
  );

  api.post(
    '/enrolment/accept',
    {
      schema: { tags, summary: 'Accept the invitation', body: EnrolBody, response: { 200: Done } },
      config: consoleConfig,
    },
    async (request, reply) => {
      await withLinkSecret(attempts, callerNetwork(request), async () => {
        let cookie = '';
        await enrol(deps, request.body, async (tx, operatorId) => {
          cookie = await sessions.begin(tx, operatorId, request);
        });
        reply.header('set-cookie', cookie);
      });
      return { ok: true as const };
    },
  );
}

const sessionMs = 12 * 3600 * 1000;

/** The session of the one who calls. */
export function ownSessionRoutes(
  api: ApiScope,
  deps: Pick<SignInDeps, 'sql' | 'clock' | 'ids' | 'sessions'>,
): void {
  api.get(
    '/session',
    {
      schema: { tags, summary: 'Who is signed in', response: { 200: SessionSchema } },
      config: consoleConfig,
    },
    async ({ operator }) => ({
      email: operator.email,
      name: operator.name,
      role: operator.role,
      acts: actsOf(operator.role),
      csrf: operator.csrf,
      endsAt: isoOf(operator.createdAt + sessionMs),
    }),
  );

  api.post(
    '/sign-out',
    { schema: { tags, summary: 'Sign out', body: Nothing, response: { 200: Done } }, config: consoleConfig },
    async ({ operator }, reply) => {
      reply.header('set-cookie', await deps.sessions.end(operator));
      await deps.sql.tx((tx) =>
        noteOperator(tx, deps, {
          actor: operator.email,
          action: 'operator.sign_out',
          subject: operator.operatorId,
        }),
      );
      return { ok: true as const };
    },
  );
}
