import { deliverRaw, type Receiver } from '@vintem/testkit/settlement.ts';

/**
 * Sends one of the provider's deliveries that the service has stored once more: the same bytes, signed anew.
 * `n` says which, modulo how many there are; without any it does nothing. Resolves when the service has answered 200 and
 * what has come since is applied.
 * @throws Error for any other answer
 */
export async function deliverAgain(service: Receiver, n: number): Promise<void> {
  const stored = await service.database.admin<{ id: string; body: Buffer }>(
    'SELECT id, body FROM vintem.inbound WHERE authentic ORDER BY id',
  );
  const one = stored[n % stored.length];
  if (!one) return;
  const [now] = await service.database.admin<{ at: Date }>('SELECT clock_timestamp() AS at');
  const status = await deliverRaw(service, service.secrets.open(one.body, one.id));
  if (status !== 200) throw new Error(`the delivery was answered ${status}`);
  const unapplied = 'SELECT FROM vintem.inbound WHERE received_at >= $1 AND applied_at IS NULL LIMIT 1';
  for (
    const deadline = Date.now() + 10_000;
    (await service.database.admin(unapplied, [now?.at])).length > 0;
  )
    if (Date.now() > deadline) throw new Error('it was not applied within 10 s');
}
