import type { Letter } from '../ground/mail.ts';
import { priceOf } from '../ground/money.ts';
import type { Payment } from '../payments/payment.ts';
import { maskedPixKey } from './pix-key.ts';

/** The mail with the code of a draft: what it would send, and to whom, so that nobody confirms what they did not ask for. */
export function codeLetter(draft: {
  to: string;
  payment: Payment;
  operationName: string;
  pixKey: string;
  code: string;
  ip: string | undefined;
}): Letter {
  const { to, payment, operationName, pixKey, code, ip } = draft;
  const { amountCents, feeCents, pixKeyType } = payment;
  return {
    to,
    // Subjects are shown on locked screens: no code in them.
    subject: 'vintem: confirme a transferencia',
    text: `Código: ${code}

Vale por 10 minutos e só para esta transferência:

  Valor        ${priceOf(amountCents)} (o recebedor recebe ${priceOf(amountCents - feeCents)}, tarifa ${priceOf(feeCents)})
  Chave Pix    ${maskedPixKey(pixKey)} (${pixKeyType})
  Operação     ${operationName}
  Pagamento    ${payment.id}${ip === undefined ? '' : `\n  Pedido de    ${ip}`}

Ninguém de nós pede este código. Se não foi você, não o informe a ninguém e troque sua senha: sem o código nada é enviado.

—
Code: ${code}, valid for 10 minutes and for this transfer only. If you did not ask for it, tell it to nobody and change your
password: nothing is sent without it.
`,
  };
}
