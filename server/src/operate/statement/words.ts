import type { Language } from '../../ground/errors.ts';
import type { Line, LineKind, LinePayment } from './line.ts';

/** The name of a line in files. */
export const kindWords: Record<LineKind, Record<Language, string>> = {
  charge: { 'pt-BR': 'Pix recebido', en: 'Pix received' },
  charge_fee: { 'pt-BR': 'Tarifa de recebimento', en: 'Charge fee' },
  charge_fee_back: { 'pt-BR': 'Reembolso: tarifa de volta', en: 'Refund: fee back' },
  unexpected_payment: { 'pt-BR': 'Pix recebido fora da cobrança', en: 'Pix received outside its charge' },
  transfer: { 'pt-BR': 'Pix enviado', en: 'Pix sent' },
  transfer_fee: { 'pt-BR': 'Tarifa de transferência', en: 'Transfer fee' },
  transfer_cancelled: { 'pt-BR': 'Pix não enviado: valor de volta', en: 'Pix not sent: amount back' },
  transfer_fee_cancelled: { 'pt-BR': 'Pix não enviado: tarifa de volta', en: 'Pix not sent: fee back' },
  refund: { 'pt-BR': 'Reembolso de Pix recebido', en: 'Refund of a Pix received' },
  refund_failed: { 'pt-BR': 'Reembolso não realizado', en: 'Refund not carried out' },
  transfer_returned: { 'pt-BR': 'Pix enviado devolvido', en: 'Sent Pix returned' },
  debit: { 'pt-BR': 'Débito do provedor (devolução)', en: 'Debit by the provider (return)' },
  debit_returned: { 'pt-BR': 'Débito do provedor devolvido', en: 'Debit by the provider given back' },
  debt_forgiven: { 'pt-BR': 'Dívida assumida pelo operador', en: 'Debt taken over by the operator' },
  hold: { 'pt-BR': 'Valor bloqueado', en: 'Amount held' },
  hold_released: { 'pt-BR': 'Bloqueio liberado', en: 'Hold released' },
  correction: { 'pt-BR': 'Acerto', en: 'Correction' },
};

/** The names of what a dispute and what an operator caused. */
const causedWords: Partial<Record<LineKind, Record<'dispute' | 'operator', Record<Language, string>>>> = {
  debit: {
    dispute: { 'pt-BR': 'Débito por contestação (MED)', en: 'Debit of a dispute (MED)' },
    operator: { 'pt-BR': 'Débito do provedor (devolução)', en: 'Debit by the provider (return)' },
  },
  hold: {
    dispute: { 'pt-BR': 'Bloqueio por contestação (MED)', en: 'Hold of a dispute (MED)' },
    operator: { 'pt-BR': 'Bloqueio administrativo', en: 'Administrative hold' },
  },
  hold_released: {
    dispute: { 'pt-BR': 'Bloqueio liberado (contestação)', en: 'Hold released (dispute)' },
    operator: { 'pt-BR': 'Bloqueio administrativo liberado', en: 'Administrative hold released' },
  },
};

/** The name of a line, with what caused it. */
export const nameOf = ({ kind, cause }: Pick<Line, 'kind' | 'cause'>): Record<Language, string> =>
  (cause && causedWords[kind]?.[cause]) ?? kindWords[kind];

/** Who paid or was paid, as the reader may see it; null: nothing is known. */
export type PartyOf = (payment: LinePayment) => string | null;

/** The party for a program with an API key: the payer; keys of receivers stay sealed. */
export const payerOf: PartyOf = ({ payerName }) => payerName;

/** Name, payer or receiver and description of a line. A fee says nothing more: the line before it does. */
export function textsOf(line: Line, language: Language, partyOf: PartyOf): string[] {
  const { payment, reason } = line;
  const more = standsBeside(line) || !payment ? [reason] : [partyOf(payment), payment.description];
  return [nameOf(line)[language], ...more].filter((text): text is string => Boolean(text));
}

/** A fee, and what a hold captures of money that comes in, stand beside the line that names the payment. */
const standsBeside = ({ kind, cause }: Line): boolean =>
  kind.endsWith('_fee') ||
  kind.endsWith('_fee_cancelled') ||
  kind === 'charge_fee_back' ||
  (kind === 'hold' && cause === null);
