import { expect, test } from 'vitest';
import type { Payment } from '../../money/payment.ts';
import { type ReceiptFacts, receiptRows } from './receipt.ts';

const facts: ReceiptFacts = {
  accountName: 'Loja',
  operationName: 'Balcão',
  pixKey: null,
  test: false,
  debitedCents: 0,
  letterhead: { name: 'Padaria São João Ltda', detail: 'CNPJ 12.345.678/0001-95', colour: null, logo: null },
  proofUrl: 'https://pix.example.com/r/1',
};
const settled = {
  id: '0197f0a0-0000-7000-8000-000000000001',
  kind: 'deposit',
  amountCents: 8_990,
  feeCents: 90,
  payerName: 'Rosa',
  receiver: null,
  pixKeyType: null,
  description: '',
  paidAt: 1_780_000_000_000,
  settledAt: 1_780_000_000_000,
  endToEnd: 'E1',
  refundedCents: 0,
  returnedCents: 0,
} as unknown as Payment;
const rowsOf = (payment: Payment) => Object.fromEntries(receiptRows(payment, facts, 'pt-BR'));

test('a receipt names who received, and is silent about what did not happen', () => {
  expect(rowsOf(settled)).toMatchObject({ Pagador: 'Rosa', Recebedor: 'Padaria São João Ltda' });
  expect(rowsOf(settled)).not.toHaveProperty('Reembolsado ao pagador');
  expect(rowsOf(settled)).not.toHaveProperty('Devolvido pelo recebedor');
});

test('a receipt says what went back: to the payer of a charge, in a lost dispute, and from the receiver of a transfer', () => {
  expect(rowsOf({ ...settled, refundedCents: 8_990 })['Reembolsado ao pagador']).toBe('R$ 89,90');
  const taken = Object.fromEntries(receiptRows(settled, { ...facts, debitedCents: 7_800 }, 'pt-BR'));
  expect(taken['Retirado em contestação (MED)']).toBe('R$ 78,00');
  const transfer: Payment = { ...settled, kind: 'transfer', payerName: null, returnedCents: 500 };
  expect(rowsOf(transfer)['Devolvido pelo recebedor']).toBe('R$ 5,00');
});
