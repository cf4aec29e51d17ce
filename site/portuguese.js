// What the OpenAPI document says, in Portuguese: for the pages of the reference alone. A test finds what is missing and what no page shows.
export const portuguese = {
  'Create a Pix charge': 'Criar uma cobrança Pix',
  'Cancel a charge that is not paid': 'Cancelar uma cobrança que não foi paga',
  'Create a charge that is paid by card on a hosted page':
    'Criar uma cobrança paga com cartão em uma página hospedada',
  'Close the page of a card payment that is not paid':
    'Encerrar a página de um pagamento com cartão que não foi pago',
  'Create a Pix charge with a due date': 'Criar uma cobrança Pix com vencimento',
  'Change amount, dates or terms of a charge with a due date that is not paid':
    'Alterar valor, datas ou condições de uma cobrança com vencimento que não foi paga',
  Charges: 'Cobranças',
  'Give a paid charge back to its payer, in whole or in part':
    'Devolver uma cobrança paga a quem pagou, no todo ou em parte',
  'The refunds of a charge': 'Os reembolsos de uma cobrança',
  'One refund': 'Um reembolso',
  Refunds: 'Reembolsos',
  'Make a static code, which payers pay as often as they like':
    'Criar um QR fixo, que os pagadores pagam quantas vezes quiserem',
  'The static codes of the operation': 'Os QR fixos da operação',
  'One static code': 'Um QR fixo',
  'Rename a static code, retire it, or use it again': 'Renomear um QR fixo, desativá-lo ou usá-lo de novo',
  'The payments of a static code': 'Os pagamentos de um QR fixo',
  'A page with the static code, to print': 'Uma página com o QR fixo, para imprimir',
  'Static codes': 'QR fixos',
  'Make a payment link, a page on which payers make charges of their own':
    'Criar um link de pagamento, uma página em que os pagadores fazem as próprias cobranças',
  'The payment links of the operation': 'Os links de pagamento da operação',
  'One payment link': 'Um link de pagamento',
  'Change a payment link, close it, or open it again':
    'Alterar um link de pagamento, fechá-lo ou abri-lo de novo',
  'The charges of a payment link': 'As cobranças de um link de pagamento',
  'Payment links': 'Links de pagamento',
  'Send a Pix transfer': 'Enviar uma transferência Pix',
  'Confirm a draft with the code from the mail': 'Confirmar um rascunho com o código do e-mail',
  'Cancel a draft': 'Cancelar um rascunho',
  Transfers: 'Transferências',
  'One payment': 'Um pagamento',
  'Recent payments': 'Pagamentos recentes',
  Payments: 'Pagamentos',
  'Balance and conditions': 'Saldo e condições',
  'What changed the balance, oldest first': 'O que mudou o saldo, do mais antigo ao mais novo',
  'The statement of a period as a table': 'O extrato de um período como tabela',
  'The statement of a period for accounting programs':
    'O extrato de um período para programas de contabilidade',
  'The statement of a period to read and print': 'O extrato de um período para ler e imprimir',
  Account: 'Conta',
  'Disputes (MED) of received Pix': 'Contestações (MED) de Pix recebidos',
  'One dispute': 'Uma contestação',
  'The defence of a dispute, and what it may contain': 'A defesa de uma contestação e o que ela pode conter',
  'Answer a dispute': 'Responder a uma contestação',
  'Give a file for the defence of a dispute': 'Enviar um arquivo para a defesa de uma contestação',
  'Take a file away that goes out with no defence': 'Retirar um arquivo que não faz parte de nenhuma defesa',
  Disputes: 'Contestações',
  'The business operations': 'As operações de negócio',
  'Create a business operation': 'Criar uma operação de negócio',
  'Rename a business operation': 'Renomear uma operação de negócio',
  'Delete an empty business operation': 'Excluir uma operação de negócio vazia',
  Operations: 'Operações',
  'The webhook endpoints': 'Os endpoints de webhook',
  'Register a webhook endpoint': 'Cadastrar um endpoint de webhook',
  'What can be subscribed to': 'O que pode ser assinado',
  'One webhook endpoint': 'Um endpoint de webhook',
  'Change a webhook endpoint, switch it on or off': 'Alterar um endpoint de webhook, ligá-lo ou desligá-lo',
  'Delete a webhook endpoint': 'Excluir um endpoint de webhook',
  'A new secret; the old one signs as well for a while':
    'Um segredo novo; o antigo também assina por um tempo',
  'Send a test event to this endpoint alone': 'Enviar um evento de teste só a este endpoint',
  'What was sent to an endpoint, and how it ended': 'O que foi enviado a um endpoint e como terminou',
  'One delivery with its attempts': 'Uma entrega com as suas tentativas',
  'One attempt more, now': 'Mais uma tentativa, agora',
  'Send events of up to 7 days again': 'Enviar de novo os eventos de até 7 dias',
  Webhooks: 'Webhooks',
  Notifications: 'Notificações',
  'The events of the last 90 days': 'Os eventos dos últimos 90 dias',
  'Events as they happen': 'Os eventos na hora em que acontecem',
  'One event': 'Um evento',
  Events: 'Eventos',
  'Id of the request': 'Id da requisição',
  '`true` when the answer belongs to an earlier request with the same requestKey':
    '`true` quando a resposta é a de uma requisição anterior com a mesma requestKey',
  'The limits that apply': 'Os limites que valem',
  'What is left of them': 'O que resta deles',
  'Seconds to wait': 'Segundos a esperar',
  'Since when the call is deprecated (RFC 9745)': 'Desde quando a chamada é obsoleta (RFC 9745)',
  "Pix charges, automatic Pix transfers and business operations. Amounts are integers in cents, times are RFC 3339 in UTC.\n\nEvery call carries `Authorization: Bearer <API_KEY>` and may name a business operation in `X-Service-Operation`; without it the\nmain one is used. Calls that create something carry a `requestKey`, a UUID of the caller's: the same request with the same key\nreturns the same resource and never pays twice. After a timeout or `unknown`, keep the key and look the payment up; never make another.\n\nNew fields of answers, event types, codes and headers may be added at any time; `status`, `kind` and the members of `card` are closed.":
    'Cobranças Pix, transferências Pix automáticas e operações de negócio. Valores são inteiros em centavos, horários seguem a RFC 3339 em UTC.\n\nToda chamada leva `Authorization: Bearer <API_KEY>` e pode indicar uma operação de negócio em `X-Service-Operation`; sem ele, vale a\nprincipal. As chamadas que criam algo levam uma `requestKey`, um UUID de quem chama: a mesma requisição com a mesma chave devolve o\nmesmo recurso e nunca paga duas vezes. Depois de um timeout ou de `unknown`, guarde a chave e consulte o pagamento; nunca crie outro.\n\nNovos campos de respostas, tipos de evento, códigos e cabeçalhos podem surgir a qualquer momento; `status`, `kind` e os membros de `card` não mudam.',
  'Payments received': 'Pagamentos recebidos',
  'Codes that stay the same: any number of payers pay them, with or without an amount':
    'Códigos que não mudam: qualquer número de pagadores os paga, com ou sem valor',
  'Public pages on which payers make charges of their own':
    'Páginas públicas em que os próprios pagadores geram cobranças',
  'Pix and card payments that a payer contests, with their deadlines and defences':
    'Pagamentos por Pix e cartão que o pagador contesta, com prazos e defesas',
  'The business operation; without it the main one': 'A operação de negócio; sem ele, a principal',
  'Amount to charge': 'Valor a cobrar',
  'Name of the payer': 'Nome do pagador',
  'May be empty': 'Pode ser vazia',
  'Made by the caller, once per charge; repeat it, never replace it, after a timeout':
    'Criada por quem chama, uma por cobrança; depois de um timeout, repita-a e nunca a troque',
  'Up to 20 pairs of your own, kept with the payment. Names: a letter, then letters, digits, `_`, `.` or `-`, at most 40 characters':
    'Até 20 pares seus, guardados com o pagamento. Nomes: uma letra, depois letras, algarismos, `_`, `.` ou `-`, no máximo 40 caracteres',
  'Fiscal documents that it pays for. `key`: the access key without spaces: 44 characters of an NF-e, NFC-e (`nfe`) or CT-e, 50 of a national NFS-e, up to 60 of `other`':
    'Documentos fiscais a que o pagamento se refere. `key`: a chave de acesso sem espaços: 44 caracteres de uma NF-e, NFC-e (`nfe`) ou CT-e, 50 de uma NFS-e nacional, até 60 de `other`',
  'Id of the charge': 'Id da cobrança',
  'Amount to pay, within the limits of `GET /account`': 'Valor a pagar, dentro dos limites de `GET /account`',
  'The payer reads it on the page; may be empty': 'O pagador lê na página; pode ser vazia',
  'Made by the caller, once per checkout; repeat it, never replace it, after a timeout':
    'Criada por quem chama, uma por checkout; depois de um timeout, repita-a e nunca a troque',
  'How long the code takes a payment, up to seven days; as the installation is set if left out. `expiresAt` is the deadline that the provider gave: some have a shortest life of a few minutes':
    'Por quanto tempo o código aceita um pagamento, até sete dias; sem ele, como a instalação está configurada. `expiresAt` é o prazo que o provedor deu: alguns têm uma vida mínima de poucos minutos',
  'How long the page takes a payment': 'Por quanto tempo a página aceita um pagamento',
  'Where the payer goes once the acquirer has approved the payment; https, at a host that the operator has allowed for the account. A visit proves nothing':
    'Para onde o pagador vai depois que a adquirente aprova o pagamento; https, em um host que o operador permitiu para a conta. Uma visita não prova nada',
  'Where a payer goes who leaves the page without paying; https, at a host that the operator has allowed for the account. A visit proves nothing':
    'Para onde vai o pagador que sai da página sem pagar; https, em um host que o operador permitiu para a conta. Uma visita não prova nada',
  'Filled in on the page for the payer, where the acquirer can; kept sealed':
    'Já vem preenchido na página, onde a adquirente aceita; fica guardado cifrado',
  'CPF or CNPJ with right check digits, with or without dots':
    'CPF ou CNPJ com os dígitos verificadores corretos, com ou sem pontuação',
  'Mail address': 'Endereço de e-mail',
  'Telephone with the code of its country, as `+5511987654321`':
    'Telefone com o código do país, como `+5511987654321`',
  'Amount to charge, before fine, interest, discount and rebate':
    'Valor a cobrar, antes de multa, juros, desconto e abatimento',
  'The payer, whom API Pix wants named with a document': 'O pagador, que a API Pix pede com um documento',
  'CPF or CNPJ with right check digits, with or without dots; kept sealed and shown masked':
    'CPF ou CNPJ com os dígitos verificadores corretos, com ou sem pontuação; fica guardado cifrado e aparece mascarado',
  'The provider may show it': 'O provedor pode mostrá-lo',
  'API Pix asks for no address; at Woovi it is required':
    'A API Pix não pede endereço; na Woovi ele é obrigatório',
  'Street and number, as `Rua A, 12`': 'Rua e número, como `Rua A, 12`',
  City: 'Cidade',
  'State, as `SP`': 'Estado, como `SP`',
  'CEP, eight digits': 'CEP, oito algarismos',
  'District (`bairro`); Woovi asks for it': 'Bairro; a Woovi pede',
  'Day of Brasília, today or later, at most two years ahead':
    'Dia de Brasília, hoje ou depois, no máximo dois anos à frente',
  'Calendar days after the due date on which it can still be paid':
    'Dias corridos depois do vencimento em que ainda pode ser paga',
  'Added once when it is paid after the due date':
    'Somada uma vez quando o pagamento vem depois do vencimento',
  '`fixed`: `value` is cents; `percent`: it is hundredths of a percent of the amount, 200 for 2 %':
    '`fixed`: `value` são centavos; `percent`: centésimos de por cento do valor, 200 para 2 %',
  'Cents, or hundredths of a percent': 'Centavos, ou centésimos de por cento',
  'Added for each day after the due date': 'Somados por dia depois do vencimento',
  '`fixed_day`: `value` is cents for each day; `percent_day`, `percent_month`: hundredths of a percent':
    '`fixed_day`: `value` são centavos por dia; `percent_day`, `percent_month`: centésimos de por cento',
  'Which days count': 'Quais dias contam',
  'Up to three, all of one `type`; the first whose day is not over counts':
    'Até três, todos de um mesmo `type`; vale o primeiro cujo dia não passou',
  'Last day of the discount, not after the due date': 'Último dia do desconto, não depois do vencimento',
  'Taken off whenever it is paid': 'Retirado sempre, qualquer que seja o dia do pagamento',
  'The payer is reminded by mail three days before the due date, on it and three days after it, as long as the charge is open; needs `payer.email`':
    'O pagador recebe lembretes por e-mail três dias antes do vencimento, no dia e três dias depois, enquanto a cobrança estiver aberta; exige `payer.email`',
  'Added once when it is paid after the due date; null takes it away':
    'Somada uma vez quando o pagamento vem depois do vencimento; null a retira',
  'Added for each day after the due date; null takes it away':
    'Somados por dia depois do vencimento; null os retira',
  'Taken off whenever it is paid; null takes it away':
    'Retirado sempre, qualquer que seja o dia do pagamento; null o retira',
  'Received Pix that go back to their payers, in whole or in part':
    'Pix recebidos que voltam a quem pagou, no todo ou em parte',
  'Amount to give back; default: all that is left of the charge':
    'Valor a devolver; padrão: tudo o que resta da cobrança',
  'Message to the payer': 'Mensagem ao pagador',
  'Made by the caller, once per refund; repeat it, never replace it, after a timeout':
    'Criada por quem chama, uma por reembolso; depois de um timeout, repita-a e nunca a troque',
  'Refunds per page': 'Reembolsos por página',
  '`nextCursor` of the page before': '`nextCursor` da página anterior',
  'Oldest first': 'Do mais antigo ao mais novo',
  'Later ones follow': 'Há outros depois',
  'For the next page of the same charge; valid for 7 days':
    'Para a próxima página da mesma cobrança; vale por 7 dias',
  'Id of the refund': 'Id do reembolso',
  'The charge': 'A cobrança',
  'Business operation that owns the charge': 'Operação de negócio dona da cobrança',
  'Amount that goes back to the payer': 'Valor que volta ao pagador',
  'unknown: not confirmed yet; pending: the provider has it; completed: the payer has the money; failed: refused, the amount is back in the balance':
    'unknown: ainda não confirmado; pending: está com o provedor; completed: o pagador tem o dinheiro; failed: recusado, o valor voltou ao saldo',
  'Of the charge’s fee, what comes back to your balance when the refund completes; absent: the fee is kept':
    'Da tarifa da cobrança, o que volta ao seu saldo quando o reembolso termina; ausente: a tarifa fica',
  'Why it was made; more may be added': 'Por que foi feito; outros podem surgir',
  'Message to the payer; may be empty': 'Mensagem ao pagador; pode ser vazia',
  Creation: 'Criação',
  'Last change; strictly increasing per refund': 'Última mudança; sempre crescente em cada reembolso',
  'When the completion was posted': 'Quando a conclusão foi lançada',
  'Key of the request that created it': 'Chave da requisição que o criou',
  'Id of the return in the payment system (`D…`); of a card payment, the acquirer’s name of the refund':
    'Id da devolução no sistema de pagamentos (`D…`); de um pagamento com cartão, o nome que a adquirente dá ao reembolso',
  'Why it failed; more codes may be added': 'Por que falhou; outros códigos podem surgir',
  'Name, which the payer may read': 'Nome, que o pagador pode ler',
  'Amount in the code; null, the default: the payer types it':
    'Valor no QR; null, o padrão: o pagador digita',
  'Made by the caller, once per static code; repeat it, never replace it, after a timeout':
    'Criada por quem chama, uma por QR fixo; depois de um timeout, repita-a e nunca a troque',
  'Rows per page': 'Linhas por página',
  'Newest first': 'Do mais novo ao mais antigo',
  'Older ones follow': 'Há outros antes',
  'For the next page; valid for 7 days': 'Para a próxima página; vale por 7 dias',
  'Id of the static code': 'Id do QR fixo',
  'retired: no longer shown; a printed one can still be paid':
    'retired: não é mais mostrado; um impresso ainda pode ser pago',
  'Older ones may follow': 'Pode haver outros antes',
  'For the next page, with the same filters; valid for 7 days':
    'Para a próxima página, com os mesmos filtros; vale por 7 dias',
  'Paper; `80mm`: the roll of receipt printers; default: `a6`':
    'Papel; `80mm`: o rolo das impressoras de recibo; padrão: `a6`',
  'One page, to print': 'Uma página, para imprimir',
  'Business operation that its payments belong to': 'Operação de negócio a que pertencem os pagamentos',
  'Name; banks may show it to payers': 'Nome; os bancos podem mostrá-lo ao pagador',
  'What a Pix of this code carries; unique for its Pix key':
    'O que cada Pix deste QR traz; único na sua chave Pix',
  'Amount in the code; null: the payer types it': 'Valor no QR; null: o pagador digita',
  'Text of the code': 'Texto do código',
  'PNG data URL of the QR code; not in lists': 'QR Code como data URL de um PNG; fora das listas',
  'Payments that it has brought': 'Pagamentos que ele trouxe',
  'What they were together, before fees and refunds': 'A soma deles, antes de tarifas e reembolsos',
  'Last change or payment': 'Última mudança ou pagamento',
  'As the request that created it gave them; absent when there are none':
    'Como a requisição que criou os deu; ausente quando não há nenhum',
  'Title on its page': 'Título na página',
  'Text below the title; may be empty': 'Texto abaixo do título; pode ser vazio',
  'Amount; null, the default: the payer types it': 'Valor; null, o padrão: o pagador digita',
  'Least amount that a payer may type; default: that of the account':
    'Menor valor que o pagador pode digitar; padrão: o da conta',
  'Greatest amount that a payer may type; default: that of the account':
    'Maior valor que o pagador pode digitar; padrão: o da conta',
  'How it can be paid. `card` needs an account that takes cards; the payer chooses where there are both':
    'Como pode ser pago. `card` exige uma conta que aceita cartões; com os dois, o pagador escolhe',
  'After so many payments it is completed; null, the default: without a limit':
    'Depois de tantos pagamentos ele se completa; null, o padrão: sem limite',
  'What its page asks the payer for': 'O que a página pede ao pagador',
  'Name of the payer; default: optional': 'Nome do pagador; padrão: opcional',
  'CPF or CNPJ of the payer, for the provider; default: none':
    'CPF ou CNPJ do pagador, para o provedor; padrão: nenhum',
  'CPF or CNPJ of the only payer. No provider of this version reports who paid a Pix, so each value is refused with 400 `not_offered_by_provider`':
    'CPF ou CNPJ do único pagador. Nenhum provedor desta versão informa quem pagou um Pix, então todo valor é recusado com 400 `not_offered_by_provider`',
  'When it ends; null, the default: it does not': 'Quando termina; null, o padrão: não termina',
  'Where its page leads after the payment; https alone':
    'Para onde a página leva depois do pagamento; só https',
  'Made by the caller, once per payment link; repeat it, never replace it, after a timeout':
    'Criada por quem chama, uma por link de pagamento; depois de um timeout, repita-a e nunca a troque',
  'Id of the payment link': 'Id do link de pagamento',
  'disabled: it makes no charge; those that it made can still be paid':
    'disabled: não faz mais cobranças; as que fez ainda podem ser pagas',
  'Business operation that its charges belong to': 'Operação de negócio a que pertencem as cobranças',
  'Amount; null: the payer types it': 'Valor; null: o pagador digita',
  'Least amount that a payer may type': 'Menor valor que o pagador pode digitar',
  'Greatest amount that a payer may type': 'Maior valor que o pagador pode digitar',
  'How it can be paid': 'Como pode ser pago',
  'After so many payments it is completed; null: without a limit':
    'Depois de tantos pagamentos ele se completa; null: sem limite',
  'CPF or CNPJ of the payer': 'CPF ou CNPJ do pagador',
  'When it ends; null: it does not': 'Quando termina; null: não termina',
  'Where its page leads after the payment': 'Para onde a página leva depois do pagamento',
  'active: it makes charges': 'active: faz cobranças',
  'Its charges that wait for their payers': 'As cobranças dele que esperam o pagador',
  'Its page, for payers': 'A página, para os pagadores',
  'Payouts. The API key authorizes them: no code, no confirmation':
    'Pagamentos enviados. A chave de API os autoriza: sem código, sem confirmação',
  'Total taken from the balance, withdrawal fee included':
    'Total que sai do saldo, com a tarifa da transferência',
  'Key of the receiver. CPF, CNPJ: digits only; PHONE: begins with +; RANDOM: a UUID':
    'Chave do recebedor. CPF, CNPJ: só algarismos; PHONE: começa com +; RANDOM: um UUID',
  'Type of the key': 'Tipo da chave',
  'Made by the caller, once per transfer; repeat it, never replace it, after a timeout':
    'Criada por quem chama, uma por transferência; depois de um timeout, repita-a e nunca a troque',
  'Id of the draft': 'Id do rascunho',
  'The six digits from the mail': 'Os seis algarismos do e-mail',
  'Lookup of both; it never confirms anything': 'Consulta de ambos; nunca confirma nada',
  'Id of the payment': 'Id do pagamento',
  'Payments per page': 'Pagamentos por página',
  'Only this kind': 'Só desta espécie',
  'Only these states, separated by commas': 'Só nestes estados, separados por vírgulas',
  'Only this method': 'Só com este meio',
  'Created at or after; RFC 3339 with an offset or Z':
    'Criados neste horário ou depois; RFC 3339 com fuso ou Z',
  'Created before; RFC 3339 with an offset or Z': 'Criados antes; RFC 3339 com fuso ou Z',
  'The payment created with this requestKey: one or none':
    'O pagamento criado com esta requestKey: um ou nenhum',
  'Only with this end-to-end id': 'Só com este id de ponta a ponta',
  'Only with this pair, as `name:value`; the value whole':
    'Só com este par, como `nome:valor`; o valor inteiro',
  'deposit: a charge; transfer: a withdrawal': 'deposit: uma cobrança; transfer: uma transferência',
  'Amount of a charge, gross amount of a transfer': 'Valor de uma cobrança, valor bruto de uma transferência',
  'State; confirmed by the settlement provider alone': 'Estado; só o provedor de liquidação o confirma',
  'Last change; strictly increasing per payment': 'Última mudança; sempre crescente em cada pagamento',
  'Business operation that owns the payment': 'Operação de negócio dona do pagamento',
  'Account fee recorded at creation': 'Tarifa da conta registrada na criação',
  'When the final state was posted': 'Quando o estado final foi lançado',
  'Payment method': 'Meio de pagamento',
  "The provider's deadline; null when it gives none": 'O prazo do provedor; null quando ele não dá nenhum',
  'Pix copy-and-paste code, while pending': 'Código Pix copia e cola, enquanto pendente',
  'PNG data URL of the QR code, while pending': 'QR Code como data URL de um PNG, enquanto pendente',
  'End-to-end id of the Pix': 'Id de ponta a ponta do Pix',
  'A remark for people': 'Um aviso para pessoas',
  'Why it failed or was cancelled; more codes may be added':
    'Por que falhou ou foi cancelado; outros códigos podem surgir',
  'Fee confirmed by processing': 'Tarifa confirmada no processamento',
  'Net amount confirmed by processing': 'Valor líquido confirmado no processamento',
  'Gross debit of a withdrawal, fee included': 'Débito bruto de uma transferência, com a tarifa',
  'Gross minus account fee': 'Valor bruto menos a tarifa da conta',
  'What refunds have given back of a paid charge; left out while nothing was':
    'O que os reembolsos devolveram de uma cobrança paga; ausente enquanto não há nada',
  "Instant of the payer's Pix, or of the approval of the card":
    'Horário do Pix do pagador, ou da aprovação do cartão',
  'Hosted checkout, card only, while pending; not in lists':
    'Checkout hospedado, só de cartão, enquanto pendente; fora das listas',
  'Release time reported by the settler': 'Horário da liberação informado pela liquidação',
  'Card only': 'Só de cartão',
  'Card details': 'Dados do cartão',
  'Key of the request that created it; not in lists': 'Chave da requisição que o criou; fora das listas',
  'Public page of the charge for its payer; not in lists':
    'Página pública da cobrança, para o pagador; fora das listas',
  'Static code that was paid': 'O QR fixo que foi pago',
  'Payment link that it was made by': 'O link de pagamento que o fez',
  'CPF or CNPJ that the payer gave at the payment link, most of it masked':
    'CPF ou CNPJ que o pagador informou no link de pagamento, quase todo mascarado',
  'Fiscal documents that it pays for. `key`: the access key without spaces: 44 characters of an NF-e, NFC-e (`nfe`) or CT-e, 50 of a national NFS-e, up to 60 of `other`; absent when there are none':
    'Documentos fiscais a que o pagamento se refere. `key`: a chave de acesso sem espaços: 44 caracteres de uma NF-e, NFC-e (`nfe`) ou CT-e, 50 de uma NFS-e nacional, até 60 de `other`; ausente quando não há nenhum',
  'Of a charge with a due date: the day, in Brasília': 'De uma cobrança com vencimento: o dia, em Brasília',
  'Terms of a charge with a due date, as they were asked for':
    'Condições de uma cobrança com vencimento, como foram pedidas',
  'Calendar days after the due date on which it can be paid':
    'Dias corridos depois do vencimento em que pode ser paga',
  "The payer's document, most of it masked": 'O documento do pagador, quase todo mascarado',
  'Added once after the due date': 'Somada uma vez depois do vencimento',
  'Taken off until their days': 'Retirados até os seus dias',
  'Whether the payer is reminded by mail': 'Se o pagador recebe lembretes por e-mail',
  'Of such a charge: the change that was asked for and has not ended; `charge.changed` names it':
    'De uma cobrança assim: a mudança pedida que ainda não terminou; `charge.changed` a cita',
  'Of such a charge, once it is paid: the amount asked for':
    'De uma cobrança assim, depois de paga: o valor pedido',
  'Of such a charge, once it is paid: the amount received, as the provider reports it':
    'De uma cobrança assim, depois de paga: o valor recebido, como o provedor informa',
  'Parts of the received amount, where the provider reports them':
    'Partes do valor recebido, onde o provedor as informa',
  Fine: 'Multa',
  Interest: 'Juros',
  Discount: 'Desconto',
  Rebate: 'Abatimento',
  'First day (`YYYY-MM-DD`, in São Paulo), or an RFC 3339 time with an offset or Z':
    'Primeiro dia (`YYYY-MM-DD`, em São Paulo), ou um horário RFC 3339 com fuso ou Z',
  'Last day, which is included, or the RFC 3339 time before which the lines are':
    'Último dia, incluído, ou o horário RFC 3339 antes do qual ficam as linhas',
  'Lines per page': 'Linhas por página',
  'Balance before the first line of the period': 'Saldo antes da primeira linha do período',
  'Balance after the last line of the period': 'Saldo depois da última linha do período',
  'For the next page, with the same period; valid for 7 days':
    'Para a próxima página, com o mesmo período; vale por 7 dias',
  '`semicolon` makes the comma the decimal sign; default: `comma`':
    'Com `semicolon`, a vírgula separa os decimais; padrão: `comma`',
  'A byte order mark in front; default: `no`': 'Uma marca de ordem de bytes (BOM) no início; padrão: `no`',
  'RFC 4180 in UTF-8, with a header line': 'RFC 4180 em UTF-8, com uma linha de cabeçalho',
  'OFX 1.0.2, for accounting programs': 'OFX 1.0.2, para programas de contabilidade',
  'For people to read and to print': 'Para pessoas lerem e imprimirem',
  'The selected business operation': 'A operação de negócio escolhida',
  'Charges and transfers can be created': 'Cobranças e transferências podem ser criadas',
  'Available balance of the business operation': 'Saldo disponível da operação de negócio',
  'Fixed part of the withdrawal fee': 'Parte fixa da tarifa de transferência',
  'Fixed part of the card fee': 'Parte fixa da tarifa de cartão',
  '0: card payments are off': '0: pagamentos com cartão estão desligados',
  'Card payments that the acquirer has not released; not in the balance':
    'Pagamentos com cartão que a adquirente não liberou; fora do saldo',
  'Smallest charge': 'Menor cobrança',
  'Largest charge': 'Maior cobrança',
  'Smallest transfer': 'Menor transferência',
  'Largest transfer': 'Maior transferência',
  'Reserved for unfinished transfers of the business operation':
    'Reservado para transferências não terminadas da operação de negócio',
  'Fixed part of the charge fee': 'Parte fixa da tarifa de cobrança',
  'Percentage part of the withdrawal fee, in hundredths of a percent':
    'Parte percentual da tarifa de transferência, em centésimos de por cento',
  'Percentage part of the charge fee, in hundredths of a percent':
    'Parte percentual da tarifa de cobrança, em centésimos de por cento',
  'Percentage part of the card fee, in hundredths of a percent':
    'Parte percentual da tarifa de cartão, em centésimos de por cento',
  'returned: a refund brings back its part of the charge’s fee; kept: the fee stays':
    'returned: um reembolso traz de volta a sua parte da tarifa da cobrança; kept: a tarifa fica',
  'Unique in the business operation; it never changes': 'Único na operação de negócio; nunca muda',
  'Number of the ledger entry; a movement, its fee and what a hold took of it share it':
    'Número do lançamento; um movimento, a sua tarifa e o que um bloqueio retém dele têm o mesmo',
  'When it was posted': 'Quando foi lançado',
  'What it is; more kinds may be added': 'O que é; outras espécies podem surgir',
  'The payment that it belongs to': 'O pagamento a que pertence',
  'Of the payment; may be empty': 'A do pagamento; pode ser vazia',
  'What the balance changed by: negative is out': 'Quanto o saldo mudou: negativo é saída',
  'Balance after this line, as `GET /account` shows it':
    'Saldo depois desta linha, como `GET /account` mostra',
  'Of a charge': 'De uma cobrança',
  'End-to-end id of the Pix, once known': 'Id de ponta a ponta do Pix, quando conhecido',
  'Key of the request that created the payment': 'Chave da requisição que criou o pagamento',
  'Why an amount is held, let go or taken; null: for no reason beyond the kind':
    'Por que um valor está bloqueado, liberado ou retirado; null: por nada além da espécie',
  'Disputes per page': 'Contestações por página',
  'Id of the dispute': 'Id da contestação',
  'What a defence may contain at this moment; null: none is taken, or no further one':
    'O que uma defesa pode conter neste momento; null: nenhuma é aceita, ou nenhuma outra',
  'Longest text, in UTF-16 code units: some symbols count as two; 0: no text is taken':
    'Maior texto, em unidades UTF-16: alguns símbolos contam dois; 0: nenhum texto é aceito',
  'Null: no files are taken': 'Null: nenhum arquivo é aceito',
  'How many': 'Quantos',
  'Largest file': 'Maior arquivo',
  'What they may be': 'Do que podem ser',
  'Given for this dispute, and part of no defence': 'Enviados para esta contestação, e em nenhuma defesa',
  'Null: there is none': 'Null: não há nenhuma',
  'Why the Pix was rightly received. It cannot be changed once it is sent':
    'Por que o Pix foi recebido com razão. Depois de enviado não muda mais',
  'Files that were given before and go out with it': 'Arquivos enviados antes, que vão com ela',
  'Name of the file, without a path': 'Nome do arquivo, sem caminho',
  'Id of the file': 'Id do arquivo',
  'Always true': 'Sempre true',
  'The charge whose Pix or card payment is disputed':
    'A cobrança cujo Pix ou pagamento com cartão é contestado',
  'State; decided by the settlement provider alone': 'Estado; só o provedor de liquidação decide',
  'What is disputed': 'O que é contestado',
  'What is held for it at this moment; later credits fill it up':
    'O que está bloqueado por ela neste momento; os próximos créditos completam',
  'What the provider has taken of it': 'O que o provedor já retirou',
  'End-to-end id of the disputed Pix; of a card payment, the acquirer’s name of the payment':
    'Id de ponta a ponta do Pix contestado; de um pagamento com cartão, o nome que a adquirente lhe dá',
  "The provider's word for why": 'O motivo, nas palavras do provedor',
  'When it was opened at the provider': 'Quando foi aberta no provedor',
  "The provider's deadline for the defence; null when it gives none":
    'O prazo do provedor para a defesa; null quando ele não dá nenhum',
  'When its end was seen': 'Quando o fim foi visto',
  'When it was seen first': 'Quando foi vista pela primeira vez',
  'Last change; strictly increasing per dispute': 'Última mudança; sempre crescente em cada contestação',
  'The dispute that it is kept for': 'A contestação para a qual é guardado',
  'As it was given; empty once the data of the payer is anonymised':
    'Como foi enviado; vazio depois que os dados do pagador são anonimizados',
  'What it is': 'O que é',
  'Size of the contents': 'Tamanho do conteúdo',
  'SHA-256 of the contents, in hex': 'SHA-256 do conteúdo, em hexadecimal',
  'When it was given': 'Quando foi enviado',
  'The dispute that it answers': 'A contestação a que responde',
  'pending: not sent yet; unknown: sent, and not confirmed yet; sent: the provider has it; failed: the provider certainly has not':
    'pending: ainda não enviada; unknown: enviada e ainda não confirmada; sent: está com o provedor; failed: com certeza não chegou ao provedor',
  'Null where it has none, and once the data of the payer is anonymised':
    'Null quando não tem nenhum, e depois que os dados do pagador são anonimizados',
  'What goes out with it': 'O que vai com ela',
  'Last change': 'Última mudança',
  'When it was known that the provider has it': 'Quando se soube que chegou ao provedor',
  'Up to ten business operations, each with a balance of its own':
    'Até dez operações de negócio, cada uma com o seu saldo',
  'Stable id of the account': 'Id estável da conta',
  'Always 10': 'Sempre 10',
  'The oldest first': 'Da mais antiga à mais nova',
  Name: 'Nome',
  'Made by the caller, once per business operation': 'Criada por quem chama, uma por operação de negócio',
  'Id of the business operation': 'Id da operação de negócio',
  'True for the main operation': 'True na operação principal',
  'Available balance': 'Saldo disponível',
  'Last posting that changed the balance': 'Último lançamento que mudou o saldo',
  'The operation as it is now. A key without the permission `read` gets neither `balanceCents` nor `balanceUpdatedAt`.':
    'A operação como está agora. Uma chave sem a permissão `read` não recebe `balanceCents` nem `balanceUpdatedAt`.',
  'Endpoints that events are sent to, signed after Standard Webhooks':
    'Endpoints que recebem os eventos, assinados segundo o Standard Webhooks',
  'Address that events are sent to: https, a public name':
    'Endereço que recebe os eventos: https, um nome público',
  'Which events; `["*"]` includes types that are added later, a list never grows by itself':
    'Quais eventos; `["*"]` inclui tipos criados depois, uma lista nunca cresce sozinha',
  'A name for people': 'Um nome para pessoas',
  'Only events of these business operations; null: of all, later ones included':
    'Só eventos destas operações de negócio; null: de todas, também das criadas depois',
  'Made by the caller, once per endpoint': 'Criada por quem chama, uma por endpoint',
  'Id of the endpoint': 'Id do endpoint',
  'false: events are recorded as skipped': 'false: os eventos são registrados como pulados',
  'How long the old one signs as well': 'Por quanto tempo o antigo também assina',
  'Also inside of an overlap': 'Também durante uma troca',
  'Shown this once': 'Mostrado só desta vez',
  'Until then every message carries both signatures': 'Até lá toda mensagem leva as duas assinaturas',
  'A sample of this type instead of `webhook.test`': 'Um exemplo deste tipo em vez de `webhook.test`',
  'Id of the delivery': 'Id da entrega',
  'Deliveries per page': 'Entregas por página',
  'Only with this status': 'Só com este estado',
  'Only of this event: one or none': 'Só deste evento: uma ou nenhuma',
  'Those of the newest events first': 'As dos eventos mais novos primeiro',
  'More may follow': 'Pode haver mais',
  'Events created at or after': 'Eventos criados neste horário ou depois',
  'Events created before; default: now': 'Eventos criados antes; padrão: agora',
  'Only what failed or was skipped; false: everything again':
    'Só o que falhou ou foi pulado; false: tudo de novo',
  'How many are sent, a hundred a second; at most 10,000 per call':
    'Quantos são enviados, cem por segundo; no máximo 10.000 por chamada',
  Address: 'Endereço',
  'Which events': 'Quais eventos',
  'Whether events are sent': 'Se os eventos são enviados',
  'How it fares': 'Como vai',
  '`by_request`, `gone` (it answered 410), `failing` (five days without a success)':
    '`by_request`, `gone` (respondeu 410), `failing` (cinco dias sem um sucesso)',
  'When it was disabled; a replay since then sends what was skipped':
    'Quando foi desligado; um reenvio desde então manda o que foi pulado',
  'The end of the secret': 'O fim do segredo',
  'Version of the payloads, as of the creation': 'Versão dos conteúdos, a da criação',
  'Id of the event, the `webhook-id`': 'Id do evento, a `webhook-id`',
  'Type of the event': 'Tipo do evento',
  'skipped: the endpoint was disabled; failed: no more attempts by themselves':
    'skipped: o endpoint estava desligado; failed: não há mais tentativas automáticas',
  'The last 50': 'As últimas 50',
  'Number, from 1': 'Número, a partir de 1',
  Start: 'Início',
  'Null: no answer': 'Null: não houve resposta',
  'Null: an answer': 'Null: houve uma resposta',
  'Until the answer or the error': 'Até a resposta ou o erro',
  'The beginning of the answer: at most 1 KiB, of the last three attempts. 64 bytes once the account has stored 4 MB of answers, and its 64 bytes a second beyond':
    'O começo da resposta: no máximo 1 KiB, das três últimas tentativas. 64 bytes depois que a conta guardou 4 MB de respostas e 64 bytes por segundo além disso',
  'The next attempt': 'A próxima tentativa',
  'What signatures are verified with; shown this once, not to a repeat':
    'O segredo com que se conferem as assinaturas; mostrado só desta vez, e não a uma repetição',
  'The events as they are sent to an endpoint': 'Os eventos como são enviados a um endpoint',
  'Id of the event: the same in every attempt, so duplicates are seen by it':
    'Id do evento: o mesmo em todas as tentativas, e por ele se veem as repetições',
  'Unix seconds of this attempt; refuse what is 5 minutes away':
    'Segundos Unix desta tentativa; recuse o que está a mais de 5 minutos',
  'Space-separated list of `v1,<base64 HMAC-SHA-256>` over `id.timestamp.body`':
    'Lista separada por espaços de `v1,<HMAC-SHA-256 em base64>` sobre `id.timestamp.body`',
  'When it happened': 'Quando aconteceu',
  'Version of the payload': 'Versão do conteúdo',
  'false: of a test account, or a sample': 'false: de uma conta de teste, ou um exemplo',
  'The state that was left and the one that was entered': 'O estado que ficou para trás e o que começou',
  'The provider has answered for the first time about a charge.':
    'O provedor respondeu pela primeira vez sobre uma cobrança.',
  'A charge was paid.': 'Uma cobrança foi paga.',
  'A charge expired unpaid.': 'Uma cobrança expirou sem pagamento.',
  'A change of a due-date charge has ended; `dueChange.outcome` says whether the provider carried it out.':
    'Uma mudança de uma cobrança com vencimento terminou; `dueChange.outcome` diz se o provedor a fez.',
  'The provider refused to create a charge, or removed it.':
    'O provedor recusou a criação de uma cobrança, ou a removeu.',
  'A charge was paid a second time, with another amount or after it had failed; the money awaits review.':
    'Uma cobrança foi paga uma segunda vez, com outro valor ou depois de falhar; o dinheiro espera uma decisão.',
  'An attempt to pay a charge by card was refused; `card` says why and how many are left.':
    'Uma tentativa de pagar uma cobrança com cartão foi recusada; `card` diz por quê e quantas restam.',
  'The acquirer released a card payment; the amount less the fee is in the balance.':
    'A adquirente liberou um pagamento com cartão; o valor menos a tarifa está no saldo.',
  'The holder of the card contests a payment (chargeback). `dispute.*` events show how it ends.':
    'O portador do cartão contesta um pagamento (chargeback). Os eventos `dispute.*` mostram como termina.',
  'The provider has a transfer.': 'O provedor recebeu uma transferência.',
  'A transfer reached its receiver.': 'Uma transferência chegou ao recebedor.',
  'A transfer was refused or cancelled; the whole amount is back in the balance.':
    'Uma transferência foi recusada ou cancelada; o valor inteiro voltou ao saldo.',
  'A completed transfer came back, in whole or in part; the amount is in the balance.':
    'Uma transferência concluída voltou, no todo ou em parte; o valor está no saldo.',
  'The outcome of a transfer has been unknown for 15 minutes. Sent once per transfer.':
    'O resultado de uma transferência é desconhecido há 15 minutos. Enviado uma vez por transferência.',
  'The provider reports that a received Pix is disputed (MED); the amount is held.':
    'O provedor informa que um Pix recebido foi contestado (MED); o valor fica bloqueado.',
  'The defence of a dispute reached the provider.': 'A defesa de uma contestação chegou ao provedor.',
  'A defence certainly did not reach the provider; `defence.reasonCode` says why.':
    'Uma defesa com certeza não chegou ao provedor; `defence.reasonCode` diz por quê.',
  'A dispute was accepted: the provider takes the money, and it stays held until then.':
    'Uma contestação foi aceita: o provedor vai retirar o dinheiro, que fica bloqueado até lá.',
  'A dispute was rejected; what was held for it is free again.':
    'Uma contestação foi rejeitada; o que estava bloqueado por ela está livre de novo.',
  'A dispute was cancelled; what was held for it is free again.':
    'Uma contestação foi cancelada; o que estava bloqueado por ela está livre de novo.',
  'A refund of a charge was completed; `refundedCents` says how much it has given back in all.':
    'Um reembolso de uma cobrança terminou; `refundedCents` diz quanto ela devolveu ao todo.',
  'A refund reached the payer.': 'Um reembolso chegou ao pagador.',
  'A refund was refused; the whole amount is back in the balance.':
    'Um reembolso foi recusado; o valor inteiro voltou ao saldo.',
  'A payment link has as many payments as it takes.':
    'Um link de pagamento tem todos os pagamentos que aceita.',
  'A payment link was paid more often than it takes, by payers who had their codes before; you may refund them.':
    'Um link de pagamento foi pago mais vezes do que aceita, por pagadores que já tinham o código; você pode reembolsá-los.',
  'The time of a payment link is over.': 'O prazo de um link de pagamento acabou.',
  'A business operation was created.': 'Uma operação de negócio foi criada.',
  'A business operation was renamed or became the main one.':
    'Uma operação de negócio foi renomeada ou virou a principal.',
  'A business operation was deleted.': 'Uma operação de negócio foi excluída.',
  'A day of a business operation was closed: what it began with, what moved, what it ended with.':
    'Um dia de uma operação de negócio foi fechado: com quanto começou, o que se moveu, com quanto terminou.',
  'A person asked for a test of this endpoint.': 'Uma pessoa pediu um teste deste endpoint.',
  'The payment as it was then, without its code': 'O pagamento como estava então, sem o código',
  'As the caller gave it': 'Como quem chamou o deu',
  'The charge as it was then, without its code': 'A cobrança como estava então, sem o código',
  'The change, and how it ended': 'A mudança e como terminou',
  'As `changeId` of the charge named it': 'O mesmo que `changeId` da cobrança',
  '`carried_out`, `refused`: the charge stays as it was, or `charge_ended`: it was paid or ended before; more may be added':
    '`carried_out`, `refused`: a cobrança fica como estava, ou `charge_ended`: foi paga ou terminou antes; outros podem surgir',
  'The dispute as it was then': 'A contestação como estava então',
  'The defence that the provider certainly has not': 'A defesa que com certeza não chegou ao provedor',
  'The refund as it was then': 'O reembolso como estava então',
  'The payment link as it was then': 'O link de pagamento como estava então',
  'The operation as it was then': 'A operação como estava então',
  'The business operation': 'A operação de negócio',
  'Business operation': 'Operação de negócio',
  'Day in São Paulo': 'Dia em São Paulo',
  'Balance at the beginning of the day; what is owed counts as negative':
    'Saldo no começo do dia; o que se deve conta como negativo',
  'What came in: paid charges, returned transfers':
    'O que entrou: cobranças pagas, transferências que voltaram',
  'What went out, without fees; a cancelled transfer is taken off':
    'O que saiu, sem tarifas; uma transferência cancelada é descontada',
  'Fees of charges and transfers; what a refund brings back is taken off':
    'Tarifas de cobranças e transferências; o que um reembolso traz de volta é descontado',
  'What was refunded; a failed refund is taken off':
    'O que foi reembolsado; um reembolso que falhou é descontado',
  'What holds took, less what they freed': 'O que os bloqueios retiveram, menos o que liberaram',
  'Balance at the end: opening + in − out − fees − refunds − holds':
    'Saldo no fim: começo + entradas − saídas − tarifas − reembolsos − bloqueios',
  'Set aside for open transfers and refunds at the end of the day':
    'Reservado para transferências e reembolsos abertos no fim do dia',
  'Held at the end of the day': 'Bloqueado no fim do dia',
  'The last journal of the day': 'O último lançamento do dia',
  'Hash of that journal, SHA-256 in hex': 'Hash desse lançamento, SHA-256 em hexadecimal',
  'When it was written; it never changes': 'Quando foi escrito; nunca muda',
  'The log of what was sent': 'O registro do que foi enviado',
  'Events per page': 'Eventos por página',
  'Only this type': 'Só deste tipo',
  'Only of this payment': 'Só deste pagamento',
  'Only these types, separated by commas': 'Só destes tipos, separados por vírgulas',
  'Server-sent events, as they are published: `id` is the place in the log, `event` the type, `data` the event. A client that comes back with `Last-Event-ID` misses nothing. A comment every 15 s keeps the connection.':
    'Eventos enviados pelo servidor (SSE), conforme são publicados: `id` é o lugar no registro, `event` o tipo, `data` o evento. Um cliente que volta com `Last-Event-ID` não perde nada. Um comentário a cada 15 s mantém a conexão.',
  'Id of the event': 'Id do evento',
  'An array exactly when `code` is `validation_failed`: one string per field':
    'Uma lista exatamente quando `code` é `validation_failed`: um texto por campo',
  'Reason phrase of the status': 'Frase do status',
  'More codes may be added': 'Outros códigos podem surgir',
  'What is wrong with which field, or which limit refused':
    'O que está errado em qual campo, ou qual limite recusou',
  'The type whose format the key does not have': 'O tipo cujo formato a chave não tem',
  'The rate limit that refused': 'O limite de requisições que recusou',
  'Codes that may still be tried': 'Códigos que ainda podem ser tentados',
  'The payment that the refusal speaks of': 'O pagamento de que a recusa fala',
};
