import type { Language } from './text/pt.ts';

/**
 * Everything that people read of money and time, as Brazilians write it; in English only the words change. Written here and not by `Intl`,
 * whose first use reads its tables of every language and kept a telephone busy before the first look.
 */

/** `1.234,56` for an input. */
export function plainMoney(cents: number): string {
  const digits = String(Math.round(Math.abs(cents))).padStart(3, '0');
  const reais = digits.slice(0, -2).replace(/\B(?=(\d{3})+$)/g, '.');
  return `${cents < 0 ? '-' : ''}${reais},${digits.slice(-2)}`;
}

/** `R$ 1.234,56`; below zero with the minus sign of typography, which is as wide as a plus. */
export const money = (cents: number): string =>
  `${cents < 0 ? '−' : ''}R$\u00a0${plainMoney(Math.abs(cents))}`;

/** `2,5`, in English `2.5` */
const tenths = (value: number, language: Language): string => {
  const text = String(Math.round(value * 10) / 10);
  return language === 'en' ? text : text.replace('.', ',');
};

const magnitudes: readonly [from: number, pt: string, en: string][] = [
  [1e9, '\u00a0bi', 'B'],
  [1e6, '\u00a0mi', 'M'],
  [1e3, '\u00a0mil', 'K'],
];

/** `R$ 5 mil`, in English `R$ 5K`: for the marks of a chart. */
export function roughMoney(cents: number, language: Language): string {
  const reais = cents / 100;
  const [from, pt, en] = magnitudes.find(([least]) => reais >= least) ?? [1, '', ''];
  return `R$ ${tenths(reais / from, language)}${language === 'en' ? en : pt}`;
}

/** `2,4 MB`, `312 KB`: in units of 1,024, as people's machines show files. */
export const fileSize = (bytes: number, language: Language): string =>
  bytes >= 1024 * 1024
    ? `${tenths(bytes / 1024 / 1024, language)} MB`
    : `${Math.max(1, Math.round(bytes / 1024))} KB`;

/**
 * Cents of a typed amount in a search: `12,34`, `1.234,56`, `12.34`, `R$ 12`. Null for anything else: a bare `12`
 * may as well be part of a name.
 */
export function amountOf(text: string): number | null {
  const bare = text.trim().replace(/^R\$\s*/i, '');
  const cents = /^\d{1,3}(\.\d{3})*,\d{2}$|^\d+[.,]\d{2}$/.test(bare)
    ? Number(bare.replace(/[.,]/g, ''))
    : bare !== text.trim() && /^\d{1,3}(\.\d{3})*$|^\d+$/.test(bare)
      ? Number(bare.replaceAll('.', '')) * 100
      : null;
  // More than a payment can have.
  return cents === null || cents > 100_000_000 ? null : cents;
}

/** São Paulo is three hours behind UTC and has had no summer time since 2019, the year before the first Pix. */
const behindMs = 3 * 3_600_000;

/** `2026-11-20T17:43:18.000Z` by the clock of São Paulo. */
const localOf = (at: string | Date): string => new Date(new Date(at).getTime() - behindMs).toISOString();

/** The day in São Paulo, `2026-11-20`. */
export const dayOf = (at: string | Date): string => localOf(at).slice(0, 10);

/** `17:43:18` */
export const time = (iso: string): string => localOf(iso).slice(11, 19);

/** `20/11/2026` of a day as `2026-11-20`. */
export const plainDay = (day: string): string => day.split('-').reverse().join('/');

/** `20/11` of a day as `2026-11-20`. */
export const shortDay = (day: string): string => plainDay(day).slice(0, 5);

/** `20/11/2026 17:43:18` */
export const dateTimeSeconds = (iso: string): string => `${plainDay(dayOf(iso))} ${time(iso)}`;

/** `20/11/2026 17:43` */
export const dateTime = (iso: string): string => dateTimeSeconds(iso).slice(0, -3);

/** `20/11 17:43`, where the year goes without saying. */
export const shortDateTime = (iso: string): string => `${shortDay(dayOf(iso))} ${time(iso).slice(0, 5)}`;

/** `novembro de 2026` of a month as `2026-11`. */
export const monthName = (month: string, language: Language): string =>
  new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : 'pt-BR', {
    timeZone: 'UTC',
    ...{ month: 'long', year: 'numeric' },
  }).format(new Date(`${month}-15T00:00:00Z`));

export const dayMs = 86_400_000;

/** A day so many days later, `2026-11-20` and 1: `2026-11-21`. */
export const addDays = (day: string, count: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + count * dayMs).toISOString().slice(0, 10);

/** `2026-11-20T17:43` of São Paulo, as a field for date and time has it; null: not a time. */
export function momentOf(local: string): number | null {
  const at = Date.parse(`${local}:00-03:00`);
  return Number.isNaN(at) ? null : at;
}

export const startOfDay = (day: string): string => new Date(`${day}T00:00:00-03:00`).toISOString();
export const endOfDay = (day: string): string =>
  new Date(Date.parse(`${day}T00:00:00-03:00`) + 24 * 3600 * 1000).toISOString();

/** A Pix key in the form that people know: 529.982.247-25, (11) 99999-8888. */
export function pixKeyText(type: string | null, key: string): string {
  if (type === 'CPF') return key.replace(/^(\d{3})(\d{3})(\d{3})(\d{2})$/, '$1.$2.$3-$4');
  if (type === 'CNPJ')
    return key.replace(/^([0-9A-Z]{2})([0-9A-Z]{3})([0-9A-Z]{3})([0-9A-Z]{4})(\d{2})$/, '$1.$2.$3/$4-$5');
  if (type === 'PHONE') return key.replace(/^\+55(\d{2})(\d{4,5})(\d{4})$/, '+55 ($1) $2-$3');
  return key;
}
