import { Type } from 'typebox';
import { printable } from './printable.ts';

/**
 * The building blocks of every schema. A schema is at once the check of what comes in, the type, the serializer of what goes
 * out and the text of the OpenAPI document.
 *
 * Lengths count Unicode code points. Strings that come in are normalised to NFC first; `x-trim` also takes outer white space
 * away; UUIDs become lower case (`validation.ts`).
 */

export const Uuid = (description: string) => Type.String({ format: 'uuid', description });

export const Cents = (description: string, limits: { minimum?: number; maximum?: number } = {}) =>
  Type.Integer({ ...limits, description });

/** Of a link or a code; null: its payer types it. */
export const OpenAmount = (description: string) =>
  Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    minimum: 1,
    maximum: 100_000_000,
    description,
  });

/** RFC 3339, UTC, milliseconds, `Z`. */
export const Time = (description: string) => Type.String({ format: 'date-time', description });

export const NullableTime = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time', description });

export const Text = (
  description: string,
  limits: { minLength: number; maxLength: number; 'x-trim'?: boolean },
) => Type.String({ ...limits, pattern: printable, description });

/** Not: control characters, space, " ( ) , : ; < > @ [ \ ] */
const addressChars = '^\\x00-\\x20\\x22\\x28\\x29\\x2c\\x3a-\\x3c\\x3e\\x40\\x5b-\\x5d';

/** A mail address, with nothing of what a mail program reads as its end or as a second one. */
export const MailAddress = (description: string) =>
  Type.String({ maxLength: 200, pattern: `^[${addressChars}]+@[${addressChars}]+$`, description });

/** A closed set of strings. */
export const OneOf = <const Names extends readonly string[]>(names: Names, description: string) =>
  Type.Unsafe<Names[number]>({ type: 'string', enum: [...names], description });

/** The body of a call: nothing but the fields named. */
export const Body = <Fields extends Parameters<typeof Type.Object>[0]>(
  fields: Fields,
  options: { examples?: unknown[] } = {},
) => Type.Object(fields, { additionalProperties: false, ...options });

/** Nothing, an absent body included. */
export const EmptyBody = Body({});

export const IdParams = (description: string) => Type.Object({ id: Uuid(description) });
