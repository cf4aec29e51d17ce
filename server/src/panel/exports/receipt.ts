import type { Language } from '../../ground/errors.ts';
import type { Letterhead } from '../../ground/letterhead.ts';
import { priceOf } from '../../ground/money.ts';
import { proofScans } from '../../ground/paper/proof-text.ts';
import type { Sheet, SheetRow } from '../../ground/paper/sheet.ts';
import type { Payment } from '../../money/payment.ts';
import { type Refund, receivedCents } from '../../money/refund.ts';
import { pixKeyText } from '../views/receivers.ts';

/** The content of a receipt besides the payment itself. */
export interface ReceiptFacts {
  accountName: string;
  operationName: string;
  pixKey: string | null;
  test: boolean;
  /** The part of a received Pix that the provider took in a dispute. */
  debitedCents: number;
  /** The merchant's own; null: it has set none. */
  letterhead: Letterhead | null;
  /** Of its public page. */
  proofUrl: string;
}

const words = {
  'pt-BR': {
    title: 'Comprovante Pix',
    deposit: 'Pix recebido',
    transfer: 'Pix enviado',
    refund: 'Reembolso de Pix',
    payee: 'Reembolsado a',
    original: 'Pix de origem',
    message: 'Mensagem',
    when: 'Data e hora',
    from: 'Pagador',
    to: 'Recebedor',
    taxId: 'CPF ou CNPJ do recebedor',
    bank: 'Banco do recebedor',
    key: 'Chave do recebedor',
    description: 'Descrição',
    account: 'Conta',
    fee: 'Tarifa',
    refunded: 'Reembolsado ao pagador',
    returned: 'Devolvido pelo recebedor',
    debited: 'Retirado em contestação (MED)',
    authentic: 'O id endToEnd identifica este Pix em qualquer banco.',
    brasilia: '(horário de Brasília)',
    test: 'Conta de teste: nenhum dinheiro se move.',
  },
  en: {
    title: 'Pix receipt',
    deposit: 'Pix received',
    transfer: 'Pix sent',
    refund: 'Pix refund',
    payee: 'Refunded to',
    original: 'Original Pix',
    message: 'Message',
    when: 'Date and time',
    from: 'Payer',
    to: 'Receiver',
    taxId: 'Receiver’s CPF or CNPJ',
    bank: 'Receiver’s bank',
    key: 'Receiver’s key',
    description: 'Description',
    account: 'Account',
    fee: 'Fee',
    refunded: 'Refunded to the payer',
    returned: 'Returned by the receiver',
    debited: 'Taken in a dispute (MED)',
    authentic: 'The endToEnd id identifies this Pix at any bank.',
    brasilia: '(Brasília time)',
    test: 'Test account: no money moves.',
  },
} as const;

/** A receipt exists once the Pix is settled; a payment by card has that of the acquirer. */
export const hasReceipt = (payment: Payment): boolean =>
  payment.card === null && (payment.status === 'paid' || payment.status === 'completed');

/** The amount that went over Pix: of a transfer, what the receiver got. */
export const receiptCents = (payment: Payment): number =>
  payment.kind === 'transfer'
    ? (payment.netAmountCents ?? payment.amountCents - (payment.feeCents ?? 0))
    : receivedCents(payment) || payment.amountCents;

const clock = new Intl.DateTimeFormat('pt-BR', {
  timeZone: 'America/Sao_Paulo',
  day: '2-digit',
  month: '2-digit',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});

/** The rows of a receipt, in the order of the page that is printed from the browser. */
export function receiptRows(payment: Payment, facts: ReceiptFacts, language: Language): Row[] {
  const say = words[language];
  return filled([
    [say.when, momentOf(payment.paidAt ?? payment.settledAt, language)],
    [say.from, payment.payerName],
    [
      say.to,
      payment.kind === 'deposit' ? (facts.letterhead?.name ?? null) : (payment.receiver?.name ?? null),
    ],
    [say.taxId, payment.receiver?.taxId ?? null],
    [say.bank, payment.receiver?.bank ?? null],
    [say.key, facts.pixKey === null ? null : pixKeyText(payment.pixKeyType, facts.pixKey)],
    [say.description, payment.description],
    [say.account, `${facts.accountName} · ${facts.operationName}`],
    [
      say.fee,
      payment.kind === 'transfer' ? priceOf(payment.providerFeeCents ?? payment.feeCents ?? 0) : null,
    ],
    [say.refunded, amountOr(payment.refundedCents)],
    [say.returned, amountOr(payment.kind === 'transfer' ? payment.returnedCents : 0)],
    [say.debited, amountOr(facts.debitedCents)],
    ['endToEnd', payment.endToEnd],
    ['Id', payment.id],
  ]);
}

/** The rows of a refund's receipt. `charge` is what it gives back. */
export function refundRows(refund: Refund, charge: Payment, facts: ReceiptFacts, language: Language): Row[] {
  const say = words[language];
  return filled([
    [say.when, momentOf(refund.settledAt, language)],
    [say.payee, charge.payerName],
    [say.message, refund.description],
    [say.account, `${facts.accountName} · ${facts.operationName}`],
    [say.original, refund.endToEnd],
    ['endToEnd', refund.rtrId],
    ['Id', refund.id],
  ]);
}

type Row = [label: string, value: string];

const filled = (rows: [string, string | null][]): Row[] => rows.filter((row): row is Row => Boolean(row[1]));

const amountOr = (cents: number): string | null => (cents === 0 ? null : priceOf(cents));

const momentOf = (at: number | null, language: Language): string | null =>
  at === null ? null : `${clock.format(at).replace(',', '')} ${words[language].brasilia}`;

export const receiptSheet = (payment: Payment, facts: ReceiptFacts, language: Language): Sheet =>
  sheetOf(
    {
      id: payment.id,
      what: words[language][payment.kind],
      cents: receiptCents(payment),
      rows: receiptRows(payment, facts, language),
      endToEnd: payment.endToEnd,
    },
    facts,
    language,
  );

export const refundReceiptSheet = (
  refund: Refund,
  charge: Payment,
  facts: ReceiptFacts,
  language: Language,
): Sheet =>
  sheetOf(
    {
      id: refund.id,
      what: words[language].refund,
      cents: refund.amountCents,
      rows: refundRows(refund, charge, facts, language),
      endToEnd: refund.rtrId,
    },
    facts,
    language,
  );

interface Receipt {
  id: string;
  what: string;
  cents: number;
  rows: readonly Row[];
  endToEnd: string | null;
}

function sheetOf(receipt: Receipt, { test, letterhead, proofUrl }: ReceiptFacts, language: Language): Sheet {
  const say = words[language];
  const ids: readonly string[] = ['endToEnd', 'Id', say.original];
  return {
    language,
    documentTitle: `${say.title} ${receipt.id}`,
    title: say.title,
    what: receipt.what,
    amount: priceOf(receipt.cents),
    rows: receipt.rows.map(([label, value]): SheetRow => [label, value, ids.includes(label)]),
    remark: receipt.endToEnd === null ? null : say.authentic,
    warning: test ? say.test : null,
    letterhead,
    proof: { url: proofUrl, text: proofScans[language] },
  };
}
