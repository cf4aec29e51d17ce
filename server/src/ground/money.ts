/**
 * Money is an integer number of cents, everywhere. Text with a decimal point exists only on the wire to a provider,
 * and no floating-point number lies between the two.
 */

/**
 * Reais as API Pix writes them, `"12.34"`, in cents. Exactly two decimals and at most ten digits before them
 * (API Pix 2.9.0: `\d{1,10}\.\d{2}`), so the result is always a safe integer. Null for anything else: an amount that
 * has to be guessed is no amount.
 */
export function centsOf(text: unknown): number | null {
  if (typeof text !== 'string' || !/^\d{1,10}\.\d{2}$/.test(text)) return null;
  return Number(text.slice(0, -3)) * 100 + Number(text.slice(-2));
}

/**
 * Cents as `"12.34"`.
 * @throws RangeError for what is no amount: a fraction, a negative number, more than ten digits of reais.
 */
export function reaisOf(cents: number): string {
  if (!Number.isSafeInteger(cents) || cents < 0 || cents > 999_999_999_999) {
    throw new RangeError(`not an amount in cents: ${cents}`);
  }
  const digits = String(cents).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

const reais = new Intl.NumberFormat('pt-BR', { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** `1.234,56`: amounts in reais are written as Brazilians write them in either language. */
export const amountText = (cents: number): string => reais.format(cents / 100);

/** `R$ 1.234,56`: on paper and in mails. */
export const priceOf = (cents: number): string => `R$ ${amountText(cents)}`;

export interface FeeRule {
  fixedCents: number;
  /** Hundredths of a percent of the amount. */
  bps: number;
}

/** The fee of an amount, in cents: the fixed part and the percentage, of which half a cent is rounded up. */
export function feeOf(amountCents: number, rule: FeeRule): number {
  return rule.fixedCents + Math.floor((amountCents * rule.bps + 5000) / 10_000);
}
