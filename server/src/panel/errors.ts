import type { ErrorBody, Language } from '../ground/errors.ts';

/** Errors that only the panel shows, in addition to the catalogue of the public API. */
const catalogue = {
  not_signed_in: { status: 401, en: 'Sign in to continue.', pt: 'Entre para continuar.' },
  origin_refused: {
    status: 403,
    en: 'The request did not come from the panel.',
    pt: 'A requisição não veio do painel.',
  },
  role_denied: {
    status: 403,
    en: 'Your role in this account does not allow this.',
    pt: 'Seu papel nesta conta não permite isto.',
  },
  reauthentication_required: {
    status: 403,
    en: 'Enter your password again to continue.',
    pt: 'Informe sua senha de novo para continuar.',
  },
  second_factor_required: {
    status: 403,
    en: 'This needs a second factor. Set one up under Security, or sign in again with the one you have.',
    pt: 'Isto exige um segundo fator. Configure um em Segurança ou entre de novo com o que você já tem.',
  },
  access_frozen: {
    status: 403,
    en: 'For 24 hours after a password reset, an e-mail change or a new second factor you cannot transfer, change keys, people, webhooks or your e-mail, or add a second factor.',
    pt: 'Por 24 horas após redefinir a senha, trocar o e-mail ou adicionar um segundo fator, você não pode transferir, alterar chaves, pessoas, webhooks ou seu e-mail, nem adicionar um segundo fator.',
  },
  sign_in_failed: {
    status: 401,
    en: 'E-mail, password or code are wrong. A code counts once, and after several wrong ones none counts for a quarter of an hour.',
    pt: 'E-mail, senha ou código errados. Um código vale uma vez, e após vários errados nenhum vale por um quarto de hora.',
  },
  passkey_refused: {
    status: 401,
    en: 'The passkey was not accepted. Try again, or enter with password and code.',
    pt: 'A passkey não foi aceita. Tente de novo, ou entre com senha e código.',
  },
  factor_refused: {
    status: 400,
    en: 'The code or the passkey was not accepted. A code counts once.',
    pt: 'O código ou a passkey não foi aceito. Um código vale uma vez.',
  },
  fresh_factor_required: {
    status: 403,
    en: 'Show a second factor again: a code of the app or a passkey.',
    pt: 'Mostre de novo um segundo fator: um código do aplicativo ou uma passkey.',
  },
  oidc_refused: {
    status: 401,
    en: 'The sign-in at the identity provider opens no session here. Begin again, or enter in another way; an administrator sees in the log of the service why.',
    pt: 'A entrada pelo provedor de identidade não abre uma sessão aqui. Comece de novo, ou entre de outro jeito; a administração vê o motivo no log do serviço.',
  },
  oidc_unreachable: {
    status: 503,
    en: 'The identity provider does not answer. Enter with password and code, or with a passkey.',
    pt: 'O provedor de identidade não responde. Entre com senha e código, ou com uma passkey.',
  },
  operator_role_denied: {
    status: 403,
    en: 'Your role does not allow this.',
    pt: 'Seu papel não permite isto.',
  },
  operator_address_refused: {
    status: 403,
    en: 'The console does not open from this address.',
    pt: 'O console não abre a partir deste endereço.',
  },
  view_reads_only: {
    status: 403,
    en: 'This is a view of the panel by support: it reads pages, gives no files and changes nothing.',
    pt: 'Esta é uma visita do suporte ao painel: ela lê páginas, não entrega arquivos e não muda nada.',
  },
  view_not_granted: {
    status: 403,
    en: 'An owner of the account has to let support see the panel first, under Security.',
    pt: 'Um proprietário da conta precisa antes permitir a visita do suporte, em Segurança.',
  },
  facts_changed: {
    status: 409,
    en: 'The facts have changed since they were shown, and nothing was written. Look again.',
    pt: 'Os fatos mudaram desde que foram mostrados, e nada foi gravado. Veja de novo.',
  },
  second_person_needed: {
    status: 403,
    en: 'This moves more than one person may decide alone.',
    pt: 'Isto move mais do que uma pessoa pode decidir sozinha.',
  },
  own_request: {
    status: 403,
    en: 'Another person has to agree to what you asked for.',
    pt: 'Outra pessoa precisa concordar com o que você pediu.',
  },
  request_closed: {
    status: 409,
    en: 'This request was decided already, has expired, or the person who asked for it may not do this any more.',
    pt: 'Este pedido já foi decidido, expirou, ou quem pediu não pode mais fazer isto.',
  },
  books_busy: {
    status: 503,
    en: 'Payments of the same operation were in the way. Nothing was written; try again.',
    pt: 'Pagamentos da mesma operação estavam no caminho. Nada foi gravado; tente de novo.',
  },
  act_refused: {
    status: 409,
    en: 'This does not fit any more, and nothing was written. Look again.',
    pt: 'Isto não cabe mais, e nada foi gravado. Veja de novo.',
  },
  wrong_password: { status: 400, en: 'The password is wrong.', pt: 'A senha está errada.' },
  password_too_long: {
    status: 400,
    en: 'A password has at most 128 characters.',
    pt: 'A senha tem no máximo 128 caracteres.',
  },
  field_unreadable: {
    status: 400,
    en: 'A field contains invalid characters.',
    pt: 'Um campo contém caracteres inválidos.',
  },
  field_too_long: {
    status: 400,
    en: 'A field is too long.',
    pt: 'Um campo é longo demais.',
  },
  weak_password: {
    status: 400,
    en: 'This password is easy to guess. Choose another one, such as four words that do not belong together.',
    pt: 'Esta senha é fácil de adivinhar. Escolha outra, como quatro palavras sem relação entre si.',
  },
  invitation_invalid: {
    status: 400,
    en: 'This invitation has expired or was already used. Ask for another one.',
    pt: 'Este convite expirou ou já foi usado. Peça outro.',
  },
  invitation_again: {
    status: 400,
    en: 'Another invitation to this address was just accepted. Open this one again.',
    pt: 'Outro convite para este endereço acaba de ser aceito. Abra este de novo.',
  },
  link_invalid: {
    status: 400,
    en: 'This link has expired or was already used. Ask for another one.',
    pt: 'Este link expirou ou já foi usado. Peça outro.',
  },
  receipt_not_yet: {
    status: 400,
    en: 'The receipt is available once the Pix is settled.',
    pt: 'O comprovante fica disponível depois que o Pix é liquidado.',
  },
  key_refused: {
    status: 400,
    en: 'The key cannot be created like this. Check its name, addresses and lifetime.',
    pt: 'A chave não pode ser criada assim. Confira o nome, os endereços e a validade.',
  },
  already_member: {
    status: 400,
    en: 'This person already belongs to the account.',
    pt: 'Esta pessoa já pertence à conta.',
  },
  last_owner: {
    status: 400,
    en: 'An account must keep at least one owner.',
    pt: 'Uma conta precisa ter ao menos um proprietário.',
  },
  key_name_taken: {
    status: 400,
    en: 'An active key already has this name.',
    pt: 'Uma chave ativa já tem este nome.',
  },
  key_limit_reached: {
    status: 400,
    en: 'An account has at most 20 active keys.',
    pt: 'Uma conta tem no máximo 20 chaves ativas.',
  },
  cnpj_invalid: {
    status: 400,
    en: 'Invalid CNPJ: check its 14 characters.',
    pt: 'CNPJ inválido: confira os 14 caracteres.',
  },
  colour_too_light: {
    status: 400,
    en: 'The colour is too light: white text on it could not be read. Choose a darker one.',
    pt: 'A cor é clara demais: um texto branco sobre ela não seria legível. Escolha uma mais escura.',
  },
  logo_refused: {
    status: 400,
    en: 'The logo is not a plain PNG of at most 480 × 160 pixels and 64 KiB.',
    pt: 'O logotipo não é um PNG simples de até 480 × 160 pixels e 64 KiB.',
  },
  receiver_limit_reached: {
    status: 400,
    en: 'An account has at most 500 saved receivers.',
    pt: 'Uma conta tem no máximo 500 recebedores salvos.',
  },
  not_found: { status: 404, en: 'Not found.', pt: 'Não encontrado.' },
  too_many_attempts: {
    status: 429,
    en: 'Too many attempts. Wait a few minutes.',
    pt: 'Tentativas demais. Espere alguns minutos.',
  },
} as const;

export type PanelErrorCode = keyof typeof catalogue;

export class PanelError extends Error {
  override name = 'PanelError';
  readonly code: PanelErrorCode;
  constructor(code: PanelErrorCode) {
    super(code);
    this.code = code;
  }
  get status(): number {
    return catalogue[this.code].status;
  }
}

/** In the form of every error of the service. */
export function panelErrorBody(
  error: PanelError,
  language: Language,
  requestId: string,
): Omit<ErrorBody, 'code'> & { code: PanelErrorCode } {
  const { status, en, pt } = catalogue[error.code];
  return {
    statusCode: status,
    message: language === 'en' ? en : pt,
    error: 'Error',
    code: error.code,
    requestId,
  };
}
