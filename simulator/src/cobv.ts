import { fromReais, isRecord, toReais } from './money.ts';
import type { Violation } from './reply.ts';

/**
 * Charges with a due date of API Pix 2.9.0 (`cobv`): how a request is read, and what a payer owes on a day, as the Central Bank describes it. The service has no
 * such arithmetic, so nothing here is checked against a copy of itself.
 */
export type DueTerms = {
  /** `YYYY-MM-DD`. */
  dueDate: string;
  validAfterDue: number;
  /** As they came, so that an answer repeats them. */
  fine?: Rate;
  interest?: Rate;
  rebate?: Rate;
  discount?: { mode: number; dates: { data: string; valorPerc: string }[] };
};

type Rate = { mode: number; value: string };

/** The parts of a payment, in cents. */
export type Parts = {
  originalCents: number;
  fineCents: number;
  interestCents: number;
  discountCents: number;
  rebateCents: number;
};

type Wrong = (propriedade: string, razao: string, valor?: unknown) => void;

/** Reads `calendario` and `valor` of CobVSolicitada. */
export function readTerms(
  cob: Record<string, unknown>,
  amountCents: number,
  today: string,
  violations: Violation[],
): DueTerms | undefined {
  const before = violations.length;
  const wrong: Wrong = (propriedade, razao, valor) => {
    violations.push({ razao, propriedade, ...(valor === undefined ? {} : { valor: String(valor) }) });
  };
  const calendar = membersOf(
    cob.calendario,
    'cobv.calendario',
    ['dataDeVencimento', 'validadeAposVencimento'],
    wrong,
  );
  const { dataDeVencimento: dueDate, validadeAposVencimento: valid = 30 } = calendar;
  if (typeof dueDate !== 'string' || !isDay(dueDate))
    wrong('cobv.calendario.dataDeVencimento', 'Não respeita o schema', dueDate);
  else if (dueDate < today)
    wrong('cobv.calendario.dataDeVencimento', 'É anterior à data de criação da cobrança', dueDate);
  if (!Number.isInteger(valid) || (valid as number) < 0)
    wrong('cobv.calendario.validadeAposVencimento', 'É menor do que zero', valid);
  const value = membersOf(
    cob.valor,
    'cobv.valor',
    ['original', 'multa', 'juros', 'abatimento', 'desconto'],
    wrong,
  );
  const fine = rateIn(value.multa, 'multa', 2, wrong);
  const interest = rateIn(value.juros, 'juros', 8, wrong);
  const rebate = rateIn(value.abatimento, 'abatimento', 2, wrong);
  if (rebate !== undefined && partOf(rebate, amountCents) >= amountCents)
    wrong('cobv.valor.abatimento', 'Representa um valor maior ou igual ao valor da cobrança');
  const discount = discountIn(value.desconto, amountCents, String(dueDate), wrong);
  if (violations.length > before) return undefined;
  return {
    dueDate: dueDate as string,
    validAfterDue: valid as number,
    ...(fine && { fine }),
    ...(interest && { interest }),
    ...(rebate && { rebate }),
    ...(discount && { discount }),
  };
}

function membersOf(
  value: unknown,
  place: string,
  known: readonly string[],
  wrong: Wrong,
): Record<string, unknown> {
  if (!isRecord(value)) {
    wrong(place, 'Deve ser um objeto');
    return {};
  }
  for (const name of Object.keys(value))
    if (!known.includes(name)) wrong(`${place}.${name}`, 'Propriedade desconhecida');
  return value;
}

function rateIn(value: unknown, name: string, modes: number, wrong: Wrong): Rate | undefined {
  if (value === undefined) return undefined;
  const { modalidade: mode, valorPerc } = membersOf(
    value,
    `cobv.valor.${name}`,
    ['modalidade', 'valorPerc'],
    wrong,
  );
  const isMode = Number.isInteger(mode) && (mode as number) >= 1 && (mode as number) <= modes;
  if (isMode && fromReais(valorPerc) !== undefined)
    return { mode: mode as number, value: valorPerc as string };
  wrong(`cobv.valor.${name}`, 'Não respeita o schema');
  return undefined;
}

/** By fixed dates alone; discounts for each day before the due date (3 to 6) are not offered here. */
function discountIn(
  value: unknown,
  amountCents: number,
  dueDate: string,
  wrong: Wrong,
): DueTerms['discount'] {
  if (value === undefined) return undefined;
  const place = 'cobv.valor.desconto';
  const { modalidade: mode, descontoDataFixa: dates } = membersOf(
    value,
    place,
    ['modalidade', 'descontoDataFixa'],
    wrong,
  );
  if ((mode !== 1 && mode !== 2) || !Array.isArray(dates) || dates.length < 1 || dates.length > 3) {
    wrong(place, 'Não respeita o schema');
    return undefined;
  }
  for (const one of dates) {
    const { data, valorPerc } = membersOf(one, `${place}.descontoDataFixa`, ['data', 'valorPerc'], wrong);
    if (typeof data !== 'string' || !isDay(data) || fromReais(valorPerc) === undefined)
      wrong(`${place}.descontoDataFixa`, 'Não respeita o schema');
    else if (data > dueDate)
      wrong(`${place}.descontoDataFixa.data`, 'É posterior à data de vencimento', data);
    else if (partOf({ mode, value: valorPerc as string }, amountCents) >= amountCents)
      wrong(`${place}.descontoDataFixa`, 'Representa um valor maior ou igual ao valor da cobrança');
  }
  return { mode, dates };
}

/** Of an amount: a fixed value (1), or a percentage with two places (2). */
const partOf = ({ mode, value }: Rate, cents: number): number =>
  mode === 1 ? (fromReais(value) ?? 0) : shareOf(cents, fromReais(value) ?? 0, 1);

/** Half a cent is rounded up. */
const shareOf = (cents: number, hundredths: number, parts: number): number =>
  Math.round((cents * hundredths) / (10_000 * parts));

/** `calendario` and `valor` of an answer. */
export const calendarOf = ({ dueDate, validAfterDue }: DueTerms) => ({
  dataDeVencimento: dueDate,
  validadeAposVencimento: validAfterDue,
});

export const amountsOf = (amountCents: number, { fine, interest, rebate, discount }: DueTerms) => ({
  original: toReais(amountCents),
  ...(fine && { multa: rateOf(fine) }),
  ...(interest && { juros: rateOf(interest) }),
  ...(rebate && { abatimento: rateOf(rebate) }),
  ...(discount && { desconto: { modalidade: discount.mode, descontoDataFixa: discount.dates } }),
});

const rateOf = ({ mode, value }: Rate) => ({ modalidade: mode, valorPerc: value });

/** `componentesValor`: parts that are nothing are left out. */
export function componentsOf(parts: Parts) {
  const part = (cents: number) => ({ valor: toReais(cents) });
  const { originalCents, fineCents, interestCents, discountCents, rebateCents } = parts;
  return {
    original: part(originalCents),
    ...(fineCents > 0 && { multa: part(fineCents) }),
    ...(interestCents > 0 && { juros: part(interestCents) }),
    ...(rebateCents > 0 && { abatimento: part(rebateCents) }),
    ...(discountCents > 0 && { desconto: part(discountCents) }),
  };
}

export const sumOf = ({
  originalCents,
  fineCents,
  interestCents,
  discountCents,
  rebateCents,
}: Parts): number => originalCents + fineCents + interestCents - discountCents - rebateCents;

/**
 * The amount that a payer owes on a day; undefined: it can no longer be paid. A due date without work moves to the next day with, and what counts from it moves along. Fine and
 * interest are of the original less the rebate.
 */
export function owedOn(amountCents: number, terms: DueTerms, day: string): Parts | undefined {
  const due = afterRest(terms.dueDate);
  const last = afterRest(addDays(due, terms.validAfterDue));
  if (day > last) return undefined;
  const { fine, interest, rebate, discount } = terms;
  const rebateCents = rebate ? partOf(rebate, amountCents) : 0;
  const isLate = day > due;
  const base = amountCents - rebateCents;
  const given = isLate
    ? undefined
    : discount?.dates
        .toSorted((one, other) => (one.data < other.data ? -1 : 1))
        // The last discount of all moves with the due date.
        .find(({ data }) => day <= (data === terms.dueDate ? due : data));
  return {
    originalCents: amountCents,
    fineCents: isLate && fine ? partOf(fine, base) : 0,
    interestCents: isLate && interest ? interestOf(base, interest, due, day) : 0,
    discountCents:
      given && discount ? partOf({ mode: discount.mode, value: given.valorPerc }, amountCents) : 0,
    rebateCents,
  };
}

/** 1 to 4 on calendar days, 5 to 8 on working days: an amount a day, a percentage a day, a month of 30 days, a year of 365. */
function interestOf(base: number, { mode, value }: Rate, due: string, day: string): number {
  const isWorking = mode > 4;
  const days = isWorking ? workingDaysBetween(due, day) : (Date.parse(day) - Date.parse(due)) / dayMs;
  const rate = fromReais(value) ?? 0;
  const parts = [0, 1, isWorking ? 21 : 30, isWorking ? 252 : 365][(mode - 1) % 4] ?? 1;
  return parts === 0 ? rate * days : shareOf(base, rate * days, parts);
}

const dayMs = 24 * 3_600_000;
const dayText = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
export const addDays = (day: string, days: number): string => dayText(Date.parse(day) + days * dayMs);

/** Brasília, without summer time since 2019. */
export const dayAt = (ms: number): string => dayText(ms - 3 * 3_600_000);

export const isDay = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) && dayText(Date.parse(text)) === text;

/** The day itself, or the next one with work. */
function afterRest(day: string): string {
  let at = day;
  while (isRest(at)) at = addDays(at, 1);
  return at;
}

function workingDaysBetween(from: string, to: string): number {
  let days = 0;
  for (let at = addDays(from, 1); at <= to; at = addDays(at, 1)) if (!isRest(at)) days++;
  return days;
}

const fixedHolidays: ReadonlySet<string> = new Set([
  ...['01-01', '04-21', '05-01', '09-07', '10-12', '11-02', '11-15', '11-20', '12-25'],
]);

/** Weekends and the holidays of banks in the whole country. */
function isRest(day: string): boolean {
  const weekday = new Date(Date.parse(day)).getUTCDay();
  if (weekday === 0 || weekday === 6 || fixedHolidays.has(day.slice(5))) return true;
  const easter = easterOf(Number(day.slice(0, 4)));
  // Carnival on Monday and Tuesday, Good Friday, Corpus Christi.
  return [-48, -47, -2, 60].some((days) => addDays(easter, days) === day);
}

/** Meeus, Jones and Butcher. */
function easterOf(year: number): string {
  const [a, b, c] = [year % 19, Math.floor(year / 100), year % 100];
  const h = (19 * a + b - Math.floor(b / 4) - Math.floor((b - Math.floor((b + 8) / 25) + 1) / 3) + 15) % 30;
  const l = (32 + 2 * (b % 4) + 2 * Math.floor(c / 4) - h - (c % 4)) % 7;
  const m = h + l - 7 * Math.floor((a + 11 * h + 22 * l) / 451) + 114;
  return dayText(Date.UTC(year, Math.floor(m / 31) - 1, (m % 31) + 1));
}
