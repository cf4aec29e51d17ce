import { readFileSync } from 'node:fs';

/** Bodies of real providers (`contract/provider-bodies`), and how a body of ours is held against one. */
export interface Foreign {
  source: string[];
  call: string;
  part: 'request' | 'answer' | 'delivery';
  status?: number;
  headers?: Record<string, string>;
  optional?: string[];
  expects?: string;
  body?: unknown;
  text?: string;
}

const folder = new URL('../../contract/provider-bodies/', import.meta.url);

export const foreign = (name: string): Foreign =>
  JSON.parse(readFileSync(new URL(`${name}.json`, folder), 'utf8'));

/** Path by path (`[]` for the items of a list) what kind of value stands there. */
function formOf(value: unknown, path = '', form = new Map<string, Set<string>>()): Map<string, Set<string>> {
  const kinds = form.get(path) ?? new Set<string>();
  form.set(path, kinds.add(kindOf(value)));
  if (Array.isArray(value)) for (const item of value) formOf(item, `${path}[]`, form);
  else if (value !== null && typeof value === 'object')
    for (const [name, item] of Object.entries(value))
      formOf(item, path === '' ? name : `${path}.${name}`, form);
  return form;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  if (typeof value !== 'string') return typeof value;
  if (/^\d+\.\d\d$/.test(value)) return 'amount';
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value) ? 'time' : 'text';
}

/** Field names and types in which a body differs from the foreign one; empty when it has the same form. */
export function differences({ body, optional = [] }: Foreign, ours: unknown): string[] {
  const theirs = formOf(body);
  const mine = formOf(ours);
  const isOptional = (path: string) =>
    optional.some((one) => path === one || path.startsWith(`${one}.`) || path.startsWith(`${one}[]`));
  const missing = [...theirs.keys()].filter((path) => !mine.has(path) && !isOptional(path));
  const found: string[] = missing.map((path) => `${path} is missing`);
  for (const [path, kinds] of mine) {
    const known = theirs.get(path);
    if (known === undefined) {
      if (!isOptional(path)) found.push(`${path} is not theirs`);
    } else {
      for (const kind of kinds)
        if (!known.has(kind)) found.push(`${path} is ${kind}, not ${[...known].join(' or ')}`);
    }
  }
  return found;
}
