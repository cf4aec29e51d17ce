/**
 * The permissions of a key. A key is given its permissions once; identifiers that are added later are never added to keys that
 * exist.
 */
export const permissions = [
  'read',
  'charges',
  'transfers',
  'operations',
  'webhooks',
  'simulate',
  'refunds',
  'disputes',
] as const;

export type Permission = (typeof permissions)[number];

/** Their names in Portuguese mails and files; texts in English have the codes of the API. */
export const permissionNames: Readonly<Record<Permission, string>> = {
  read: 'Leitura',
  charges: 'Cobranças',
  transfers: 'Transferências',
  refunds: 'Reembolsos',
  operations: 'Operações',
  webhooks: 'Webhooks',
  simulate: 'Simulação',
  disputes: 'Contestações',
};

/** Permissions that keys of live accounts never carry: only the simulator's payers can be played. */
export const onlyForTest: readonly Permission[] = ['simulate'];

export const isPermission = (name: string): name is Permission =>
  (permissions as readonly string[]).includes(name);
