import { isValidCpf } from '@brazilian-utils/brazilian-utils/is-valid-cpf';
import { cnpjOf } from '../../ground/cnpj.ts';
import { refuse } from '../../ground/errors.ts';
import type { AskedTerms } from '../../money/due.ts';
import type { DueTerms, Part } from '../../provider/due-terms.ts';

/** A CPF of 11 digits or a CNPJ of 14 characters, as people write it; null: it is neither. */
export function documentOf(text: string): string | null {
  const digits = text.replace(/[.\-\s]/g, '');
  return /^[0-9]{11}$/.test(digits) && isValidCpf(digits) ? digits : cnpjOf(text);
}

/** Enough of it for those who know it: `***.456.789-**`, as tax files show a CPF, and the root and end of a CNPJ. */
export const maskedDocument = (document: string): string =>
  document.length === 11
    ? document.replace(/^.{3}(.{3})(.{3}).{2}$/, '***.$1.$2-**')
    : document.replace(/^(.{2})(.{3}).{7}(.{2})$/, '$1.$2.***/****-$3');

const dayForm = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/;
const dayMs = 24 * 3_600_000;
/** Brasília, without summer time since 2019. */
const brasiliaMs = 3 * 3_600_000;
const daysAheadMost = 2 * 365;

const isDay = (text: string): boolean =>
  dayForm.test(text) &&
  !Number.isNaN(Date.parse(text)) &&
  new Date(Date.parse(text)).toISOString().slice(0, 10) === text;

const dayAt = (ms: number): string => new Date(ms - brasiliaMs).toISOString().slice(0, 10);

/**
 * Refused before anything is recorded, since every provider of such charges refuses it: a due date that is over, and what takes the whole amount off (the violations
 * of `CobVOperacaoInvalida`).
 * @throws ApiError `due_date_out_of_range`, `due_terms_invalid`
 */
export function requireTerms(asked: AskedTerms, now: number): void {
  requireDueDate(asked.terms, now);
  requireParts(asked);
}

/** @throws ApiError `due_date_out_of_range` */
export function requireDueDate({ dueDate }: Pick<DueTerms, 'dueDate'>, now: number): void {
  if (!isDay(dueDate) || dueDate < dayAt(now) || dueDate > dayAt(now + daysAheadMost * dayMs))
    throw refuse('due_date_out_of_range');
}

/** @throws ApiError `due_terms_invalid` */
export function requireParts({ amountCents, terms }: AskedTerms): void {
  const { dueDate, discounts, rebate } = terms;
  const days = new Set(discounts.map(({ until }) => until));
  const isOneKind = discounts.every(({ type }) => type === discounts[0]?.type);
  const isInTime = discounts.every(({ until }) => isDay(until) && until <= dueDate);
  const centsOf = ({ type, value }: Part): number =>
    type === 'fixed' ? value : Math.ceil((amountCents * value) / 10_000);
  const takenOff = Math.max(0, ...discounts.map(centsOf)) + (rebate ? centsOf(rebate) : 0);
  if (days.size < discounts.length || !isOneKind || !isInTime || takenOff >= amountCents)
    throw refuse('due_terms_invalid');
}
