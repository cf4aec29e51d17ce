export const authPath = '/panel/api/auth';

export const freezeMs = 24 * 3600 * 1000;

/** The address of the caller as the edge saw it: better-auth reads it from a header that only we set. */
export const addressHeader = 'x-vintem-address';

/**
 * Sign-in: password, TOTP, passkeys, recovery. Nobody signs up: accounts are made by the operator, people come by
 * invitation. What is not in `openCalls` is not reachable from outside, whatever a later version of the library adds.
 */
export const openCalls: ReadonlySet<string> = new Set([
  'POST /sign-in/email',
  'POST /sign-out',
  'POST /request-password-reset',
  'POST /reset-password',
  'POST /change-password',
  'POST /two-factor/enable',
  'POST /two-factor/disable',
  'POST /two-factor/verify-totp',
  'POST /two-factor/verify-backup-code',
  'POST /two-factor/generate-backup-codes',
  'GET /passkey/generate-register-options',
  'POST /passkey/verify-registration',
  'GET /passkey/generate-authenticate-options',
  'POST /passkey/verify-authentication',
  'GET /passkey/list-user-passkeys',
  'POST /passkey/delete-passkey',
]);

/** Those that end in a session, when they do. */
export const signInCalls: ReadonlySet<string> = new Set([
  'POST /sign-in/email',
  'POST /two-factor/verify-totp',
  'POST /two-factor/verify-backup-code',
  'POST /passkey/verify-authentication',
]);

/** Those that want the password in their body, of somebody who is signed in. */
export const passwordCalls: ReadonlySet<string> = new Set([
  'POST /change-password',
  'POST /two-factor/enable',
  'POST /two-factor/disable',
  'POST /two-factor/generate-backup-codes',
]);

/**
 * better-auth answers these as if nobody were signed in, or as if it had ended the session, when its store fails. So the session is
 * looked up, and ended, by ourselves first.
 */
export const sessionCalls: ReadonlySet<string> = new Set(['GET /passkey/list-user-passkeys']);
export const signOutCall = 'POST /sign-out';

/** Whoever adds or takes away a passkey has just proved who they are. */
export const freshCalls: ReadonlySet<string> = new Set([
  'GET /passkey/generate-register-options',
  'POST /passkey/verify-registration',
  'POST /passkey/delete-passkey',
]);
