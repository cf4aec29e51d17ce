import type { LimitName } from './attempts.ts';

export const authPath = '/panel/api/auth';

export const freezeMs = 24 * 3600 * 1000;

/** The address of the caller as the edge saw it: better-auth reads it from a header that only we set. */
export const addressHeader = 'x-vintem-address';

/** The checks before a call reaches better-auth. */
export interface AuthCall {
  /** `required`: of a person who is signed in; `optional`: the session is checked if there is one. */
  session?: 'required' | 'optional';
  /**
   * By what a caller's network is counted before the call reads or writes a row. Without one: what needs a session, and what touches no
   * row without a cookie that we signed (sign-out and the codes, which are counted by person).
   */
  byNetwork?: LimitName;
  /** Ends in a session, when it goes well. */
  signsIn?: true;
  /** Has the password in its body. */
  password?: true;
  /** Adds a factor, or codes that stand for one: not while the person is frozen, and with a factor they have already. */
  addsFactor?: true;
  removesFactor?: true;
  /** The password was given again in this session within ten minutes. */
  givenAgain?: true;
}

/**
 * Sign-in: password, TOTP, passkeys, recovery. There is no sign-up: accounts are made by the operator, people come by
 * invitation. What is not here is not reachable from outside, whatever a later version of the library adds.
 */
export const authCalls: Readonly<Record<string, AuthCall>> = {
  'POST /sign-in/email': { signsIn: true, byNetwork: 'signInAddress' },
  'POST /sign-out': { session: 'optional' },
  'POST /request-password-reset': { byNetwork: 'resetAddress' },
  'POST /reset-password': { byNetwork: 'linkSecret' },
  'POST /change-password': { session: 'required', password: true },
  'POST /two-factor/enable': { session: 'required', password: true, addsFactor: true },
  'POST /two-factor/disable': { session: 'required', password: true, removesFactor: true },
  'POST /two-factor/verify-totp': { session: 'optional', signsIn: true },
  'POST /two-factor/verify-backup-code': { session: 'optional', signsIn: true },
  'POST /two-factor/generate-backup-codes': { session: 'required', password: true, addsFactor: true },
  'GET /passkey/generate-register-options': { session: 'required', addsFactor: true, givenAgain: true },
  'POST /passkey/verify-registration': { session: 'required', addsFactor: true, givenAgain: true },
  'GET /passkey/generate-authenticate-options': { byNetwork: 'passkeyAddress' },
  'POST /passkey/verify-authentication': { signsIn: true, byNetwork: 'passkeyAddress' },
  'GET /passkey/list-user-passkeys': { session: 'required' },
  'POST /passkey/delete-passkey': { session: 'required', removesFactor: true, givenAgain: true },
};
