import { hash } from 'node:crypto';
import { createOTP } from '@better-auth/utils/otp';
import { isPrintable } from '../../ground/printable.ts';
import type { Secrets } from '../../ground/secrets.ts';
import type { OperatorRole } from '../../operate/acts.ts';
import { appPeriodSeconds, stepOf } from '../../panel/auth/app-codes.ts';
import { PanelError } from '../../panel/errors.ts';
import { emailOf, isEmail } from '../../panel/people/members.ts';
import { hashPassword, isGuessable } from '../../panel/people/password.ts';
import { passwordLength } from '../../panel/people/password-length.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Queries, Sql } from '../../ports/sql.ts';
import { type Operator, OperatorRefused } from '../../store/operator.ts';
import { installationId, writeAudit } from '../../store/rows/audit.sql.ts';
import { type Identity, insertIdentity, pruneFlows, removeIdentity } from './identities.sql.ts';
import {
  endSessionsOf,
  enrolOperator,
  findInvited,
  findOperator,
  grantRole,
  hasOtherAdministrator,
  insertOperator,
  inviteOperator,
  lockOperators,
  type OperatorPerson,
  offerAppSecret,
  pruneSessions,
  suspendOperatorRow,
} from './operators.sql.ts';
import { pruneChallenges, removePasskeysOf } from './passkeys.sql.ts';

/** The people of the console: who they are, and how they get their password and their app. */

/** Of the link that an administrator hands over in person. */
const invitationLivesMs = 24 * 3600 * 1000;

export const tokenHash = (token: string): Buffer => hash('sha256', token, 'buffer');

/** The secret stands behind `#`: no server, proxy or log sees it. */
export const operatorInvitationLink = (operatorUrl: string, token: string): string =>
  `${operatorUrl}/operator/convite#${token}`;

/** An operator's act on operators. */
export interface OperatorAct extends Operator {
  /** Runs first in the transaction of the act; throws where it may not be done. */
  before?: (tx: Queries) => Promise<unknown>;
}

export interface Invited {
  id: string;
  email: string;
  /** Shown this once. */
  token: string;
  /** ms since 1970. */
  expiresAt: number;
}

/** Writes an act on operators to the audit log. */
export const noteOperator = (
  tx: Queries,
  { ids, clock }: { ids: Ids; clock: Clock },
  entry: {
    /** Absent: of the installation. */
    accountId?: string;
    actor: string;
    action: string;
    subject: string;
    detail?: object;
    reason?: string;
  },
): Promise<unknown> =>
  writeAudit(tx, {
    accountId: entry.accountId ?? installationId,
    id: ids.uuid(),
    at: clock.now(),
    actor: entry.actor,
    action: entry.action,
    subject: entry.subject,
    reason: entry.reason ?? null,
    detail: entry.detail ?? {},
  });

async function invitation(tx: Queries, { ids, clock }: Operator, person: { id: string; email: string }) {
  const token = ids.bytes(32).toString('base64url');
  const expiresAt = clock.now() + invitationLivesMs;
  await inviteOperator(tx, person.id, { hash: tokenHash(token), expiresAt });
  return { id: person.id, email: person.email, token, expiresAt };
}

/** @throws OperatorRefused an address or a name that is none, or an address that an operator has */
export async function createOperator(
  operator: OperatorAct,
  wanted: { email: string; name: string; role: OperatorRole },
): Promise<Invited> {
  const email = emailOf(wanted.email);
  const name = wanted.name.normalize('NFC').trim();
  if (!isEmail(email)) throw new OperatorRefused('that is no e-mail address');
  if (name.length < 2 || [...name].length > 80 || !isPrintable(name))
    throw new OperatorRefused('a name has 2 to 80 characters');
  const person = { id: operator.ids.uuid(), email, name, role: wanted.role, createdAt: operator.clock.now() };
  return operator.sql.tx(async (tx) => {
    await operator.before?.(tx);
    if (!(await insertOperator(tx, person)))
      throw new OperatorRefused(`an operator has the address ${email}`);
    const invited = await invitation(tx, operator, person);
    await noteOperator(tx, operator, {
      actor: operator.actor,
      action: 'operator.create',
      subject: person.id,
      detail: { email, name, role: wanted.role },
    });
    return invited;
  });
}

/** Changes of an operator that exists, one after the other. @throws OperatorRefused no operator has that address */
const changing = <T>(
  operator: OperatorAct,
  email: string,
  change: (tx: Queries, person: OperatorPerson) => Promise<T>,
): Promise<T> =>
  operator.sql.tx(async (tx) => {
    await lockOperators(tx);
    await operator.before?.(tx);
    const person = await findOperator(tx, emailOf(email));
    if (!person) throw new OperatorRefused('no operator has that address');
    return change(tx, person);
  });

/** @throws OperatorRefused without another administrator who can sign in */
async function requireOtherAdministrator(
  tx: Queries,
  { id, role, enrolledAt }: OperatorPerson,
): Promise<void> {
  if (role !== 'administrator' || enrolledAt === null) return;
  if (!(await hasOtherAdministrator(tx, id)))
    throw new OperatorRefused('no other administrator could sign in: create one first');
}

/** Ends every session; the operator stays out until a role is granted again. @throws OperatorRefused unknown, suspended, or the last administrator */
export const suspendOperator = (operator: OperatorAct, email: string): Promise<OperatorPerson> =>
  changing(operator, email, async (tx, person) => {
    if (person.suspendedAt !== null) throw new OperatorRefused('that operator is suspended already');
    await requireOtherAdministrator(tx, person);
    const suspendedAt = operator.clock.now();
    await suspendOperatorRow(tx, person.id, suspendedAt);
    await endSessionsOf(tx, person.id);
    await noteOperator(tx, operator, {
      actor: operator.actor,
      action: 'operator.suspend',
      subject: person.id,
      detail: { email: person.email },
    });
    return { ...person, suspendedAt };
  });

/** Gives a role, and ends a suspension. @throws OperatorRefused unknown, or the last administrator */
export const grantOperator = (
  operator: OperatorAct,
  email: string,
  role: OperatorRole,
): Promise<OperatorPerson> =>
  changing(operator, email, async (tx, person) => {
    if (role !== 'administrator' && person.suspendedAt === null) await requireOtherAdministrator(tx, person);
    await grantRole(tx, person.id, role);
    await noteOperator(tx, operator, {
      actor: operator.actor,
      action: 'operator.grant',
      subject: person.id,
      detail: { email: person.email, from: person.role, to: role, ended: person.suspendedAt !== null },
    });
    return { ...person, role, suspendedAt: null };
  });

/** Takes password, app, passkeys and the identity at the OpenID provider away, ends the sessions, and invites again. @throws OperatorRefused unknown or suspended */
export const resetOperator = (operator: OperatorAct, email: string): Promise<Invited> =>
  changing(operator, email, async (tx, person) => {
    if (person.suspendedAt !== null)
      throw new OperatorRefused('that operator is suspended: grant a role first');
    const invited = await invitation(tx, operator, person);
    const passkeys = await removePasskeysOf(tx, person.id);
    const identity = await removeIdentity(tx, person.id);
    await endSessionsOf(tx, person.id);
    await noteOperator(tx, operator, {
      actor: operator.actor,
      action: 'operator.reset_factor',
      subject: person.id,
      detail: { email: person.email, passkeys, ...(identity && { identity }) },
    });
    return invited;
  });

/** Binds an identity at the OpenID provider. @throws OperatorRefused unknown, bound already, or the identity belongs to another operator */
export const bindOperator = (operator: OperatorAct, email: string, identity: Identity): Promise<void> =>
  changing(operator, email, async (tx, person) => {
    if (!(await insertIdentity(tx, person.id, identity, operator.clock.now())))
      throw new OperatorRefused('that operator has an identity, or this one belongs to another operator');
    await noteOperator(tx, operator, {
      actor: operator.actor,
      action: 'operator.oidc_bind',
      subject: person.id,
      detail: { email: person.email, ...identity },
    });
  });

export interface EnrolDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  secrets: Pick<Secrets, 'seal' | 'open'>;
}

/** @throws PanelError `invitation_invalid` */
export async function lookAtInvitation(
  { sql, clock }: Pick<EnrolDeps, 'sql' | 'clock'>,
  token: string,
): Promise<OperatorPerson & { appSecret: Buffer | null }> {
  const invited = await findInvited(sql, tokenHash(token), clock.now());
  if (!invited) throw new PanelError('invitation_invalid');
  return invited;
}

/**
 * A secret for the authenticator app. Each call makes another one: the link that a stranger opened first gives them nothing that counts later.
 * @returns an `otpauth:` address; @throws PanelError `invitation_invalid`
 */
export async function offerApp(deps: EnrolDeps, token: string): Promise<string> {
  const { id, email } = await lookAtInvitation(deps, token);
  const secret = deps.ids.bytes(24).toString('base64url');
  if (!(await offerAppSecret(deps.sql, tokenHash(token), deps.secrets.seal(secret, id))))
    throw new PanelError('invitation_invalid');
  return createOTP(secret, { digits: 6, period: appPeriodSeconds }).url('vintem operator', email);
}

/**
 * Accepts an invitation: a password, and a code of the app that shows that it counts.
 * @returns the operator; @throws PanelError `invitation_invalid`, `weak_password`, `sign_in_failed` (the code)
 */
export async function enrol(
  deps: EnrolDeps,
  given: { token: string; password: string; code: string },
  begin: (tx: Queries, operatorId: string) => Promise<unknown>,
): Promise<OperatorPerson> {
  const { appSecret, ...person } = await lookAtInvitation(deps, given.token);
  if (appSecret === null) throw new PanelError('invitation_invalid');
  const length = [...given.password].length;
  if (length < passwordLength.minimum || (await isGuessable(given.password, person.email)))
    throw new PanelError('weak_password');
  const now = deps.clock.now();
  const step = await stepOf(deps.secrets.open(appSecret, person.id).toString(), given.code, now);
  if (step === null) throw new PanelError('sign_in_failed');
  const password = await hashPassword(given.password, deps.ids.bytes(16));
  await deps.sql.tx(async (tx) => {
    const enrolled = await enrolOperator(tx, tokenHash(given.token), {
      password,
      step,
      nowMs: now,
      appSecret,
    });
    if (!enrolled) throw new PanelError('invitation_invalid');
    await noteOperator(tx, deps, { actor: person.email, action: 'operator.enrol', subject: person.id });
    await begin(tx, person.id);
  });
  return { ...person, enrolledAt: now };
}

const rowsPerStep = 500;

/** Removes sessions whose time is over. @returns whether there is more to remove at once */
export const stepOperatorSessions = async ({ sql, clock }: { sql: Sql; clock: Clock }): Promise<boolean> =>
  (await pruneSessions(sql, clock.now(), rowsPerStep)) === rowsPerStep;

/** The same of challenges. */
export const stepOperatorChallenges = async ({ sql, clock }: { sql: Sql; clock: Clock }): Promise<boolean> =>
  (await pruneChallenges(sql, clock.now(), rowsPerStep)) === rowsPerStep;

/** The same of sign-ins at the OpenID provider. */
export const stepOperatorFlows = async ({ sql, clock }: { sql: Sql; clock: Clock }): Promise<boolean> =>
  (await pruneFlows(sql, clock.now(), rowsPerStep)) === rowsPerStep;
