/**
 * Money is an integer number of cents, everywhere. Text with a decimal point exists only on the wire to a provider,
 * and no floating-point number lies between the two.
 */

/**
 * Reais on the wire, in cents. API Pix writes `"12.34"` (2.9.0: `\d{1,10}\.\d{2}`); banks have answered `"97"`, `"39.9"` and the JSON
 * number 39.95 (bacen/pix-api issues 248 and 368). All are read where they are a whole number of cents, with at most ten digits before
 * the point, so the result is always a safe integer. Null for anything else: an amount that has to be guessed is no amount.
 */
export function centsOf(value: unknown): number | null {
  const text = typeof value === 'number' ? numberText(value) : value;
  if (typeof text !== 'string') return null;
  const [, reais, cents = ''] = /^(\d{1,10})(?:\.(\d{1,2})0{0,8})?$/.exec(text) ?? [];
  return reais === undefined ? null : Number(reais) * 100 + Number(cents.padEnd(2, '0'));
}

/** The same for what may be below zero: a balance. */
export function signedCentsOf(value: unknown): number | null {
  let size: unknown = value;
  if (typeof value === 'number' && value < 0) size = -value;
  else if (typeof value === 'string' && value.startsWith('-')) size = value.slice(1);
  const cents = centsOf(size);
  return cents === null || size === value ? cents : -cents;
}

/** A number as the digits that JSON had; null: it is no whole number of cents. 0.1 + 0.2 is none. */
function numberText(value: number): string | null {
  const text = value.toFixed(2);
  return Number(text) === value && !Object.is(value, -0) ? text : null;
}

/** An integer number of cents on the wire, as a number or as digits; null for anything else. */
export function wholeCentsOf(value: unknown): number | null {
  const cents = typeof value === 'string' && /^\d{1,12}$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(cents) && (cents as number) >= 0 ? (cents as number) : null;
}

/** The same for what may be below zero: a balance. */
export function signedWholeCentsOf(value: unknown): number | null {
  let size: unknown = value;
  if (typeof value === 'number' && value < 0) size = -value;
  else if (typeof value === 'string' && value.startsWith('-')) size = value.slice(1);
  const cents = wholeCentsOf(size);
  return cents === null || size === value ? cents : -cents;
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
