import type { Log } from '../../ground/log.ts';
import { brasiliaTime, type Letter, type Mail } from '../../ground/mail.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { mailPeople } from '../mail-people.ts';
import { claimUnwellEndpoints, disableEndpoint, markEndpointTold, type Unwell } from './endpoints.sql.ts';
import { isHopeless, mailFor } from './schedule.ts';

/**
 * Looks after endpoints that fail: mails people once one counts as failing, after one and three days, and when it was disabled; and
 * disables what has had no success for five days even where no attempt is made any more.
 *
 * A mail is noted after it was sent: a process that dies in between sends it twice rather than never.
 */
const lookAgainMs = 60_000;

export function createEndpointHealth(deps: { sql: Sql; clock: Clock; mail: Mail; log: Log }): {
  step(): Promise<boolean>;
} {
  const { sql, clock, mail, log } = deps;

  async function lookAfter(endpoint: Unwell): Promise<void> {
    const { accountId, id, told } = endpoint;
    const now = clock.now();
    if (endpoint.disabledReason === null && isHopeless(endpoint, now)) {
      await sql.tx((tx) => disableEndpoint(tx, accountId, id, 'failing', now));
      endpoint.disabledReason = 'failing';
    }
    const wanted = mailFor(endpoint, endpoint.disabledReason, now);
    if (wanted <= told) return;
    await mailPeople({ sql, mail }, accountId, 'integrations', letterOf(endpoint, wanted));
    await markEndpointTold(sql, accountId, id, wanted);
  }

  return {
    /** One round; true when there may be more at once. */
    step: async () => {
      const now = clock.now();
      const unwell = await claimUnwellEndpoints(sql, now, now + lookAgainMs);
      for (const endpoint of unwell) {
        await lookAfter(endpoint).catch((error: unknown) =>
          log.error({ err: error, endpoint: endpoint.id }, 'failed to send endpoint warning'),
        );
      }
      return unwell.length === 100;
    },
  };
}

const subjects = {
  'pt-BR': [
    '',
    'um endpoint de webhook está falhando',
    'um endpoint de webhook falha há um dia',
    'um endpoint de webhook falha há três dias',
    'um endpoint de webhook foi desativado',
  ],
  en: [
    '',
    'a webhook endpoint is failing',
    'a webhook endpoint has been failing for a day',
    'a webhook endpoint has been failing for three days',
    'a webhook endpoint was disabled',
  ],
} as const;

function letterOf(endpoint: Unwell, wanted: number): Omit<Letter, 'to'> {
  const { accountId, accountName, id, url, failedAttempts, failedDeliveries, failingSince } = endpoint;
  const since = brasiliaTime(failingSince);
  const disabled = wanted === 4;
  const gone = endpoint.disabledReason === 'gone';
  return {
    'pt-BR': {
      subject: subjects['pt-BR'][wanted] as string,
      text: [
        `Conta: ${accountName} (${accountId})`,
        `Endpoint: ${id}`,
        `Endereço: ${url}`,
        `Sem sucesso desde: ${since}`,
        `Tentativas com falha: ${failedAttempts}; entregas abandonadas: ${failedDeliveries}`,
        '',
        ...(disabled
          ? [
              gone
                ? 'O endpoint respondeu 410 Gone e por isso foi desativado na hora.'
                : 'O endpoint ficou cinco dias sem nenhuma entrega com sucesso e por isso foi desativado.',
              'A partir de agora os eventos são registrados como pulados. Ative o endpoint de novo e reenvie os eventos desde a desativação: eles ficam guardados por 90 dias.',
            ]
          : [
              'Cada evento é tentado de novo por três dias. Sem nenhum sucesso em cinco dias, o endpoint é desativado.',
            ]),
        '',
      ].join('\n'),
    },
    en: {
      subject: subjects.en[wanted] as string,
      text: [
        `Account: ${accountName} (${accountId})`,
        `Endpoint: ${id}`,
        `Address: ${url}`,
        `No success since: ${since}`,
        `Failed attempts: ${failedAttempts}; deliveries abandoned: ${failedDeliveries}`,
        '',
        ...(disabled
          ? [
              gone
                ? 'The endpoint answered 410 Gone, so it was disabled at once.'
                : 'The endpoint had no successful delivery for five days, so it was disabled.',
              'Events are recorded as skipped from now on. Enable the endpoint again, then replay the events since it was disabled: they are kept for 90 days.',
            ]
          : [
              'Each event is tried again for three days. Without a success for five days, the endpoint is disabled.',
            ]),
        '',
      ].join('\n'),
    },
  };
}
