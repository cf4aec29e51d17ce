import type { Language } from './text/pt.ts';

/** Everything that people read of money and time, as Brazilians write it; in English only the words change. */
const zone = 'America/Sao_Paulo';

/**
 * Made at first use and then kept: the first format of a page reads the tables of its language, 12 ms on a fast machine, and none is needed
 * before there is something to show.
 */
function keeper<Options, Format>(make: (locale: string, options: Options) => Format) {
  const kept = new Map<string, Format>();
  return (locale: string, options: Options): Format => {
    const key = locale + JSON.stringify(options);
    const found = kept.get(key);
    if (found) return found;
    const made = make(locale, options);
    kept.set(key, made);
    return made;
  };
}

const numbers = keeper((locale, options: Intl.NumberFormatOptions) => new Intl.NumberFormat(locale, options));
const instants = keeper(
  (locale, options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { timeZone: zone, ...options }),
);

/** `R$ 1.234,56`; below zero with the minus sign of typography, which is as wide as a plus. */
export const money = (cents: number): string =>
  numbers('pt-BR', { style: 'currency', currency: 'BRL' })
    .format(cents / 100)
    .replace('-', '−');

/** `R$ 5 mil`, in English `R$ 5K`: for the marks of a chart. */
export const roughMoney = (cents: number, language: Language): string =>
  `R$ ${numbers(language, { notation: 'compact', maximumFractionDigits: 1 }).format(cents / 100)}`;

const size = (units: number, language: Language): string =>
  numbers(language, { maximumFractionDigits: 1 }).format(units);

/** `2,4 MB`, `312 KB`: in units of 1,024, as people's machines show files. */
export const fileSize = (bytes: number, language: Language): string =>
  bytes >= 1024 * 1024
    ? `${size(bytes / 1024 / 1024, language)} MB`
    : `${size(Math.max(1, Math.round(bytes / 1024)), language)} KB`;

/** `1.234,56` for an input. */
export const plainMoney = (cents: number): string =>
  numbers('pt-BR', { minimumFractionDigits: 2 }).format(cents / 100);

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

const format = (language: Language, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat =>
  instants(language === 'en' ? 'en-GB' : 'pt-BR', options);

/** `20/11/2026 17:43` */
export const dateTime = (iso: string, language: Language): string =>
  format(language, { day: '2-digit', month: '2-digit', year: 'numeric', hour: '2-digit', minute: '2-digit' })
    .format(new Date(iso))
    .replace(',', '');

/** `20/11 17:43`, where the year goes without saying. */
export const shortDateTime = (iso: string, language: Language): string =>
  format(language, { day: '2-digit', month: '2-digit', hour: '2-digit', minute: '2-digit' })
    .format(new Date(iso))
    .replace(',', '');

/** `20/11/2026 17:43:18` */
export const dateTimeSeconds = (iso: string, language: Language): string =>
  format(language, {
    day: '2-digit',
    month: '2-digit',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  })
    .format(new Date(iso))
    .replace(',', '');

/** `20/11/2026` of a day as `2026-11-20`, in either language. */
export const plainDay = (day: string): string => day.split('-').reverse().join('/');

/** `novembro de 2026` of a month as `2026-11`. */
export const monthName = (month: string, language: Language): string =>
  format(language, { month: 'long', year: 'numeric' }).format(new Date(`${month}-15T12:00:00-03:00`));

/** `20 de nov.` of a day as `2026-11-20`. */
export const shortDay = (day: string, language: Language): string =>
  format(language, { day: '2-digit', month: '2-digit' }).format(new Date(`${day}T12:00:00-03:00`));

export const time = (iso: string, language: Language): string =>
  format(language, { hour: '2-digit', minute: '2-digit', second: '2-digit' }).format(new Date(iso));

/** The day in São Paulo, `2026-11-20`. */
export const dayOf = (date: Date): string =>
  format('pt-BR', { day: '2-digit', month: '2-digit', year: 'numeric' })
    .format(date)
    .split('/')
    .reverse()
    .join('-');

export const dayMs = 86_400_000;

/** A day so many days later, `2026-11-20` and 1: `2026-11-21`. */
export const addDays = (day: string, count: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + count * dayMs).toISOString().slice(0, 10);

// São Paulo has had no summer time since 2019.

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
