/**
 * The one catalogue of public errors: code → status and message in both languages. Codes are lower snake case, never
 * translated, and never used again with another meaning; clients branch on status and code, never on the message.
 * `{name}` in a message is filled from `params`.
 */
interface CatalogueEntry {
  status: number;
  en: string;
  pt: string;
}

export const catalogue = {
  validation_failed: { status: 400, en: 'The request is not valid.', pt: 'A requisição não é válida.' },
  malformed_json: {
    status: 400,
    en: 'The body must be one JSON object in UTF-8.',
    pt: 'O corpo deve ser um objeto JSON em UTF-8.',
  },
  invalid_id: {
    status: 400,
    en: 'The id in the path must be a UUID.',
    pt: 'O id no caminho deve ser um UUID.',
  },
  invalid_cursor: {
    status: 400,
    en: 'The cursor is not one of this list with these filters, or is older than 7 days.',
    pt: 'O cursor não é desta lista com estes filtros ou tem mais de 7 dias.',
  },
  statement_too_large: {
    status: 400,
    en: 'The period has more than {limit} ledger entries, the most that this file holds. Ask for a shorter one.',
    pt: 'O período tem mais de {limit} lançamentos, o máximo deste arquivo. Peça um período menor.',
  },
  invalid_operation_header: {
    status: 400,
    en: 'X-Service-Operation must be one UUID.',
    pt: 'X-Service-Operation deve ser um único UUID.',
  },
  amount_below_fee: {
    status: 400,
    en: 'The amount must be greater than the fee.',
    pt: 'O valor deve ser maior que a tarifa.',
  },
  amount_out_of_limits: {
    status: 400,
    en: "The amount is outside this account's limits.",
    pt: 'O valor está fora dos limites desta conta.',
  },
  return_url_not_allowed: {
    status: 400,
    en: 'This account may not send payers back to this address.',
    pt: 'Esta conta não pode enviar pagadores de volta para este endereço.',
  },
  insufficient_balance: {
    status: 400,
    en: 'The balance of the business operation does not cover the amount.',
    pt: 'O saldo da operação não cobre o valor.',
  },
  idempotency_conflict: {
    status: 400,
    en: 'This requestKey was already used with other data.',
    pt: 'Esta requestKey já foi usada com outros dados.',
  },
  request_key_consumed: {
    status: 400,
    en: 'This requestKey belongs to something that was deleted.',
    pt: 'Esta requestKey pertence a algo que foi excluído.',
  },
  pix_key_not_found: {
    status: 400,
    en: 'The Pix key does not exist. Nothing was sent.',
    pt: 'A chave Pix não existe. Nada foi enviado.',
  },
  recipient_refused: {
    status: 400,
    en: "The recipient's institution refused the Pix. Nothing was sent.",
    pt: 'A instituição do recebedor recusou o Pix. Nada foi enviado.',
  },
  provider_refused: {
    status: 400,
    en: 'The provider refused the Pix. Nothing was sent.',
    pt: 'O provedor recusou o Pix. Nada foi enviado.',
  },
  not_offered_by_provider: {
    status: 400,
    en: "This account's settlement provider does not offer this.",
    pt: 'O provedor de liquidação desta conta não oferece isso.',
  },
  due_date_out_of_range: {
    status: 400,
    en: 'The due date must be a day from today to two years from now.',
    pt: 'O vencimento deve ser um dia entre hoje e dois anos à frente.',
  },
  due_terms_invalid: {
    status: 400,
    en: 'Discounts must be of one type and end by the due date, and with the rebate leave a part of the amount.',
    pt: 'Os descontos devem ser de um só tipo e terminar até o vencimento, e com o abatimento deixar parte do valor.',
  },
  charge_already_paid: {
    status: 400,
    en: 'The charge is paid. Refund it instead.',
    pt: 'A cobrança está paga. Faça um reembolso.',
  },
  charge_already_ended: {
    status: 400,
    en: 'The charge has ended: it has expired or failed.',
    pt: 'A cobrança já terminou: ela venceu ou falhou.',
  },
  charge_change_under_way: {
    status: 400,
    en: 'An earlier change of this charge is not confirmed yet. Look at the charge, then ask again.',
    pt: 'Uma alteração anterior desta cobrança ainda não foi confirmada. Consulte a cobrança e peça de novo.',
  },
  charge_change_refused: {
    status: 400,
    en: 'The provider refused the change. The charge is as it was before.',
    pt: 'O provedor recusou a alteração. A cobrança continua como estava.',
  },
  charge_changed_too_often: {
    status: 400,
    en: 'This charge was changed 20 times. Cancel it and create another one.',
    pt: 'Esta cobrança já foi alterada 20 vezes. Cancele-a e crie outra.',
  },
  payment_not_refundable: {
    status: 400,
    en: 'Only a paid Pix charge can be refunded.',
    pt: 'Só uma cobrança Pix paga pode ser reembolsada.',
  },
  refund_window_closed: {
    status: 400,
    en: 'A Pix can be refunded for 90 days after it was paid.',
    pt: 'Um Pix pode ser reembolsado até 90 dias depois do pagamento.',
  },
  refund_exceeds: {
    status: 400,
    en: 'The amount is more than what is left to refund of this charge ({left} cents).',
    pt: 'O valor é maior do que resta reembolsar desta cobrança ({left} centavos).',
  },
  refund_limit_reached: {
    status: 400,
    en: 'A charge is refunded in at most 100 parts, of which the last takes all that is left ({left} cents), and in 200 requests.',
    pt: 'Uma cobrança é reembolsada em no máximo 100 partes, das quais a última leva tudo o que resta ({left} centavos), e em 200 pedidos.',
  },
  refund_already_booked: {
    status: 400,
    en: 'The Pix went back under this requestKey before the database was restored. The statement shows it.',
    pt: 'O Pix foi reembolsado com esta requestKey antes da restauração do banco de dados. O extrato mostra o reembolso.',
  },
  dispute_ended: {
    status: 400,
    en: 'The dispute has ended: no defence is taken any more.',
    pt: 'A contestação já terminou: nenhuma defesa é aceita.',
  },
  dispute_defended: {
    status: 400,
    en: 'The dispute has a defence already. The provider takes one for each dispute.',
    pt: 'A contestação já tem uma defesa. O provedor aceita uma por contestação.',
  },
  defence_window_closed: {
    status: 400,
    en: "The provider's deadline for the defence is over.",
    pt: 'O prazo do provedor para a defesa já terminou.',
  },
  defence_too_long: {
    status: 400,
    en: 'The provider takes a defence of at most {most} characters; some symbols count as two.',
    pt: 'O provedor aceita uma defesa de no máximo {most} caracteres; alguns símbolos contam como dois.',
  },
  file_not_accepted: {
    status: 400,
    en: 'The content is no {type}. Its first bytes must be those of the content type.',
    pt: 'O conteúdo não é {type}. Os primeiros bytes devem ser os do tipo informado.',
  },
  file_limit_reached: {
    status: 400,
    en: 'A dispute has at most {most} files.',
    pt: 'Uma contestação tem no máximo {most} arquivos.',
  },
  file_storage_full: {
    status: 400,
    en: 'The files of the account would take more than {most} MiB. They go 90 days after their upload, once their dispute has ended.',
    pt: 'Os arquivos da conta passariam de {most} MiB. Eles são apagados 90 dias depois do envio, se a contestação já terminou.',
  },
  operation_limit_reached: {
    status: 400,
    en: 'An account holds at most 10 business operations.',
    pt: 'Uma conta tem no máximo 10 operações.',
  },
  payment_link_closed: {
    status: 400,
    en: 'This payment link takes no further payment.',
    pt: 'Este link de pagamento não aceita mais pagamentos.',
  },
  payer_name_required: {
    status: 400,
    en: 'The name of the payer is required.',
    pt: 'O nome do pagador é obrigatório.',
  },
  payer_document_required: {
    status: 400,
    en: 'The CPF or CNPJ of the payer is required.',
    pt: 'O CPF ou CNPJ do pagador é obrigatório.',
  },
  payer_document_invalid: {
    status: 400,
    en: 'This is no valid CPF or CNPJ.',
    pt: 'Este CPF ou CNPJ não é válido.',
  },
  static_code_limit_reached: {
    status: 400,
    en: 'An account holds at most {limit} static codes, retired ones included.',
    pt: 'Uma conta tem no máximo {limit} QR fixos, incluindo os desativados.',
  },
  operation_has_balance: {
    status: 400,
    en: 'The business operation has a balance.',
    pt: 'A operação tem saldo.',
  },
  operation_on_hold: {
    status: 400,
    en: 'The business operation has an administrative hold.',
    pt: 'A operação tem um bloqueio administrativo.',
  },
  operation_has_unfinished_payments: {
    status: 400,
    en: 'The business operation has unfinished payments or withdrawals.',
    pt: 'A operação tem cobranças ou transferências não concluídas.',
  },
  balance_not_confirmed: {
    status: 400,
    en: 'The zero balance of the business operation is not confirmed yet.',
    pt: 'O saldo zero da operação ainda não foi confirmado.',
  },
  last_operation: {
    status: 400,
    en: 'At least one business operation must remain.',
    pt: 'Ao menos uma operação deve permanecer.',
  },
  not_a_draft: {
    status: 400,
    en: 'The transfer is not a draft.',
    pt: 'A transferência não é um rascunho.',
  },
  invalid_code: { status: 400, en: 'The code is wrong.', pt: 'O código está errado.' },
  code_expired: { status: 400, en: 'The code has expired.', pt: 'O código expirou.' },
  webhook_url_not_allowed: {
    status: 400,
    en: 'This address cannot receive webhooks: use a public https address. To test on your own machine, run `vintem-cli listen`, or set WEBHOOK_ALLOW_INSECURE_LOCAL=true for test accounts.',
    pt: 'Este endereço não pode receber webhooks: use um endereço https público. Para testar na sua máquina, execute `vintem-cli listen` ou defina WEBHOOK_ALLOW_INSECURE_LOCAL=true para contas de teste.',
  },
  webhook_limit_reached: {
    status: 400,
    en: 'An account holds at most 10 webhook endpoints.',
    pt: 'Uma conta tem no máximo 10 endpoints de webhook.',
  },
  webhook_disabled: {
    status: 400,
    en: 'The webhook endpoint is disabled. Enable it first.',
    pt: 'O endpoint de webhook está desativado. Ative-o primeiro.',
  },
  replay_window_too_long: {
    status: 400,
    en: 'A replay covers at most 7 days.',
    pt: 'Um reenvio cobre no máximo 7 dias.',
  },
  rotation_in_progress: {
    status: 400,
    en: 'The secret is already being rotated.',
    pt: 'O segredo já está sendo trocado.',
  },
  test_clock_advancing: {
    status: 400,
    en: 'The test clock is still being moved.',
    pt: 'O relógio de teste ainda está avançando.',
  },
  simulation_refused: {
    status: 400,
    en: 'The simulator cannot do this to the payment in its state.',
    pt: 'O simulador não pode fazer isto com o pagamento no estado em que está.',
  },
  malformed_request: {
    status: 400,
    en: 'The request cannot be read.',
    pt: 'A requisição não pode ser lida.',
  },

  api_key_missing: {
    status: 401,
    en: 'An API key is required: Authorization: Bearer <API_KEY>.',
    pt: 'É necessária uma chave de API: Authorization: Bearer <API_KEY>.',
  },
  api_key_invalid: {
    status: 401,
    en: 'The API key is invalid or revoked.',
    pt: 'A chave de API é inválida ou foi revogada.',
  },
  api_key_expired: { status: 401, en: 'The API key has expired.', pt: 'A chave de API expirou.' },

  permission_denied: {
    status: 403,
    en: 'The API key lacks the permission {permission}.',
    pt: 'A chave de API não tem a permissão {permission}.',
  },
  tls_required: {
    status: 403,
    en: 'Requests must be made over HTTPS. Replace this API key: it was sent in the clear.',
    pt: 'As requisições devem usar HTTPS. Troque esta chave de API: ela foi enviada sem proteção.',
  },
  ip_not_allowed: {
    status: 403,
    en: 'The API key may not be used from this address.',
    pt: 'A chave de API não pode ser usada deste endereço.',
  },
  account_disabled: { status: 403, en: 'The account is disabled.', pt: 'A conta está desativada.' },
  withdrawals_blocked: {
    status: 403,
    en: 'Withdrawals are blocked.',
    pt: 'As transferências estão bloqueadas.',
  },
  test_account_required: {
    status: 403,
    en: 'This call is only for test accounts.',
    pt: 'Esta chamada é só para contas de teste.',
  },
  simulator_account_required: {
    status: 403,
    en: "This call is only for test accounts of the simulator; at the provider's own test environment, use the provider's own calls.",
    pt: 'Esta chamada é só para contas de teste do simulador; no ambiente de testes do provedor, use as chamadas do próprio provedor.',
  },
  card_not_enabled: {
    status: 403,
    en: 'Card payments are not enabled for this account.',
    pt: 'Pagamentos com cartão não estão habilitados para esta conta.',
  },

  route_not_found: { status: 404, en: 'There is no such call.', pt: 'Esta chamada não existe.' },
  refund_not_found: { status: 404, en: 'Refund not found.', pt: 'Reembolso não encontrado.' },
  payment_not_found: { status: 404, en: 'Payment not found.', pt: 'Pagamento não encontrado.' },
  payment_link_not_found: {
    status: 404,
    en: 'Payment link not found.',
    pt: 'Link de pagamento não encontrado.',
  },
  static_code_not_found: { status: 404, en: 'Static code not found.', pt: 'QR fixo não encontrado.' },
  dispute_not_found: { status: 404, en: 'Dispute not found.', pt: 'Contestação não encontrada.' },
  file_not_found: { status: 404, en: 'File not found.', pt: 'Arquivo não encontrado.' },
  operation_not_found: {
    status: 404,
    en: 'Business operation not found.',
    pt: 'Operação não encontrada.',
  },
  webhook_not_found: {
    status: 404,
    en: 'Webhook endpoint not found.',
    pt: 'Endpoint de webhook não encontrado.',
  },
  delivery_not_found: { status: 404, en: 'Delivery not found.', pt: 'Entrega não encontrada.' },
  event_not_found: { status: 404, en: 'Event not found.', pt: 'Evento não encontrado.' },

  method_not_allowed: {
    status: 405,
    en: 'This method is not allowed here.',
    pt: 'Este método não é permitido aqui.',
  },
  request_timeout: {
    status: 408,
    en: 'The request did not arrive in time.',
    pt: 'A requisição não chegou a tempo.',
  },
  body_too_large: { status: 413, en: 'The body is too large.', pt: 'O corpo é grande demais.' },
  uri_too_long: {
    status: 414,
    en: 'The address is longer than 4 KiB.',
    pt: 'O endereço tem mais de 4 KiB.',
  },
  unsupported_media_type: {
    status: 415,
    en: 'The body must be application/json without content encoding.',
    pt: 'O corpo deve ser application/json sem codificação de conteúdo.',
  },

  headers_too_large: {
    status: 431,
    en: 'The headers are larger than 16 KiB.',
    pt: 'Os cabeçalhos têm mais de 16 KiB.',
  },

  payment_link_busy: {
    status: 429,
    en: 'Too many payers have an open code of this link. Try again in a minute.',
    pt: 'Muitos pagadores estão com um código aberto deste link. Tente de novo em um minuto.',
  },
  rate_limited: {
    status: 429,
    en: 'Too many requests. Try again later.',
    pt: 'Requisições demais. Tente mais tarde.',
  },
  too_many_concurrent_requests: {
    status: 429,
    en: 'Too many requests at the same time.',
    pt: 'Requisições simultâneas demais.',
  },

  internal_error: { status: 500, en: 'An internal error occurred.', pt: 'Ocorreu um erro interno.' },

  processing_unavailable: {
    status: 503,
    en: 'Processing is unavailable. Keep the requestKey and look the payment up before repeating.',
    pt: 'Processamento indisponível. Guarde a requestKey e consulte o pagamento antes de repetir.',
  },
  provider_unavailable: {
    status: 503,
    en: 'The settlement provider is unavailable. Nothing was recorded.',
    pt: 'O provedor de liquidação está indisponível. Nada foi registrado.',
  },
  simulator_unavailable: {
    status: 503,
    en: 'The simulator does not answer. Look the payment up before you repeat the call.',
    pt: 'O simulador não responde. Consulte o pagamento antes de repetir a chamada.',
  },
  provider_not_configured: {
    status: 503,
    en: 'No settlement provider is configured for this account.',
    pt: 'Nenhum provedor de liquidação está configurado para esta conta.',
  },
  request_in_progress: {
    status: 503,
    en: 'A request with this requestKey is being processed. Repeat it with the same requestKey.',
    pt: 'Uma requisição com esta requestKey está em processamento. Repita com a mesma requestKey.',
  },
  withdrawals_paused: {
    status: 503,
    en: 'Withdrawals are paused on this platform.',
    pt: 'As transferências estão pausadas nesta plataforma.',
  },
  ledger_divergence: {
    status: 503,
    en: 'The balance differs from its ledger entries; the operator has been notified.',
    pt: 'O saldo difere dos lançamentos; o operador foi avisado.',
  },
  maintenance: { status: 503, en: 'The service is under maintenance.', pt: 'O serviço está em manutenção.' },
  overloaded: { status: 503, en: 'The service is overloaded.', pt: 'O serviço está sobrecarregado.' },
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof catalogue;

/** The faults that one field can have; the same for body and query. `{field}` is the field's name. */
const fieldCatalogue = {
  required: { en: '{field} is required', pt: '{field} é obrigatório' },
  unknown_property: { en: 'property {field} is not allowed', pt: 'a propriedade {field} não é permitida' },
  duplicate_property: {
    en: 'property {field} appears twice',
    pt: 'a propriedade {field} aparece duas vezes',
  },
  unknown_parameter: { en: 'parameter {field} is not allowed', pt: 'o parâmetro {field} não é permitido' },
  not_an_integer: { en: '{field} must be an integer', pt: '{field} deve ser um inteiro' },
  not_a_string: { en: '{field} must be a string', pt: '{field} deve ser um texto' },
  not_a_boolean: { en: '{field} must be true or false', pt: '{field} deve ser true ou false' },
  not_an_object: { en: '{field} must be an object', pt: '{field} deve ser um objeto' },
  not_a_list: { en: '{field} must be a list', pt: '{field} deve ser uma lista' },
  out_of_count: {
    en: '{field} must have {min} to {max} entries',
    pt: '{field} deve ter de {min} a {max} itens',
  },
  out_of_range: {
    en: '{field} must be an integer between {min} and {max}',
    pt: '{field} deve ser um inteiro entre {min} e {max}',
  },
  out_of_length: {
    en: '{field} must have {min} to {max} characters',
    pt: '{field} deve ter de {min} a {max} caracteres',
  },
  invalid_characters: {
    en: '{field} must not contain control characters or broken Unicode',
    pt: '{field} não pode conter caracteres de controle nem Unicode inválido',
  },
  not_a_uuid: { en: '{field} must be a UUID', pt: '{field} deve ser um UUID' },
  not_one_of: { en: '{field} must be one of {allowed}', pt: '{field} deve ser um de {allowed}' },
  not_a_time: {
    en: '{field} must be an RFC 3339 time with an offset or Z; in a query the sign + is written %2B',
    pt: '{field} deve ser um horário RFC 3339 com fuso ou Z; em uma consulta o sinal + se escreve %2B',
  },
  not_a_day_or_time: {
    en: '{field} must be a day as in 2026-11-21 or an RFC 3339 time with an offset or Z',
    pt: '{field} deve ser um dia como 2026-11-21 ou um horário RFC 3339 com fuso ou Z',
  },
  not_after_from: { en: '{field} must be later than from', pt: '{field} deve ser posterior a from' },
  not_ahead_of_test_clock: {
    en: '{field} must be later than the test clock, by two years from now at most',
    pt: '{field} deve ser posterior ao relógio de teste, no máximo dois anos à frente de agora',
  },
  invalid_pix_key: {
    en: '{field} is not a Pix key of this type: {expected}',
    pt: '{field} não é uma chave Pix deste tipo: {expected}',
  },
  invalid_format: { en: '{field} has an invalid format', pt: '{field} tem formato inválido' },
} as const satisfies Record<string, Omit<CatalogueEntry, 'status'>>;

/** The format of a Pix key of each type, as a person writes it. */
const pixKeyFormats = {
  EMAIL: { en: 'one @, as in maria@example.com', pt: 'um @, como em maria@exemplo.com.br' },
  CPF: { en: '11 digits, without dots or hyphen', pt: '11 dígitos, sem pontos nem hífen' },
  CNPJ: { en: '14 digits, without dots, slash or hyphen', pt: '14 dígitos, sem pontos, barra nem hífen' },
  PHONE: { en: '+ and digits, as in +5511999998888', pt: '+ e dígitos, como em +5511999998888' },
  RANDOM: { en: 'a UUID with hyphens', pt: 'um UUID com hífens' },
} as const;

export type FieldCode = keyof typeof fieldCatalogue;

export const fieldCodes = Object.keys(fieldCatalogue) as FieldCode[];

/** One entry of `details` of a `validation_failed`: one per field. */
export interface FieldProblem {
  field: string;
  code: FieldCode;
  min?: number;
  max?: number;
  allowed?: readonly string[];
  /** With `invalid_pix_key`: the type whose format the key does not have. */
  pixKeyType?: keyof typeof pixKeyFormats;
}

export interface RefusalOptions {
  details?: readonly object[];
  /** The payment that the refusal speaks of: idempotency conflicts, refused transfers. */
  paymentId?: string;
  retryAfterSeconds?: number;
  /** Fills the message's `{name}`. */
  params?: Readonly<Record<string, string>>;
}

/** A refusal that the caller may see, all of it. */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly code: ErrorCode;
  readonly options: RefusalOptions;
  constructor(code: ErrorCode, options: RefusalOptions = {}) {
    super(code);
    this.code = code;
    this.options = options;
  }
  get status(): number {
    return catalogue[this.code].status;
  }
}

/** `throw refuse('insufficient_balance')`. */
export const refuse = (code: ErrorCode, options?: RefusalOptions): ApiError => new ApiError(code, options);

/** The only refusal whose `message` is an array: one string per problem. */
export const refuseFields = (problems: readonly FieldProblem[]): ApiError =>
  new ApiError('validation_failed', { details: problems });

export type Language = 'en' | 'pt-BR';

/** The body of every error. `statusCode` and `message` are the interface's; the rest is additive. */
export interface ErrorBody {
  statusCode: number;
  message: string | string[];
  error: string;
  code: ErrorCode;
  requestId: string;
  details?: readonly object[];
  paymentId?: string;
}

const reasonPhrases: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  413: 'Payload Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

export function errorBody(error: ApiError, language: Language, requestId: string): ErrorBody {
  const { code, options } = error;
  const entry: CatalogueEntry = catalogue[code];
  const body: ErrorBody = {
    statusCode: entry.status,
    message:
      code === 'validation_failed' && options.details
        ? options.details.map((problem) => problemMessage(problem as FieldProblem, language))
        : fill(language === 'en' ? entry.en : entry.pt, options.params),
    error: reasonPhrases[entry.status] ?? 'Error',
    code,
    requestId,
  };
  if (options.details) body.details = options.details;
  if (options.paymentId) body.paymentId = options.paymentId;
  return body;
}

function problemMessage(problem: FieldProblem, language: Language): string {
  const { code, min } = problem;
  const entry = fieldCatalogue[code === 'not_an_integer' && min !== undefined ? 'out_of_range' : code];
  const of = language === 'en' ? 'en' : 'pt';
  return fill(entry[of], {
    field: problem.field,
    min: String(problem.min),
    max: String(problem.max),
    allowed: problem.allowed?.join(', ') ?? '',
    expected: problem.pixKeyType ? pixKeyFormats[problem.pixKeyType][of] : '',
  });
}

function fill(template: string, params: Readonly<Record<string, string>> | undefined): string {
  if (!params) return template;
  return template.replace(/\{(\w+)\}/g, (whole, name: string) => params[name] ?? whole);
}

/** The language of messages: whichever of English and Portuguese Accept-Language weighs more, else the service's own. */
export function languageOf(acceptLanguage: string | undefined, own: Language = 'en'): Language {
  if (acceptLanguage === undefined) return own;
  let best: Language = own;
  let bestWeight = 0;
  for (const part of acceptLanguage.split(',')) {
    const [range = '', ...parameters] = part.split(';');
    const tag = range.trim().toLowerCase();
    const language =
      tag === 'en' || tag.startsWith('en-') ? 'en' : tag === 'pt' || tag.startsWith('pt-') ? 'pt-BR' : null;
    if (language === null) continue;
    const weight = Number(
      parameters
        .find((p) => p.trim().startsWith('q='))
        ?.trim()
        .slice(2) ?? 1,
    );
    if (weight > bestWeight) {
      best = language;
      bestWeight = weight;
    }
  }
  return best;
}
