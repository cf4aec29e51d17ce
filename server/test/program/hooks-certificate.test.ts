import { openEdge } from '@vintem/testkit/edge.ts';
import { afterAll, expect, test } from 'vitest';
import type { HookDelivery } from '../../src/flow/inbound.ts';

/** Whether a proxy has verified the provider's certificate is believed of trusted proxies only: anyone can send the header. */

const edges: { close(): Promise<void> }[] = [];
afterAll(async () => {
  for (const edge of edges) await edge.close();
});

async function verifiedFrom(
  trustedProxies: string[],
  peer: string,
  headers: Record<string, string>,
  hooks: { hooksUrl?: string; hooksHeader?: string } = {},
) {
  const seen: HookDelivery[] = [];
  const edge = await openEdge();
  edges.push(edge);
  const { config } = edge.parts;
  const other = await openEdge({
    config: { ...config, trustedProxies, ...hooks },
    inbound: {
      isOurAddress: async () => true,
      receive: async (delivery) => {
        seen.push(delivery);
        return { status: 200 };
      },
    },
  });
  edges.push(other);
  const answer = await other.app.inject({
    method: 'POST',
    url: '/hooks/providers/live/token/pix',
    remoteAddress: peer,
    headers: { 'content-type': 'application/json', 'x-forwarded-proto': 'https', ...headers },
    payload: '{}',
  });
  expect(answer.statusCode).toBe(200);
  return seen[0]?.clientVerified;
}

const forwarded = { 'x-forwarded-for': '203.0.113.9' };
const verified = { 'x-ssl-client-verify': 'SUCCESS' };

test.each<[string, string[], string, Record<string, string>, boolean]>([
  ['a trusted proxy that verified', ['10.0.0.0/8'], '10.0.0.1', { ...forwarded, ...verified }, true],
  [
    'a trusted proxy that did not',
    ['10.0.0.0/8'],
    '10.0.0.1',
    { ...forwarded, 'x-ssl-client-verify': 'NONE' },
    false,
  ],
  ['a trusted proxy that says nothing', ['10.0.0.0/8'], '10.0.0.1', forwarded, false],
  ['a stranger who says so', ['10.0.0.0/8'], '203.0.113.9', { ...forwarded, ...verified }, false],
  ['anyone, where no proxy is trusted', [], '10.0.0.1', { ...forwarded, ...verified }, false],
])('%s', async (_name, trusted, peer, headers, expected) => {
  expect(await verifiedFrom(trusted, peer, headers)).toBe(expected);
});

test.each<[string, Record<string, string>, boolean]>([
  ['on the host of deliveries', { host: 'hooks.example.com', 'ssl-client-verify': 'SUCCESS' }, true],
  [
    'on the main host, where no certificate is asked for',
    { host: 'pay.example.com', 'ssl-client-verify': 'SUCCESS' },
    false,
  ],
  [
    'on the main host, with the other one forwarded',
    { host: 'pay.example.com', 'x-forwarded-host': 'hooks.example.com', 'ssl-client-verify': 'SUCCESS' },
    false,
  ],
  ['under another name than that of HOOKS_HEADER', { host: 'hooks.example.com', ...verified }, false],
])(
  'With HOOKS_URL the word of a trusted proxy counts on that host and under that name alone: %s',
  async (_where, headers, expected) => {
    const hooks = { hooksUrl: 'https://hooks.example.com', hooksHeader: 'ssl-client-verify' };
    expect(await verifiedFrom(['10.0.0.0/8'], '10.0.0.1', { ...forwarded, ...headers }, hooks)).toBe(
      expected,
    );
  },
);
