import { brasiliaTime, type Letter } from '../../ground/mail.ts';

export type FactorChange = 'passkey_add' | 'passkey_remove' | 'oidc_bind' | 'oidc_remove';

const words: Record<FactorChange, { pt: string; en: string }> = {
  passkey_add: { pt: 'Uma passkey foi adicionada', en: 'A passkey was added' },
  passkey_remove: { pt: 'Uma passkey foi removida', en: 'A passkey was removed' },
  oidc_bind: {
    pt: 'Uma conta do provedor de identidade foi vinculada',
    en: 'An account at the identity provider was bound',
  },
  oidc_remove: {
    pt: 'A conta do provedor de identidade foi desvinculada',
    en: 'The account at the identity provider was unbound',
  },
};

/** To the operator whose sign-in has changed. */
export const letterOfFactor = (
  to: string,
  { change, at, network }: { change: FactorChange; at: number; network: string },
): Letter => ({
  to,
  'pt-BR': {
    subject: `Seu acesso ao console do operador: ${words[change].pt.toLowerCase()}`,
    text: `${words[change].pt}, em ${brasiliaTime(at)}, a partir de ${network}.

Se não foi você, avise agora outra pessoa da administração: ela suspende o seu acesso.
`,
  },
  en: {
    subject: `Your access to the operator console: ${words[change].en.toLowerCase()}`,
    text: `${words[change].en}, on ${brasiliaTime(at)}, from ${network}.

If that was not you, tell another administrator now: they suspend your access.
`,
  },
});
