import { readFile } from 'node:fs/promises';
import { base, type Edge, openEdge } from '@vintem/testkit/edge.ts';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { catalogue } from '../../src/ground/errors.ts';
import { committedDocument } from '../../src/main/public-contract.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';
import { eventTypes } from '../../src/store/events/event.ts';

// biome-ignore lint/suspicious/noExplicitAny: a document of any shape, looked at by the tests
type Json = any;

const ids = systemIds(systemClock);
const ajv = new Ajv2020({ strict: false, allErrors: true });
(addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
let edge: Edge;
let document: Json;

beforeAll(async () => {
  edge = await openEdge();
  const answer = await edge.app.inject({ url: `${base}/openapi.json` });
  expect(answer.statusCode).toBe(200);
  document = answer.json();
  ajv.addSchema(document, 'openapi');
});
afterAll(() => edge.close());

const pointer = (...parts: string[]) =>
  `openapi#/${parts.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`;

function violations(schema: string, value: unknown): string[] {
  const check = ajv.getSchema(schema);
  if (!check) throw new Error(`no schema at ${schema}`);
  return check(value) ? [] : (check.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
}

test('the committed document is what the routes say', async () => {
  expect(await readFile(new URL('../../../contract/openapi.json', import.meta.url), 'utf8')).toBe(
    await committedDocument(),
  );
});

test('the document is version 1.1.0 in OpenAPI 3.1 and needs no key [9.2]', () => {
  expect(document).toMatchObject({
    openapi: '3.1.0',
    info: { version: '1.1.0' },
    servers: [{ url: 'http://127.0.0.1:3000/api/v1/public' }],
    security: [{ apiKey: [] }],
    components: { securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } } },
  });
});

test('every call names its permissions, the operation header and its errors', () => {
  const calls: Json[] = Object.values(document.paths).flatMap((path) => Object.values(path as object));
  expect(calls.length).toBeGreaterThanOrEqual(9);
  for (const call of calls) {
    expect(call['x-permissions'].length).toBeGreaterThan(0);
    expect(call.parameters).toContainEqual({ $ref: '#/components/parameters/ServiceOperation' });
    for (const status of [400, 401, 403, 404, 429, 503])
      expect(call.responses).toHaveProperty(String(status));
    // An address is as long as its parameters make it.
    const inAddress = call.parameters.some((one: Json) => one.in === 'path' || one.in === 'query');
    expect('414' in call.responses).toBe(inAddress);
    expect(['413', '415'].every((status) => status in call.responses)).toBe('requestBody' in call);
  }
});

test('patterns are written so that the regular expressions of every language read them', () => {
  const patterns = new Set<string>();
  JSON.stringify(document, (name, value) => {
    if (name === 'pattern') patterns.add(value);
    return value;
  });
  expect(patterns.size).toBeGreaterThan(0);
  // Classes, ranges, counts and two hex digits: no \p, which Python's lack, and no \u, which Go's lack.
  for (const pattern of patterns)
    expect(pattern).toMatch(/^\^(?:[a-z@_]|\[\^?(?:[0-9a-zA-Z-]|\\x[0-9a-f]{2})+\]|\{[0-9]+\}|[*+?])+\$$/);
});

test('bodies of requests are closed [1.7]', () => {
  for (const [path, methods] of Object.entries<Json>(document.paths)) {
    for (const call of Object.values<Json>(methods)) {
      const schema = call.requestBody?.content['application/json']?.schema;
      if (schema) expect([path, schema.additionalProperties]).toEqual([path, false]);
    }
  }
});

test('every example fits its schema [2.1a, 8b]', () => {
  let examined = 0;
  for (const [name, schema] of Object.entries<Json>(document.components.schemas)) {
    for (const example of schema.examples ?? []) {
      expect([name, violations(pointer('components', 'schemas', name), example)]).toEqual([name, []]);
      examined++;
    }
  }
  for (const [path, methods] of Object.entries<Json>(document.paths)) {
    for (const [method, call] of Object.entries<Json>(methods)) {
      const where = ['paths', path, method, 'requestBody', 'content', 'application/json', 'schema'];
      for (const example of call.requestBody?.content['application/json']?.schema.examples ?? []) {
        expect([path, violations(pointer(...where), example)]).toEqual([path, []]);
        examined++;
      }
    }
  }
  for (const [path, methods] of Object.entries<Json>(document.paths)) {
    for (const [method, call] of Object.entries<Json>(methods)) {
      for (const [status, response] of Object.entries<Json>(call.responses)) {
        for (const [type, content] of Object.entries<Json>(response.content ?? {})) {
          const where = ['paths', path, method, 'responses', status, 'content', type, 'schema'];
          const given = Object.entries<Json>(content.examples);
          expect([path, method, given.length > 0]).toEqual([path, method, true]);
          for (const [name, { value }] of given) {
            expect([path, name, violations(pointer(...where), value)]).toEqual([path, name, []]);
            examined++;
          }
        }
      }
    }
  }
  for (const [type, { post }] of Object.entries<Json>(document.webhooks)) {
    const where = ['webhooks', type, 'post', 'requestBody', 'content', 'application/json', 'schema'];
    const { value } = post.requestBody.content['application/json'].examples[type];
    expect([type, violations(pointer(...where), value)]).toEqual([type, []]);
    examined++;
  }
  for (const response of Object.values<Json>(document.components.responses)) {
    for (const [code, example] of Object.entries<Json>(response.content['application/json'].examples)) {
      const found = violations(pointer('components', 'schemas', 'Error'), example.value);
      expect([code, found]).toEqual([code, []]);
      examined++;
    }
  }
  expect(examined).toBeGreaterThan(50);
});

test('every error status of the catalogue has an example of each of its codes, and the codes are an open list [7h]', () => {
  const { Error: body } = document.components.schemas;
  expect(body.properties.code['x-extensible-enum']).toEqual(Object.keys(catalogue));
  expect(body.properties.code).not.toHaveProperty('enum');
  for (const [code, { status }] of Object.entries(catalogue)) {
    const { examples } = document.components.responses[`Error${status}`].content['application/json'];
    expect([code, examples[code].value.statusCode]).toEqual([code, status]);
  }
});

describe('what generators of clients need', () => {
  const operationsOf = (items: object): { tags: string[] }[] =>
    Object.values(items).flatMap((item) => Object.values(item as object));

  test('calls and webhooks share no tag, since each tag becomes one file', () => {
    const ofCalls = new Set(operationsOf(document.paths).flatMap(({ tags }) => tags));
    const ofWebhooks = operationsOf(document.webhooks).flatMap(({ tags }) => tags);
    expect(ofWebhooks.filter((tag) => ofCalls.has(tag))).toEqual([]);
  });

  test('no schema has the name of a constructor in Go', () => {
    expect(Object.keys(document.components.schemas).filter((name) => /^New[A-Z]/.test(name))).toEqual([]);
  });

  test('no constant is a boolean or a type of event, which Java reads as text', () => {
    const constants: unknown[] = [];
    JSON.stringify(document, (name, value) => {
      if (name === 'const') constants.push(value);
      return value;
    });
    expect(constants.filter((value) => typeof value === 'boolean' || String(value).includes('.'))).toEqual(
      [],
    );
  });

  test('an event is a union of named bodies, distinguished by its type', () => {
    const { schemas } = document.components;
    const { oneOf, discriminator } = schemas.Event;
    expect(Object.keys(discriminator.mapping).sort()).toEqual(Object.keys(document.webhooks).sort());
    expect(oneOf.map(({ $ref }: { $ref: string }) => $ref)).toEqual(Object.values(discriminator.mapping));
    for (const [type, $ref] of Object.entries<string>(discriminator.mapping)) {
      const body = schemas[$ref.split('/').at(-1) as string];
      const ofType = schemas[body.properties.type.$ref.split('/').at(-1)];
      expect(ofType.enum).toEqual([type]);
      expect(body.properties.data).toEqual({ $ref: expect.stringMatching(/Snapshot$/) });
    }
  });
});

test('the webhooks section has every event, with data.operationId in each [6.1–6.9]', () => {
  expect(Object.keys(document.webhooks)).toEqual(Object.keys(eventTypes));
  for (const [type, { post }] of Object.entries<Json>(document.webhooks)) {
    const { value } = post.requestBody.content['application/json'].examples[type];
    expect(value).toMatchObject({ type, data: { operationId: expect.any(String) } });
    expect(post.parameters.map((one: Json) => one.name)).toEqual([
      'webhook-id',
      'webhook-timestamp',
      'webhook-signature',
    ]);
  }
});

test('confirming and cancelling a draft are marked as deprecated, and nothing else is [4.10]', () => {
  const marked = Object.entries<Json>(document.paths).filter(([, methods]) =>
    Object.values<Json>(methods).some((call) => call.deprecated === true),
  );
  expect(marked.map(([path]) => path).sort()).toEqual([
    '/pix/transfers/{id}/cancel',
    '/pix/transfers/{id}/confirm',
  ]);
});

test('every reason of a refused payment is listed', () => {
  const { reasonCode } = document.components.schemas.Payment.properties;
  expect(reasonCode['x-extensible-enum']).toContain('draft_expired');
  expect(reasonCode['x-extensible-enum']).toContain('pix_key_not_found');
});

test('what the calls answer fits the document [2.1a]', async () => {
  const { ownerId, operationId } = await edge.newAccount();
  const { key } = await edge.newKey(ownerId);
  const schemaOf = (path: string, method: string, status: number) =>
    pointer('paths', path, method, 'responses', String(status), 'content', 'application/json', 'schema');
  const made = await edge.call(key, {
    method: 'POST',
    url: '/operations',
    payload: { name: 'Filial', requestKey: ids.uuid() },
  });
  const id = made.body.id;
  const answers: [path: string, method: 'GET' | 'PATCH' | 'DELETE', url: string, payload?: object][] = [
    ['/account', 'GET', '/account'],
    ['/operations', 'GET', '/operations'],
    ['/payments', 'GET', '/payments'],
    ['/operations/{id}', 'PATCH', `/operations/${id}`, { name: 'Nova' }],
    ['/operations/{id}', 'DELETE', `/operations/${id}`, {}],
  ];
  expect(violations(schemaOf('/operations', 'post', 201), made.body)).toEqual([]);
  for (const [path, method, url, payload] of answers) {
    const { status, body } = await edge.call(key, { method, url, ...(payload && { payload }) });
    expect([path, status]).toEqual([path, 200]);
    expect([path, violations(schemaOf(path, method.toLowerCase(), 200), body)]).toEqual([path, []]);
  }
  const errors = ['/payments/x', '/nothing', `/payments/${operationId}`, '/payments?limit=0'];
  for (const url of errors) {
    const { body } = await edge.call(key, { url });
    expect(violations(pointer('components', 'schemas', 'Error'), body)).toEqual([]);
  }
});
