import type { PanelDeps } from '../deps.ts';
import type { Role } from './roles.ts';

const roleNames: Readonly<Record<Role, string>> = {
  owner: 'proprietário',
  admin: 'administrador',
  finance: 'financeiro',
  developer: 'desenvolvedor',
  viewer: 'leitura',
};

const saoPaulo = new Intl.DateTimeFormat('pt-BR', {
  timeZone: 'America/Sao_Paulo',
  dateStyle: 'short',
  timeStyle: 'short',
});

/** The panel's own mails, in Portuguese with English below. The address of a link is never taken from a request. */
export function panelMails({ config, mail }: Pick<PanelDeps, 'config' | 'mail'>) {
  return {
    passwordReset: (to: string, token: string): Promise<void> =>
      mail.send({
        to,
        subject: 'vintem: nova senha',
        text: `Para escolher uma nova senha, abra este endereço em até 1 hora:

${config.publicUrl}/nova-senha#${token}

Se não foi você quem pediu, ignore esta mensagem: nada muda.
Depois da troca, transferências e alterações de chaves, pessoas, webhooks e e-mail ficam suspensas por 24 horas.

—
To choose a new password, open the address above within one hour. If you did not ask for it, ignore this message.
`,
      }),
    passwordWasReset: (to: string): Promise<void> =>
      mail.send({
        to,
        subject: 'vintem: sua senha foi trocada',
        text: `Sua senha do vintem foi trocada e todas as sessões foram encerradas.
Transferências pelo painel ficam suspensas por 24 horas.

Se não foi você, fale agora com quem opera o serviço.

—
Your vintem password was reset and all sessions were ended. Transfers from the panel wait for 24 hours.
`,
      }),
    passwordWasChanged: (to: string): Promise<void> =>
      mail.send({
        to,
        subject: 'vintem: sua senha foi alterada',
        text: `Sua senha do vintem foi alterada no painel e suas outras sessões foram encerradas.

Se não foi você, peça agora uma nova senha em ${config.publicUrl}/senha e fale com quem opera o serviço.

—
Your vintem password was changed in the panel and your other sessions were ended. If it was not you, reset your password now and
contact the operator of the service.
`,
      }),
    factorChanged: (
      to: string,
      change: { factor: 'app' | 'passkey' | 'backup codes' | 'all'; added: boolean; ip: string | null },
    ): Promise<void> =>
      mail.send({
        to,
        subject: change.added ? 'vintem: segundo fator adicionado' : 'vintem: segundo fator removido',
        text: `${change.added ? 'Adicionado' : 'Removido'} em sua conta: ${factorNames[change.factor]}${change.ip === null ? '' : ` (endereço IP ${change.ip})`}.
${
  change.added
    ? 'Por 24 horas, transferências e alterações de chaves, pessoas, webhooks e e-mail ficam suspensas.'
    : 'As outras sessões foram encerradas.'
}

Se não foi você, peça agora uma nova senha em ${config.publicUrl}/senha e fale com quem opera o serviço.

—
A second factor was ${change.added ? 'added to' : 'removed from'} your vintem account. If it was not you, reset your password now and
contact the operator of the service.
`,
      }),
    invitation: (to: string, invite: { accountName: string; role: Role; token: string }): Promise<void> =>
      mail.send({
        to,
        subject: `vintem: convite para ${invite.accountName}`,
        text: `Você foi convidado para a conta ${invite.accountName} no vintem (papel: ${roleNames[invite.role]}).
Abra este endereço em até 7 dias e escolha uma senha:

${invitationLink(config.publicUrl, invite.token)}

—
You were invited to the account ${invite.accountName}. Open the address above within 7 days and choose a password.
`,
      }),
    confirmEmail: (to: string, token: string): Promise<void> =>
      mail.send({
        to,
        subject: 'vintem: confirme seu novo e-mail',
        text: `Para usar este e-mail no vintem, abra este endereço em até 1 hora:

${config.publicUrl}/novo-email#${token}

Todas as sessões serão encerradas e transferências pelo painel ficam suspensas por 24 horas.
Se não foi você quem pediu, ignore esta mensagem: nada muda.

—
To use this address with vintem, open the link above within one hour. All sessions end and transfers from the panel wait for
24 hours. If you did not ask for it, ignore this message.
`,
      }),
    emailChangeAsked: (to: string, newEmail: string, cancelToken: string): Promise<void> =>
      mail.send({
        to,
        subject: 'vintem: pedido de troca de e-mail',
        text: `Foi pedida a troca do e-mail com que você entra no vintem para ${masked(newEmail)}.
A troca acontece quando o link enviado ao novo endereço for aberto, em até 1 hora.

Se não foi você, cancele aqui e troque sua senha:

${config.publicUrl}/cancelar-email#${cancelToken}

—
Somebody asked to change the address with which you sign in to vintem. If it was not you, cancel the change with the link above and
change your password.
`,
      }),
    emailTaken: (to: string): Promise<void> =>
      mail.send({
        to,
        subject: 'vintem: este e-mail já tem acesso',
        text: `Alguém pediu para usar este e-mail no vintem, mas ele já pertence a uma pessoa aqui. Nada mudou.

—
Somebody asked to use this address with vintem, but it belongs to a person here already. Nothing has changed.
`,
      }),
    emailWasChanged: (to: string, newEmail: string): Promise<void> =>
      mail.send({
        to,
        subject: 'vintem: seu e-mail foi trocado',
        text: `O e-mail com que você entra no vintem passou a ser ${masked(newEmail)}.
Todas as sessões foram encerradas. Transferências pelo painel ficam suspensas por 24 horas.

Se não foi você, fale agora com quem opera o serviço.

—
The address with which you sign in to vintem was changed. All sessions were ended and transfers from the panel wait for 24
hours. If it was not you, contact the operator of the service now.
`,
      }),
    newSignIn: (to: string, seen: { ip: string; browser: string; at: number }): Promise<void> =>
      mail.send({
        to,
        subject: 'vintem: novo acesso à sua conta',
        text: `Alguém entrou no vintem com seu e-mail, de um lugar que ainda não conhecíamos:

  Quando       ${saoPaulo.format(seen.at).replace(',', '')} (Brasília)
  Endereço IP  ${seen.ip}
  Navegador    ${seen.browser.replace(/[^\x20-\x7e]/g, '?')}

Se não foi você, troque sua senha e encerre as sessões em Segurança: ${config.publicUrl}/seguranca

—
Somebody signed in to vintem with your address from a place that is new to us. If it was not you, change your password and end
the sessions under Security.
`,
      }),
    keyCreated: (
      to: string,
      key: { accountName: string; name: string; by: string; permissions: readonly string[] },
    ): Promise<void> =>
      mail.send({
        to,
        subject: `vintem: nova chave de API em ${key.accountName}`,
        text: `${key.by} criou a chave de API "${key.name}" na conta ${key.accountName}.
Permissões: ${key.permissions.join(', ')}${key.permissions.includes('transfers') ? ' (pode enviar Pix sem código)' : ''}.

Se ninguém da sua equipe fez isso, revogue a chave em Integrações, Chaves.

—
${key.by} created the API key "${key.name}". If nobody of your team did, revoke it under Integrations, Keys.
`,
      }),
  };
}

const factorNames = {
  app: 'aplicativo autenticador',
  passkey: 'passkey',
  'backup codes': 'códigos de reserva',
  all: 'todos os segundos fatores, pelo operador do serviço',
} as const;

/** The secret stands behind `#`: browsers send it to no server, and so it is in no log. */
export const invitationLink = (publicUrl: string, token: string): string => `${publicUrl}/convite#${token}`;

/** First letter and domain. */
const masked = (email: string): string => `${email.slice(0, 1)}***${email.slice(email.lastIndexOf('@'))}`;
