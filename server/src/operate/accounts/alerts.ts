import { mailPeople } from '../../events/mail-people.ts';
import type { Language } from '../../ground/errors.ts';
import type { Log } from '../../ground/log.ts';
import { brasiliaTime, type Letter, type Mail } from '../../ground/mail.ts';
import { priceOf } from '../../ground/money.ts';
import type { DefenceReason } from '../../money/defence.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import {
  claimDefenceAlerts,
  claimDisputeAlerts,
  claimIncidentAlerts,
  claimUnknownAlerts,
  type DefenceAlert,
  type DisputeAlert,
  endDefenceAlerts,
  endDisputeAlerts,
  endIncidentAlerts,
  endUnknownAlerts,
  type IncidentAlert,
  type UnknownAlert,
} from './alerts.sql.ts';

/**
 * Mails about money that needs a person: to an account's people when transfers stayed unknown for 15 minutes, when a dispute moves and
 * when a defence fails; to the operator when an incident was opened. Several at once make one mail.
 *
 * A mail is recorded after it was sent: a process that dies in between sends it twice, and never loses it. A failed mail is tried
 * again after ten minutes.
 */
export function createAlerts(
  { sql, clock, mail, log }: { sql: Sql; clock: Clock; mail: Mail; log: Log },
  publicUrl: string,
): {
  step(): Promise<boolean>;
} {
  async function tellUnknown(accountId: string, alerts: readonly UnknownAlert[]): Promise<void> {
    const open = alerts.filter((alert) => alert.open);
    if (open.length > 0) await mailPeople({ sql, mail }, accountId, 'money', unknownLetter(open));
    await endUnknownAlerts(
      sql,
      accountId,
      alerts.map(({ paymentId }) => paymentId),
    );
  }

  async function tellIncidents(alerts: readonly IncidentAlert[]): Promise<void> {
    const open = alerts.filter((alert) => alert.open);
    if (open.length > 0) await mail.send({ to: null, ...incidentLetter(open) });
    await endIncidentAlerts(sql, alerts);
  }

  async function tellDisputes(accountId: string, alerts: readonly DisputeAlert[]): Promise<void> {
    await mailPeople({ sql, mail }, accountId, 'money', disputeLetter(alerts, publicUrl));
    await endDisputeAlerts(sql, alerts);
  }

  async function tellDefences(accountId: string, alerts: readonly DefenceAlert[]): Promise<void> {
    // The end of a dispute has a mail of its own.
    const open = alerts.filter((alert) => alert.open);
    if (open.length > 0) await mailPeople({ sql, mail }, accountId, 'money', defenceLetter(open, publicUrl));
    await endDefenceAlerts(sql, alerts);
  }

  const attempt = (work: Promise<void>): Promise<void> =>
    work.catch((error: unknown) => log.error({ err: error }, 'failed to send alert'));

  return {
    /** One round; true when there may be more at once. */
    step: async () => {
      const now = clock.now();
      const unknown = await claimUnknownAlerts(sql, now, now + againMs, most);
      const incidents = await claimIncidentAlerts(sql, now, now + againMs, most);
      const byAccount = Map.groupBy(unknown, ({ accountId }) => accountId);
      for (const [accountId, alerts] of byAccount) await attempt(tellUnknown(accountId, alerts));
      if (incidents.length > 0) await attempt(tellIncidents(incidents));
      const disputes = await claimDisputeAlerts(sql, now, now + againMs, most);
      const disputesOf = Map.groupBy(disputes, ({ accountId }) => accountId);
      for (const [accountId, alerts] of disputesOf) await attempt(tellDisputes(accountId, alerts));
      const defences = await claimDefenceAlerts(sql, now, now + againMs, most);
      const defencesOf = Map.groupBy(defences, ({ accountId }) => accountId);
      for (const [accountId, alerts] of defencesOf) await attempt(tellDefences(accountId, alerts));
      return [unknown, incidents, disputes, defences].some((alerts) => alerts.length === most);
    },
  };
}

const againMs = 600_000;
const most = 100;

const utc = (ms: number): string => new Date(ms).toISOString();

function unknownLetter(alerts: readonly UnknownAlert[]): Omit<Letter, 'to'> {
  const [first] = alerts as [UnknownAlert];
  const lines = (amount: string, operation: string, since: string, payment: string) =>
    alerts
      .map(({ paymentId, amountCents, operationName, createdAt }) =>
        [
          `  ${amount}${priceOf(amountCents)}`,
          `  ${operation}${operationName}`,
          `  ${since}${brasiliaTime(createdAt)}`,
          `  ${payment}${paymentId}`,
        ].join('\n'),
      )
      .join('\n\n');
  const one = alerts.length === 1;
  return {
    'pt-BR': {
      subject: `${alerts.length} ${one ? 'transferência' : 'transferências'} a confirmar há 15 minutos`,
      text: `Conta: ${first.accountName}

O provedor ainda não confirmou ${one ? 'esta transferência' : 'estas transferências'}. O Pix pode ter sido enviado: não repita.
O serviço consulta o provedor sozinho, e ${one ? 'ela' : 'cada uma'} termina concluída ou cancelada.

${lines('Valor      ', 'Operação   ', 'Desde      ', 'Pagamento  ')}
`,
    },
    en: {
      subject: `${alerts.length} ${one ? 'transfer' : 'transfers'} unconfirmed for 15 minutes`,
      text: `Account: ${first.accountName}

The provider has not confirmed ${one ? 'this transfer' : 'these transfers'} yet. The Pix may have been sent: do not repeat ${one ? 'it' : 'them'}.
The service queries the provider by itself, and ${one ? 'the transfer' : 'each transfer'} ends completed or cancelled.

${lines('Amount     ', 'Operation  ', 'Since      ', 'Payment    ')}
`,
    },
  };
}

const disputeWords: Record<Language, Record<DisputeAlert['status'], string>> = {
  'pt-BR': {
    open: 'aberta: o valor está bloqueado',
    defending: 'em defesa: aguarda a decisão do provedor',
    accepted: 'aceita: o valor será debitado',
    rejected: 'rejeitada: o valor foi liberado',
    cancelled: 'cancelada: o valor foi liberado',
  },
  en: {
    open: 'open: the amount is held',
    defending: 'defended: the provider has not decided yet',
    accepted: 'accepted: the amount will be debited',
    rejected: 'rejected: the amount is available again',
    cancelled: 'cancelled: the amount is available again',
  },
};

const disputeLabels = {
  'pt-BR': {
    payer: 'Pagador      ',
    about: 'Descrição    ',
    amount: 'Valor        ',
    state: 'Situação     ',
    reason: 'Motivo       ',
    deadline: 'Defesa até   ',
    payment: 'Pagamento    ',
    dispute: 'Contestação  ',
  },
  en: {
    payer: 'Payer          ',
    about: 'Description    ',
    amount: 'Amount         ',
    state: 'State          ',
    reason: 'Reason         ',
    deadline: 'Defence until  ',
    payment: 'Payment        ',
    dispute: 'Dispute        ',
  },
} as const;

/** The text of the button below a dispute. */
const button = {
  'pt-BR': { defend: 'Escrever a defesa', look: 'Ver a contestação' },
  en: { defend: 'Write the defence', look: 'View the dispute' },
} as const;

function disputeLetter(alerts: readonly DisputeAlert[], publicUrl: string): Omit<Letter, 'to'> {
  const [first] = alerts as [DisputeAlert];
  const lines = (language: Language) => {
    const { payer, about, amount, state, payment, dispute, deadline } = disputeLabels[language];
    return alerts
      .map(({ id, paymentId, payerName, description, amountCents, status, deadlineAt }) =>
        [
          ...(payerName ? [`  ${payer}${payerName}`] : []),
          ...(description ? [`  ${about}${description}`] : []),
          `  ${amount}${priceOf(amountCents)}`,
          `  ${state}${disputeWords[language][status]}`,
          ...(deadlineAt === null ? [] : [`  ${deadline}${brasiliaTime(deadlineAt)}`]),
          `  ${payment}${paymentId}`,
          `  ${dispute}${id}`,
          '',
          `${button[language][status === 'open' ? 'defend' : 'look']}: ${publicUrl}/pagamentos/${paymentId}`,
        ].join('\n'),
      )
      .join('\n\n');
  };
  const one = alerts.length === 1;
  return {
    'pt-BR': {
      subject: one
        ? `contestação de ${priceOf(first.amountCents)}${first.payerName ? ` de ${first.payerName}` : ''} (MED)`
        : `${alerts.length} contestações de Pix (MED)`,
      text: `Conta: ${first.accountName}

${lines('pt-BR')}

Só o provedor decide uma contestação. A defesa precisa chegar a ele dentro do prazo.
`,
    },
    en: {
      subject: one
        ? `dispute of ${priceOf(first.amountCents)}${first.payerName ? ` by ${first.payerName}` : ''} (MED)`
        : `${alerts.length} Pix disputes (MED)`,
      text: `Account: ${first.accountName}

${lines('en')}

Only the provider decides a dispute. The defence must reach it before the deadline.
`,
    },
  };
}

const defenceWords: Record<Language, Record<DefenceReason, string>> = {
  'pt-BR': {
    deadline_over: 'o prazo acabou antes de ela ser enviada',
    already_defended: 'o provedor já tem outra defesa',
    provider_refused: 'o provedor não a aceitou; outra pode ser enviada',
    dispute_ended: 'a contestação acabou antes de ela ser enviada',
  },
  en: {
    deadline_over: 'the deadline passed before it was sent',
    already_defended: 'the provider already has another defence',
    provider_refused: 'the provider did not accept it; another one can be sent',
    dispute_ended: 'the dispute ended before it was sent',
  },
};

function defenceLetter(alerts: readonly DefenceAlert[], publicUrl: string): Omit<Letter, 'to'> {
  const [first] = alerts as [DefenceAlert];
  const lines = (language: Language) => {
    const { payer, about, amount, reason, payment, dispute, deadline } = disputeLabels[language];
    return alerts
      .map((alert) =>
        [
          ...(alert.payerName ? [`  ${payer}${alert.payerName}`] : []),
          ...(alert.description ? [`  ${about}${alert.description}`] : []),
          `  ${amount}${priceOf(alert.amountCents)}`,
          `  ${reason}${defenceWords[language][alert.reason]}`,
          ...(alert.deadlineAt === null ? [] : [`  ${deadline}${brasiliaTime(alert.deadlineAt)}`]),
          `  ${payment}${alert.paymentId}`,
          `  ${dispute}${alert.disputeId}`,
          '',
          // The provider takes another one only where it has refused this one.
          `${button[language][alert.reason === 'provider_refused' ? 'defend' : 'look']}: ${publicUrl}/pagamentos/${alert.paymentId}`,
        ].join('\n'),
      )
      .join('\n\n');
  };
  const one = alerts.length === 1;
  return {
    'pt-BR': {
      subject: one
        ? 'uma defesa não foi entregue (MED)'
        : `${alerts.length} defesas não foram entregues (MED)`,
      text: `Conta: ${first.accountName}

O provedor não tem ${one ? 'esta defesa' : 'estas defesas'}. O valor continua bloqueado.

${lines('pt-BR')}
`,
    },
    en: {
      subject: one
        ? 'a defence was not delivered (MED)'
        : `${alerts.length} defences were not delivered (MED)`,
      text: `Account: ${first.accountName}

The provider does not have ${one ? 'this defence' : 'these defences'}. The amount stays held.

${lines('en')}
`,
    },
  };
}

type CloseDifference = NonNullable<IncidentAlert['close']>;

const say = {
  'pt-BR': {
    installation: 'da instalação',
    account: 'conta',
    payment: 'pagamento',
    freezes: 'transferências da operação suspensas até a resolução',
    more: (money: string) => `o provedor tem ${money} a mais que os lançamentos`,
    less: (money: string) => `o provedor tem ${money} a menos que os lançamentos`,
  },
  en: {
    installation: 'of the installation',
    account: 'account',
    payment: 'payment',
    freezes: 'transfers of its operation are suspended until it is resolved',
    more: (money: string) => `the provider has ${money} more than the ledger`,
    less: (money: string) => `the provider has ${money} less than the ledger`,
  },
} as const;

/** The connection and the day, and which of the two has more. */
function closeLine({ connection, day, moreCents }: CloseDifference, language: Language): string {
  const money = priceOf(Math.abs(moreCents));
  return `  ${connection}, ${day}: ${moreCents > 0 ? say[language].more(money) : say[language].less(money)}`;
}

function incidentLetter(alerts: readonly IncidentAlert[]): Omit<Letter, 'to'> {
  const lines = (language: Language) =>
    alerts
      .map(({ id, kind, accountName, accountId, paymentId, amountCents, freezes, openedAt, close }) =>
        [
          `${id}  ${kind}  ${priceOf(amountCents)}  ${utc(openedAt)}`,
          `  ${accountName === null ? say[language].installation : `${say[language].account} ${accountName} (${accountId})`}${paymentId === null ? '' : `, ${say[language].payment} ${paymentId}`}`,
          ...(freezes ? [`  ${say[language].freezes}`] : []),
          ...(close ? [closeLine(close, language)] : []),
        ].join('\n'),
      )
      .join('\n');
  const one = alerts.length === 1;
  return {
    'pt-BR': {
      subject: `${alerts.length} ${one ? 'incidente' : 'incidentes'} a decidir`,
      text: `Dinheiro que o serviço não consegue lançar sozinho. Veja cada um com "vintem incident show ID" e decida com
"vintem incident resolve ID --action ... --reason ...".

${lines('pt-BR')}
`,
    },
    en: {
      subject: `${alerts.length} ${one ? 'incident' : 'incidents'} to decide`,
      text: `Money that the service cannot post by itself. See each with "vintem incident show ID" and decide it with
"vintem incident resolve ID --action ... --reason ...".

${lines('en')}
`,
    },
  };
}
