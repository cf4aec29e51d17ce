/**
 * What a key may do. A key is given its permissions once; identifiers that are added later are never added to keys that
 * exist.
 */
export const permissions = ['read', 'charges', 'transfers', 'operations', 'webhooks'] as const;

export type Permission = (typeof permissions)[number];

export const isPermission = (name: string): name is Permission =>
  (permissions as readonly string[]).includes(name);
