import { createDraft } from '../../server/src/api/transfers/draft.ts';
import type { Merchant, Service } from './service.ts';

/** A transfer that a person of the merchant's began in the panel and has not confirmed. @returns its id */
export async function newDraft(
  { database, cellOf }: Pick<Service, 'database' | 'cellOf'>,
  { ownerId, operationId }: Pick<Merchant, 'ownerId' | 'operationId'>,
): Promise<string> {
  const [account] = await database.admin<{ number: string }>('SELECT number FROM account WHERE id = $1', [
    ownerId,
  ]);
  const caller = {
    accountId: ownerId,
    accountNumber: Number(account?.number),
    connection: 'simulator',
    test: true,
    keyId: null,
    permissions: new Set<never>(),
    requestId: 'a person',
    operationId,
    operationNamed: true,
  };
  const request = {
    amountCents: 1000,
    pixKey: 'maria@example.com',
    pixKeyType: 'EMAIL' as const,
    description: '',
    requestKey: crypto.randomUUID(),
  };
  return (await createDraft(cellOf({ ownerId }), caller, request, 'ana@empresa.example')).id;
}
