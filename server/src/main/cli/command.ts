import type { ParseArgsConfig } from 'node:util';
import type { SettingFault } from '../../ground/config.ts';
import { priceOf } from '../../ground/money.ts';
import type { Edge } from '../start.ts';

export interface Command {
  /** One or two words. */
  name: string;
  /** The operands behind the name. */
  usage?: string;
  about: string;
  options?: NonNullable<ParseArgsConfig['options']>;
  /** Names of what must stand without a dash. */
  operands?: string[];
  /** Runs until a signal ends it. */
  lasts?: boolean;
  /** Answers when the settings cannot be read; otherwise that ends the program with exit code 2. */
  onSettingFault?(fault: SettingFault): Answer;
  run(edge: Edge, input: CommandInput, ending: AbortSignal): Promise<Answer | undefined>;
}

export interface CommandInput {
  values: Record<string, string | boolean | undefined>;
  operands: string[];
}

export interface Answer {
  /** With `--json`. */
  json: unknown;
  /** Without. */
  text: string;
  exitCode?: number;
}

/** Wrong usage: exit code 2. */
export class UsageFault extends Error {
  override name = 'UsageFault';
}

export function required(values: CommandInput['values'], name: string): string {
  const value = values[name];
  if (typeof value !== 'string' || value === '') throw new UsageFault(`--${name} is missing`);
  return value;
}

/** A whole number, as an option. */
export function integer(text: string, what: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw new UsageFault(`${what} takes a whole number`);
  return Number(text);
}

export function choice<Choice extends string>(
  text: string,
  what: string,
  choices: readonly Choice[],
): Choice {
  const chosen = choices.find((one) => one === text);
  if (chosen === undefined) throw new UsageFault(`${what} takes ${choices.join(', ')}`);
  return chosen;
}

export function uuid(text: string, what: string): string {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text))
    throw new UsageFault(`${what} takes a UUID`);
  return text.toLowerCase();
}

/** A day is its first moment in UTC. */
export function timeOf(text: string, what: string): number {
  const ms = /^\d{4}-\d{2}-\d{2}(T.*(Z|[+-]\d{2}:\d{2}))?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new UsageFault(`${what} takes a date or an RFC 3339 time with an offset or Z`);
  return ms;
}

/** Null: of all accounts. */
export const optionalAccount = (values: CommandInput['values']): string | null =>
  typeof values.account === 'string' ? uuid(values.account, '--account') : null;

export function instant(ms: number): string;
export function instant(ms: number | null): string | null;
export function instant(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** The members of an answer, one below the other: what ends in `Cents` as a price. */
export const facts = (json: object): string =>
  table(
    Object.entries(json).map(([name, value]) => [
      name,
      name.endsWith('Cents') && typeof value === 'number'
        ? priceOf(value)
        : typeof value === 'object' && value !== null
          ? JSON.stringify(value)
          : String(value ?? '-'),
    ]),
    '',
  );

/** Columns of equal width, under their names where a list has some; the last one as it is. */
export function table(rows: string[][], empty: string, names: readonly string[] = []): string {
  if (rows.length === 0) return empty;
  const all = names.length === 0 ? rows : [names.map((name) => name.toUpperCase()), ...rows];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))) ?? [];
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
