import type { Shape, Shapes } from './shapes.ts';

/**
 * Inter's OpenAPI document of API Banking v2, as its developers' portal shows it (github.com/unfoldingcx/inter.js at bbc5e59, `specs/banking.json`): the calls
 * that the adapter makes. Its `/pix/v2` is API Pix, whose document the Central Bank publishes.
 */
const receiver: Shape = {
  ...{ codIspb: 'string', codAgencia: 'string', nroConta: 'string' },
  ...{ cpfCnpj: 'string', nome: 'string', tipoConta: 'string' },
};

/** The document lists these names in its text alone. */
const status =
  '=CRIADO|AGUARDANDO_APROVACAO|APROVADO|REPROVADO|EXPIRADO|CANCELADO|FALHA|AGENDADO|PAGO|ENVIADO|CANCELADO_SEM_SALDO|DEBITADO|PARCIALMENTE_DEBITADO|PARCIALMENTE_PAGO|NAO_DEBITADO|AGENDAMENTO_CANCELADO';

/** Of a Pix, and of a fee. */
const details: Shape = {
  ...{ txId: 'string', nomePagador: 'string', descricaoPix: 'string', cpfCnpjPagador: 'string' },
  ...{ contaBancariaRecebedor: 'string', nomeEmpresaPagador: 'string', tipoDetalhe: 'string' },
  ...{ endToEndId: 'string', chavePixRecebedor: 'string', nomeEmpresaRecebedor: 'string' },
  ...{ nomeRecebedor: 'string', agenciaRecebedor: 'string', cpfCnpjRecebedor: 'string' },
  ...{ origemMovimentacao: 'string', codigoSolicitacao: 'string' },
};

const transaction: Shape = {
  ...{ idTransacao: 'string', dataInclusao: 'string', dataTransacao: 'string' },
  tipoTransacao:
    '=DEBITO_EM_CONTA|DEPOSITO_BOLETO|ANTECIPACAO_RECEBIVEIS|ANTECIPACAO_RECEBIVEIS_CARTAO|BOLETO_COBRANCA|CAMBIO|CASHBACK|CHEQUE|ESTORNO|DOMICILIO_CARTAO|FINANCIAMENTO|IMPOSTO|INTERPAG|INVESTIMENTO|JUROS|MAQUININHA_GRANITO|MULTA|OUTROS|PAGAMENTO|PIX|PROVENTOS|SAQUE|COMPRA_DEBITO|DEBITO_AUTOMATICO|TARIFA|TRANSFERENCIA',
  tipoOperacao: '=C|D',
  ...{ valor: 'string', titulo: 'string', descricao: 'string', numeroDocumento: 'string' },
  detalhes: details,
};

export const interShapes: Shapes = {
  'POST /banking/v2/pix': {
    body: {
      'valor!': 'number',
      dataPagamento: 'string',
      descricao: 'string',
      'destinatario!': { 'tipo!': '=CHAVE', 'chave!': 'string' },
    },
    answer: {
      tipoRetorno: '=APROVACAO|PROCESSADO|AGENDADO',
      ...{ codigoSolicitacao: 'string', dataPagamento: 'string', dataOperacao: 'string' },
    },
  },
  'GET /banking/v2/pix/{codigoSolicitacao}': {
    answer: {
      transacaoPix: {
        contaCorrente: 'string',
        recebedor: receiver,
        erros: [{ codigoErro: 'string', descricaoErro: 'string', codigoErroComplementar: 'string' }],
        ...{ endToEnd: 'string', valor: 'number', status, dataHoraMovimento: 'string' },
        ...{ dataHoraSolicitacao: 'string', chave: 'string', codigoSolicitacao: 'string' },
      },
      historico: [{ status, dataHoraEvento: 'string' }],
    },
  },
  'GET /banking/v2/extrato/completo': {
    answer: {
      ...{ totalPaginas: 'integer', totalElementos: 'integer', tamanhoPagina: 'integer' },
      ...{ ultimaPagina: 'boolean', primeiraPagina: 'boolean', numeroDeElementos: 'integer' },
      transacoes: [transaction],
    },
  },
  'GET /banking/v2/saldo': {
    answer: {
      ...{ bloqueadoCheque: 'number', disponivel: 'number', bloqueadoJudicialmente: 'number' },
      ...{ bloqueadoAdministrativo: 'number', limite: 'number', dataReferencia: 'string' },
    },
  },
};
