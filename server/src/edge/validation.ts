import type { FastifySchemaCompiler } from 'fastify';
import { Compile } from 'typebox/compile';
import { type ApiError, type FieldProblem, refuse, refuseFields } from '../ground/errors.ts';
import { isOfText, isPrintable, isReadable, trimmed } from '../ground/printable.ts';

/**
 * Checks bodies, queries and path parameters against their schemas, after normalising them. TypeBox's compiled check decides;
 * only for what it refuses is the reason looked up, one per field. Nothing is coerced in a body (Fastify's default would turn
 * "1000" into 1000, and drop unknown properties in silence: a mistyped field of a money call must not be ignored).
 */

interface FieldSchema {
  /** `['string', 'null']`: may be null. */
  type?: string | readonly string[];
  format?: string;
  pattern?: string;
  enum?: readonly string[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  items?: FieldSchema;
  /** Of an item that is an object. */
  properties?: Record<string, FieldSchema>;
  required?: readonly string[];
  /** Of an object with names of the caller's own. */
  maxProperties?: number;
  propertyNames?: { pattern: string; maxLength: number };
  additionalProperties?: FieldSchema;
  'x-trim'?: boolean;
}

interface ObjectSchema {
  type: 'object';
  properties: Record<string, FieldSchema>;
  required?: readonly string[];
}

type Part = 'body' | 'querystring' | 'params';

export const validatorCompiler: FastifySchemaCompiler<ObjectSchema> = ({ schema, httpPart }) => {
  const validate = validatorOf(schema, httpPart as Part);
  return (value: unknown) => {
    try {
      return { value: validate(value) };
    } catch (error) {
      return { error: error as ApiError };
    }
  };
};

/**
 * @returns a function that gives the normalised value back
 * @throws ApiError `malformed_json`, `invalid_id` or `validation_failed`
 */
export function validatorOf(schema: ObjectSchema, part: Part): (value: unknown) => unknown {
  const fields = Object.entries(schema.properties);
  const check = Compile(schema);
  const texts = fields.flatMap(([name, { pattern }]) => (isOfText(pattern) ? [name] : []));
  const maps = fields.flatMap(([name, { propertyNames }]) => (propertyNames ? [name] : []));
  const members = fields.flatMap(([name, { properties }]) => (properties ? [name] : []));
  const emptyIsFine = part === 'body' && (schema.required ?? []).length === 0;
  return (given) => {
    // Fastify hands null for an absent body; a body of `null` was refused when it was read.
    const value = emptyIsFine ? (given ?? {}) : given;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse('malformed_json');
    const record = value as Record<string, unknown>;
    for (const [name, field] of fields) {
      const raw = record[name];
      if (field.propertyNames && isEmptyList(raw)) record[name] = {};
      else if (typeof raw === 'string') record[name] = normalised(raw, field, part);
      else if (Array.isArray(raw)) record[name] = raw.map((item) => normalisedItem(item, field));
      else if (field.propertyNames && isObject(raw)) record[name] = normalisedMap(raw);
      else if (field.properties && isObject(raw))
        record[name] = normalisedMembers(raw, field.properties, part);
    }
    const wellFormed =
      texts.every((name) => isReadableText(record[name])) &&
      maps.every((name) => Object.values(record[name] ?? {}).every(isReadableText)) &&
      members.every((name) => isReadableWhole(record[name]));
    if (wellFormed && check.Check(record)) return record;
    if (part === 'params') throw refuse('invalid_id');
    throw refuseFields(problemsOf(record, schema, part));
  };
}

/** The rules that the pattern of a text cannot state. */
const isReadableText = (value: unknown): boolean => typeof value !== 'string' || isReadable(value);

const isReadableWhole = (value: unknown): boolean =>
  isObject(value) ? Object.values(value).every(isReadableWhole) : isReadableText(value);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** PHP writes an object without members as `[]`. */
const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

const normalisedMap = (given: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(given).map(([name, value]) => [
      name,
      typeof value === 'string' ? value.normalize('NFC') : value,
    ]),
  );

const normalisedMembers = (
  given: Record<string, unknown>,
  properties: Record<string, FieldSchema>,
  part: Part,
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const field = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (field && typeof value === 'string') return [name, normalised(value, field, part)];
      return [
        name,
        field?.properties && isObject(value) ? normalisedMembers(value, field.properties, part) : value,
      ];
    }),
  );

const normalisedItem = (item: unknown, { items }: FieldSchema): unknown =>
  typeof item === 'string' && items?.format === 'uuid' ? item.toLowerCase() : item;

function normalised(raw: string, field: FieldSchema, part: Part): unknown {
  const type = typeOf(field);
  if (part === 'querystring') {
    // A query carries text only; the types come from the schema.
    if (type === 'integer') return /^[0-9]{1,9}$/.test(raw) ? Number(raw) : raw;
    if (type === 'array') return raw.split(',');
  }
  if (field.format === 'uuid') return raw.toLowerCase();
  if (type !== 'string' || field.enum) return raw;
  const text = raw.normalize('NFC');
  return field['x-trim'] ? trimmed(text) : text;
}

function problemsOf(record: Record<string, unknown>, schema: ObjectSchema, part: Part): FieldProblem[] {
  const problems: FieldProblem[] = [];
  for (const [name, field] of Object.entries(schema.properties)) {
    const value = Object.hasOwn(record, name) ? record[name] : undefined;
    if (value === undefined || value === null) {
      if (schema.required?.includes(name)) problems.push({ field: name, code: 'required' });
      else if (value === null && !isNullable(field)) problems.push({ field: name, ...wrongType(field) });
      continue;
    }
    const problem = problemOf(value, field);
    if (problem) problems.push({ field: name, ...problem });
    else if (field.propertyNames) problems.push(...problemsOfMap(name, value as object, field));
    else if (Array.isArray(value)) problems.push(...problemsOfItems(name, value, field));
    else if (field.properties) problems.push(...problemsOfMembers(name, value as object, field, part));
  }
  for (const name of Object.keys(record)) {
    if (Object.hasOwn(schema.properties, name)) continue;
    problems.push({ field: name, code: part === 'body' ? 'unknown_property' : 'unknown_parameter' });
  }
  return problems;
}

/** Of an object: `payer.document`. */
function problemsOfMembers(
  name: string,
  value: object,
  { properties = {}, required = [] }: FieldSchema,
  part: Part,
): FieldProblem[] {
  const problems = problemsOf({ ...value }, { type: 'object', properties, required }, part);
  return problems.map((problem) => ({ ...problem, field: `${name}.${problem.field}` }));
}

/** Of a list of objects: `fiscalDocuments.0.key`. */
function problemsOfItems(list: string, value: readonly unknown[], { items }: FieldSchema): FieldProblem[] {
  const { properties } = items ?? {};
  if (!items || !properties) return [];
  return value.flatMap((item, at) => {
    if (!isObject(item)) return [{ field: `${list}.${at}`, ...wrongType(items) }];
    const problems = problemsOf(item, { ...items, type: 'object', properties }, 'body');
    return problems.map((problem) => ({ ...problem, field: `${list}.${at}.${problem.field}` }));
  });
}

/** Names of the caller's own are not repeated where they may be anything. */
function problemsOfMap(map: string, value: object, field: FieldSchema): FieldProblem[] {
  const { pattern = '', maxLength = 0 } = field.propertyNames ?? {};
  const name = new RegExp(pattern, 'u');
  return Object.entries(value).flatMap(([own, item]) => {
    if (own.length > maxLength || !name.test(own)) return [{ field: map, code: 'invalid_format' as const }];
    const problem = problemOf(item, field.additionalProperties ?? {});
    return problem ? [{ field: `${map}.${own}`, ...problem }] : [];
  });
}

type Problem = Omit<FieldProblem, 'field'>;

const isNullable = ({ type }: FieldSchema): boolean => Array.isArray(type) && type.includes('null');

const typeOf = ({ type }: FieldSchema): string | undefined =>
  typeof type === 'string' ? type : type?.find((one) => one !== 'null');

function problemOf(value: unknown, field: FieldSchema): Problem | null {
  const type = typeOf(field);
  if (type === 'boolean') return typeof value === 'boolean' ? null : wrongType(field);
  if (type === 'integer') {
    if (!Number.isInteger(value)) return wrongType(field);
    const number = value as number;
    return number < (field.minimum ?? number) || number > (field.maximum ?? number) ? range(field) : null;
  }
  if (type === 'object') {
    if (!isObject(value)) return wrongType(field);
    const { maxProperties: max = Number.MAX_SAFE_INTEGER } = field;
    return Object.keys(value).length > max ? { code: 'out_of_count', min: 0, max } : null;
  }
  if (type === 'array') {
    if (!Array.isArray(value)) return wrongType(field);
    const { minItems: min = 0, maxItems: max = value.length } = field;
    if (value.length < min || value.length > max) return { code: 'out_of_count', min, max };
    // Those of an object have names of their own (`problemsOfItems`).
    for (const item of field.items?.properties ? [] : value) {
      const problem = problemOf(item, field.items ?? {});
      if (problem) return problem;
    }
    return null;
  }
  if (field.enum) {
    return field.enum.includes(value as string) ? null : { code: 'not_one_of', allowed: field.enum };
  }
  if (typeof value !== 'string') return wrongType(field);
  if (field.format === 'uuid') return uuid.test(value) ? null : { code: 'not_a_uuid' };
  if (field.format === 'date-time') return { code: 'not_a_time' };
  const length = [...value].length;
  if (length < (field.minLength ?? 0) || length > (field.maxLength ?? length)) {
    return { code: 'out_of_length', min: field.minLength ?? 0, max: field.maxLength ?? length };
  }
  if (isOfText(field.pattern))
    return isPrintable(value, field.pattern) ? null : { code: 'invalid_characters' };
  if (field.pattern !== undefined && !new RegExp(field.pattern, 'u').test(value)) {
    return { code: 'invalid_format' };
  }
  return null;
}

function wrongType(field: FieldSchema): Problem {
  if (field.enum) return { code: 'not_one_of', allowed: field.enum };
  if (field.format === 'uuid') return { code: 'not_a_uuid' };
  switch (typeOf(field)) {
    case 'integer':
      return field.minimum === undefined
        ? { code: 'not_an_integer' }
        : { ...range(field), code: 'not_an_integer' };
    case 'boolean':
      return { code: 'not_a_boolean' };
    case 'array':
      return { code: 'not_a_list' };
    case 'object':
      return { code: 'not_an_object' };
    default:
      return { code: 'not_a_string' };
  }
}

/** One message says it all, also of what is no integer: "must be an integer between 1000 and 1000000". */
const range = (field: FieldSchema): Problem => ({
  code: 'out_of_range',
  min: field.minimum ?? Number.MIN_SAFE_INTEGER,
  max: field.maximum ?? Number.MAX_SAFE_INTEGER,
});

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** A UUID in any case and of any version as lower case, or null. */
export function uuidOf(text: string): string | null {
  const lower = text.toLowerCase();
  return uuid.test(lower) ? lower : null;
}
