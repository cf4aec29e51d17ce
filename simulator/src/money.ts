/** Cents as reais with two decimals, as API Pix writes amounts: 1234 is `12.34`. */
export function toReais(cents: number): string {
  const text = String(Math.abs(cents)).padStart(3, '0');
  return `${cents < 0 ? '-' : ''}${text.slice(0, -2)}.${text.slice(-2)}`;
}

/** Reais as `\d{1,10}\.\d{2}` in cents; undefined when it is anything else. */
export function fromReais(value: unknown): number | undefined {
  if (typeof value !== 'string' || !/^\d{1,10}\.\d{2}$/.test(value)) return undefined;
  return Number(value.replace('.', ''));
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
