import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * The words of a provider's own OpenAPI document about the bodies of a call: names, types and values of members, and nothing of its text. The documents carry no
 * licence, so they are not kept here; `node proof/dialects/shapes.ts woovi.json` writes `woovi-shapes.json` from one.
 *
 * A shape is the name of a type (`?` behind it: null as well), `=A|B` for values, a list with the shape of its items, or members. A member whose name ends in
 * `!` is required.
 */
export type Shape = string | readonly [Shape] | { readonly [member: string]: Shape };

/** The bodies of a call, as `POST /api/v1/charge`, and the permission that it needs; a part of a path in braces is any. */
export type Shapes = Readonly<
  Record<string, { readonly body?: Shape; readonly answer?: Shape; readonly scope?: string }>
>;

/** Where a value differs from its shape. */
export interface Misfit {
  /** As `.charges[].status`. */
  at: string;
  /** Of the member. */
  name: string;
  value: unknown;
  /** `unnamed`: the shape has no such member. */
  kind: 'type' | 'value' | 'missing' | 'unnamed';
}

export function misfitsOf(shape: Shape, value: unknown, at = '', name = ''): Misfit[] {
  const misfit = (kind: Misfit['kind']): Misfit[] => [{ at, name, value, kind }];
  if (typeof shape === 'string')
    return isOf(shape, value) ? [] : misfit(shape.startsWith('=') ? 'value' : 'type');
  if (Array.isArray(shape))
    return Array.isArray(value)
      ? value.flatMap((one) => misfitsOf(shape[0], one, `${at}[]`, name))
      : misfit('type');
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return misfit('type');
  const members = new Map(
    Object.entries(shape).map(([name, of]) => [name.replace(/!$/, ''), { of, needed: name.endsWith('!') }]),
  );
  const lacking = [...members].filter(([name, { needed }]) => needed && !Object.hasOwn(value, name));
  return [
    ...lacking.map(([name]): Misfit => ({ at: `${at}.${name}`, name, value: undefined, kind: 'missing' })),
    ...Object.entries(value).flatMap(([name, one]): Misfit[] => {
      const member = members.get(name);
      return member === undefined
        ? [{ at: `${at}.${name}`, name, value: one, kind: 'unnamed' }]
        : misfitsOf(member.of, one, `${at}.${name}`, name);
    }),
  ];
}

function isOf(shape: string, value: unknown): boolean {
  if (shape === 'any') return true;
  if (shape.endsWith('?')) return value === null || isOf(shape.slice(0, -1), value);
  if (shape.startsWith('=')) return shape.slice(1).split('|').includes(String(value));
  return shape === 'integer' ? Number.isInteger(value) : typeof value === shape;
}

/** The call of the shapes that a request is. */
export const callOf = (shapes: Shapes, method: string, path: string): string | undefined =>
  Object.keys(shapes).find((call) => {
    const [verb, template = ''] = call.split(' ');
    const parts = template.split('/');
    const given = path.replace(/\?.*$/, '').split('/');
    return (
      verb === method &&
      parts.length === given.length &&
      parts.every((part, at) => part === given[at] || (part.startsWith('{') && given[at] !== ''))
    );
  });

// ------------------------------------------------------------------------------------------------- from a document

// biome-ignore lint/suspicious/noExplicitAny: a document of a provider
type Node = any;

/** Of the operations that a document has: `calls` as it writes their paths. */
export function shapesIn(document: Node, calls: readonly string[]): Shapes {
  const schemaOf = (content: Node): Shape | undefined =>
    content?.['application/json']?.schema && shapeOf(document, content['application/json'].schema);
  return Object.fromEntries(
    calls.map((call) => {
      const [method = '', path = ''] = call.split(' ');
      const operation = document.paths[path]?.[method.toLowerCase()];
      if (operation === undefined) throw new Error(`the document has no ${call}`);
      const body = schemaOf(operation.requestBody?.content);
      const answer = schemaOf(operation.responses['200']?.content);
      const scope = operation['x-required-scope'];
      return [
        call.replace(/:(\w+)/g, '{$1}'),
        { ...(scope && { scope }), ...(body && { body }), ...(answer && { answer }) },
      ];
    }),
  );
}

function shapeOf(document: Node, schema: Node): Shape {
  const whole = resolved(document, schema);
  const nullable = whole.nullable === true ? '?' : '';
  if (Array.isArray(whole.enum)) return `=${whole.enum.join('|')}`;
  if (whole.type === 'array') return [shapeOf(document, whole.items ?? {})];
  const properties = Object.entries<Node>(whole.properties ?? {});
  if (properties.length === 0)
    return (whole.type === 'object' || whole.type === undefined ? 'any' : whole.type) + nullable;
  const required = new Set<string>(whole.required ?? []);
  return Object.fromEntries(
    properties.map(([name, one]) => [
      required.has(name) ? `${name}!` : name,
      leftOut.has(name) ? 'any' : shapeOf(document, one),
    ]),
  );
}

/** Large parts of other products, of which nothing is read or written here. */
const leftOut = new Set([
  ...['subscription', 'splits', 'boleto', 'installments'],
  ...['paymentMethods', 'debitParty', 'creditParty', 'payer', 'pixRecurring', 'withdraw'],
]);

/** With what it refers to and the parts that it is made of; of alternatives all members, none of them required. */
function resolved(document: Node, schema: Node): Node {
  const { $ref, allOf = [], oneOf = [], anyOf = [], ...own } = schema;
  const parts = [
    ...($ref === undefined ? [] : [resolved(document, at(document, $ref))]),
    ...allOf.map((one: Node) => resolved(document, one)),
    ...[...oneOf, ...anyOf].map((one: Node) => ({ ...resolved(document, one), required: [] })),
  ];
  return parts.reduce(
    (whole, part) => ({
      ...part,
      ...whole,
      properties: { ...part.properties, ...whole.properties },
      required: [...(part.required ?? []), ...(whole.required ?? [])],
    }),
    own,
  );
}

const at = (document: Node, ref: string): Node =>
  ref
    .replace(/^#\//, '')
    .split('/')
    .reduce((node, name) => node[name], document);

/** The calls of the adapter. */
const wooviCalls = [
  ...['POST /api/v1/charge', 'GET /api/v1/charge', 'GET /api/v1/charge/{id}', 'DELETE /api/v1/charge/{id}'],
  ...['POST /api/v1/payment', 'GET /api/v1/payment', 'GET /api/v1/payment/{id}'],
  'POST /api/v1/payment/approve',
  ...['POST /api/v1/refund', 'GET /api/v1/refund/{id}'],
  ...['GET /api/v1/transaction', 'GET /api/v1/transaction/{id}'],
  ...['POST /api/v1/qrcode-static', 'GET /api/v1/qrcode-static/{id}'],
  ...['GET /api/v1/dispute', 'POST /api/v1/dispute/:id/evidence'],
  ...['GET /api/v1/account/', 'GET /api/v1/account/{accountId}', 'GET /api/v1/limits/{accountId}'],
  ...['GET /api/v1/webhook/public-keys', 'GET /api/v1/webhook', 'POST /api/v1/webhook'],
  ...['GET /api/v1/pix-keys/tokens', 'POST /api/v1/pix-keys/check'],
];

const [, program, file] = process.argv;
if (file !== undefined && program === fileURLToPath(import.meta.url))
  console.log(JSON.stringify(shapesIn(JSON.parse(readFileSync(file, 'utf8')), wooviCalls), null, 1));
