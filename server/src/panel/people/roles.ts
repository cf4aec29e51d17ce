import { type Permission, permissions } from '../../ground/permissions.ts';

export const roles = ['owner', 'admin', 'finance', 'developer', 'viewer'] as const;

export type Role = (typeof roles)[number];

export const isRole = (name: string): name is Role => (roles as readonly string[]).includes(name);

/** The rights of a person in an account: those of an API key, and those of people alone. */
export type Ability = Permission | 'keys' | 'members' | 'audit';

const everything: readonly Ability[] = [...permissions, 'keys', 'members', 'audit'];

const abilities: Readonly<Record<Role, readonly Ability[]>> = {
  owner: everything,
  admin: everything,
  finance: ['read', 'charges', 'transfers', 'refunds', 'disputes'],
  // Their keys never carry `transfers`, `refunds` or `disputes`: `mayGrant`.
  developer: ['read', 'webhooks', 'simulate', 'keys'],
  viewer: ['read'],
};

export const abilitiesOf = (role: Role): readonly Ability[] => abilities[role];

export const may = (role: Role, ability: Ability): boolean => abilities[role].includes(ability);

const decidesOfMoney: ReadonlySet<Permission> = new Set(['transfers', 'refunds', 'disputes']);

/** A key never carries what its maker may not do, but for developers, who build what charges and manages operations. */
export const mayGrant = (role: Role, permission: Permission): boolean =>
  decidesOfMoney.has(permission) ? may(role, permission) : may(role, 'keys');

/** Only an owner makes, changes or removes an owner. */
export const mayManage = (role: Role, other: Role): boolean =>
  role === 'owner' || (role === 'admin' && other !== 'owner');
