import type { Language } from '../../ground/errors.ts';
import type { Letterhead } from '../../ground/letterhead.ts';
import { priceOf } from '../../ground/money.ts';
import {
  colours,
  drawHead,
  drawLetterhead,
  left,
  newDocument,
  right,
  shown,
  wholeOf,
} from '../../ground/pdf.ts';
import type { Payment } from '../../payments/payment.ts';
import type { Refund } from '../../payments/refund.ts';
import { pixKeyText } from '../views/receivers.ts';

/** What stands on a receipt, besides the payment itself. */
export interface ReceiptFacts {
  accountName: string;
  operationName: string;
  pixKey: string | null;
  test: boolean;
  /** The merchant's own; null: it has set none. */
  letterhead: Letterhead | null;
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
    authentic: 'The endToEnd id identifies this Pix at any bank.',
    brasilia: '(Brasília time)',
    test: 'Test account: no money moves.',
  },
} as const;

/** A receipt exists once the Pix is settled. */
export const hasReceipt = (payment: Payment): boolean =>
  payment.status === 'paid' || payment.status === 'completed';

/** The amount that went over Pix: of a transfer, what the receiver got. */
export const receiptCents = (payment: Payment): number =>
  payment.kind === 'transfer'
    ? (payment.netAmountCents ?? payment.amountCents - (payment.feeCents ?? 0))
    : payment.amountCents;

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
    [say.to, payment.receiver?.name ?? null],
    [say.taxId, payment.receiver?.taxId ?? null],
    [say.bank, payment.receiver?.bank ?? null],
    [say.key, facts.pixKey === null ? null : pixKeyText(payment.pixKeyType, facts.pixKey)],
    [say.description, payment.description],
    [say.account, `${facts.accountName} · ${facts.operationName}`],
    [
      say.fee,
      payment.kind === 'transfer' ? priceOf(payment.providerFeeCents ?? payment.feeCents ?? 0) : null,
    ],
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

const momentOf = (at: number | null, language: Language): string | null =>
  at === null ? null : `${clock.format(at).replace(',', '')} ${words[language].brasilia}`;

export const receiptPdf = (payment: Payment, facts: ReceiptFacts, language: Language): Promise<Buffer> =>
  sheetPdf(
    {
      id: payment.id,
      what: words[language][payment.kind],
      cents: receiptCents(payment),
      rows: receiptRows(payment, facts, language),
      endToEnd: payment.endToEnd,
      test: facts.test,
      letterhead: facts.letterhead,
    },
    language,
  );

export const refundReceiptPdf = (
  refund: Refund,
  charge: Payment,
  facts: ReceiptFacts,
  language: Language,
): Promise<Buffer> =>
  sheetPdf(
    {
      id: refund.id,
      what: words[language].refund,
      cents: refund.amountCents,
      rows: refundRows(refund, charge, facts, language),
      endToEnd: refund.rtrId,
      test: facts.test,
      letterhead: facts.letterhead,
    },
    language,
  );

interface Sheet {
  id: string;
  what: string;
  cents: number;
  rows: Row[];
  endToEnd: string | null;
  test: boolean;
  letterhead: Letterhead | null;
}

/** A PDF of one A4 page, in the look of the page that the browser prints. */
async function sheetPdf(sheet: Sheet, language: Language): Promise<Buffer> {
  const say = words[language];
  const ids: readonly string[] = ['endToEnd', 'Id', say.original];
  const page = await newDocument(`${say.title} ${sheet.id}`, language);
  const whole = wholeOf(page);
  if (sheet.letterhead) drawLetterhead(page, sheet.letterhead, say.title);
  else drawHead(page, say.title);
  page.font('Helvetica-Bold').fontSize(12).text(sheet.what, left, 136);
  page.fontSize(30).fillColor(colours.ink).text(priceOf(sheet.cents), left, 154);
  let top = 214;
  for (const [label, value] of sheet.rows) {
    page.font('Helvetica').fontSize(10.5).fillColor(colours.soft).text(label, left, top, { width: 130 });
    page.fillColor(colours.ink);
    page.font(ids.includes(label) ? 'Courier' : 'Helvetica');
    page.text(shown(value), left + 140, top, { width: right - left - 140 });
    top = page.y + 9;
    page.moveTo(left, top).lineTo(right, top).lineWidth(0.5).strokeColor(colours.line).stroke();
    top += 10;
  }
  page.font('Helvetica').fontSize(9.5).fillColor(colours.soft);
  if (sheet.endToEnd !== null) page.text(say.authentic, left, top + 8);
  if (sheet.test)
    page
      .font('Helvetica-Bold')
      .fillColor(colours.copper)
      .text(say.test, left, top + 26);
  page.end();
  return whole;
}
