import { type Language, refuse } from '../../ground/errors.ts';
import type { Letterhead } from '../../ground/letterhead.ts';
import { priceOf } from '../../ground/money.ts';
import type { Poster, PosterSize } from '../../ground/paper/poster.ts';
import type { StaticCode } from '../../store/rows/static-codes.sql.ts';

const words = {
  'pt-BR': {
    document: 'Cartaz',
    title: 'Pague com Pix',
    yourAmount: 'Você escolhe o valor',
    steps: ['Abra o app do seu banco', 'Escolha Pix e leia o QR code', 'Confira o nome e pague'],
    test: 'Conta de teste: nenhum dinheiro se move.',
  },
  en: {
    document: 'Poster',
    title: 'Pay with Pix',
    yourAmount: 'You choose the amount',
    steps: ['Open the app of your bank', 'Choose Pix and scan the QR code', 'Check the name and pay'],
    test: 'Test account: no money moves.',
  },
} as const;

/** Whose poster it is, and for whom. */
export interface PosterFacts {
  merchant: string;
  letterhead: Letterhead | null;
  test: boolean;
  size: PosterSize;
  language: Language;
}

/**
 * The paper of a static code. One that is retired has none: it is no longer shown, and what is printed could still be paid.
 * @throws ApiError `static_code_not_found`
 */
export function posterOf(
  { name, identifier, amountCents, copyPaste, status }: StaticCode,
  { merchant, letterhead, test, size, language }: PosterFacts,
): Poster {
  if (status === 'retired' || copyPaste === null) throw refuse('static_code_not_found');
  const say = words[language];
  return {
    ...{ language, size, letterhead, merchant, name },
    documentTitle: `${say.document} ${identifier}`,
    title: say.title,
    amount: amountCents === null ? say.yourAmount : priceOf(amountCents),
    code: copyPaste,
    steps: say.steps,
    foot: identifier,
    warning: test ? say.test : null,
  };
}
