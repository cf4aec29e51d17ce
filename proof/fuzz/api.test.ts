import { request as httpRequest } from 'node:http';
import { type Merchant, openService, type Service } from '@vintem/testkit/service.ts';
import { Ajv2020 as Ajv } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { draws } from '../draws.ts';

/**
 * Nonsense in, by the document: every call that takes a body is asked with mutants of its own example and with noise. Four
 * oracles: never a 5xx; a status that the document names; an answer that fits its schema; and 400 for each mutant that breaks
 * a constraint.
 */
interface Schema {
  type?: string | string[];
  required?: string[];
  properties?: Record<string, Schema>;
  examples?: Record<string, unknown>[];
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  minLength?: number;
  format?: string;
}
interface Route {
  method: string;
  path: string;
  body: Schema | null;
  responses: Record<string, { $ref?: string; content?: Record<string, { schema: object }> }>;
}

describe('whatever is sent', () => {
  let service: Service;
  let merchant: Merchant;
  let routes: Route[];
  let document: { components: { responses: Record<string, Route['responses'][string]>; schemas: object } };
  let webhookId: string;
  let paymentId: string;
  let requests = 0;

  beforeAll(async () => {
    service = await openService({ env: { WEBHOOK_ALLOW_CIDRS: '203.0.113.0/24' } });
    merchant = await service.newMerchant();
    paymentId = (await merchant.charge()).body.id;
    const hook = {
      url: 'https://203.0.113.7/hook',
      events: ['charge.paid'],
      requestKey: crypto.randomUUID(),
    };
    webhookId = (await merchant.call('POST', '/webhooks', hook)).body.id;
    const read = (await merchant.call('GET', '/openapi.json')).body;
    document = read;
    routes = Object.entries(read.paths as Record<string, Record<string, Record<string, never>>>).flatMap(
      ([path, methods]) =>
        Object.entries(methods)
          .filter(([method]) => ['get', 'post', 'patch', 'delete'].includes(method))
          .map(([method, facts]) => {
            const { requestBody, responses } = facts as unknown as {
              requestBody?: { content: Record<string, { schema: Schema }> };
              responses: Route['responses'];
            };
            return {
              method: method.toUpperCase(),
              path,
              responses,
              body: requestBody?.content['application/json']?.schema ?? null,
            };
          }),
    );
  });
  afterAll(async () => {
    await service?.close();
    process.stderr.write(`fuzz: ${routes?.length} routes, ${requests} requests\n`);
  });

  const ajv = new Ajv({ strict: false, validateFormats: false });

  /** Asks, and looks at the answer with the first three oracles. */
  async function ask(
    route: Route,
    body: string | Buffer | undefined,
    type = 'application/json',
    query = '',
  ): Promise<number> {
    const id = route.path.startsWith('/webhooks')
      ? webhookId
      : route.path.startsWith('/operations')
        ? merchant.operationId
        : paymentId;
    const path = route.path.replace('{id}', id).replace('{deliveryId}', crypto.randomUUID());
    requests++;
    const answer = await fetch(`${service.url}/api/v1/public${path}${query}`, {
      method: route.method,
      signal: AbortSignal.timeout(15_000),
      headers: {
        authorization: `Bearer ${merchant.key}`,
        ...(body === undefined ? {} : { 'content-type': type }),
      },
      ...(body === undefined ? {} : { body }),
    });
    const { status } = answer;
    const what = `${route.method} ${route.path}${query} ${String(body).slice(0, 200)} -> ${status}`;
    expect(status < 500 || status === 503, what).toBe(true);
    const documented = route.responses[status];
    expect(documented, `${what}: not in the document`).toBeDefined();
    const text = await answer.text();
    const response = documented?.$ref
      ? document.components.responses[documented.$ref.split('/').at(-1) ?? '']
      : documented;
    const schema = response?.content?.['application/json']?.schema;
    if (schema) {
      const fits = ajv.validate({ ...schema, components: document.components }, JSON.parse(text));
      expect(fits, `${what}: ${text.slice(0, 300)} ${ajv.errorsText()}`).toBe(true);
    }
    return status;
  }

  /** The status that comes while most of an announced body has not been sent. */
  function refusalOf(route: Route, body: string): Promise<number | undefined> {
    requests++;
    return new Promise((resolve, reject) => {
      const request = httpRequest(
        `${service.url}/api/v1/public${route.path.replaceAll(/\{\w+\}/g, paymentId)}`,
        {
          method: route.method,
          timeout: 120_000,
          headers: {
            authorization: `Bearer ${merchant.key}`,
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
          },
        },
        (answer) => {
          resolve(answer.statusCode);
          request.destroy();
        },
      );
      request.once('timeout', () => request.destroy(new Error('no answer within 15 s')));
      request.once('error', reject);
      // The announced length is enough for an answer: nothing more is sent.
      request.write(body.slice(0, 1_000));
    });
  }

  /** Bodies that break exactly one thing of a right one. */
  function mutants({ properties = {}, required = [], examples = [] }: Schema): [string, string][] {
    const right = {
      ...examples[0],
      ...('requestKey' in properties ? { requestKey: crypto.randomUUID() } : {}),
    };
    const wrong: [string, string][] = [];
    const put = (name: string, value: unknown) =>
      wrong.push([
        `${name}=${JSON.stringify(value)?.slice(0, 30)}`,
        JSON.stringify({ ...right, [name]: value }),
      ]);
    for (const name of required) {
      const { [name]: _, ...rest } = right as Record<string, unknown>;
      wrong.push([`without ${name}`, JSON.stringify(rest)]);
    }
    put('unknownProperty', 1);
    for (const [name, schema] of Object.entries(properties)) {
      const types = [schema.type ?? []].flat();
      if (!types.includes('null') && required.includes(name)) put(name, null);
      put(name, { nested: true });
      if (schema.type === 'integer') {
        for (const value of ['1000', 1000.5, 1e300, 2 ** 53, -1, true]) put(name, value);
        if (schema.minimum !== undefined) put(name, schema.minimum - 1);
        if (schema.maximum !== undefined) put(name, schema.maximum + 1);
      }
      if (schema.type === 'string') {
        put(name, 7);
        if (schema.enum) put(name, 'none of these');
        if (schema.format === 'uuid') put(name, 'not-a-uuid');
        if (schema.maxLength !== undefined) put(name, 'x'.repeat(schema.maxLength + 1));
        if (schema.minLength) put(name, '');
        if (!schema.enum && schema.format === undefined)
          for (const value of ['a\u0000b', 'a\ud800b']) put(name, value);
      }
    }
    const [first] = Object.keys(right);
    if (first) {
      const text = JSON.stringify(right);
      wrong.push([
        'a name twice',
        `${text.slice(0, -1)},${JSON.stringify(first)}:${JSON.stringify((right as Record<string, unknown>)[first])}}`,
      ]);
    }
    // JSON.stringify writes −0 as 0, so it is put in as text.
    for (const [name, schema] of Object.entries(properties))
      if (schema.type === 'integer' && (schema.minimum ?? 0) > 0)
        wrong.push([
          `${name}=-0`,
          JSON.stringify({ ...right, [name]: 0 }).replace(`"${name}":0`, `"${name}":-0`),
        ]);
    for (const text of [
      `${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}`,
      '[]',
      'null',
      '7',
      '"x"',
      '{',
      '',
      '{"__proto__":{"a":1}}',
      `${'['.repeat(2_000)}${']'.repeat(2_000)}`,
      '{"a":1}{"b":2}',
    ])
      wrong.push([text.slice(0, 20), text]);
    return wrong;
  }

  it('each broken constraint of each body is a 400, and nothing is an error of ours', async () => {
    for (const route of routes) {
      if (!route.body) continue;
      for (const [name, text] of mutants(route.body)) {
        // Where nothing is asked for, nothing may stand for {}.
        if (text === '' && !route.body.required?.length) continue;
        // PHP encodes an empty array so: it is the empty body of a deletion.
        if (text === '[]' && route.method === 'DELETE') continue;
        const status = await ask(route, text);
        expect([400, 415], `${route.method} ${route.path} with ${name} gave ${status}`).toContain(status);
      }
    }
  });

  it('what is too large or of another type is refused as such', async () => {
    for (const route of routes) {
      if (!route.body) continue;
      expect(await ask(route, JSON.stringify({ x: 'x'.repeat(1_000_000) })), route.path).toBe(413);
      expect(await ask(route, 'a=1', 'application/x-www-form-urlencoded'), route.path).toBe(415);
      expect(await ask(route, Buffer.from([0x7b, 0xff, 0xfe, 0x7d])), route.path).toBe(400);
    }
  });

  it('a body of 10 MB is refused before it was read', async () => {
    const body = JSON.stringify({ x: 'x'.repeat(10_000_000) });
    for (const route of routes) if (route.body) expect(await refusalOf(route, body), route.path).toBe(413);
  });

  it('what turns the direction of text is text like any other, or a 400', async () => {
    for (const route of routes) {
      const { properties = {}, examples = [] } = route.body ?? {};
      for (const [name, schema] of Object.entries(properties)) {
        if (schema.type !== 'string' || schema.enum || schema.format) continue;
        const requestKey = 'requestKey' in properties ? { requestKey: crypto.randomUUID() } : {};
        await ask(
          route,
          JSON.stringify({ ...examples[0], ...requestKey, [name]: '\u202egpj.fdp\u202c\u2066x' }),
        );
      }
    }
  });

  it('noise in bodies and queries never breaks anything', async () => {
    const withBody = routes.filter(({ body }) => body);
    const lists = routes.filter(({ method, path }) => method === 'GET' && path !== '/events/stream');
    await fc.assert(
      fc.asyncProperty(
        fc.nat(),
        fc.json({ maxDepth: 4 }),
        fc.string({ unit: 'binary', maxLength: 60 }),
        async (n, body, text) => {
          const route = withBody[n % withBody.length] as Route;
          await ask(route, body);
          const list = lists[n % lists.length] as Route;
          const name =
            ['limit', 'cursor', 'status', 'kind', 'createdFrom', 'requestKey', 'endToEnd', text][n % 8] ?? '';
          await ask(
            list,
            undefined,
            '',
            `?${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(text.toWellFormed())}`,
          );
        },
      ),
      draws(Number(process.env.FUZZ_RUNS ?? 100)),
    );
  });
});
