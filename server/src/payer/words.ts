import type { Language } from '../ground/errors.ts';
import { proofScans } from '../ground/paper/proof-text.ts';
import type { LinkMethod } from '../kinds/link/methods.ts';
import type { ChargeState, ClosedLink, ProofState } from './state.ts';

interface Words {
  pay: string;
  scan: string;
  qr: string;
  code: string;
  copy: string;
  copied: string;
  steps: readonly string[];
  until: string;
  /** Of a charge with a due date; 0: it cannot be paid after it. */
  afterDue(days: number): string;
  amountOfDay: string;
  left: string;
  wait: string;
  receipt: string;
  verify: string;
  when: string;
  endToEnd: string;
  amount: string;
  back: string;
  test: string;
  host: string;
  other: string;
  brasilia: string;
  proof: string;
  proofDay: string;
  proofHint: string;
  proofScan: string;
  reminders: {
    ask: readonly [title: string, text: string];
    done: readonly [title: string, text: string];
    press: string;
  };
  notFound: string;
  notFoundText: string;
  tooMany: string;
  tooManyText: string;
  broken: string;
  brokenText: string;
  sent: string;
  received: string;
  refund: string;
  payByCard: string;
  /** Of a payment by card: what differs from a code. */
  cardSteps: Readonly<
    Record<'open' | 'processing' | 'closing' | 'refused', readonly [title: string, text: string]>
  >;
  cardStates: Readonly<Partial<Record<ChargeState, readonly [title: string, text: string]>>>;
  backToShop: string;
  name: string;
  document: string;
  documentHint: string;
  documentHintByCard: string;
  optional: string;
  amountField: string;
  amountHint(least: string, most: string): string;
  badForm: string;
  /** Of a link: its methods in words. */
  payBy(methods: readonly LinkMethod[]): string;
  choose: Readonly<Record<LinkMethod, string>>;
  /** While another charge of the payer waits, and in its place after its end. */
  instead: Readonly<Record<LinkMethod, string>>;
  again: Readonly<Record<LinkMethod, string>>;
  boundsOf: Readonly<Record<LinkMethod, (least: string, most: string) => string>>;
  cardHint: string;
  sameAmount: string;
  notNow: Readonly<Record<LinkMethod, string>>;
  stock(count: number): string;
  links: Readonly<Record<ClosedLink, readonly [title: string, text: string]>>;
  states: Readonly<Record<ChargeState, readonly [title: string, text: string]>>;
  proofs: Readonly<Record<ProofState, readonly [title: string, text: string]>>;
}

export const words: Readonly<Record<Language, Words>> = {
  'pt-BR': {
    pay: 'Pague com Pix',
    scan: 'Ou aponte a câmera do app do banco',
    qr: 'QR Code Pix desta cobrança. O mesmo código está no campo “Pix Copia e Cola”.',
    code: 'Pix Copia e Cola',
    copy: 'Copiar código Pix',
    copied: 'Código copiado. Cole no app do seu banco.',
    steps: [
      'Copie o código ou aponte a câmera para o QR Code.',
      'No app do seu banco, escolha Pix, depois Pix Copia e Cola ou Ler QR Code.',
      'Confira o nome e o valor e confirme. Esta página avisa quando o pagamento chegar.',
    ],
    until: 'Pague até',
    afterDue: (days) =>
      days === 0
        ? 'Depois desse dia não pode mais ser paga.'
        : `Depois do vencimento, ainda pode ser paga por ${days} ${days === 1 ? 'dia' : 'dias'}.`,
    amountOfDay: 'O app do seu banco mostra o valor de hoje, com desconto, multa ou juros, se houver.',
    left: 'Tempo restante:',
    wait: 'Aguardando o pagamento…',
    receipt: 'Baixar comprovante (PDF)',
    verify: 'Conferir este pagamento',
    when: 'Data e hora',
    endToEnd: 'Id do Pix (endToEnd)',
    amount: 'Valor',
    back: 'Já devolvido',
    test: 'Conta de teste: nenhum dinheiro se move.',
    host: 'Página de pagamento de',
    other: 'English',
    brasilia: '(horário de Brasília)',
    proof: 'Conferência de comprovante',
    proofDay: 'Situação em',
    proofHint:
      'Compare valor, data e id com o comprovante que você recebeu. Só esta página mostra a situação de hoje.',
    proofScan: proofScans['pt-BR'],
    reminders: {
      ask: [
        'Não receber mais lembretes?',
        'Você deixa de receber lembretes de cobranças desta empresa por e-mail. As cobranças continuam valendo.',
      ],
      done: ['Pronto, sem lembretes', 'Esta empresa não envia mais lembretes de cobranças a este e-mail.'],
      press: 'Não receber mais',
    },
    notFound: 'Página não encontrada',
    notFoundText:
      'Este endereço não leva a nenhum pagamento. Confira se ele está completo ou peça outro a quem o enviou.',
    tooMany: 'Muitas visitas',
    tooManyText: 'Espere um instante e abra a página de novo.',
    broken: 'A página não abriu agora',
    brokenText: 'Nada foi cobrado. Tente de novo em um instante.',
    sent: 'Pix enviado',
    received: 'Pix recebido',
    refund: 'Reembolso de Pix',
    payByCard: 'Pagar com cartão',
    cardSteps: {
      open: [
        'Pague com cartão',
        'Você digita os dados do cartão na página da adquirente. Esta página avisa quando ela confirmar o pagamento.',
      ],
      processing: [
        'Pagamento em análise',
        'A adquirente está analisando o pagamento. Não pague de novo: esta página avisa quando ela decidir.',
      ],
      closing: [
        'Encerrando o pagamento com cartão',
        'A página do cartão está sendo encerrada. Esta página avisa quando terminar.',
      ],
      refused: [
        'Cartão recusado',
        'O último pagamento foi recusado e nada foi cobrado. Tente de novo ou use outro cartão.',
      ],
    },
    cardStates: {
      creating: ['Preparando o pagamento', 'O caminho para a página do cartão aparece aqui em instantes.'],
      refundedPartly: ['Pago e reembolsado em parte', 'Uma parte do valor volta na fatura do cartão.'],
      refunded: ['Pagamento reembolsado', 'O valor volta na fatura do cartão.'],
      contested: ['Pagamento contestado', 'Quem pagou contestou esta compra no banco do cartão.'],
      takenBack: ['Pagamento desfeito', 'A adquirente retirou este pagamento do recebedor.'],
      expired: [
        'Página do cartão encerrada',
        'Ela não aceita mais pagamentos. Se você acabou de pagar, espere um instante: esta página avisa.',
      ],
      failed: ['Cartão indisponível', 'Este pagamento com cartão não pôde ser aberto. Nada foi cobrado.'],
    },
    backToShop: 'Voltar ao site',
    name: 'Seu nome',
    document: 'Seu CPF ou CNPJ',
    documentHint: 'Vai com a cobrança para o banco do vendedor. Ele vê só uma parte.',
    documentHintByCard:
      'Vai com a cobrança para o banco do vendedor ou a adquirente do cartão. O vendedor vê só uma parte.',
    optional: 'opcional',
    amountField: 'Valor (R$)',
    amountHint: (least, most) => `De ${least} a ${most}, por exemplo 25,00`,
    badForm: 'Confira o nome e o valor, em reais como 25,00.',
    payBy: (methods) =>
      methods.length > 1
        ? 'Pague com Pix ou cartão'
        : methods[0] === 'card'
          ? 'Pague com cartão'
          : 'Pague com Pix',
    choose: { pix: 'Pagar com Pix', card: 'Pagar com cartão' },
    instead: { pix: 'Trocar para Pix', card: 'Trocar para cartão' },
    again: { pix: 'Gerar novo código', card: 'Tentar de novo com cartão' },
    boundsOf: {
      pix: (least, most) => `Com Pix, de ${least} a ${most}.`,
      card: (least, most) => `Com cartão, de ${least} a ${most}.`,
    },
    cardHint: 'No cartão, à vista, na página da adquirente.',
    sameAmount: 'O valor é o mesmo com Pix e com cartão.',
    notNow: {
      pix: 'O Pix não está disponível para este valor.',
      card: 'O cartão não está disponível agora.',
    },
    stock: (count) => (count === 1 ? 'Resta 1' : `Restam ${count}`),
    links: {
      sold: [
        'Link já pago',
        'Este link não aceita mais pagamentos. Fale com o recebedor se você ainda precisa pagar.',
      ],
      full: [
        'Aguarde um pouco',
        'Outras pessoas estão com os últimos códigos deste link. Tente de novo em alguns minutos.',
      ],
      expired: ['Link vencido', 'O prazo deste link acabou. Peça outro ao recebedor.'],
      disabled: ['Link desativado', 'O recebedor desativou este link. Peça outro a ele.'],
      off: [
        'Pagamento indisponível',
        'Este link não pode ser pago agora: a conta do recebedor não aceita mais este meio de pagamento ou este valor. Fale com ele.',
      ],
    },
    states: {
      creating: ['Preparando o código', 'O código Pix aparece aqui em instantes.'],
      pending: ['Pague com Pix', ''],
      paid: ['Pagamento recebido', 'Tudo certo. Você já pode fechar esta página.'],
      paidTwice: [
        'Pago mais de uma vez',
        'Este código recebeu mais de um Pix. O valor a mais não conta como compra: combine a devolução com o recebedor.',
      ],
      paidTwiceReturned: [
        'Pago mais de uma vez',
        'Este código recebeu mais de um Pix. O valor a mais não conta como compra e volta sozinho para a conta de onde veio.',
      ],
      refundedPartly: [
        'Pago e reembolsado em parte',
        'Uma parte do valor voltou para a conta de quem pagou.',
      ],
      refunded: ['Pagamento reembolsado', 'O valor voltou para a conta de quem pagou.'],
      contested: [
        'Pagamento contestado',
        'O banco de quem pagou está analisando este Pix. Enquanto isso o valor fica bloqueado.',
      ],
      takenBack: ['Pagamento desfeito', 'O banco retirou este Pix do recebedor.'],
      expired: ['Código vencido', 'Este código não pode mais ser pago. Peça um novo ao recebedor.'],
      cancelled: ['Cobrança cancelada', 'O recebedor cancelou esta cobrança. Não pague este código.'],
      failed: ['Cobrança indisponível', 'Este código não pode ser pago. Peça um novo ao recebedor.'],
      review: [
        'Recebemos um Pix fora do combinado',
        'Chegou um Pix com outro valor ou fora do prazo. O recebedor decide o que fazer com ele; fale com ele antes de pagar de novo.',
      ],
    },
    proofs: {
      settled: ['Pix liquidado', 'O dinheiro foi movimentado e não voltou.'],
      refundedPartly: ['Reembolsado em parte', 'Uma parte do valor voltou para quem pagou.'],
      refunded: ['Reembolsado', 'O valor voltou para quem pagou. O comprovante não vale como pagamento.'],
      returned: ['Devolvido', 'O valor voltou, no todo ou em parte, para quem enviou.'],
      contested: ['Contestado', 'O banco de quem pagou está analisando este Pix.'],
      takenBack: [
        'Desfeito',
        'O banco retirou este Pix do recebedor. O comprovante não vale como pagamento.',
      ],
      none: ['Não liquidado', 'Não há dinheiro movimentado. O comprovante não vale como pagamento.'],
    },
  },
  en: {
    pay: 'Pay with Pix',
    scan: 'Or point the camera of your bank’s app here',
    qr: 'Pix QR code of this charge. The same code is in the field “Pix copy and paste”.',
    code: 'Pix copy and paste',
    copy: 'Copy the Pix code',
    copied: 'Code copied. Paste it in your bank’s app.',
    steps: [
      'Copy the code, or point your camera at the QR code.',
      'In your bank’s app choose Pix, then Pix Copia e Cola or Ler QR Code.',
      'Check name and amount, and confirm. This page says when the payment has arrived.',
    ],
    until: 'Pay until',
    afterDue: (days) =>
      days === 0
        ? 'It cannot be paid after that day.'
        : `It can still be paid for ${days} ${days === 1 ? 'day' : 'days'} after that.`,
    amountOfDay:
      "Your bank's app shows the amount of today, with a discount, a fine or interest where there is one.",
    left: 'Time left:',
    wait: 'Waiting for the payment…',
    receipt: 'Download the receipt (PDF)',
    verify: 'Verify this payment',
    when: 'Date and time',
    endToEnd: 'Id of the Pix (endToEnd)',
    amount: 'Amount',
    back: 'Given back so far',
    test: 'Test account: no money moves.',
    host: 'Payment page of',
    other: 'Português',
    brasilia: '(Brasília time)',
    proof: 'Check of a receipt',
    proofDay: 'State on',
    proofHint:
      'Compare amount, date and id with the receipt that you were given. Only this page shows the state of today.',
    proofScan: proofScans.en,
    reminders: {
      ask: [
        'No more reminders?',
        'You get no more reminders of charges of this company by mail. The charges stay as they are.',
      ],
      done: ['Done, no reminders', 'This company sends no more reminders of charges to this mail address.'],
      press: 'No more reminders',
    },
    notFound: 'Page not found',
    notFoundText:
      'This address leads to no payment. Check that it is complete, or ask the sender for another one.',
    tooMany: 'Too many visits',
    tooManyText: 'Wait a moment and open the page again.',
    broken: 'The page did not open',
    brokenText: 'Nothing was charged. Try again in a moment.',
    sent: 'Pix sent',
    received: 'Pix received',
    refund: 'Pix refund',
    payByCard: 'Pay by card',
    cardSteps: {
      open: [
        'Pay by card',
        'You type the card on the page of the acquirer. This page shows when the acquirer has confirmed the payment.',
      ],
      processing: [
        'Payment under review',
        'The acquirer is looking at the payment. Do not pay again: this page shows the decision.',
      ],
      closing: [
        'Closing the payment by card',
        'The page for the card is being closed. This page shows when that is done.',
      ],
      refused: [
        'Card refused',
        'The last payment was refused and nothing was charged. Try again or use another card.',
      ],
    },
    cardStates: {
      creating: ['Preparing the payment', 'The way to the page for the card appears here in a moment.'],
      refundedPartly: ['Paid and refunded in part', 'A part of the amount goes back to the card.'],
      refunded: ['Payment refunded', 'The amount goes back to the card.'],
      contested: ['Payment contested', 'The payer contested this purchase at the bank of the card.'],
      takenBack: ['Payment undone', 'The acquirer took this payment back from the receiver.'],
      expired: [
        'The page for the card is closed',
        'It takes no payment any more. If you have just paid, wait a moment: this page shows it.',
      ],
      failed: ['Card not available', 'This payment by card could not be opened. Nothing was charged.'],
    },
    backToShop: 'Back to the site',
    name: 'Your name',
    document: 'Your CPF or CNPJ',
    documentHint: 'It goes to the seller’s bank with the charge. The seller sees a part of it.',
    documentHintByCard:
      'It goes with the charge to the seller’s bank or the acquirer of the card. The seller sees a part of it.',
    optional: 'optional',
    amountField: 'Amount (R$)',
    amountHint: (least, most) => `From ${least} to ${most}, for example 25,00`,
    badForm: 'Check the name and the amount, in reais as 25,00.',
    payBy: (methods) =>
      methods.length > 1 ? 'Pay with Pix or by card' : methods[0] === 'card' ? 'Pay by card' : 'Pay with Pix',
    choose: { pix: 'Pay with Pix', card: 'Pay by card' },
    instead: { pix: 'Switch to Pix', card: 'Switch to card' },
    again: { pix: 'Get a new code', card: 'Try again by card' },
    boundsOf: {
      pix: (least, most) => `With Pix, from ${least} to ${most}.`,
      card: (least, most) => `By card, from ${least} to ${most}.`,
    },
    cardHint: 'By card in one instalment, on the page of the acquirer.',
    sameAmount: 'The amount is the same with Pix and by card.',
    notNow: {
      pix: 'Pix is not available for this amount.',
      card: 'The card is not available now.',
    },
    stock: (count) => `${count} left`,
    links: {
      sold: [
        'Link already paid',
        'This link takes no further payment. Talk to the receiver if you still need to pay.',
      ],
      full: ['Wait a little', 'Other people hold the last codes of this link. Try again in some minutes.'],
      expired: ['Link expired', 'The time of this link is over. Ask the receiver for another one.'],
      disabled: ['Link disabled', 'The receiver disabled this link. Ask them for another one.'],
      off: [
        'Payment not available',
        'This link cannot be paid now: the receiver’s account takes this method or this amount no more. Talk to the receiver.',
      ],
    },
    states: {
      creating: ['Preparing the code', 'The Pix code appears here in a moment.'],
      pending: ['Pay with Pix', ''],
      paid: ['Payment received', 'All done. You can close this page.'],
      paidTwice: [
        'Paid more than once',
        'More than one Pix arrived for this code. The extra amount buys nothing: agree its return with the receiver.',
      ],
      paidTwiceReturned: [
        'Paid more than once',
        'More than one Pix arrived for this code. The extra amount buys nothing, and goes back by itself to the account that it came from.',
      ],
      refundedPartly: ['Paid and refunded in part', 'A part of the amount went back to the payer’s account.'],
      refunded: ['Payment refunded', 'The amount went back to the payer’s account.'],
      contested: [
        'Payment contested',
        'The payer’s bank is examining this Pix. The amount is blocked meanwhile.',
      ],
      takenBack: ['Payment undone', 'The bank took this Pix back from the receiver.'],
      expired: ['Code expired', 'This code cannot be paid any more. Ask the receiver for a new one.'],
      cancelled: ['Charge cancelled', 'The receiver cancelled this charge. Do not pay this code.'],
      failed: ['Charge not available', 'This code cannot be paid. Ask the receiver for a new one.'],
      review: [
        'A Pix arrived that does not fit',
        'A Pix of another amount or out of time arrived. The receiver decides about it; talk to them before you pay again.',
      ],
    },
    proofs: {
      settled: ['Pix settled', 'The money has moved and has not gone back.'],
      refundedPartly: ['Refunded in part', 'A part of the amount went back to the payer.'],
      refunded: ['Refunded', 'The amount went back to the payer. The receipt is no proof of payment.'],
      returned: ['Returned', 'The amount went back, in whole or in part, to the sender.'],
      contested: ['Contested', 'The payer’s bank is examining this Pix.'],
      takenBack: [
        'Undone',
        'The bank took this Pix back from the receiver. The receipt is no proof of payment.',
      ],
      none: ['Not settled', 'No money has moved. The receipt is no proof of payment.'],
    },
  },
};
