import type { ParseArgsConfig } from 'node:util';
import type { Vintem } from '@vintem/sdk';
import type { Output } from './output.ts';

export interface Command {
  /** One or two words. */
  name: string;
  usage: string;
  about: string;
  /** Shown in the command's own help alone. */
  more?: string;
  options: NonNullable<ParseArgsConfig['options']>;
  /** Names of what stands without dashes. */
  operands?: string[];
  /** Works without a login. */
  anonymous?: true;
  run(context: Context): Promise<number | undefined>;
}

export interface Context {
  /** Throws a `UsageFault` without a login. */
  vintem: Vintem;
  login: Login;
  values: Record<string, string | boolean | undefined>;
  operands: string[];
  out: Output;
  /** Aborted by Ctrl-C. */
  ending: AbortSignal;
  configFile: string;
}

export interface Login {
  url: string;
  key: string;
}

/** Exit codes of every command. */
export const exitCodes = {
  done: 0,
  /** The service refused, or what was waited for did not happen. */
  failed: 1,
  usage: 2,
  /** The outcome of a creation is not known: repeat it with the same --request-key. */
  open: 4,
  interrupted: 130,
} as const;

/** Wrong usage: exit code 2. */
export class UsageFault extends Error {
  override name = 'UsageFault';
}

export function text(values: Context['values'], name: string): string | undefined {
  const value = values[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function required(values: Context['values'], name: string): string {
  const value = text(values, name);
  if (value === undefined) throw new UsageFault(`--${name} is missing`);
  return value;
}

/** A whole number, as `--amount-cents 1990`: never a fraction, so that R$ 19,90 cannot become R$ 19,00. */
export function integer(values: Context['values'], name: string): number {
  const value = required(values, name);
  if (!/^\d{1,12}$/.test(value)) throw new UsageFault(`--${name} takes a whole number`);
  return Number(value);
}

/** One of a list. */
export function oneOf<Choice extends string>(
  value: string | undefined,
  name: string,
  choices: readonly Choice[],
): Choice {
  if (value === undefined || !(choices as readonly string[]).includes(value))
    throw new UsageFault(`${name} takes one of ${choices.join(', ')}`);
  return value as Choice;
}

/** Commands that create things by hand are for test accounts. */
export function needsTestKey({ key }: Login, name: string): void {
  if (!key.startsWith('vtm_test_'))
    throw new UsageFault(`${name} needs the key of a test account (vtm_test_…)`);
}
