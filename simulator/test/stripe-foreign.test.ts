import { expect, test } from 'vitest';
import { differences, foreign } from './foreign.ts';
import { startProvider } from './provider.ts';

/** The Stripe dialect answers with names and types of Stripe's objects. It leaves out what nothing reads, so that absent members are no difference. */

const key = `sk_test_${Buffer.from('loja:segredo').toString('base64url')}`;

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape are read.
type Json = any;

const unlike = (name: string, ours: unknown): string[] =>
  differences(foreign(`stripe/${name}`), ours).filter((one) => !one.endsWith('is missing'));

test('Every answer of the Stripe dialect has no member and no type that Stripe does not have', async () => {
  const { url } = await startProvider();
  const call = async (method: string, path: string, form?: Record<string, string>): Promise<Json> => {
    const answer = await fetch(`${url}/stripe${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-www-form-urlencoded' },
      ...(form && { body: new URLSearchParams(form) }),
    });
    return answer.json();
  };
  const id = '01a1f90c35617216b2f52b350d206c41';
  const made = await call('POST', '/v1/checkout/sessions', {
    ...{ mode: 'payment', success_url: 'https://pay.example.com/', cancel_url: 'https://pay.example.com/' },
    ...{ 'line_items[0][quantity]': '1', 'line_items[0][price_data][currency]': 'brl' },
    ...{ 'line_items[0][price_data][unit_amount]': '12500', client_reference_id: id },
    'line_items[0][price_data][product_data][name]': 'Pedido',
  });
  expect(unlike('session-open', made)).toEqual([]);
  const approved = await fetch(`${url}/stripe/control/cards/${id}/approve`, { method: 'POST', body: '{}' });
  expect(approved.status).toBe(200);
  const whole = 'expand[]=payment_intent.latest_charge.balance_transaction';
  const paid = await call('GET', `/v1/checkout/sessions/${made.id}?${whole}`);
  expect(unlike('session-paid', paid)).toEqual([]);
  const refund = { payment_intent: paid.payment_intent.id, amount: '400' };
  expect(unlike('refund', await call('POST', '/v1/refunds', refund))).toEqual([]);
  expect(unlike('balance', await call('GET', '/v1/balance'))).toEqual([]);
});
