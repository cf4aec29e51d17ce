import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerAddress, callerNetwork } from '../../edge/caller-address.ts';
import type { Log } from '../../ground/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Sql } from '../../ports/sql.ts';
import type { PanelMails } from '../people/mails.ts';
import {
  deleteNewEmailOf,
  endOtherSessions,
  findUser,
  freezeUser,
  markSecondFactor,
  type SessionRow,
  type User,
} from '../people/members.sql.ts';
import { recordSecurityEvent, type SecurityEvent } from '../people/security-events.ts';
import type { Attempts } from './attempts.ts';
import { type AuthCall, freezeMs } from './auth-calls.ts';
import type { FactorAttempts } from './factor-attempts.ts';
import type { KnownDevices } from './known-device.ts';
import type { Person, Sessions } from './session.ts';
import { noticeSignIn } from './sign-in-notice.ts';

interface Answered {
  request: FastifyRequest;
  reply: FastifyReply;
  call: string;
  rule: AuthCall;
  /** Who was signed in before the call. */
  person: Person | null;
  /** The address that a sign-in or a reset named. */
  email: string | null;
  answer: Response;
}

/** The limits of a sign-in's tries. */
export interface SignInGuards {
  attempts: Attempts;
  devices: KnownDevices;
  factorAttempts: FactorAttempts;
}

export interface EffectDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  log: Log;
  mails: PanelMails;
  sessions: Sessions;
  guards: SignInGuards;
}

/** The effects of better-auth's answers: the session's standing, freezes, mails, and the security event. */
export function authEffects(effectDeps: EffectDeps) {
  return {
    after: (answered: Answered): Promise<void> =>
      answered.answer.ok ? afterSuccess(effectDeps, answered) : afterFailure(effectDeps, answered),
  };
}

/** The session that the answer began, or the existing one. */
async function sessionAfter(
  { sessions }: EffectDeps,
  { request, answer, person }: Answered,
): Promise<SessionRow | null> {
  const given = answer.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0] ?? '')
    .find((cookie) => /session_token=./.test(cookie));
  if (given === undefined) return person;
  const headers = sessions.headersOf(request);
  headers.set('cookie', given);
  return sessions.sessionIn(headers);
}

/** The person signed in: their wrong attempts no longer count, and this one was none. */
async function settleAttempts(
  { guards: { attempts, devices } }: EffectDeps,
  request: FastifyRequest,
  email: string,
): Promise<void> {
  const device = devices.deviceOf(request.headers.cookie, email);
  if (device !== null) return attempts.forget('signInDevice', device);
  await attempts.forget('signIn', `${email} ${callerNetwork(request)}`);
  await attempts.giveBack('signInAddress', callerNetwork(request));
  await attempts.giveBack('signInEmail', email);
}

async function afterSignIn(deps: EffectDeps, answered: Answered): Promise<void> {
  const { sql } = deps;
  const { devices, factorAttempts } = deps.guards;
  const { call, request, reply, person, email } = answered;
  const session = await sessionAfter(deps, answered);
  // The password was right, and the code of the app comes next.
  if (!session) {
    const user = email === null ? undefined : await findUser(sql, email);
    return record(deps, answered, {
      kind: 'sign_in',
      userId: user?.id ?? null,
      detail: { method: methodOf(call), step: 'password' },
    });
  }
  const user = { id: session.userId, email: session.email };
  if (call !== 'POST /sign-in/email') await markSecondFactor(sql, session.id);
  if (call.includes('two-factor')) {
    await factorAttempts.settle({
      user,
      method: call.includes('backup-code') ? 'backup code' : 'app',
      cookie: request.headers.cookie,
      address: callerAddress(request),
    });
  }
  if (email !== null) await settleAttempts(deps, request, email);
  if (person !== null) return afterFactorCode(deps, answered, session.id);
  reply.header('set-cookie', devices.cookieFor(user.email, deps.ids.bytes(16)));
  await noticeSignIn(deps, request, user);
  await record(deps, answered, {
    kind: 'sign_in',
    userId: user.id,
    sessionId: session.id,
    detail: { method: methodOf(call) },
  });
}

/** A code that was given in a session: it sets up the app, or shows the second factor later than the sign-in. */
async function afterFactorCode(deps: EffectDeps, answered: Answered, sessionId: string): Promise<void> {
  const person = answered.person as Person;
  if (person.twoFactorEnabled) return record(deps, answered, { kind: 'factor.code', sessionId });
  await afterFactorChange(deps, answered, 'app', true, sessionId);
}

/** An added factor freezes for a day; a removed one ends the other sessions, which may have begun with it. */
async function afterFactorChange(
  deps: EffectDeps,
  answered: Answered,
  factor: 'app' | 'passkey' | 'backup codes',
  added: boolean,
  sessionId: string,
): Promise<void> {
  const { userId, email } = answered.person as Person;
  await deps.sql.tx(async (tx) => {
    await deleteNewEmailOf(tx, userId);
    if (added) await freezeUser(tx, userId, deps.clock.now() + freezeMs);
    else await endOtherSessions(tx, userId, sessionId);
  });
  mailed(deps, deps.mails.factorChanged(email, { factor, added, ip: callerAddress(answered.request) }));
  await record(deps, answered, { kind: added ? 'factor.enrolled' : 'factor.removed', detail: { factor } });
}

async function afterSuccess(deps: EffectDeps, answered: Answered): Promise<void> {
  const { call, rule, person } = answered;
  if (rule.signsIn) return afterSignIn(deps, answered);
  const sessionId = (await sessionAfter(deps, answered))?.id ?? person?.id ?? '';
  switch (call) {
    case 'POST /two-factor/disable':
      return afterFactorChange(deps, answered, 'app', false, sessionId);
    case 'POST /passkey/verify-registration':
      return afterFactorChange(deps, answered, 'passkey', true, sessionId);
    case 'POST /passkey/delete-passkey':
      return afterFactorChange(deps, answered, 'passkey', false, sessionId);
    case 'POST /two-factor/generate-backup-codes':
      return record(deps, answered, { kind: 'factor.backup_codes' });
    case 'POST /change-password': {
      const { userId, email } = person as Person;
      await deps.sql.tx(async (tx) => {
        await deleteNewEmailOf(tx, userId);
        await endOtherSessions(tx, userId, sessionId);
      });
      await deps.guards.factorAttempts.forget(userId);
      mailed(deps, deps.mails.passwordWasChanged(email));
      return record(deps, answered, { kind: 'password.changed' });
    }
    case 'POST /sign-out':
      return person === null ? undefined : record(deps, answered, { kind: 'sign_out' });
    case 'POST /request-password-reset': {
      const user = await userNamed(deps, answered);
      return record(deps, answered, { kind: 'password.reset_asked', userId: user?.id ?? null });
    }
  }
}

async function afterFailure(deps: EffectDeps, answered: Answered): Promise<void> {
  const kind = kindOfFailure[answered.call];
  if (kind === undefined) return;
  const user = await userNamed(deps, answered);
  const by = user?.id ?? answered.person?.userId ?? callerNetwork(answered.request);
  if (!(await deps.guards.attempts.tryTake('refusalRecord', by))) return;
  const userId = user?.id ?? answered.person?.userId ?? null;
  await record(deps, answered, { kind, userId, detail: { method: methodOf(answered.call) } });
}

const kindOfFailure: Readonly<Record<string, SecurityEvent['kind']>> = {
  'POST /sign-in/email': 'sign_in',
  'POST /passkey/verify-authentication': 'sign_in',
  'POST /two-factor/verify-totp': 'factor.code',
  'POST /two-factor/verify-backup-code': 'factor.code',
  'POST /two-factor/enable': 'factor.enrolled',
  'POST /two-factor/disable': 'factor.removed',
  'POST /two-factor/generate-backup-codes': 'factor.backup_codes',
  'POST /passkey/verify-registration': 'factor.enrolled',
  'POST /passkey/delete-passkey': 'factor.removed',
  'POST /change-password': 'password.changed',
  'POST /reset-password': 'password.reset',
};

const record = (deps: EffectDeps, answered: Answered, event: SecurityEvent): Promise<void> =>
  recordSecurityEvent(deps, {
    userId: answered.person?.userId ?? null,
    sessionId: answered.person?.id ?? null,
    ipAddress: callerAddress(answered.request),
    outcome: answered.answer.ok ? 'ok' : 'refused',
    ...event,
  });

const mailed = ({ log }: EffectDeps, sending: Promise<void>): void => {
  sending.catch((err: unknown) => log.error({ err }, 'a mail was not sent'));
};

const userNamed = async ({ sql }: EffectDeps, { email }: Answered): Promise<User | undefined> =>
  email === null ? undefined : findUser(sql, email);

const methodOf = (call: string): string =>
  call.includes('passkey')
    ? 'passkey'
    : call.includes('backup-code')
      ? 'backup code'
      : call.includes('two-factor')
        ? 'app'
        : 'password';
