import { hash } from 'node:crypto';
import { type ListedKey, markRevoked, selectKeys } from '../../api/keys/keys.sql.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Queries, Sql } from '../../ports/sql.ts';
import { lockAccount, lockDirectoryOf } from '../../store/rows/lock.sql.ts';
import { PanelError } from '../errors.ts';
import {
  endInvitationsBeyond,
  endInvitationsOf,
  findInvitation,
  findMembers,
  findUser,
  type Invitation,
  insertInvitation,
  insertMember,
  insertUser,
  type ListedMember,
  markAccepted,
  type OpenInvitation,
  removeCredentials,
  removeMember,
  updateRole,
} from './members.sql.ts';
import { hashPassword, isGuessable } from './password.ts';
import { may, mayGrant, mayManage, type Role, roles } from './roles.ts';

interface MembersDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
}

const invitationLivesMs = 7 * 24 * 3600 * 1000;

/** The form in which an address is compared and kept. */
export const emailOf = (text: string): string => text.normalize('NFC').trim().toLowerCase();

/** RFC 5321, 4.5.3.1.3: a path of 256 octets, less its angle brackets. */
export const emailMost = 254;

/** Labels without dots: a domain of many dots is read once, not once for each dot. */
export const emailForm = /^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+$/;

export const isEmail = (text: string): boolean => text.length <= emailMost && emailForm.test(text);

/** @returns the secret of the link, shown or mailed this once; @throws PanelError `already_member` */
export async function invite(
  deps: MembersDeps,
  wanted: { accountId: string; email: string; role: Role; createdBy?: string },
): Promise<{ id: string; token: string; expiresAt: number }> {
  const { accountId, role } = wanted;
  const email = emailOf(wanted.email);
  const members = await findMembers(deps.sql, accountId);
  if (members.some((member) => member.email === email)) throw new PanelError('already_member');
  const token = deps.ids.bytes(32).toString('base64url');
  const now = deps.clock.now();
  const invitation: Invitation = {
    accountId,
    id: deps.ids.uuid(),
    email,
    role,
    createdAt: now,
    expiresAt: now + invitationLivesMs,
  };
  await deps.sql.tx((tx) => insertInvitation(tx, invitation, tokenHash(token), wanted.createdBy ?? null));
  return { id: invitation.id, token, expiresAt: invitation.expiresAt };
}

export const tokenHash = (token: string): Buffer => hash('sha256', token, 'buffer');

/**
 * Makes the user, or adds the account to the one who has that address: only the account then, and no other password.
 * @throws PanelError `invitation_invalid`, `invitation_again`, `already_member`, `weak_password`
 */
export async function acceptInvitation(
  deps: MembersDeps,
  given: { token: string; name: string; password: string },
): Promise<{ accountId: string; userId: string; role: Role }> {
  const now = deps.clock.now();
  const invitation = await openInvitation(deps.sql, given.token, now);
  const { accountId, email, role } = invitation;
  const known = await findUser(deps.sql, email);
  if (!known && (await isGuessable(given.password, email))) throw new PanelError('weak_password');
  const passwordHash = known ? '' : await hashPassword(given.password, deps.ids.bytes(16));
  const userId = known?.id ?? deps.ids.uuid();
  await deps.sql.tx(async (tx) => {
    // As a change of the inviter's role: of the two at once, the later one sees the earlier.
    await lockDirectoryOf(tx, accountId);
    await openInvitation(tx, given.token, now);
    if (!(await markAccepted(tx, invitation, now))) throw new PanelError('invitation_invalid');
    const isNew = known || (await addUser(tx, deps, { id: userId, email, name: given.name, passwordHash }));
    // Another invitation to the same address was opened meanwhile: this one is still good, for the person who is known now.
    if (!isNew) throw new PanelError('invitation_again');
    if (!(await insertMember(tx, { accountId, userId, role, createdAt: now })))
      throw new PanelError('already_member');
  });
  return { accountId, userId, role };
}

/**
 * An invitation gives what the one who made it may give now, not what they could when they made it.
 * @throws PanelError `invitation_invalid`
 */
export async function openInvitation(sql: Queries, token: string, nowMs: number): Promise<OpenInvitation> {
  const found = await findInvitation(sql, tokenHash(token), nowMs);
  if (!found) throw new PanelError('invitation_invalid');
  const { createdBy, inviterRole, role } = found;
  const mayStill = createdBy === null || (inviterRole !== null && mayManage(inviterRole, role));
  if (!mayStill) throw new PanelError('invitation_invalid');
  return found;
}

const addUser = (
  tx: Queries,
  { ids, clock }: MembersDeps,
  user: { id: string; email: string; name: string; passwordHash: string },
): Promise<boolean> => insertUser(tx, { ...user, credentialId: ids.uuid(), createdAt: clock.now() });

const firstMemberEmail = 'teste@vintem.example';

/**
 * Makes the printed password invalid and ends its sessions.
 * @returns the address, if there was such a password
 */
export const endFirstMember = async ({ sql }: { sql: Sql }): Promise<string[]> =>
  (await sql.tx((tx) => removeCredentials(tx, firstMemberEmail))) ? [firstMemberEmail] : [];

/** The person whom the first start makes for the test account: a password that is shown once. */
export async function createFirstMember(
  deps: MembersDeps,
  accountId: string,
): Promise<{ email: string; password: string }> {
  const email = firstMemberEmail;
  const password = deps.ids.bytes(12).toString('base64url');
  const passwordHash = await hashPassword(password, deps.ids.bytes(16));
  await deps.sql.tx(async (tx) => {
    const id = deps.ids.uuid();
    await addUser(tx, deps, { id, email, name: 'Conta de teste', passwordHash });
    await insertMember(tx, { accountId, userId: id, role: 'owner', createdAt: deps.clock.now() });
  });
  return { email, password };
}

/**
 * Open invitations that the new role may not make end with the old role. Keys work on until a person decides, as where a person leaves.
 * @returns the active keys of this person that the new role could not make
 * @throws PanelError `role_denied`, `last_owner`, `not_found`
 */
export async function changeRole(
  deps: MembersDeps,
  accountId: string,
  by: Role,
  userId: string,
  role: Role,
): Promise<ListedKey[]> {
  let beyond: ListedKey[] = [];
  await onMember(deps, accountId, by, userId, async (tx, members, member) => {
    if (!mayManage(by, role)) throw new PanelError('role_denied');
    if (member.role === 'owner' && role !== 'owner') requireOtherOwner(members);
    await updateRole(tx, accountId, userId, role);
    await endInvitationsBeyond(
      tx,
      accountId,
      userId,
      roles.filter((other) => mayManage(role, other)),
    );
    beyond = (await keysOf(tx, accountId, userId, deps.clock.now())).filter(
      (key) => !may(role, 'keys') || !key.permissions.every((permission) => mayGrant(role, permission)),
    );
  });
  return beyond;
}

const keysOf = async (tx: Queries, accountId: string, userId: string, now: number): Promise<ListedKey[]> =>
  (await selectKeys(tx, accountId)).filter((key) => key.createdBy === userId && isInForce(key, now));

/**
 * Ends the membership, and with it the open invitations that this person made. Their keys work on until a person decides: a shop
 * must not stop because a developer left. With `revokeKeys` they end in the same transaction.
 * @param deps those of the account's cell
 * @returns the active keys that this person made and that are left
 * @throws PanelError `role_denied`, `last_owner`, `not_found`
 */
export async function dismiss(
  deps: MembersDeps,
  { accountId, by, userId, revokeKeys }: { accountId: string; by: Role; userId: string; revokeKeys: boolean },
): Promise<{ revoked: ListedKey[]; left: ListedKey[] }> {
  let keys: ListedKey[] = [];
  await onMember(deps, accountId, by, userId, async (tx, members, member) => {
    if (member.role === 'owner') requireOtherOwner(members);
    await endInvitationsOf(tx, accountId, member);
    // As a till reads keys without locking them: no batch with a key in force is open when the call is answered.
    if (revokeKeys) await lockAccount(tx, accountId);
    const now = deps.clock.now();
    keys = await keysOf(tx, accountId, userId, now);
    if (revokeKeys) for (const key of keys) await markRevoked(tx, key.id, now);
    await removeMember(tx, accountId, userId);
  });
  return revokeKeys ? { revoked: keys, left: [] } : { revoked: [], left: keys };
}

const isInForce = (key: ListedKey, now: number): boolean =>
  key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);

const requireOtherOwner = (members: readonly ListedMember[]): void => {
  if (members.filter((one) => one.role === 'owner').length < 2) throw new PanelError('last_owner');
};

/** Under the account's lock: of two owners who remove each other at once, one stays. */
const onMember = (
  deps: MembersDeps,
  accountId: string,
  by: Role,
  userId: string,
  change: (tx: Queries, members: ListedMember[], member: ListedMember) => Promise<void>,
): Promise<void> =>
  deps.sql.tx(async (tx) => {
    await lockDirectoryOf(tx, accountId);
    const members = await findMembers(tx, accountId);
    const member = members.find((one) => one.userId === userId);
    if (!member) throw new PanelError('not_found');
    if (!mayManage(by, member.role)) throw new PanelError('role_denied');
    await change(tx, members, member);
  });
