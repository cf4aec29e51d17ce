import { centsOf } from '../../ground/money.ts';
import type { Clock } from '../../ports/clock.ts';
import { arrayIn } from '../bacen.ts';
import type { DisputeReport, DisputeStatus } from '../dispute-report.ts';
import {
  type Exchange,
  errorNameOf,
  lacksScope,
  missingScope,
  type Reply,
  readList,
  unclear,
  windowQuery,
} from '../exchange.ts';
import type { DefenceInstruction, DefenceOutcome, DefenceRefusal, Provider } from '../provider.ts';
import { cut, timeOf } from '../wire.ts';

/** Infractions (MED) at Efí: the list of them, and the merchant's defence. */

export function efiDisputes(options: {
  exchange: Exchange;
  clock: Clock;
  pageSize: number;
  maxPages: number;
}): NonNullable<Provider['disputes']> {
  const { exchange, clock, pageSize, maxPages } = options;
  return {
    list: (window) =>
      readList(exchange, clock, {
        kind: 'dispute',
        path: ({ page }) => `/v2/gn/infracoes?${windowQuery(window, page, pageSize)}`,
        items: (body) => arrayIn(body, 'infracoes'),
        read: readDispute,
        pageSize,
        maxPages,
        wholeOnly: window.wholeOnly,
      }),
    defend: (defence) => defendDispute(exchange, clock, defence),
  };
}

const disputeStatuses: Readonly<Record<string, DisputeStatus>> = {
  ABERTA: 'open',
  EM_DEFESA: 'defending',
  ACEITA: 'accepted',
  REJEITADA: 'rejected',
  CANCELADA_EFI: 'cancelled',
};

/**
 * An infraction (MED) of `GET /v2/gn/infracoes`; null when it cannot be read. Its deadline is Efí's own, and never computed. The amount
 * stands without decimals in the one published sample: it is read as reais, as in every other call. What is held for it is bounded by the
 * Pix in any case.
 */
export function readDispute(item: unknown): DisputeReport | null {
  const { idInfracao, endToEndId, valor, status, razao, tipoSituacao, dadosAnalise } = (item ?? {}) as Record<
    string,
    unknown
  >;
  const amountCents = centsOf(valor);
  const reason = [tipoSituacao, razao].find((text) => typeof text === 'string' && text !== '');
  const known = disputeStatuses[String(status)];
  const { abertura, prazoFinalizacao } = (dadosAnalise ?? {}) as Record<string, unknown>;
  const openedAt = timeOf(abertura);
  if (typeof idInfracao !== 'string' || idInfracao === '') return null;
  if (typeof endToEndId !== 'string' || endToEndId === '') return null;
  if (amountCents === null || amountCents < 1 || known === undefined || openedAt === null) return null;
  return {
    providerId: idInfracao,
    endToEnd: endToEndId,
    amountCents,
    status: known,
    reason: typeof reason === 'string' ? cut(reason, 200) : null,
    openedAt,
    deadlineAt: timeOf(prazoFinalizacao),
  };
}

/** Of `justificativa`. */
export const defenceTextMost = 1000;

/**
 * `POST /v2/gn/infracoes/{idInfracao}/defesa`: the text of the merchant, who contests the infraction. `analise` is the opinion of the one who
 * answers on the infraction, in the words of its status: `rejeitado` is what makes it REJEITADA.
 */
async function defendDispute(
  exchange: Exchange,
  clock: Clock,
  { disputeId, text }: Pick<DefenceInstruction, 'disputeId' | 'text'>,
): Promise<DefenceOutcome> {
  const reply = await exchange({
    method: 'POST',
    path: `/v2/gn/infracoes/${encodeURIComponent(disputeId)}/defesa`,
    body: { analise: 'rejeitado', justificativa: text ?? '' },
  });
  if (reply.kind === 'notSent') return { outcome: 'notSent', detail: reply.detail };
  if (lacksScope(reply)) return { outcome: 'notSent', detail: missingScope };
  // The sample of the answer is a text and no JSON, so its status alone says it.
  if (reply.kind === 'answer' && reply.status === 201) return { outcome: 'accepted' };
  const reason = reply.kind === 'answer' ? refusalOfDefence(reply.status, reply.body) : null;
  if (reason === null) return unclear(reply, clock);
  return { outcome: 'refused', reason, detail: defenceErrorOf(reply) };
}

const defenceErrorOf = (reply: Reply): string =>
  reply.kind === 'answer' ? `${reply.status} ${errorNameOf(reply.body)}` : reply.detail;

/**
 * The refusals that Efí documents; null: it is none of them. One name stands for three causes, which the status and the words of
 * `violacoes` tell apart: of a 409 that says neither, nothing is concluded.
 */
function refusalOfDefence(status: number, body: unknown): DefenceRefusal | null {
  switch (`${status} ${errorNameOf(body)}`) {
    case '400 InfracoesConsultaInvalida':
    case '404 InfracaoNaoEncontrada':
      return 'provider_refused';
    case '422 InfracaoOperacaoInvalida':
      return 'deadline_over';
    case '409 InfracaoOperacaoInvalida': {
      const words = JSON.stringify((body as { violacoes?: unknown } | null)?.violacoes ?? '');
      if (/já foi criada/i.test(words)) return 'already_defended';
      return /documento da infração/i.test(words) ? 'provider_refused' : null;
    }
    default:
      return null;
  }
}
