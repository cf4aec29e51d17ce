import { hash } from 'node:crypto';
import { passkey } from '@better-auth/passkey';
import { betterAuth } from 'better-auth';
import { APIError, createAuthEndpoint, createAuthMiddleware, getSessionFromCtx } from 'better-auth/api';
import { twoFactor } from 'better-auth/plugins/two-factor';
import type { Log } from '../../ground/log.ts';
import type { Secrets } from '../../ground/secrets.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Sql } from '../../ports/sql.ts';
import { panelSecretsOf } from '../../store/database/sealed-columns.ts';
import type { PanelMails } from '../people/mails.ts';
import { deleteNewEmailOf, findEmail, freezeUser, removeYoungFactors } from '../people/members.sql.ts';
import { hashPassword, isGuessable, isPassword } from '../people/password.ts';
import { passwordLength } from '../people/password-length.ts';
import { recordSecurityEvent } from '../people/security-events.ts';
import type { Attempts } from './attempts.ts';
import { addressHeader, authPath, freezeMs } from './auth-calls.ts';
import { authStore, storedToken } from './auth-store.ts';
import type { FactorAttempts } from './factor-attempts.ts';
import { guardFactorCodes } from './one-time-codes.ts';
import { passkeyNameOf } from './passkey-rules.ts';

const hour = 3600;
export const sessionSeconds = 12 * hour;

export interface AuthDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  log: Log;
  secrets: Secrets;
  mails: PanelMails;
  /** Where the panel is: `publicUrl`, and the origins that its requests come from. */
  site: { publicUrl: string; origins: ReadonlySet<string> };
}

export function createAuth(deps: AuthDeps, attempts: Attempts, factorAttempts: FactorAttempts) {
  const { clock, ids, sql, secrets, log, mails, site } = deps;
  const url = new URL(site.publicUrl);
  const overTls = url.protocol === 'https:';
  /** Of the person whose secret it is, so that a new password is not their address. */
  const emailOfReset = async (token: unknown): Promise<string | null> =>
    typeof token === 'string' ? findEmail(sql, hash('sha256', `reset-password:${token}`, 'base64url')) : null;
  const guardCodes = guardFactorCodes({ sql, clock, factorAttempts });
  return betterAuth({
    appName: 'vintem',
    baseURL: url.origin,
    basePath: authPath,
    // Second factors are sealed under these; sessions are signed with the first.
    secrets: panelSecretsOf(secrets),
    trustedOrigins: [...site.origins],
    database: authStore({ sql, clock, ids }),
    // A worker removes what has expired (`expired-rows.ts`), and a reader of the table can open no link in it.
    verification: { disableCleanup: true, storeIdentifier: 'hashed' },
    telemetry: { enabled: false },
    logger: { disabled: true },
    // Errors that are no refusals of its own come to our error handler; else it answers 500 and prints the error, statement included.
    onAPIError: { throw: true },
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: passwordLength.minimum,
      maxPasswordLength: passwordLength.maximum,
      password: {
        hash: (password) => hashPassword(password, ids.bytes(16)),
        verify: ({ hash, password }) => isPassword(hash, password),
      },
      revokeSessionsOnPasswordReset: true,
      resetPasswordTokenExpiresIn: hour,
      // Not waited for: how long a mail takes must not tell who has an account here.
      sendResetPassword: async ({ user, token }) => {
        // Silently: those that were sent before are good for an hour.
        if (!(await attempts.tryTake('resetMail', user.email))) return;
        mails
          .passwordReset(user.email, token)
          .catch((err: unknown) => log.error({ err }, 'a mail was not sent'));
      },
      // The owner of the mailbox now has the password and may not be the person: everything under way ends.
      onPasswordReset: async ({ user }, request) => {
        const now = clock.now();
        await sql.tx(async (tx) => {
          await freezeUser(tx, user.id, now + freezeMs);
          await deleteNewEmailOf(tx, user.id);
          await removeYoungFactors(tx, user.id, now - freezeMs);
        });
        await factorAttempts.forget(user.id);
        const ipAddress = request?.headers.get(addressHeader) ?? null;
        await recordSecurityEvent(deps, { kind: 'password.reset', userId: user.id, ipAddress });
        mails.passwordWasReset(user.email).catch((err: unknown) => log.error({ err }, 'a mail was not sent'));
      },
    },
    session: { expiresIn: sessionSeconds, disableSessionRefresh: true, freshAge: 0 },
    plugins: [
      twoFactor({
        issuer: 'vintem',
        // Attempts are counted in the database before a code is looked at (`one-time-codes.ts`), over however many sign-ins.
        accountLockout: { enabled: false },
        backupCodeOptions: { amount: 10 },
      }),
      // With user verification (a fingerprint, a PIN) a passkey is two factors; without it, it is one that can be stolen.
      passkey({
        rpID: passkeyNameOf(site.publicUrl),
        rpName: 'vintem',
        origin: [...site.origins],
        authenticatorSelection: { userVerification: 'required', residentKey: 'preferred' },
        registration: {
          afterVerification: ({ verification }) =>
            requireVerified(verification.registrationInfo?.userVerified),
        },
        authentication: {
          afterVerification: ({ verification }) =>
            requireVerified(verification.authenticationInfo.userVerified),
        },
      }),
      { id: 'vintem', endpoints: { sessionToken } },
    ],
    hooks: {
      before: createAuthMiddleware(async (ctx) => {
        await guardCodes(ctx);
        const password: unknown = ctx.body?.newPassword;
        if (typeof password !== 'string' || !/^\/(reset|change)-password$/.test(ctx.path)) return;
        const signedIn = await getSessionFromCtx(ctx).catch(() => null);
        const email = signedIn?.user.email ?? (await emailOfReset(ctx.body?.token));
        if (await isGuessable(password, email ?? '')) {
          throw new APIError('BAD_REQUEST', { code: 'WEAK_PASSWORD', message: 'easy to guess' });
        }
      }),
    },
    // Counted in the database over all processes (`attempts.ts`).
    rateLimit: { enabled: false },
    advanced: {
      // `__Host-`: no other host of the domain and no path can set or see it. Only over TLS: browsers refuse it without.
      cookiePrefix: overTls ? '__Host-vintem' : 'vintem',
      useSecureCookies: false,
      defaultCookieAttributes: { secure: overTls, httpOnly: true, sameSite: 'lax', path: '/' },
      ipAddress: { ipAddressHeaders: [addressHeader] },
      database: { generateId: () => ids.uuid() },
    },
  });
}

/** Of the session in the cookie, as the table has it; null without a cookie that we signed. Without a path: no request reaches it. */
const sessionToken = createAuthEndpoint({ method: 'GET', requireHeaders: true }, async (ctx) => {
  const { secret, authCookies } = ctx.context;
  const token = await ctx.getSignedCookie(authCookies.sessionToken.name, secret);
  return token ? storedToken(token) : null;
});

async function requireVerified(userVerified: boolean | undefined): Promise<undefined> {
  if (userVerified !== true) {
    throw new APIError('FORBIDDEN', {
      code: 'USER_VERIFICATION_REQUIRED',
      message: 'the passkey did not verify its user',
    });
  }
}

export type Auth = ReturnType<typeof createAuth>;
