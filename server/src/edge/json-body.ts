import { isUtf8 } from 'node:buffer';
import type { FastifyBodyParser } from 'fastify';
import { refuse, refuseFields } from '../ground/errors.ts';
import { textOf } from '../ports/outside-text.ts';

/**
 * Reads a JSON body. Fastify's own parser takes the last of two equal names and lets `charset` say anything; with money,
 * ambiguous input is refused.
 */
export const parseJsonBody: FastifyBodyParser<Buffer> = (request, body, done) => {
  try {
    // PHP writes an object without members as `[]`: all that a DELETE has.
    if (request.method === 'DELETE' && body.toString('latin1') === '[]') done(null, {});
    else done(null, jsonBodyOf(body, request.headers['content-type'], request.headers['content-encoding']));
  } catch (error) {
    done(error as Error, undefined);
  }
};

/**
 * @returns the parsed value, or undefined for an empty body
 * @throws ApiError `unsupported_media_type`, `malformed_json`, `validation_failed`
 */
export function jsonBodyOf(
  body: Buffer,
  contentType: string | undefined,
  contentEncoding: string | undefined,
) {
  if (contentEncoding !== undefined && contentEncoding.trim().toLowerCase() !== 'identity') {
    throw refuse('unsupported_media_type');
  }
  if (contentType !== 'application/json') {
    const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(contentType ?? '')?.[1];
    if (charset !== undefined && !/^utf-?8$/i.test(charset)) throw refuse('unsupported_media_type');
  }
  if (body.length === 0) return undefined;
  if (!isUtf8(body)) throw refuse('malformed_json');
  const text = textOf(body);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refuse('malformed_json');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse('malformed_json');
  const { names, within } = memberNames(text);
  const twice = new Set(
    names.length === Object.keys(value).length
      ? [...within]
          .filter(([name, count]) => count !== namesWithin(value[name as keyof typeof value]))
          .map(([name]) => name)
      : names.filter((name, at) => names.indexOf(name) !== at),
  );
  if (twice.size > 0) throw refuseFields([...twice].map((field) => ({ field, code: 'duplicate_property' })));
  return value;
}

/** How many members the objects in a value have. Not recursive: a body may be nested as deep as it is long. */
function namesWithin(value: unknown): number {
  let count = 0;
  for (const open = [value]; open.length > 0; ) {
    const one = open.pop();
    if (typeof one !== 'object' || one === null) continue;
    const items = Object.values(one);
    if (!Array.isArray(one)) count += items.length;
    open.push(...items);
  }
  return count;
}

/**
 * The names of the outermost object's members, as often as they stand there, and how many names stand within each of them. `text` is
 * valid JSON and an object.
 */
function memberNames(text: string): { names: string[]; within: Map<string, number> } {
  const names: string[] = [];
  const within = new Map<string, number>();
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === openBrace || char === openBracket) depth++;
    else if (char === closeBrace || char === closeBracket) depth--;
    else if (char === quote) {
      const start = at;
      for (at++; text.charCodeAt(at) !== quote; at++) {
        if (text.charCodeAt(at) === backslash) at++;
      }
      if (depth === 1 && isName(text, at + 1)) names.push(JSON.parse(text.slice(start, at + 1)));
      else if (depth > 1 && isName(text, at + 1)) {
        const outer = names.at(-1) as string;
        within.set(outer, (within.get(outer) ?? 0) + 1);
      }
    }
  }
  return { names, within };
}

/** Whether a colon follows: the string before it was a name and not a value. */
function isName(text: string, from: number): boolean {
  let at = from;
  while (text.charCodeAt(at) <= 0x20) at++;
  return text.charCodeAt(at) === colon;
}

const quote = 0x22;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
