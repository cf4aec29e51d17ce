import type { Language } from '../../ground/errors.ts';
import type { Letterhead } from '../../ground/letterhead.ts';
import { brasiliaTime, type Mail, type MailText } from '../../ground/mail.ts';
import { type Permission, permissionNames } from '../../ground/permissions.ts';
import type { Role } from './roles.ts';

const roleNames: Readonly<Record<Language, Readonly<Record<Role, string>>>> = {
  'pt-BR': {
    owner: 'proprietário',
    admin: 'administrador',
    finance: 'financeiro',
    developer: 'desenvolvedor',
    viewer: 'leitura',
  },
  en: {
    owner: 'owner',
    admin: 'administrator',
    finance: 'finance',
    developer: 'developer',
    viewer: 'viewer',
  },
};

interface FactorChange {
  factor: 'app' | 'passkey' | 'backup codes' | 'all';
  added: boolean;
  ip: string | null;
}

interface Invite {
  accountName: string;
  role: Role;
  token: string;
  /** Of the one who invites, whom the invited person knows; absent: an operator invites. */
  language?: Language;
}

interface SeenSignIn {
  ip: string;
  browser: string;
  at: number;
}

interface SupportSeen {
  accountName: string;
  operator: string;
  reason: string;
  until: number;
}

interface CreatedKey {
  accountName: string;
  name: string;
  by: string;
  permissions: readonly Permission[];
}

/** Subject and text of a mail in both languages, without its recipient. */
type Texts = Readonly<Record<Language, MailText>>;

/** The parts of the panel's mails. */
export interface MailDeps {
  config: { publicUrl: string };
  mail: Mail;
}

/**
 * The panel's own mails. The address of a link is never taken from a request. What concerns a person (sign-in, password, e-mail) has our own
 * letterhead, because a person may belong to several accounts. An invitation too: it goes to strangers, whom a merchant could
 * otherwise send mails under any name and picture.
 */
export function panelMails({ config, mail }: MailDeps) {
  return {
    passwordReset: (to: string, token: string): Promise<void> =>
      mail.send({ to, ...passwordResetText(config.publicUrl, token) }),
    passwordWasReset: (to: string): Promise<void> => mail.send({ to, ...passwordWasResetText }),
    passwordWasChanged: (to: string): Promise<void> =>
      mail.send({ to, ...passwordWasChangedText(config.publicUrl) }),
    factorChanged: (to: string, change: FactorChange): Promise<void> =>
      mail.send({ to, ...factorChangedText(config.publicUrl, change) }),
    wrongCodes: (to: string, ip: string): Promise<void> =>
      mail.send({ to, ...wrongCodesText(config.publicUrl, ip) }),
    invitation: (to: string, invite: Invite): Promise<void> =>
      mail.send({ to, first: invite.language, ...invitationText(config.publicUrl, invite) }),
    confirmEmail: (to: string, token: string): Promise<void> =>
      mail.send({ to, ...confirmEmailText(config.publicUrl, token) }),
    emailChangeAsked: (to: string, newEmail: string, cancelToken: string): Promise<void> =>
      mail.send({ to, ...emailChangeAskedText(config.publicUrl, newEmail, cancelToken) }),
    emailTaken: (to: string): Promise<void> => mail.send({ to, ...emailTakenText }),
    emailWasChanged: (to: string, newEmail: string): Promise<void> =>
      mail.send({ to, ...emailWasChangedText(newEmail) }),
    newSignIn: (to: string, seen: SeenSignIn): Promise<void> =>
      mail.send({ to, ...newSignInText(config.publicUrl, seen) }),
    supportView: (to: string, seen: SupportSeen): Promise<void> =>
      mail.send({ to, ...supportViewText(config.publicUrl, seen) }),
    keyCreated: (to: string, key: CreatedKey, letterhead: Letterhead | null): Promise<void> =>
      mail.send({ to, letterhead, ...keyCreatedText(key) }),
  };
}

export type PanelMails = ReturnType<typeof panelMails>;

const passwordResetText = (publicUrl: string, token: string): Texts => ({
  'pt-BR': {
    subject: 'nova senha',
    text: `Para escolher uma nova senha, abra este link em até 1 hora:

${publicUrl}/nova-senha#${token}

Se não foi você quem pediu, ignore esta mensagem: nada muda.
Depois da troca, transferências e alterações de chaves, pessoas, webhooks e e-mail ficam suspensas por 24 horas.
`,
  },
  en: {
    subject: 'new password',
    text: `To choose a new password, open this link within one hour:

${publicUrl}/nova-senha#${token}

If you did not ask for it, ignore this message: nothing changes.
After the change, transfers and changes to keys, people, webhooks and e-mail are suspended for 24 hours.
`,
  },
});

const passwordWasResetText: Texts = {
  'pt-BR': {
    subject: 'sua senha foi redefinida',
    text: `Sua senha do vintem foi redefinida e todas as sessões foram encerradas.
Transferências pelo painel ficam suspensas por 24 horas.

Se não foi você, fale agora com o operador do serviço.
`,
  },
  en: {
    subject: 'your password was reset',
    text: `Your vintem password was reset and all sessions were ended.
Transfers from the panel are suspended for 24 hours.

If it was not you, contact the operator of the service now.
`,
  },
};

const passwordWasChangedText = (publicUrl: string): Texts => ({
  'pt-BR': {
    subject: 'sua senha foi alterada',
    text: `Sua senha do vintem foi alterada no painel e suas outras sessões foram encerradas.

Se não foi você, peça agora uma nova senha em ${publicUrl}/senha e fale com o operador do serviço.
`,
  },
  en: {
    subject: 'your password was changed',
    text: `Your vintem password was changed in the panel and your other sessions were ended.

If it was not you, ask for a new password now at ${publicUrl}/senha and contact the operator of the service.
`,
  },
});

const factorChangedText = (publicUrl: string, change: FactorChange): Texts => ({
  'pt-BR': {
    subject: change.added ? 'segundo fator adicionado' : 'segundo fator removido',
    text: `${change.added ? 'Segundo fator adicionado à' : 'Segundo fator removido da'} sua conta: ${factorNames['pt-BR'][change.factor]}${change.ip === null ? '' : ` (endereço IP ${change.ip})`}.
${
  change.added
    ? 'Por 24 horas, transferências e alterações de chaves, pessoas, webhooks e e-mail ficam suspensas.'
    : 'As outras sessões foram encerradas.'
}

Se não foi você, peça agora uma nova senha em ${publicUrl}/senha e fale com o operador do serviço.
`,
  },
  en: {
    subject: change.added ? 'second factor added' : 'second factor removed',
    text: `Second factor ${change.added ? 'added to' : 'removed from'} your account: ${factorNames.en[change.factor]}${change.ip === null ? '' : ` (IP address ${change.ip})`}.
${
  change.added
    ? 'For 24 hours, transfers and changes to keys, people, webhooks and e-mail are suspended.'
    : 'The other sessions were ended.'
}

If it was not you, ask for a new password now at ${publicUrl}/senha and contact the operator of the service.
`,
  },
});

const wrongCodesText = (publicUrl: string, ip: string): Texts => ({
  'pt-BR': {
    subject: 'códigos errados na sua conta',
    text: `Sua senha do vintem foi informada e depois dela vários códigos que não conferem (endereço IP ${ip}).

Se não foi você, alguém conhece sua senha: peça agora uma nova senha em ${publicUrl}/senha. Sem o código, ninguém entra.
No navegador em que você já entrou, suas próprias tentativas continuam livres.
`,
  },
  en: {
    subject: 'wrong codes for your account',
    text: `Your vintem password was given, and after it several codes that do not fit (IP address ${ip}).

If it was not you, someone knows your password: ask for a new password now at ${publicUrl}/senha. Without the code no one gets in.
In the browser where you signed in before, your own tries are not limited by this.
`,
  },
});

const supportViewText = (
  publicUrl: string,
  { accountName, operator, reason, until }: SupportSeen,
): Texts => ({
  'pt-BR': {
    subject: `o suporte vê o painel de ${accountName}`,
    text: `${operator}, do suporte do serviço, vê agora o painel da conta ${accountName}, até ${brasiliaTime(until)} no máximo.
Motivo: ${reason}

Nada pode ser alterado, e chaves Pix, documentos e nomes de pessoas ficam ocultos. Para encerrar agora:

${publicUrl}/seguranca
`,
  },
  en: {
    subject: `support sees the panel of ${accountName}`,
    text: `${operator}, of the service's support, sees the panel of the account ${accountName} now, until ${brasiliaTime(until)} at most.
Reason: ${reason}

Nothing can be changed, and Pix keys, documents and names of people are hidden. To end it now:

${publicUrl}/seguranca
`,
  },
});

const invitationText = (publicUrl: string, invite: Invite): Texts => ({
  'pt-BR': {
    subject: `convite para ${invite.accountName}`,
    text: `Você foi convidado para a conta ${invite.accountName} no vintem (papel: ${roleNames['pt-BR'][invite.role]}).
Abra este link em até 7 dias e escolha uma senha:

${invitationLink(publicUrl, invite.token)}
`,
  },
  en: {
    subject: `invitation to ${invite.accountName}`,
    text: `You were invited to the account ${invite.accountName} on vintem (role: ${roleNames.en[invite.role]}).
Open this link within 7 days and choose a password:

${invitationLink(publicUrl, invite.token)}
`,
  },
});

const confirmEmailText = (publicUrl: string, token: string): Texts => ({
  'pt-BR': {
    subject: 'confirme seu novo e-mail',
    text: `Para usar este e-mail no vintem, abra este link em até 1 hora:

${publicUrl}/novo-email#${token}

Todas as sessões serão encerradas, e transferências pelo painel ficarão suspensas por 24 horas.
Se não foi você quem pediu, ignore esta mensagem: nada muda.
`,
  },
  en: {
    subject: 'confirm your new e-mail',
    text: `To use this e-mail with vintem, open this link within one hour:

${publicUrl}/novo-email#${token}

All sessions will end, and transfers from the panel will be suspended for 24 hours.
If you did not ask for it, ignore this message: nothing changes.
`,
  },
});

const emailChangeAskedText = (publicUrl: string, newEmail: string, cancelToken: string): Texts => ({
  'pt-BR': {
    subject: 'pedido de troca de e-mail',
    text: `Foi pedida a troca do seu e-mail de acesso ao vintem para ${masked(newEmail)}.
A troca acontece quando o link enviado ao novo endereço for aberto, em até 1 hora.

Se não foi você, cancele aqui e troque sua senha:

${publicUrl}/cancelar-email#${cancelToken}
`,
  },
  en: {
    subject: 'request to change your e-mail',
    text: `A change of your vintem sign-in e-mail to ${masked(newEmail)} was requested.
It takes effect when the link sent to the new address is opened, within one hour.

If it was not you, cancel it here and change your password:

${publicUrl}/cancelar-email#${cancelToken}
`,
  },
});

const emailTakenText: Texts = {
  'pt-BR': {
    subject: 'este e-mail já tem acesso',
    text: `Houve um pedido para usar este e-mail no vintem, mas ele já é de uma pessoa com acesso. Nada mudou.
`,
  },
  en: {
    subject: 'this e-mail already has access',
    text: `There was a request to use this e-mail with vintem, but it already belongs to a person with access. Nothing has changed.
`,
  },
};

const emailWasChangedText = (newEmail: string): Texts => ({
  'pt-BR': {
    subject: 'seu e-mail foi trocado',
    text: `Seu e-mail de acesso ao vintem passou a ser ${masked(newEmail)}.
Todas as sessões foram encerradas. Transferências pelo painel ficam suspensas por 24 horas.

Se não foi você, fale agora com o operador do serviço.
`,
  },
  en: {
    subject: 'your e-mail was changed',
    text: `Your vintem sign-in e-mail is now ${masked(newEmail)}.
All sessions were ended. Transfers from the panel are suspended for 24 hours.

If it was not you, contact the operator of the service now.
`,
  },
});

const newSignInText = (publicUrl: string, seen: SeenSignIn): Texts => ({
  'pt-BR': {
    subject: 'novo acesso à sua conta',
    text: `Houve um acesso ao vintem com seu e-mail, de um endereço IP ou navegador novo:

  Quando       ${brasiliaTime(seen.at)}
  Endereço IP  ${seen.ip}
  Navegador    ${seen.browser.replace(/[^\x20-\x7e]/g, '?')}

Se não foi você, troque sua senha e encerre as sessões em Segurança: ${publicUrl}/seguranca
`,
  },
  en: {
    subject: 'new sign-in to your account',
    text: `Your e-mail was used to sign in to vintem from a new IP address or browser:

  When         ${brasiliaTime(seen.at)}
  IP address   ${seen.ip}
  Browser      ${seen.browser.replace(/[^\x20-\x7e]/g, '?')}

If it was not you, change your password and end the sessions under Security: ${publicUrl}/seguranca
`,
  },
});

const keyCreatedText = (key: CreatedKey): Texts => ({
  'pt-BR': {
    subject: `nova chave de API em ${key.accountName}`,
    text: `${key.by} criou a chave de API "${key.name}" na conta ${key.accountName}.
Permissões: ${key.permissions.map((one) => permissionNames[one]).join(', ')}${key.permissions.includes('transfers') ? ' (pode enviar Pix sem código)' : ''}.

Se a sua equipe não criou esta chave, revogue-a em Integrações, Chaves de API.
`,
  },
  en: {
    subject: `new API key in ${key.accountName}`,
    text: `${key.by} created the API key "${key.name}" in the account ${key.accountName}.
Permissions: ${key.permissions.join(', ')}${key.permissions.includes('transfers') ? ' (can send Pix without a code)' : ''}.

If your team did not create this key, revoke it under Integrations, API keys.
`,
  },
});

const factorNames = {
  'pt-BR': {
    app: 'aplicativo autenticador',
    passkey: 'passkey',
    'backup codes': 'códigos de recuperação',
    all: 'todos os segundos fatores, pelo operador do serviço',
  },
  en: {
    app: 'authenticator app',
    passkey: 'passkey',
    'backup codes': 'recovery codes',
    all: 'all second factors, by the operator of the service',
  },
} as const;

/** The secret stands behind `#`: browsers send it to no server, and so it is in no log. */
export const invitationLink = (publicUrl: string, token: string): string => `${publicUrl}/convite#${token}`;

/** First letter and domain. */
const masked = (email: string): string => `${email.slice(0, 1)}***${email.slice(email.lastIndexOf('@'))}`;
