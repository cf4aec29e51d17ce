import type { Bank } from './bank.ts';

/** Look-ups of Pix keys that a client has left, as Woovi counts them (docs/payment/pix-key-token-bucket.md). */
export interface LookUps {
  left: number;
  /** When one was last added; ms since 1970. */
  at: number;
}

export const lookUpsMost = 500;
export const lookUpsPerMinute = 20;
/** Below this every payment is refused as well. */
export const lookUpsLeast = 20;
export const costOf = { found: 1, unknown: 20 };

const minuteMs = 60_000;

/** The look-ups left at this moment, whole minutes refilled. */
export function lookUpsOf(bank: Bank, client: string, now: number): LookUps {
  const { left, at } = bank.lookUps.get(client) ?? { left: lookUpsMost, at: now };
  const minutes = Math.max(0, Math.floor((now - at) / minuteMs));
  const refilled = {
    left: Math.min(lookUpsMost, left + minutes * lookUpsPerMinute),
    at: at + minutes * minuteMs,
  };
  bank.lookUps.set(client, refilled);
  return refilled;
}
