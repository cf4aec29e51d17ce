import type { Language } from '../../ground/errors.ts';
import { colours, drawHead, left, money, newDocument, right, shown, wholeOf } from '../../ground/pdf.ts';
import type { Payment } from '../../payments/payment.ts';

/** What stands on a receipt, besides the payment itself. */
export interface ReceiptFacts {
  accountName: string;
  operationName: string;
  pixKey: string | null;
  test: boolean;
}

const words = {
  'pt-BR': {
    title: 'Comprovante Pix',
    deposit: 'Pix recebido',
    transfer: 'Pix enviado',
    when: 'Data e hora',
    from: 'Pagador',
    to: 'Chave do recebedor',
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
    when: 'Date and time',
    from: 'Payer',
    to: 'Receiver’s key',
    description: 'Description',
    account: 'Account',
    fee: 'Fee',
    authentic: 'The endToEnd id identifies this Pix at every bank.',
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

function pixKeyText(type: string | null, key: string): string {
  if (type === 'CPF') return key.replace(/^(\d{3})(\d{3})(\d{3})(\d{2})$/, '$1.$2.$3-$4');
  if (type === 'CNPJ') return key.replace(/^(\d{2})(\d{3})(\d{3})(\d{4})(\d{2})$/, '$1.$2.$3/$4-$5');
  if (type === 'PHONE') return key.replace(/^\+55(\d{2})(\d{4,5})(\d{4})$/, '+55 ($1) $2-$3');
  return key;
}

/** The rows of a receipt, in the order of the page that is printed from the browser. */
export function receiptRows(payment: Payment, facts: ReceiptFacts, language: Language): [string, string][] {
  const say = words[language];
  const when = payment.paidAt ?? payment.settledAt;
  const rows: [string, string | null][] = [
    [say.when, when === null ? null : `${clock.format(when).replace(',', '')} ${say.brasilia}`],
    [say.from, payment.payerName],
    [say.to, facts.pixKey === null ? null : pixKeyText(payment.pixKeyType, facts.pixKey)],
    [say.description, payment.description],
    [say.account, `${facts.accountName} · ${facts.operationName}`],
    [say.fee, payment.kind === 'transfer' ? money(payment.providerFeeCents ?? payment.feeCents ?? 0) : null],
    ['endToEnd', payment.endToEnd],
    ['Id', payment.id],
  ];
  return rows.filter((row): row is [string, string] => Boolean(row[1]));
}

/** The receipt as a PDF of one A4 page, in the look of the page that the browser prints. */
export async function receiptPdf(payment: Payment, facts: ReceiptFacts, language: Language): Promise<Buffer> {
  const say = words[language];
  const page = await newDocument(`${say.title} ${payment.id}`, language);
  const whole = wholeOf(page);
  drawHead(page, say.title);
  page.font('Helvetica-Bold').fontSize(12).text(say[payment.kind], left, 136);
  page
    .fontSize(30)
    .fillColor(colours.ink)
    .text(money(receiptCents(payment)), left, 154);
  let top = 214;
  for (const [label, value] of receiptRows(payment, facts, language)) {
    page.font('Helvetica').fontSize(10.5).fillColor(colours.soft).text(label, left, top, { width: 130 });
    page.fillColor(colours.ink);
    page.font(label === 'endToEnd' || label === 'Id' ? 'Courier' : 'Helvetica');
    page.text(shown(value), left + 140, top, { width: right - left - 140 });
    top = page.y + 9;
    page.moveTo(left, top).lineTo(right, top).lineWidth(0.5).strokeColor(colours.line).stroke();
    top += 10;
  }
  page.font('Helvetica').fontSize(9.5).fillColor(colours.soft);
  if (payment.endToEnd !== null) page.text(say.authentic, left, top + 8);
  if (facts.test)
    page
      .font('Helvetica-Bold')
      .fillColor(colours.copper)
      .text(say.test, left, top + 26);
  page.end();
  return whole;
}
