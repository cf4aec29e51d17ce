import { cnpjText } from '../accounts/cnpj.ts';
import type { ShownMerchant } from '../accounts/profile.sql.ts';
import type { Letter } from '../ground/mail.ts';
import { priceOf } from '../ground/money.ts';
import type { Payment } from '../payments/payment.ts';
import { maskedPixKey } from './pix-key.ts';

/** The mail with the code of a draft. It names amount and recipient, so that no one confirms a transfer that they did not request. */
export function codeLetter(draft: {
  to: string;
  payment: Payment;
  operationName: string;
  merchant: ShownMerchant;
  pixKey: string;
  code: string;
  ip: string | undefined;
}): Letter {
  const { to, payment, operationName, merchant, pixKey, code, ip } = draft;
  const company =
    merchant.cnpj === null ? merchant.name : `${merchant.name}, CNPJ ${cnpjText(merchant.cnpj)}`;
  const { amountCents, feeCents, pixKeyType } = payment;
  const [amount, net, fee] = [amountCents, amountCents - feeCents, feeCents].map(priceOf);
  // Subjects are shown on locked screens: no code in them.
  return {
    to,
    'pt-BR': {
      subject: 'vintem: confirme a transferência',
      text: `Código: ${code}

Vale por 10 minutos e só para esta transferência:

  Valor        ${amount} (valor recebido ${net}, tarifa ${fee})
  Chave Pix    ${maskedPixKey(pixKey)} (${pixKeyType})
  Empresa      ${company}
  Operação     ${operationName}
  Pagamento    ${payment.id}${ip === undefined ? '' : `\n  Pedido de    ${ip}`}

Nunca pedimos este código. Se não foi você, não o informe e troque sua senha: sem o código nada é enviado.
`,
    },
    en: {
      subject: 'vintem: confirm the transfer',
      text: `Code: ${code}

Valid for 10 minutes and for this transfer only:

  Amount       ${amount} (amount received ${net}, fee ${fee})
  Pix key      ${maskedPixKey(pixKey)} (${pixKeyType})
  Company      ${company}
  Operation    ${operationName}
  Payment      ${payment.id}${ip === undefined ? '' : `\n  Asked from   ${ip}`}

We never ask for this code. If you did not request it, do not share it and change your password: nothing is sent without the code.
`,
    },
  };
}
