import { returnView } from './api-pix.ts';
import type {
  Dispute,
  Payout,
  PayoutRequest,
  PixReturn,
  Refusal,
  Report,
  ReturnForm,
  StatementLine,
} from './bank.ts';
import { fromReais, isRecord, toReais } from './money.ts';
import { json, problem, type Reply } from './reply.ts';

/**
 * Efí's calls for payouts, reports and balance: how their requests are read and their answers written. The forms are those of
 * `contract/provider-bodies/efi`, which a test compares.
 */

export function isIdEnvio(text: string): boolean {
  return /^[a-zA-Z0-9]{1,35}$/.test(text);
}

/** Reads the body of PUT /v3/gn/pix/{idEnvio}; unknown properties are refused. */
export function readPayout(idEnvio: string, body: unknown): { request: PayoutRequest } | { refusal: Reply } {
  const invalid = (mensagem: string) => ({ refusal: refusal(400, 'json_invalido', mensagem) });
  if (!isRecord(body)) return invalid('O corpo deve ser um objeto JSON');
  const unknown =
    unknownProperty(body, '', ['valor', 'pagador', 'favorecido']) ??
    unknownProperty(body.pagador, 'pagador.', ['chave', 'infoPagador']) ??
    unknownProperty(body.favorecido, 'favorecido.', ['chave', 'cpf', 'cnpj']);
  if (unknown !== undefined) return invalid(unknown);
  const { pagador, favorecido } = body as Record<'pagador' | 'favorecido', Record<string, unknown>>;

  const amountCents = fromReais(body.valor);
  if (amountCents === undefined || amountCents === 0) {
    return {
      refusal: refusal(400, 'valor_invalido', 'O campo valor deve ter o formato 0.00 e ser maior que zero'),
    };
  }
  if (!isKey(pagador.chave)) {
    return { refusal: refusal(400, 'chave_invalida', 'A chave do pagador é inválida') };
  }
  if (!isKey(favorecido.chave)) return invalid('favorecido.chave deve ser um texto de 1 a 77 caracteres');
  const { infoPagador } = pagador;
  if (infoPagador !== undefined && (typeof infoPagador !== 'string' || [...infoPagador].length > 140)) {
    return invalid('pagador.infoPagador deve ser um texto de até 140 caracteres');
  }
  const { cpf, cnpj } = favorecido;
  if (cpf !== undefined && cnpj !== undefined) return invalid('favorecido aceita cpf ou cnpj, e só um deles');
  if (cpf !== undefined && !(typeof cpf === 'string' && /^\d{11}$/.test(cpf)))
    return invalid('favorecido.cpf');
  if (cnpj !== undefined && !(typeof cnpj === 'string' && /^[0-9A-Z]{14}$/.test(cnpj))) {
    return invalid('favorecido.cnpj');
  }
  const document = cpf ?? cnpj;
  return {
    request: {
      idEnvio,
      amountCents,
      payerKey: pagador.chave,
      pixKey: favorecido.chave,
      ...(infoPagador === undefined ? {} : { payerInfo: infoPagador }),
      ...(document === undefined ? {} : { document }),
    },
  };
}

function unknownProperty(value: unknown, place: string, known: string[]): string | undefined {
  if (!isRecord(value)) return `${place.slice(0, -1)} deve ser um objeto`;
  const name = Object.keys(value).find((one) => !known.includes(one));
  return name === undefined ? undefined : `propriedade desconhecida: ${place}${name}`;
}

/** An infraction in the list, in the fields that Efí documents. */
export function disputeView(
  { id, endToEnd, amountCents, status, reason, openedAt, deadlineAt, endedAt, defence }: Dispute,
  paidAt: number,
) {
  const time = (at: number) => new Date(at).toISOString();
  const account = { conta: 10_001, nome: 'Fulano de Tal', documento: '***.456.789-**' };
  return {
    idInfracao: id,
    endToEndId: endToEnd,
    protocolo: Number.parseInt(id.slice(0, 8), 16),
    dataTransacao: time(paidAt),
    // Numbers, as Efí's client 2.0.1 reads them; the older sample of the documentation has texts.
    valor: amountCents / 100,
    status,
    razao: 'Solicitacao de devolução',
    tipoSituacao: reason,
    identificadorTicket: [],
    ...(defence?.text === undefined ? {} : { defesa: defence.text }),
    dadosAnalise: {
      abertura: time(openedAt),
      prazoFinalizacao: time(deadlineAt),
      ...(defence === undefined ? {} : { recebimentoDefesa: time(defence.at) }),
      ...(endedAt === undefined ? {} : { finalizacao: time(endedAt) }),
    },
    origem: { nomeParticipante: 'BANCO XYZ', ...account },
    destino: { nomeParticipante: 'Simulador', ...account },
    criadoEm: time(openedAt),
    atualizadoEm: time(endedAt ?? openedAt),
  };
}

/** Reads the body of POST /v2/gn/infracoes/{idInfracao}/defesa. */
export function readDefence(body: unknown): { text: string } | { refusal: Reply } {
  const { analise, justificativa } = isRecord(body) ? body : {};
  if (analise !== 'aceito' && analise !== 'rejeitado') return { refusal: invalidDefence('analise') };
  if (typeof justificativa !== 'string' || justificativa === '' || justificativa.length > 1000)
    return { refusal: invalidDefence('justificativa') };
  return { text: justificativa };
}

const defenceInvalid =
  'A requisição que busca apresentar uma defesa de infração não respeita o schema ou está semanticamente errada.';

export const invalidDefence = (property: string): Reply =>
  problem(400, 'InfracoesConsultaInvalida', 'Consulta Inválida', defenceInvalid, [
    {
      razao: 'Algum dos parâmetros informados não respeita o schema.',
      propriedade: `infracoes.body.${property}`,
    },
  ]);

export const disputeNotFound = (): Reply =>
  problem(404, 'InfracaoNaoEncontrada', 'Não Encontrado', 'Infração não encontrada.');

/** The answer is a text and no JSON. */
export const defenceTaken = (): Reply => ({
  status: 201,
  type: 'text/plain; charset=utf-8',
  body: 'Defesa de infração MED criada',
});

const defenceRefusals = {
  defended: { status: 409, razao: 'A defesa para essa infração já foi criada.' },
  late: { status: 422, razao: 'O prazo para defesa foi excedido.' },
} as const;

export function defenceRefused(why: keyof typeof defenceRefusals): Reply {
  const { status, razao } = defenceRefusals[why];
  return problem(status, 'InfracaoOperacaoInvalida', 'Operação Inválida', defenceInvalid, [
    { razao, propriedade: 'body.infractionId' },
  ]);
}

function isKey(value: unknown): value is string {
  return typeof value === 'string' && value.length >= 1 && value.length <= 77;
}

/** An error in the shape of Efí's older calls. */
export function refusal(status: number, nome: string, mensagem: string): Reply {
  return json(status, { nome, mensagem });
}

export function payoutAnswer(payout: Payout) {
  return {
    endToEndId: payout.endToEnd,
    idEnvio: payout.idEnvio,
    valor: toReais(payout.amountCents),
    horario: { solicitacao: new Date(payout.createdAt).toISOString() },
    status: 'EM_PROCESSAMENTO',
  };
}

/** The payout in queries. A stale one shows it as it was when it was created. */
export function payoutView(payout: Payout, stale: boolean, form: ReturnForm) {
  // One that was refused in the answer was born so.
  const pending = payout.status === 'pending' || (stale && payout.accepted);
  return {
    endToEndId: payout.endToEnd,
    idEnvio: payout.idEnvio,
    valor: toReais(payout.amountCents),
    // The payer's key: ours, not the receiver's.
    chave: payout.payerKey,
    status: pending ? 'EM_PROCESSAMENTO' : payout.status === 'refused' ? 'NAO_REALIZADO' : 'REALIZADO',
    ...(payout.payerInfo === undefined ? {} : { infoPagador: payout.payerInfo }),
    horario: {
      solicitacao: new Date(payout.createdAt).toISOString(),
      ...(pending || payout.settledAt === undefined || payout.status === 'refused'
        ? {}
        : { liquidacao: new Date(payout.settledAt).toISOString() }),
    },
    favorecido: { chave: payout.pixKey, identificacao: { nome: 'Fulano de Tal', cpf: '***.456.789-**' } },
    ...(pending || payout.refusal === undefined ? {} : { gnExtras: { erro: errorView(payout.refusal) } }),
    ...(pending || payout.returns.length === 0
      ? {}
      : { devolucoes: payout.returns.map((returned) => payoutReturnView(returned, form)) }),
  };
}

/** Efí's own form (`PixSendDetailResponseSchema` of its SDK 2.0): by `rtrId` alone, without a status, the time as text. */
function payoutReturnView(returned: PixReturn, form: ReturnForm) {
  if (form !== 'rtrId' && form !== 'own') return returnView(returned, form);
  const { rtrId, amountCents, at } = returned;
  return { rtrId, valor: toReais(amountCents), horario: new Date(at).toISOString() };
}

function errorView({ code, reason }: Refusal) {
  return { codigo: code, origem: 'PSP do usuário recebedor', motivo: reason };
}

/** The payout in a webhook, with the first `returns` of its returns. */
export function payoutNotice(payout: Payout, returns: number, form: ReturnForm) {
  const refused = payout.status === 'refused';
  return {
    endToEndId: payout.endToEnd,
    chave: payout.payerKey,
    tipo: 'SOLICITACAO',
    status: refused ? 'NAO_REALIZADO' : 'REALIZADO',
    valor: toReais(payout.amountCents),
    horario: refused ? null : new Date(payout.settledAt ?? payout.createdAt).toISOString(),
    gnExtras: {
      idEnvio: payout.idEnvio,
      ...(payout.feeCents === undefined ? {} : { tarifa: toReais(payout.feeCents) }),
      ...(payout.refusal === undefined ? {} : { erro: errorView(payout.refusal) }),
    },
    ...(returns === 0
      ? {}
      : { devolucoes: payout.returns.slice(0, returns).map((returned) => payoutReturnView(returned, form)) }),
  };
}

// ---------------------------------------------------------------------------------------------- reports

const recordKinds = [
  'pixRecebido',
  'pixEnviadoChave',
  'pixEnviadoDadosBancarios',
  'estornoPixEnviado',
  'pixDevolucaoEnviada',
  'pixDevolucaoRecebida',
  'tarifaPixEnviado',
  'tarifaPixRecebido',
  'estornoTarifaPixEnviado',
  'saldoDiaAnterior',
  'saldoDia',
  'transferenciaEnviada',
  'transferenciaRecebida',
  'estornoTransferenciaEnviada',
  'tarifaTransferenciaEnviada',
  'estornoTarifaTransferenciaEnviada',
  'estornoTarifaPixRecebido',
];

const brasiliaOffsetMs = -3 * 60 * 60 * 1000;
const dayMs = 24 * 60 * 60 * 1000;

/** Reads the body of POST /v2/gn/relatorios/extrato-conciliacao; unknown properties are refused. */
export function readReportRequest(
  body: unknown,
  now: number,
): { day: string; kinds: string[] } | { refusal: Reply } {
  const invalid = (detail: string) => ({ refusal: reportProblem(400, 'Consulta inválida', detail) });
  if (!isRecord(body)) return invalid('O corpo deve ser um objeto JSON');
  const unknown =
    unknownProperty(body, '', ['dataMovimento', 'tipoRegistros', 'dadosAdicionais']) ??
    unknownProperty(body.tipoRegistros, 'tipoRegistros.', recordKinds);
  if (unknown !== undefined) return invalid(unknown);
  const { dataMovimento: day, tipoRegistros } = body as {
    dataMovimento: unknown;
    tipoRegistros: Record<string, unknown>;
  };
  if (typeof day !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(day) || Number.isNaN(Date.parse(day)))
    return invalid('dataMovimento deve ter o formato AAAA-MM-DD');
  if (Date.parse(day) - brasiliaOffsetMs + dayMs > now)
    return invalid('A data do extrato de conciliação deve ser anterior à data corrente');
  return { day, kinds: recordKinds.filter((kind) => tipoRegistros[kind] === true) };
}

/** The state of a report that is not ready, and the answer to its request. */
export function reportView(report: Report, status: 'AGUARDANDO_PROCESSAMENTO' | 'CONCLUIDO') {
  return { id: report.id, dataSolicitacao: new Date(report.requestedAt).toISOString(), status };
}

/**
 * The CSV of a day. Header, trailer, received Pix and what they cost are as Efí publishes them; it does not publish the records of sent Pix and
 * returns, so their kinds and the order of their fields are our own.
 */
export function reportText(report: Report, statement: Iterable<StatementLine>): string {
  const from = Date.parse(report.day) - brasiliaOffsetMs;
  const lines = [...statement].flatMap((line) => {
    if (line.at < from || line.at >= from + dayMs) return [];
    const { kind, endToEnd, id, amountCents } = line;
    const [amount, at] = [toReais(amountCents), new Date(line.at).toISOString()];
    if (kind === 'PIX_RECEBIDO' && report.kinds.includes('pixRecebido'))
      return [`PR;1;${endToEnd};${line.txid ?? ''};${amount};;;;;${at}`];
    if (kind === 'PIX_ENVIADO' && report.kinds.includes('pixEnviadoChave'))
      return [`PEC;1;${endToEnd};${line.idEnvio ?? ''};${amount};${at}`];
    if (kind === 'DEVOLUCAO_ENVIADA' && report.kinds.includes('pixDevolucaoEnviada'))
      return [`PDE;1;${endToEnd};${id};${amount};${at}`];
    if (kind === 'DEVOLUCAO_RECEBIDA' && report.kinds.includes('pixDevolucaoRecebida'))
      return [`PDR;1;${endToEnd};${id};${amount};${at}`];
    if (kind === 'TARIFA_RECEBIDO' && report.kinds.includes('tarifaPixRecebido'))
      return [`TPR;1;${endToEnd};${amount};${at}`];
    if (kind === 'TARIFA_ENVIADO' && report.kinds.includes('tarifaPixEnviado'))
      return [`TPE;1;${endToEnd};${amount};${at}`];
    return [];
  });
  const head = `CA;Simulador;364;1;1;Vintem;${report.day};${report.day};Extrato de Conciliação API Pix;1.0`;
  return `${[head, ...lines, 'T;0;0;0;0;0;0'].join('\n')}\n`;
}

export const reportNotFound = (): Reply =>
  efiProblem(
    404,
    'NaoEncontrado',
    'Não encontrado',
    'Recurso não encontrado ou não pertence à conta autenticada',
  );

const reportProblem = (status: number, title: string, detail: string): Reply =>
  efiProblem(status, 'ExtratoConciliacaoConsultaInvalida', title, detail);

/** An error of Efí's own calls: RFC 7807 under an address of its own. */
function efiProblem(status: number, kind: string, title: string, detail: string): Reply {
  const type = `https://api-pix.gerencianet.com.br/v2/gn/${kind}`;
  return { ...json(status, { type, title, status, detail }), type: 'application/problem+json' };
}

export function payoutNotFound(): Reply {
  return problem(
    404,
    'PixEnviadoNaoEncontrado',
    'Não Encontrado',
    'Pix enviado não encontrado para o idEnvio informado.',
  );
}
