import { cnpjText } from '../../ground/cnpj.ts';
import type { Letterhead } from '../../ground/letterhead.ts';
import type { Letter } from '../../ground/mail.ts';
import { priceOf } from '../../ground/money.ts';
import { maskedPixKey, pixKeyTypeNames } from '../../kinds/transfer/pix-key.ts';
import type { Payment } from '../../money/payment.ts';
import type { ShownMerchant } from '../../store/rows/profile.sql.ts';

/** The mail with the code of a draft. It names amount and recipient, so that no one confirms a transfer that they did not request. */
export function codeLetter(draft: {
  to: string;
  payment: Payment;
  operationName: string;
  merchant: ShownMerchant;
  letterhead: Letterhead | null;
  pixKey: string;
  code: string;
  ip: string | undefined;
}): Letter {
  const { to, payment, operationName, merchant, letterhead, pixKey, code, ip } = draft;
  const company =
    merchant.cnpj === null ? merchant.name : `${merchant.name}, CNPJ ${cnpjText(merchant.cnpj)}`;
  const { amountCents, feeCents, pixKeyType } = payment;
  const [amount, net, fee] = [amountCents, amountCents - feeCents, feeCents].map(priceOf);
  // Subjects are shown on locked screens: no code in them.
  return {
    to,
    letterhead,
    'pt-BR': {
      subject: 'confirme a transferência',
      text: `Código: ${code}

Vale por 10 minutos e só para esta transferência:

  Valor        ${amount}
  Tarifa       ${fee}
  Recebido     ${net}
  Chave Pix    ${maskedPixKey(pixKey)} (${pixKeyType && pixKeyTypeNames[pixKeyType]})
  Empresa      ${company}
  Operação     ${operationName}
  Pagamento    ${payment.id}${ip === undefined ? '' : `\n  Endereço IP  ${ip}`}

Nunca pedimos este código. Se não foi você, não o informe e troque sua senha: sem o código nada é enviado.
`,
    },
    en: {
      subject: 'confirm the transfer',
      text: `Code: ${code}

Valid for 10 minutes and for this transfer only:

  Amount       ${amount}
  Fee          ${fee}
  Received     ${net}
  Pix key      ${maskedPixKey(pixKey)} (${pixKeyType})
  Company      ${company}
  Operation    ${operationName}
  Payment      ${payment.id}${ip === undefined ? '' : `\n  IP address   ${ip}`}

We never ask for this code. If you did not request it, do not share it and change your password: nothing is sent without the code.
`,
    },
  };
}
