import type { FastifyReply, FastifyRequest } from 'fastify';
import type { PanelDeps } from '../deps.ts';
import { panelMails } from '../members/mails.ts';
import {
  deleteNewEmailOf,
  endOtherSessions,
  findUser,
  freezeUser,
  markSecondFactor,
  type User,
} from '../members/members.sql.ts';
import type { Attempts } from './attempts.ts';
import type { Auth } from './auth.ts';
import { type AuthCall, freezeMs } from './auth-calls.ts';
import type { KnownDevices } from './known-device.ts';
import { recordSecurityEvent, type SecurityEvent } from './security-events.ts';
import type { Person, Sessions } from './session.ts';
import { noticeSignIn } from './sign-in-notice.ts';

interface Answered {
  auth: Auth;
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

/** What follows from an answer of better-auth: what a session stands for, freezes, mails, and the security event. */
export function authEffects(deps: PanelDeps, sessions: Sessions, attempts: Attempts, devices: KnownDevices) {
  const { sql, clock, ids } = deps;
  const mails = panelMails(deps);
  const mailed = (sending: Promise<void>): void => {
    sending.catch((err: unknown) => deps.log.error({ err }, 'a mail was not sent'));
  };
  const record = (answered: Answered, event: SecurityEvent): Promise<void> =>
    recordSecurityEvent(deps, {
      userId: answered.person?.userId ?? null,
      sessionId: answered.person?.id ?? null,
      ipAddress: answered.request.ip,
      outcome: answered.answer.ok ? 'ok' : 'refused',
      ...event,
    });

  /** The session that the answer began, or the existing one. */
  async function sessionAfter({ auth, request, answer, person }: Answered) {
    const given = answer.headers
      .getSetCookie()
      .map((cookie) => cookie.split(';')[0] ?? '')
      .find((cookie) => /session_token=./.test(cookie));
    if (given === undefined && person === null) return null;
    const headers = sessions.headersOf(request);
    if (given !== undefined) headers.set('cookie', given);
    return auth.api.getSession({ headers });
  }

  /** The person signed in: their wrong attempts no longer count, and this one was none. */
  async function settleAttempts(request: FastifyRequest, email: string): Promise<void> {
    const device = devices.deviceOf(request.headers.cookie, email);
    if (device !== null) return attempts.forget('signInDevice', device);
    await attempts.forget('signIn', `${email} ${request.ip}`);
    await attempts.giveBack('signInAddress', request.ip);
    await attempts.giveBack('signInEmail', email);
  }

  async function afterSignIn(answered: Answered): Promise<void> {
    const { call, request, reply, person, email } = answered;
    const found = await sessionAfter(answered);
    // The password was right, and the code of the app comes next.
    if (!found) {
      const user = email === null ? undefined : await findUser(sql, email);
      return record(answered, {
        kind: 'sign_in',
        userId: user?.id ?? null,
        detail: { method: methodOf(call), step: 'password' },
      });
    }
    const { user, session } = found;
    if (call !== 'POST /sign-in/email') await markSecondFactor(sql, session.id);
    if (call.includes('two-factor')) {
      await attempts.forget('factorCode', user.id);
      await attempts.giveBack('factorCodeAddress', request.ip);
    }
    if (email !== null) await settleAttempts(request, email);
    if (person !== null) return afterFactorCode(answered, session.id);
    reply.header('set-cookie', devices.cookieFor(user.email, ids.bytes(16)));
    await noticeSignIn(deps, request, user);
    await record(answered, {
      kind: 'sign_in',
      userId: user.id,
      sessionId: session.id,
      detail: { method: methodOf(call) },
    });
  }

  /** A code that was given in a session: it sets up the app, or shows the second factor later than the sign-in. */
  async function afterFactorCode(answered: Answered, sessionId: string): Promise<void> {
    const person = answered.person as Person;
    if (person.twoFactorEnabled) return record(answered, { kind: 'factor.code', sessionId });
    await afterFactorChange(answered, 'app', true, sessionId);
  }

  /** An added factor freezes for a day; a removed one ends the other sessions, which may have begun with it. */
  async function afterFactorChange(
    answered: Answered,
    factor: 'app' | 'passkey' | 'backup codes',
    added: boolean,
    sessionId: string,
  ): Promise<void> {
    const { userId, email } = answered.person as Person;
    await sql.tx(async (tx) => {
      await deleteNewEmailOf(tx, userId);
      if (added) await freezeUser(tx, userId, clock.now() + freezeMs);
      else await endOtherSessions(tx, userId, sessionId);
    });
    mailed(mails.factorChanged(email, { factor, added, ip: answered.request.ip }));
    await record(answered, { kind: added ? 'factor.enrolled' : 'factor.removed', detail: { factor } });
  }

  async function afterSuccess(answered: Answered): Promise<void> {
    const { call, rule, person } = answered;
    if (rule.signsIn) return afterSignIn(answered);
    const sessionId = (await sessionAfter(answered))?.session.id ?? person?.id ?? '';
    switch (call) {
      case 'POST /two-factor/disable':
        return afterFactorChange(answered, 'app', false, sessionId);
      case 'POST /passkey/verify-registration':
        return afterFactorChange(answered, 'passkey', true, sessionId);
      case 'POST /passkey/delete-passkey':
        return afterFactorChange(answered, 'passkey', false, sessionId);
      case 'POST /two-factor/generate-backup-codes':
        return record(answered, { kind: 'factor.backup_codes' });
      case 'POST /change-password': {
        const { userId, email } = person as Person;
        await sql.tx(async (tx) => {
          await deleteNewEmailOf(tx, userId);
          await endOtherSessions(tx, userId, sessionId);
        });
        mailed(mails.passwordWasChanged(email));
        return record(answered, { kind: 'password.changed' });
      }
      case 'POST /sign-out':
        return person === null ? undefined : record(answered, { kind: 'sign_out' });
      case 'POST /request-password-reset': {
        const user = await userNamed(answered);
        return record(answered, { kind: 'password.reset_asked', userId: user?.id ?? null });
      }
    }
  }

  const userNamed = async ({ email }: Answered): Promise<User | undefined> =>
    email === null ? undefined : findUser(sql, email);

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

  return {
    async after(answered: Answered): Promise<void> {
      if (answered.answer.ok) return afterSuccess(answered);
      const kind = kindOfFailure[answered.call];
      if (kind === undefined) return;
      const user = await userNamed(answered);
      const by = user?.id ?? answered.person?.userId ?? answered.request.ip;
      if (!(await attempts.tryTake('refusalRecord', by))) return;
      const userId = user?.id ?? answered.person?.userId ?? null;
      await record(answered, { kind, userId, detail: { method: methodOf(answered.call) } });
    },
  };
}

const methodOf = (call: string): string =>
  call.includes('passkey')
    ? 'passkey'
    : call.includes('backup-code')
      ? 'backup code'
      : call.includes('two-factor')
        ? 'app'
        : 'password';
