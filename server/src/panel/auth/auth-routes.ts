import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { callerNetwork } from '../../edge/caller-address.ts';
import { refuse } from '../../ground/errors.ts';
import { PanelError } from '../errors.ts';
import { endSession } from '../people/members.sql.ts';
import { emailMost, emailOf, isEmail } from '../people/members.ts';
import { passwordLength } from '../people/password-length.ts';
import type { Attempts } from './attempts.ts';
import type { Auth } from './auth.ts';
import { type AuthCall, authCalls, authPath } from './auth-calls.ts';
import { authEffects, type EffectDeps } from './auth-effects.ts';
import type { KnownDevices } from './known-device.ts';
import { isPlainAttestation } from './passkey-rules.ts';
import { type Person, requireOwnFactor } from './session.ts';

/** Sign-in, as far as `authCalls` names it: checked and counted here, handed to better-auth, recorded in `auth-effects.ts`. */
export function authRoutes(
  scope: FastifyInstance,
  deps: EffectDeps,
  auth: () => Promise<Auth>,
  publicUrl: string,
): void {
  const { sessions } = deps;
  const { attempts, devices } = deps.guards;
  const effects = authEffects(deps);

  async function callerOf(request: FastifyRequest, call: string, rule: AuthCall): Promise<Person | null> {
    if (rule.session === undefined) return null;
    const person =
      rule.session === 'required'
        ? await sessions.personOf(request)
        : await sessions.personOf(request).catch(nullIfNotSignedIn);
    if (person === null) return null;
    // The first code of the app sets it up; the later ones only show it.
    const setsUp = call === 'POST /two-factor/verify-totp' && !person.twoFactorEnabled;
    if (rule.addsFactor || setsUp) sessions.requireUnfrozen(person);
    if (rule.addsFactor || rule.removesFactor) requireOwnFactor(person);
    if (rule.givenAgain) sessions.requireGivenAgain(person);
    return person;
  }

  scope.route({
    method: ['GET', 'POST'],
    url: '/auth/*',
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      const path = new URL(request.url, publicUrl);
      const call = `${request.method} ${path.pathname.slice(authPath.length)}`;
      const rule = Object.hasOwn(authCalls, call) ? authCalls[call] : undefined;
      if (!rule) throw new PanelError('not_found');
      sessions.requireOrigin(request);
      requireReadableFields(request.body);
      const person = await callerOf(request, call, rule);
      if (call === 'POST /passkey/verify-registration') await requirePlainAttestation(request.body);
      // better-auth answers as if it had ended the session when its store fails: it is ended here first.
      if (person && call === 'POST /sign-out')
        await deps.sql.tx((tx) => endSession(tx, person.userId, person.id));
      if (person && rule.password) await attempts.take('password', `${call} ${person.userId}`);
      const email = emailIn(call, request.body);
      await takeFor(attempts, devices, rule, { email, request });
      const answer = await (await auth()).handler(
        new Request(new URL(path.pathname + path.search, publicUrl), {
          method: request.method,
          headers: sessions.headersOf(request),
          ...(request.method === 'POST' ? { body: JSON.stringify(bodyOf(request.body)) } : {}),
        }),
      );
      // Of its own errors and of the store's, better-auth gives no more than the status; it depends on nothing but the database.
      if (answer.status >= 500) throw refuse('processing_unavailable');
      // The secret of a link was right, so it was no guess.
      if (answer.ok && rule.byNetwork === 'linkSecret')
        await attempts.giveBack('linkSecret', callerNetwork(request));
      if (answer.ok && person && rule.password) await attempts.forget('password', `${call} ${person.userId}`);
      for (const cookie of answer.headers.getSetCookie()) reply.header('set-cookie', cookie);
      await effects.after({ request, reply, call, rule, person, email, answer });
      return send(reply, call, answer);
    },
  });
}

async function send(reply: FastifyReply, call: string, answer: Response): Promise<FastifyReply> {
  const text = await answer.text();
  // better-auth asks for user verification only where the authenticator likes to (1.7.6 has no option): we refuse without it.
  const body =
    call === 'GET /passkey/generate-authenticate-options' && answer.ok
      ? JSON.stringify({ ...JSON.parse(text), userVerification: 'required' })
      : text;
  return reply
    .code(answer.status)
    .type(answer.headers.get('content-type') ?? 'application/json')
    .send(body);
}

/** Counted before a password is looked at, or a row is read or written for a stranger. @throws PanelError `too_many_attempts` */
async function takeFor(
  attempts: Attempts,
  devices: KnownDevices,
  { byNetwork, signsIn }: AuthCall,
  { email, request }: { email: string | null; request: FastifyRequest },
): Promise<void> {
  const network = callerNetwork(request);
  const signIn = signsIn && email;
  const device = signIn ? devices.deviceOf(request.headers.cookie, signIn) : null;
  if (device !== null) return attempts.take('signInDevice', device);
  if (byNetwork) await attempts.take(byNetwork, network);
  if (!signIn) return;
  await attempts.take('signIn', `${signIn} ${network}`);
  await attempts.take('signInEmail', signIn);
}

const nullIfNotSignedIn = (error: unknown): null => {
  if (error instanceof PanelError && error.code === 'not_signed_in') return null;
  throw error;
};

/** Without the choices of better-auth that weaken a sign-in: no device is trusted for a month, no passkey opens a session when it is added. */
function bodyOf(body: unknown): unknown {
  const {
    trustDevice: _,
    disableSession: __,
    createSession: ___,
    ...rest
  } = (body ?? {}) as Record<string, unknown>;
  return rest;
}

const lengthsOf: Readonly<Record<string, number>> = {
  password: passwordLength.maximum,
  newPassword: passwordLength.maximum,
  currentPassword: passwordLength.maximum,
  email: emailMost,
};
/** Of any other field; the longest are the attestations of passkeys. */
const fieldMost = 12 * 1024;

/**
 * Before anything reads them: checking, normalizing and hashing cost by length, and what PostgreSQL cannot store (NUL, halves of surrogate
 * pairs) fails only there.
 * @throws PanelError `password_too_long`, `field_too_long`, `field_unreadable`
 */
function requireReadableFields(body: unknown): void {
  for (const [name, value] of Object.entries(body ?? {})) {
    if (typeof value !== 'string' || value.length <= (lengthsOf[name] ?? fieldMost)) continue;
    throw new PanelError(/password/i.test(name) ? 'password_too_long' : 'field_too_long');
  }
  const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\u0000');
  if (!everyText(body, isStorable)) throw new PanelError('field_unreadable');
}

/** @throws PanelError `field_unreadable` for one that names certificates */
async function requirePlainAttestation(body: unknown): Promise<void> {
  const { response } = (body ?? {}) as { response?: { response?: { attestationObject?: unknown } } };
  const object = response?.response?.attestationObject;
  if (typeof object !== 'string' || !(await isPlainAttestation(object)))
    throw new PanelError('field_unreadable');
}

/** Of all values of a body, at any depth; bodies of 16 KiB are at most that deep, and the parser has read them the same way. */
const everyText = (value: unknown, holds: (text: string) => boolean): boolean =>
  typeof value === 'string'
    ? holds(value)
    : typeof value !== 'object' || value === null
      ? true
      : Object.values(value).every((inner) => everyText(inner, holds));

function emailIn(call: string, body: unknown): string | null {
  if (call !== 'POST /sign-in/email' && call !== 'POST /request-password-reset') return null;
  const { email } = (body ?? {}) as { email?: unknown };
  return typeof email === 'string' && isEmail(email) ? emailOf(email) : null;
}
