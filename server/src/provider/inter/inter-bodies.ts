import { centsOf, signedCentsOf } from '../../ground/money.ts';
import type { Paging } from '../exchange.ts';
import { paymentSystemCodes } from '../payment-system-codes.ts';
import type { PayoutReport, ProviderBalance, ProviderCost, ReasonCode, Receiver } from '../provider.ts';
import { receiverOf } from '../receiver.ts';
import { timeOf } from '../wire.ts';

/** The answers of Inter's API Banking; its bodies are in `contract/provider-bodies/inter`. */

type Wire = Record<string, unknown>;
const recordOf = (value: unknown): Wire | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Wire) : null;
const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

export interface Sent {
  /** Inter's code (`codigoSolicitacao`). */
  providerRef: string;
  /** The act that a person has to do; null: none. */
  needs: 'approval' | 'look' | null;
  /** The status as it was named. */
  wire: string;
}

/** The answer to a creation. What it calls processed is taken, and not yet settled. */
export function readSent(body: unknown): Sent | null {
  const { codigoSolicitacao, tipoRetorno } = recordOf(body) ?? {};
  const providerRef = textOf(codigoSolicitacao);
  if (providerRef === null || typeof tipoRetorno !== 'string') return null;
  const needs = tipoRetorno === 'APROVACAO' ? 'approval' : tipoRetorno === 'PROCESSADO' ? null : 'look';
  return { providerRef, needs, wire: tipoRetorno };
}

const completed: ReadonlySet<string> = new Set(['PAGO', 'PIX_PAGO']);
/** The ends of which Inter's deliveries speak as well: a person declined it, let it lapse or took it back. */
const refused: ReadonlySet<string> = new Set(['REPROVADO', 'EXPIRADO', 'CANCELADO']);
/** Names of the OpenAPI document that nothing calls final. They end a payout only once they have stood, and no debit stands beside them. */
const failed: ReadonlySet<string> = new Set([
  'FALHA',
  'CANCELADO_SEM_SALDO',
  'NAO_DEBITADO',
  'AGENDAMENTO_CANCELADO',
]);
/** On its way. `PARCIALMENTE_PAGO`, `PARCIALMENTE_DEBITADO` and new words end nothing either, and are reported to a person. */
const pending: ReadonlySet<string> = new Set([
  'CRIADO',
  'AGUARDANDO_APROVACAO',
  'APROVADO',
  'AGENDADO',
  'ENVIADO',
  'DEBITADO',
  'TRANSACAO_CRIADA',
  'TRANSACAO_APROVADA',
  'PIX_ENVIADO',
]);

export interface Asked {
  report: Omit<PayoutReport, 'providerId'>;
  sent: Sent;
  /** Of a refusal that nothing calls final; null: it is none. */
  failure: { requestedAt: number | null; at: number | null } | null;
}

/** The answer to a query; null when it is about another payout or names no amount. */
export function readPayout(body: unknown, providerRef: string): Asked | null {
  const payout = recordOf(recordOf(body)?.transacaoPix);
  const amountCents = centsOf(payout?.valor);
  if (payout === null || payout.codigoSolicitacao !== providerRef || amountCents === null) return null;
  const wire = textOf(payout.status);
  if (wire === null) return null;
  const hasFailed = failed.has(wire);
  const status = completed.has(wire) ? 'completed' : refused.has(wire) || hasFailed ? 'refused' : 'pending';
  const key = textOf(payout.chave);
  return {
    report: {
      providerRef,
      amountCents,
      pixKey: key?.includes('*') ? null : key,
      status,
      endToEnd: textOf(payout.endToEnd),
      settledAt: status === 'completed' ? timeOf(payout.dataHoraMovimento) : null,
      reason: status === 'refused' ? reasonOf(payout.erros) : null,
      returns: [],
      receiver: receiverIn(payout.recebedor),
    },
    sent: {
      providerRef,
      needs:
        wire === 'AGUARDANDO_APROVACAO'
          ? 'approval'
          : status === 'pending' && !pending.has(wire)
            ? 'look'
            : null,
      wire,
    },
    failure: hasFailed
      ? { requestedAt: timeOf(payout.dataHoraSolicitacao), at: lastTimeOf(payout, body) }
      : null,
  };
}

/** Of the last thing that happened to it. */
function lastTimeOf(payout: Wire, body: unknown): number | null {
  const history = recordOf(body)?.historico;
  const times = [
    payout.dataHoraMovimento,
    ...(Array.isArray(history) ? history : []).map((one) => recordOf(one)?.dataHoraEvento),
  ]
    .map(timeOf)
    .filter((at) => at !== null);
  return times.length === 0 ? null : Math.max(...times);
}

function receiverIn(value: unknown): Receiver | null {
  const { nome, cpfCnpj } = recordOf(value) ?? {};
  return receiverOf({ name: nome, taxId: cpfCnpj });
}

/** Codes of the payment system stand in either field; Inter's own are not published. */
function reasonOf(errors: unknown): ReasonCode {
  for (const error of Array.isArray(errors) ? errors : []) {
    const { codigoErro, codigoErroComplementar } = recordOf(error) ?? {};
    for (const code of [codigoErroComplementar, codigoErro]) {
      if (typeof code !== 'string' || !Object.hasOwn(paymentSystemCodes, code)) continue;
      return paymentSystemCodes[code] ?? 'provider_refused';
    }
  }
  return 'provider_refused';
}

export interface Violation {
  property: string;
  reason: string;
}

/** The faults of the request that a 400 names. Empty: it names none, or has another form. */
export function violationsOf(body: unknown): Violation[] {
  const { title, violacoes } = recordOf(body) ?? {};
  if (typeof title !== 'string' || !Array.isArray(violacoes)) return [];
  const violations = violacoes.map((one) => {
    const { propriedade, razao } = recordOf(one) ?? {};
    return { property: textOf(propriedade) ?? '', reason: textOf(razao) ?? '' };
  });
  // One that is about the idempotency key, or about nothing, does not say that no payout was made under it.
  return violations.every(({ property }) => property !== '' && !/idempot/i.test(property)) ? violations : [];
}

/** A 404 counts only in Inter's own form: a proxy's page says nothing about a payment. */
export const saysNotFound = (status: number, body: unknown): boolean =>
  status === 404 && /^não encontrado/i.test(String(recordOf(body)?.title ?? ''));

export function readBalance(body: unknown): ProviderBalance | null {
  const balance = recordOf(body) ?? {};
  const availableCents = signedCentsOf(balance.disponivel);
  if (availableCents === null) return null;
  const blocked = [
    balance.bloqueadoCheque,
    balance.bloqueadoJudicialmente,
    balance.bloqueadoAdministrativo,
  ].map(signedCentsOf);
  const [checks, judicialCents, medCents] = blocked;
  const totalCents = blocked.reduce<number>((sum, cents) => sum + (cents ?? 0), 0);
  return {
    availableCents,
    totalCents: availableCents + totalCents,
    blocked:
      checks == null || judicialCents == null || medCents == null
        ? null
        : { judicialCents, medCents, totalCents },
  };
}

/** The day of an instant in São Paulo, as Inter's statement takes it. There has been no summer time there since 2019. */
export const dayAt = (at: number): string => new Date(at - 3 * 3_600_000).toISOString().slice(0, 10);

/** Pages of the enriched statement, counted from 0. */
export function statementPaging(body: unknown): Paging {
  const { totalPaginas, totalElementos, ultimaPagina } = recordOf(body) ?? {};
  const count = (value: unknown) => (Number.isSafeInteger(value) ? (value as number) : null);
  return {
    pages: count(totalPaginas),
    total: count(totalElementos),
    more: typeof ultimaPagina === 'boolean' ? !ultimaPagina : null,
  };
}

/** A line of the enriched statement that is a tariff; one that was given back is a credit. Null: it cannot be read. */
export function readCost(value: unknown): ProviderCost | 'foreign' | null {
  const line = recordOf(value);
  if (line === null) return null;
  if (line.tipoTransacao !== 'TARIFA') return 'foreign';
  const id = textOf(line.idTransacao);
  const amountCents = centsOf(line.valor);
  const sign = line.tipoOperacao === 'D' ? 1 : line.tipoOperacao === 'C' ? -1 : 0;
  const at = timeOf(line.dataInclusao) ?? timeOf(`${String(line.dataTransacao)}T00:00:00`);
  if (id === null || amountCents === null || amountCents < 0 || sign === 0 || at === null) return null;
  return { reference: `line:${id}`, amountCents: sign * amountCents, at };
}

/** A Pix that left the account, as a line of the enriched statement names it. */
export interface Debit {
  id: string;
  at: number;
  amountCents: number;
  endToEnd: string | null;
  /** Ours, at the end of the description that we gave it. */
  providerId: string | null;
  /** Inter's code. */
  providerRef: string | null;
}

/** `DetalhePix` of the OpenAPI document. Null: it cannot be read. */
export function readDebit(value: unknown): Debit | 'foreign' | null {
  const line = recordOf(value);
  if (line === null) return null;
  if (line.tipoTransacao !== 'PIX' || line.tipoOperacao !== 'D') return 'foreign';
  const details = recordOf(line.detalhes) ?? {};
  const endToEnd = textOf(details.endToEndId);
  const id = textOf(line.idTransacao) ?? endToEnd;
  const amountCents = centsOf(line.valor);
  const at = timeOf(line.dataInclusao) ?? timeOf(`${String(line.dataTransacao)}T00:00:00`);
  if (id === null || amountCents === null || at === null) return null;
  const said = /(?:^| )([0-9a-f]{32})$/.exec(textOf(details.descricaoPix) ?? '');
  return {
    id,
    at,
    amountCents,
    endToEnd,
    providerId: said?.[1] ?? null,
    providerRef: textOf(details.codigoSolicitacao),
  };
}
