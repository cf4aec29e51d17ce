import type { Payout, PayoutRequest, StatementLine } from './bank.ts';
import { fromReais, isRecord, toReais } from './money.ts';
import { json, type Reply } from './reply.ts';

/**
 * Banco Inter's API Banking: how its requests are read and its answers written. The forms are those of `contract/provider-bodies/inter`,
 * which a test compares.
 */

/** Inter's own code of a payout, which is not the caller's key: here the key read backwards. */
export const codeOf = ({ idEnvio }: Pick<Payout, 'idEnvio'>): string =>
  [...idEnvio]
    .reverse()
    .join('')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

export const idOfCode = (code: string): string => [...code.replaceAll('-', '')].reverse().join('');

/** Reads the body of POST /banking/v2/pix; only payouts to a key and for today are offered. */
export function readPayout(
  body: unknown,
): { request: Pick<PayoutRequest, 'amountCents' | 'pixKey' | 'payerInfo'> } | { refusal: Reply } {
  const invalid = (property: string, reason: string) => ({ refusal: violation(property, reason) });
  if (!isRecord(body)) return invalid('body', 'Deve ser um objeto JSON');
  const { valor, descricao, destinatario } = body;
  const amountCents = fromReais(typeof valor === 'number' ? valor.toFixed(2) : valor) ?? 0;
  if (amountCents === 0) return invalid('valor', 'O valor não pode ser nulo');
  if (descricao !== undefined && (typeof descricao !== 'string' || [...descricao].length > 140))
    return invalid('descricao', 'O tamanho deve estar entre 0 e 140');
  if (!isRecord(destinatario) || destinatario.tipo !== 'CHAVE')
    return invalid('destinatario.tipo', 'Só CHAVE é oferecido');
  const { chave } = destinatario;
  if (typeof chave !== 'string' || chave === '')
    return invalid('destinatario.chave', 'O valor não pode ser nulo');
  return {
    request: {
      amountCents,
      pixKey: chave,
      ...(descricao === undefined ? {} : { payerInfo: descricao as string }),
    },
  };
}

/** The answer to a creation. */
export const answerOfPayout = (payout: Payout): Reply =>
  json(200, {
    tipoRetorno: payout.held ? 'APROVACAO' : 'PROCESSADO',
    codigoSolicitacao: codeOf(payout),
    dataPagamento: localTime(payout.createdAt).slice(0, 10),
    dataOperacao: localTime(payout.createdAt).slice(0, 10),
  });

/** The answer to a query. A stale one shows the payout as it was when it was created. */
export function payoutView(payout: Payout, stale: boolean) {
  const { refusal } = payout;
  const asCreated = payout.held ? 'AGUARDANDO_APROVACAO' : 'ENVIADO';
  const status =
    stale || payout.status === 'pending'
      ? asCreated
      : payout.status !== 'refused'
        ? 'PAGO'
        : payout.beyond
          ? 'CANCELADO_SEM_SALDO'
          : 'FALHA';
  const movedAt = localTime(payout.settledAt ?? payout.createdAt);
  return {
    transacaoPix: {
      contaCorrente: '123456',
      recebedor: { nome: 'Fulano de Tal', cpfCnpj: '***.456.789-**' },
      erros:
        status === 'FALHA' && refusal
          ? [
              {
                codigoErro: refusal.code,
                descricaoErro: refusal.reason,
                codigoErroComplementar: refusal.code,
              },
            ]
          : [],
      endToEnd: payout.endToEnd,
      valor: payout.amountCents / 100,
      status,
      dataHoraMovimento: movedAt,
      dataHoraSolicitacao: localTime(payout.createdAt),
      chave: payout.pixKey,
      codigoSolicitacao: codeOf(payout),
    },
    historico: [
      { status: 'CRIADO', dataHoraEvento: localTime(payout.createdAt) },
      { status, dataHoraEvento: movedAt },
    ],
  };
}

const shownAs = {
  PIX_RECEBIDO: { tipoTransacao: 'PIX', tipoOperacao: 'C', titulo: 'Pix recebido' },
  PIX_ENVIADO: { tipoTransacao: 'PIX', tipoOperacao: 'D', titulo: 'Pix enviado' },
  DEVOLUCAO_RECEBIDA: { tipoTransacao: 'ESTORNO', tipoOperacao: 'C', titulo: 'Pix devolvido' },
  DEVOLUCAO_ENVIADA: { tipoTransacao: 'ESTORNO', tipoOperacao: 'D', titulo: 'Pix devolvido' },
  TARIFA_RECEBIDO: { tipoTransacao: 'TARIFA', tipoOperacao: 'D', titulo: 'Tarifa Pix recebido' },
  TARIFA_ENVIADO: { tipoTransacao: 'TARIFA', tipoOperacao: 'D', titulo: 'Tarifa Pix enviado' },
} as const;

/** A line of the enriched statement. */
export function statementLine(
  { id, kind, at, amountCents, endToEnd, txid }: StatementLine,
  payout: Payout | undefined,
) {
  const ofPayout = kind === 'PIX_ENVIADO' &&
    payout !== undefined && {
      codigoSolicitacao: codeOf(payout),
      chavePixRecebedor: payout.pixKey,
      descricaoPix: payout.payerInfo ?? '',
    };
  return {
    idTransacao: Buffer.from(id).toString('base64'),
    dataInclusao: localTime(at),
    dataTransacao: localTime(at).slice(0, 10),
    ...shownAs[kind],
    valor: toReais(amountCents),
    descricao: shownAs[kind].titulo,
    detalhes: {
      tipoDetalhe: 'PIX',
      endToEndId: endToEnd,
      ...(txid === undefined ? {} : { txId: txid }),
      ...ofPayout,
    },
  };
}

/** São Paulo's time, without a zone. */
const localTime = (at: number): string => new Date(at - 3 * 3_600_000).toISOString().slice(0, -1);

/** A request that is refused for what is in it. */
export const violation = (propriedade: string, razao: string): Reply =>
  json(400, {
    title: 'Dados inválidos.',
    detail:
      'Verifique se os dados informados estão de acordo com a documentação disponibilizada e tente novamente.',
    timestamp: new Date().toISOString().replace('Z', '000000-00:00'),
    violacoes: [{ razao, propriedade }],
  });

export const notFound = (): Reply =>
  json(404, { title: 'Não Encontrado.', status: '404', detail: 'Entidade não encontrada.' });
