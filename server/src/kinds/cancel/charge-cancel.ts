import { createHash } from 'node:crypto';
import type { Sent } from '../kind.ts';

/**
 * That a merchant asked to cancel a charge. It is open as long as its charge is, and ends with it in one commit (`end.ts`): its result
 * stands in the charge.
 */
export interface ChargeCancel extends Omit<Sent, 'expiresAt' | 'card'> {
  /** The charge. */
  paymentId: string;
  /** `completed`: the charge has ended, whichever way. */
  status: 'unknown' | 'completed';
  updatedAt: number;
  /** The token of the command that created it. */
  command: string;
}

export const isCancelOpen = ({ status }: ChargeCancel): boolean => status === 'unknown';

/**
 * The request key of a charge's cancel, a UUIDv8: a charge has one cancel, however often and from where it is asked for. No key that a merchant makes
 * is the same by chance, and one that is made to be the same blocks nothing but this cancel.
 */
export function cancelKeyOf(paymentId: string): string {
  const digest = createHash('sha256').update(`cancel:${paymentId}`).digest();
  digest[6] = ((digest[6] as number) & 0x0f) | 0x80;
  digest[8] = ((digest[8] as number) & 0x3f) | 0x80;
  return digest.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
