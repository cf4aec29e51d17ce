import { passkey } from '@better-auth/passkey';
import { betterAuth } from 'better-auth';
import { APIError, createAuthMiddleware, getSessionFromCtx } from 'better-auth/api';
import { twoFactor } from 'better-auth/plugins/two-factor';
import { addressHeader, authPath, freezeMs } from './auth-calls.ts';
import { authStore } from './auth-store.ts';
import type { PanelHouse } from './house.ts';
import { panelMails } from './mails.ts';
import { findEmail, freezeUser } from './members.sql.ts';
import { hashPassword, isGuessable, isPassword, passwordLength } from './password.ts';

const hour = 3600;
export const sessionSeconds = 12 * hour;

export function createAuth(house: PanelHouse) {
  const { config, clock, ids, sql, secrets, log } = house;
  const url = new URL(config.publicUrl);
  const overTls = url.protocol === 'https:';
  // A passkey belongs to a name and never to an address (WebAuthn 3, 5.1.2: a valid domain).
  const rpID = /^(?:127\.|\[::1\])/.test(url.hostname) ? 'localhost' : url.hostname;
  const mails = panelMails(house);
  /** Of the person whose secret it is, so that a new password is not their address. */
  const emailOfReset = async (token: unknown): Promise<string | null> =>
    typeof token === 'string' ? findEmail(sql, `reset-password:${token}`) : null;
  return betterAuth({
    appName: 'vintem',
    baseURL: url.origin,
    basePath: authPath,
    secret: secrets.derive('panel sessions').toString('base64'),
    trustedOrigins: [...house.origins],
    database: authStore({ sql, ids }),
    telemetry: { enabled: false },
    logger: { disabled: true },
    // What is no refusal of its own comes to our error handler; else it answers 500 and prints the error, statement included.
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
        mails
          .passwordReset(user.email, token)
          .catch((err: unknown) => log.error({ err }, 'a mail was not sent'));
      },
      onPasswordReset: async ({ user }) => {
        await freezeUser(sql, user.id, clock.now() + freezeMs);
        mails.passwordWasReset(user.email).catch((err: unknown) => log.error({ err }, 'a mail was not sent'));
      },
    },
    session: { expiresIn: sessionSeconds, disableSessionRefresh: true, freshAge: 0 },
    plugins: [
      twoFactor({
        issuer: 'vintem',
        // Five wrong codes lock the second factor for a quarter of an hour, over however many sign-ins.
        accountLockout: { enabled: true, maxFailedAttempts: 5, durationSeconds: 900 },
        backupCodeOptions: { amount: 10 },
      }),
      passkey({ rpID, rpName: 'vintem', origin: [...house.origins] }),
    ],
    hooks: {
      before: createAuthMiddleware(async (ctx) => {
        const password: unknown = ctx.body?.newPassword;
        if (typeof password !== 'string' || !/^\/(reset|change)-password$/.test(ctx.path)) return;
        const signedIn = await getSessionFromCtx(ctx).catch(() => null);
        const email = signedIn?.user.email ?? (await emailOfReset(ctx.body?.token));
        if (isGuessable(password, email ?? '')) {
          throw new APIError('BAD_REQUEST', { code: 'WEAK_PASSWORD', message: 'easy to guess' });
        }
      }),
    },
    rateLimit: {
      enabled: config.rateLimits,
      storage: 'memory',
      window: 60,
      max: 60,
      customRules: {
        '/sign-in/email': { window: 60, max: 10 },
        '/two-factor/*': { window: 60, max: 10 },
        '/request-password-reset': { window: 900, max: 5 },
        '/reset-password': { window: 900, max: 10 },
      },
    },
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

export type Auth = ReturnType<typeof createAuth>;
