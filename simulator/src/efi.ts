import type { Payout, PayoutRequest, StatementLine } from './bank.ts';
import { fromReais, isRecord, toReais } from './money.ts';
import { json, problem, type Reply } from './reply.ts';

/** Efí's calls for payouts, statement and balance: how their requests are read and their answers written. */

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

function isKey(value: unknown): value is string {
  return typeof value === 'string' && value.length >= 1 && value.length <= 77;
}

/** An error in the shape of Efí's older calls. */
export function refusal(status: number, nome: string, mensagem: string): Reply {
  return json(status, { nome, mensagem });
}

export function payoutAnswer(payout: Payout) {
  return {
    idEnvio: payout.idEnvio,
    e2eId: payout.endToEnd,
    valor: toReais(payout.amountCents),
    horario: { solicitacao: new Date(payout.createdAt).toISOString() },
    status: 'EM_PROCESSAMENTO',
  };
}

/** The payout in queries. A stale one shows it as it was when it was created. */
export function payoutView(payout: Payout, stale: boolean) {
  // One that was refused in the answer was born so.
  const pending = payout.status === 'pending' || (stale && payout.accepted);
  return {
    endToEndId: payout.endToEnd,
    idEnvio: payout.idEnvio,
    valor: toReais(payout.amountCents),
    chave: payout.pixKey,
    status: pending ? 'EM_PROCESSAMENTO' : payout.status === 'refused' ? 'NAO_REALIZADO' : 'REALIZADO',
    horario: {
      solicitacao: new Date(payout.createdAt).toISOString(),
      ...(pending || payout.settledAt === undefined || payout.status === 'refused'
        ? {}
        : { liquidacao: new Date(payout.settledAt).toISOString() }),
    },
    ...(pending || payout.refusal === undefined
      ? {}
      : { gnExtras: { erro: { codigo: payout.refusal.code, motivo: payout.refusal.reason } } }),
    ...(pending || payout.returns.length === 0
      ? {}
      : { devolucoes: returnViews(payout, payout.returns.length) }),
  };
}

function returnViews(payout: Payout, count: number) {
  return payout.returns.slice(0, count).map((returned) => {
    const at = new Date(returned.at).toISOString();
    return {
      id: returned.id,
      rtrId: returned.rtrId,
      valor: toReais(returned.amountCents),
      horario: { solicitacao: at, liquidacao: at },
      status: 'DEVOLVIDO',
    };
  });
}

/** The payout in a webhook, with the first `returns` of its returns. */
export function payoutNotice(payout: Payout, returns: number) {
  return {
    tipo: 'SOLICITACAO',
    status: payout.status === 'refused' ? 'NAO_REALIZADO' : 'REALIZADO',
    endToEndId: payout.endToEnd,
    chave: payout.pixKey,
    valor: toReais(payout.amountCents),
    horario: new Date(payout.settledAt ?? payout.createdAt).toISOString(),
    gnExtras: {
      idEnvio: payout.idEnvio,
      ...(payout.refusal === undefined
        ? {}
        : { erro: { codigo: payout.refusal.code, motivo: payout.refusal.reason } }),
    },
    ...(returns === 0 ? {} : { devolucoes: returnViews(payout, returns) }),
  };
}

export function statementView(line: StatementLine) {
  return {
    id: line.id,
    horario: new Date(line.at).toISOString(),
    tipo: line.kind,
    valor: toReais(line.amountCents),
    endToEndId: line.endToEnd,
    ...(line.txid === undefined ? {} : { txid: line.txid }),
    ...(line.idEnvio === undefined ? {} : { idEnvio: line.idEnvio }),
  };
}

export function payoutNotFound(): Reply {
  return problem(
    404,
    'PixEnviadoNaoEncontrado',
    'Pix enviado não encontrado',
    'Não há Pix enviado com o id informado.',
  );
}
