import type { PanelHouse } from './house.ts';
import type { Role } from './roles.ts';

const roleNames: Readonly<Record<Role, string>> = {
  owner: 'proprietário',
  admin: 'administrador',
  finance: 'financeiro',
  developer: 'desenvolvedor',
  viewer: 'leitura',
};

/** The panel's own mails, in Portuguese with English below. The address of a link is never taken from a request. */
export function panelMails({ config, mail }: Pick<PanelHouse, 'config' | 'mail'>) {
  return {
    passwordReset: (to: string, token: string): Promise<void> =>
      mail.send({
        to,
        subject: 'vintem: nova senha',
        text: `Para escolher uma nova senha, abra este endereço em até 1 hora:

${config.publicUrl}/nova-senha#${token}

Se não foi você quem pediu, ignore esta mensagem: nada muda.
Depois da troca, transferências pelo painel ficam suspensas por 24 horas.

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
    keyCreated: (to: string, key: { accountName: string; name: string; by: string }): Promise<void> =>
      mail.send({
        to,
        subject: `vintem: nova chave de API em ${key.accountName}`,
        text: `${key.by} criou a chave de API "${key.name}" na conta ${key.accountName}, com permissão para transferências.

Se ninguém da sua equipe fez isso, revogue a chave em Integrações, Chaves.

—
${key.by} created the API key "${key.name}" with the permission to send transfers.
`,
      }),
  };
}

/** The secret stands behind `#`: browsers send it to no server, and so it is in no log. */
export const invitationLink = (publicUrl: string, token: string): string => `${publicUrl}/convite#${token}`;
