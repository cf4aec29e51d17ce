import { hash } from 'node:crypto';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { PanelError } from '../errors.ts';
import { forgetAttempts, giveAttemptBack, pruneAttempts, takeAttempt } from './attempts.sql.ts';

const minute = 60_000;
const hour = 60 * minute;

interface Limit {
  /** So many at once; afterwards one for each `withinMs / most`. */
  most: number;
  withinMs: number;
  /** False: only where rate limits are on (RATE_LIMITS). Guesses of secrets are always limited. */
  always: boolean;
}

const guesses = (most: number, withinMs: number): Limit => ({ most, withinMs, always: true });
const floods = (most: number, withinMs: number): Limit => ({ most, withinMs, always: false });

/** Everything in the panel that is counted, and by what. An address may stand for an office: its limits are wider. */
export const limits = {
  /** A session that was found open tries passwords: by person and call. */
  password: guesses(10, 15 * minute),
  /**
   * Codes of the app, and apart from them backup codes, by person, from browsers that the person never signed in with: 5 of a million codes
   * in a quarter of an hour. A thief of the password uses them up, and the person's own browser still enters.
   */
  factorCode: guesses(5, 15 * minute),
  /** The same from one browser that the person signed in with before: the only limit of codes that counts there. */
  factorCodeDevice: guesses(5, 15 * minute),
  /** So many codes without a right one among them, and the person gets a mail: the password is known to the one who tries. */
  factorCodeNotice: guesses(3, 15 * minute),
  factorCodeMail: guesses(1, hour),
  factorCodeAddress: guesses(30, 15 * minute),
  /** Codes of transfers, by person over all drafts. */
  draftCode: guesses(10, 15 * minute),
  draftCodeAddress: guesses(30, 15 * minute),
  /** Wrong secrets of invitations, e-mail links and password resets, by address. */
  linkSecret: guesses(30, 15 * minute),
  /** Sign-ins by e-mail and address, so that a stranger elsewhere cannot use up the person's own. */
  signIn: floods(10, 15 * minute),
  /** Sign-ins by a browser that this person signed in with before: the only limit that counts there. */
  signInDevice: floods(10, 15 * minute),
  signInAddress: floods(150, 15 * minute),
  /** Guesses from many addresses at one e-mail, from browsers it never used. */
  signInEmail: floods(100, hour),
  resetAddress: floods(20, hour),
  /** Challenges for passkeys, of which each is a row, and the answers to them. */
  passkeyAddress: floods(150, 15 * minute),
  /** Mails that a stranger can set off, by recipient. */
  resetMail: floods(5, hour),
  emailChangeMail: floods(3, hour),
  emailChangePerson: floods(10, hour),
  invitationMail: floods(5, hour),
  invitationPerson: floods(20, hour),
  invitationAccount: floods(40, hour),
  draftMailPerson: floods(60, hour),
  draftMailAccount: floods(200, hour),
  /** Each takes a query of the limit at the provider that all accounts share. */
  paymentQuery: guesses(30, 15 * minute),
  /** Each holds the locks of the account's operations for a moment. */
  rehearsal: guesses(60, 15 * minute),
  /** Sign-ins to the console, by e-mail and network, by network, and by e-mail from anywhere. */
  operatorSignIn: guesses(10, 15 * minute),
  operatorSignInNetwork: guesses(50, 15 * minute),
  operatorSignInEmail: guesses(100, hour),
  /** Codes of an operator whose password was right: 5 of a million in a quarter of an hour. */
  operatorCode: guesses(5, 15 * minute),
  /** Factors that a session shows again, by operator: one that was found open tries codes. */
  operatorProof: guesses(5, 15 * minute),
  /** Challenges for passkeys, of which each is a row, by network before the sign-in and by operator after it. */
  operatorChallenge: guesses(60, 15 * minute),
  /** Names of strangers by their keys, and look-ups that the provider counts, by person and by account. */
  receiverLookUpPerson: guesses(30, hour),
  receiverLookUpAccount: guesses(100, hour),
  /** Refusals that are recorded as security events, by person or address: a loop must not fill the table. */
  refusalRecord: guesses(30, 15 * minute),
} as const satisfies Record<string, Limit>;

export type LimitName = keyof typeof limits;

export interface AttemptDeps {
  sql: Sql;
  clock: Clock;
  /** RATE_LIMITS: false leaves the limits of guesses alone. */
  config: { rateLimits: boolean };
}

/** Counts attempts in the database: over all processes, atomically, before what is counted is looked at. */
export interface Attempts {
  /** @throws PanelError `too_many_attempts` */
  take(limit: LimitName, by: string): Promise<void>;
  /** @returns false when the limit is reached */
  tryTake(limit: LimitName, by: string): Promise<boolean>;
  /** One attempt was not what is counted: the code was right, or was not looked at. */
  giveBack(limit: LimitName, by: string): Promise<void>;
  /** Who is counted proved who they are. */
  forget(limit: LimitName, by: string): Promise<void>;
}

export function attempts({ sql, clock, config }: AttemptDeps): Attempts {
  const isOn = (name: LimitName): boolean => limits[name].always || config.rateLimits;
  const counting: Attempts = {
    async take(name, by) {
      if (!(await counting.tryTake(name, by))) throw new PanelError('too_many_attempts');
    },
    async tryTake(name, by) {
      if (!isOn(name)) return true;
      const { most, withinMs } = limits[name];
      return takeAttempt(sql, {
        subject: subjectOf(name, by),
        nowMs: clock.now(),
        stepMs: withinMs / most,
        windowMs: withinMs,
      });
    },
    async giveBack(name, by) {
      if (isOn(name))
        await giveAttemptBack(sql, subjectOf(name, by), limits[name].withinMs / limits[name].most);
    },
    async forget(name, by) {
      if (isOn(name)) await forgetAttempts(sql, subjectOf(name, by));
    },
  };
  return counting;
}

/** Work that the secret of a link opens: one that was right is no guess. @throws PanelError `too_many_attempts` */
export async function withLinkSecret<Done>(
  attempts: Attempts,
  network: string,
  work: () => Promise<Done>,
): Promise<Done> {
  await attempts.take('linkSecret', network);
  const done = await work();
  await attempts.giveBack('linkSecret', network);
  return done;
}

const subjectOf = (name: LimitName, by: string): Buffer => hash('sha256', `${name}\n${by}`, 'buffer');

const rowsPerStep = 500;

/** Removes rows that count nothing any more. @returns whether there is more to remove at once */
export const stepAttemptPruning = async ({ sql, clock }: { sql: Sql; clock: Clock }): Promise<boolean> =>
  (await pruneAttempts(sql, clock.now(), rowsPerStep)) === rowsPerStep;
