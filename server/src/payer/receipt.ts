import type { Language } from '../ground/errors.ts';
import type { Letterhead } from '../ground/letterhead.ts';
import { priceOf } from '../ground/money.ts';
import type { Sheet } from '../ground/paper/sheet.ts';
import { momentOf } from './html.ts';
import type { PublicPayment } from './pages.sql.ts';
import { words } from './words.ts';

const titles: Readonly<
  Record<Language, { title: string; what: string; description: string; account: string; remark: string }>
> = {
  'pt-BR': {
    title: 'Comprovante Pix',
    what: 'Pix pago',
    description: 'Descrição',
    account: 'Recebedor',
    remark: 'O id endToEnd identifica este Pix em qualquer banco.',
  },
  en: {
    title: 'Pix receipt',
    what: 'Pix paid',
    description: 'Description',
    account: 'Receiver',
    remark: 'The endToEnd id identifies this Pix at any bank.',
  },
};

/** The receipt of a paid charge for its payer: without the payer's name, since every holder of the address may read it. */
export function payerReceipt(
  payment: PublicPayment,
  letterhead: Letterhead | null,
  proofUrl: string,
  language: Language,
): Sheet {
  const say = titles[language];
  const rows: [string, string | null, boolean][] = [
    [
      words[language].when,
      momentOf(payment.paidAt ?? payment.settledAt ?? payment.updatedAt, language),
      false,
    ],
    [say.account, payment.name, false],
    [say.description, payment.description === '' ? null : payment.description, false],
    ['endToEnd', payment.endToEnd, true],
    ['Id', payment.id, true],
  ];
  return {
    language,
    documentTitle: `${say.title} ${payment.id}`,
    title: say.title,
    what: say.what,
    amount: priceOf(payment.receivedCents),
    rows: rows.flatMap(([label, value, code]) => (value === null ? [] : [[label, value, code] as const])),
    remark: say.remark,
    warning: payment.test ? words[language].test : null,
    letterhead,
    proof: { url: proofUrl, text: words[language].proofScan },
  };
}
