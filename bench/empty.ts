import type { AddressInfo } from 'node:net';
import fastify from 'fastify';
import { TransferBody } from '../server/src/api/transfers/schema.ts';
import { PaymentSchema } from '../server/src/kinds/payment/schema.ts';

/** The cost of Fastify by itself: routes with the same body, schema and answer, and nothing behind them. */
const answer = {
  id: '00c0ffee-7f0e-8a31-9c1d-2b8f7d1a5e42',
  kind: 'transfer',
  amountCents: 1000,
  status: 'unknown',
  createdAt: '2026-11-20T20:43:18.000Z',
  updatedAt: '2026-11-20T20:43:18.000Z',
  operationId: '01939f3a-7a00-7000-8000-000000000003',
  feeCents: 25,
  settledAt: null,
  paymentMethod: 'pix',
  expiresAt: null,
  debitAmountCents: 1000,
  expectedNetAmountCents: 975,
};

// The schema carries words of ours (x-trim) that Fastify's own validator does not know.
const app = fastify({ logger: false, ajv: { customOptions: { strict: false } } });
app.post(
  '/api/v1/public/pix/transfers',
  { schema: { body: TransferBody, response: { 201: PaymentSchema } } },
  async (_request, reply) => reply.code(201).send(answer),
);
app.get('/api/v1/public/payments/:id', { schema: { response: { 200: PaymentSchema } } }, async () => answer);
await app.listen({ host: '127.0.0.1', port: 0 });
process.on('disconnect', () => process.exit(0));
process.send?.({ url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}` });
