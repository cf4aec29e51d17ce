import { expect, test } from 'vitest';
import { clientTraceOf } from './trace.ts';

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

test.each([
  [{}, {}],
  [{ 'x-request-id': 'order-17.a_B' }, { clientRequestId: 'order-17.a_B' }],
  [{ 'x-request-id': 'x'.repeat(128) }, { clientRequestId: 'x'.repeat(128) }],
  [{ 'x-request-id': 'x'.repeat(129) }, {}],
  [{ 'x-request-id': '' }, {}],
  [{ 'x-request-id': 'a b' }, {}],
  // Node joins two headers of that name into this.
  [{ 'x-request-id': 'a, b' }, {}],
  [{ 'x-request-id': 'é' }, {}],
  [{ traceparent }, { traceparent }],
  [{ traceparent: traceparent.toUpperCase() }, {}],
  [{ traceparent: traceparent.replace(/^00/, 'ff') }, {}],
  [{ traceparent: `${traceparent}-more` }, {}],
  [{ traceparent: '00-00000000000000000000000000000000-00f067aa0ba902b7-01' }, {}],
  [{ traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01' }, {}],
])('%o says %o', (headers, said) => {
  expect(clientTraceOf(headers)).toEqual(said);
});
