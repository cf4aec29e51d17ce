import { VintemError } from './error.ts';
import type { CallOptions, Transport } from './transport.ts';
import type { Payment, PaymentStatus } from './types.ts';

const firstWaitMs = 500;
const longestWaitMs = 5_000;

export async function waitFor(
  { pause }: Pick<Transport, 'pause'>,
  look: (call: CallOptions) => Promise<Payment>,
  {
    id,
    until,
    timeoutMs,
    options,
  }: { id: string; until: readonly PaymentStatus[]; timeoutMs: number; options: CallOptions },
): Promise<Payment> {
  const deadline = Date.now() + timeoutMs;
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 1.5, longestWaitMs)) {
    const payment = await look(options);
    if (until.includes(payment.status)) return payment;
    const leftMs = deadline - Date.now();
    if (leftMs <= 0)
      throw new VintemError('wait_timeout', `the payment is ${payment.status} after ${timeoutMs} ms`, {
        paymentId: id,
        retryable: true,
      });
    await pause(Math.min(waitMs, leftMs), options.signal);
  }
}
