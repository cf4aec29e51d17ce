import {
  type Bank,
  type Charge,
  type ChargeDetails,
  type ChargeRequest,
  deadlineOf,
  nextReturnForm,
  type Payment,
  type PixReturn,
  type ReturnForm,
  type Revision,
} from './bank.ts';
import { brCode } from './br-code.ts';
import { amountsOf, calendarOf, componentsOf, type DueTerms, dayAt, readTerms } from './cobv.ts';
import { fromReais, isRecord, toReais } from './money.ts';
import { problem, type Reply, type Violation } from './reply.ts';

/** The Central Bank's API Pix 2.9.0: how its requests are read and its answers written. */

const txidPattern = /^[a-zA-Z0-9]{26,35}$/;
const largestInt32 = 2_147_483_647;

export function isTxid(text: string): boolean {
  return txidPattern.test(text);
}

// ---------------------------------------------------------------------------------------------- requests

/**
 * Reads the body of PUT /cob/{txid} (CobSolicitada) as a strict provider does: unknown properties and a
 * `devedor.nome` without cpf or cnpj are refused. `loc` and `valor.retirada` are not offered here.
 */
export function readCharge(
  txid: string,
  body: unknown,
): { request: ChargeRequest } | { violations: Violation[] } {
  const violations: Violation[] = [];
  if (!isTxid(txid))
    violations.push({ razao: 'Deve ter de 26 a 35 letras ou dígitos', propriedade: 'txid', valor: txid });
  const cob = readObject(body, 'cob', chargeProperties, violations) ?? {};
  const change = readChange(cob, violations);
  if (cob.calendario === undefined) violations.push({ razao: 'Obrigatório', propriedade: 'cob.calendario' });
  if (cob.valor === undefined) violations.push({ razao: 'Obrigatório', propriedade: 'cob.valor' });
  if (cob.chave === undefined) violations.push({ razao: 'Obrigatório', propriedade: 'cob.chave' });
  if (violations.length > 0) return { violations };
  return {
    request: {
      txid,
      key: change.key ?? '',
      amountCents: change.amountCents ?? 0,
      lifeSeconds: change.lifeSeconds ?? 86_400,
      details: change.details ?? {},
    },
  };
}

const chargeProperties = [
  'calendario',
  'devedor',
  'loc',
  'valor',
  'chave',
  'solicitacaoPagador',
  'infoAdicionais',
];
const removed = 'REMOVIDA_PELO_USUARIO_RECEBEDOR';

/** Reads the body of PUT /cobv/{txid} (CobVSolicitada). */
export function readDueCharge(
  txid: string,
  body: unknown,
  now: number,
): { request: ChargeRequest } | { violations: Violation[] } {
  const violations: Violation[] = [];
  if (!isTxid(txid))
    violations.push({ razao: 'Deve ter de 26 a 35 letras ou dígitos', propriedade: 'txid', valor: txid });
  const cob = readObject(body, 'cobv', chargeProperties, violations) ?? {};
  const { calendario: _calendar, valor, devedor, ...plain } = cob;
  const change = readChange(plain, violations);
  const original = isRecord(valor) ? fromReais(valor.original) : undefined;
  if (!original) violations.push({ razao: 'Não respeita o schema', propriedade: 'cobv.valor.original' });
  const due = readTerms(cob, original ?? 0, dayAt(now), violations);
  const debtor = readDebtor(devedor, violations);
  if (cob.chave === undefined) violations.push({ razao: 'Obrigatório', propriedade: 'cobv.chave' });
  if (violations.length > 0 || due === undefined) return { violations };
  const details = { ...change.details, devedor: debtor };
  return {
    request: { txid, key: change.key ?? '', amountCents: original ?? 0, lifeSeconds: 86_400, details, due },
  };
}

const debtorProperties = ['cpf', 'cnpj', 'nome', 'email', 'logradouro', 'cidade', 'uf', 'cep'];

function readDebtor(value: unknown, violations: Violation[]): Record<string, unknown> {
  const debtor = readObject(value, 'cobv.devedor', debtorProperties, violations) ?? {};
  const { cpf, cnpj, nome, uf, cep } = debtor;
  const isCpf = typeof cpf === 'string' && /^\d{11}$/.test(cpf) && cnpj === undefined;
  const isCnpj = typeof cnpj === 'string' && /^[0-9A-Z]{14}$/.test(cnpj) && cpf === undefined;
  const isText = (one: unknown, most: number) =>
    one === undefined || (typeof one === 'string' && one.length <= most);
  const isRight =
    (isCpf || isCnpj) && nome !== undefined && isText(nome, 200) && isText(uf, 2) && isText(cep, 8);
  if (!isRight) violations.push({ razao: 'Não respeita o schema', propriedade: 'cobv.devedor' });
  return debtor;
}

/** Reads the body of PATCH /cobv/{txid} (CobVRevisada): a removal alone, or changes. A member that is absent is kept, one of `valor` as well. */
export function readDueRevision(
  body: unknown,
  charge: { amountCents: number; due: DueTerms; createdAt: number },
): { revision: Revision } | { violations: Violation[] } {
  const violations: Violation[] = [];
  const cob = readObject(body, 'cobv', [...chargeProperties, 'status'], violations) ?? {};
  const { calendario, valor, devedor, ...plain } = cob;
  if (cob.status !== undefined) return readRevision(body);
  const change = readChange(plain, violations);
  const amounts = { ...amountsOf(charge.amountCents, charge.due), ...(isRecord(valor) ? valor : {}) };
  const calendar = { ...calendarOf(charge.due), ...(isRecord(calendario) ? calendario : {}) };
  const original = fromReais(amounts.original);
  if (!original) violations.push({ razao: 'Não respeita o schema', propriedade: 'cobv.valor.original' });
  // The due date is compared with the day of the creation, not with today.
  const madeOn = dayAt(charge.createdAt);
  const due = readTerms({ calendario: calendar, valor: amounts }, original ?? 0, madeOn, violations);
  const debtor = devedor === undefined ? {} : { devedor: readDebtor(devedor, violations) };
  if (violations.length > 0 || due === undefined) return { violations };
  return {
    revision: { ...change, amountCents: original ?? 0, due, details: { ...change.details, ...debtor } },
  };
}

/** Reads the body of PATCH /cob/{txid} (CobRevisada): a removal alone, or changes. */
export function readRevision(body: unknown): { revision: Revision } | { violations: Violation[] } {
  const violations: Violation[] = [];
  const cob = readObject(body, 'cob', [...chargeProperties, 'status'], violations) ?? {};
  const change = readChange(cob, violations);
  if (cob.status !== undefined) {
    if (cob.status !== removed) {
      violations.push({ razao: `Deve ser ${removed}`, propriedade: 'cob.status', valor: String(cob.status) });
    } else if (Object.keys(cob).length > 1) {
      violations.push({ razao: 'A remoção não pode vir com outras alterações', propriedade: 'cob.status' });
    }
  }
  if (violations.length > 0) return { violations };
  return { revision: cob.status === removed ? 'remove' : change };
}

function readChange(
  cob: Record<string, unknown>,
  violations: Violation[],
): Partial<Omit<ChargeRequest, 'txid'>> {
  const wrong = (propriedade: string, razao: string, valor?: unknown) => {
    violations.push({ razao, propriedade, ...(valor === undefined ? {} : { valor: String(valor) }) });
  };
  const change: Partial<Omit<ChargeRequest, 'txid'>> = {};
  const details: ChargeDetails = {};

  if (cob.calendario !== undefined) {
    const calendar = readObject(cob.calendario, 'cob.calendario', ['expiracao'], violations) ?? {};
    const life = calendar.expiracao;
    if (life !== undefined) {
      if (!Number.isInteger(life) || (life as number) <= 0 || (life as number) > largestInt32) {
        wrong('cob.calendario.expiracao', 'Deve ser um inteiro maior que zero', life);
      } else change.lifeSeconds = life as number;
    }
  }

  if (cob.valor !== undefined) {
    const amount =
      readObject(cob.valor, 'cob.valor', ['original', 'modalidadeAlteracao', 'retirada'], violations) ?? {};
    const cents = fromReais(amount.original);
    if (cents === undefined) wrong('cob.valor.original', 'Não respeita o schema', amount.original);
    else if (cents === 0)
      wrong('cob.valor.original', 'O valor da cobrança não pode ser zero', amount.original);
    else change.amountCents = cents;
    const mode = amount.modalidadeAlteracao;
    if (mode !== undefined) {
      if (mode !== 0 && mode !== 1) wrong('cob.valor.modalidadeAlteracao', 'Deve ser 0 ou 1', mode);
      else details.modalidadeAlteracao = mode;
    }
    if (amount.retirada !== undefined)
      wrong('cob.valor.retirada', 'Pix Saque e Pix Troco não são oferecidos');
  }

  if (cob.chave !== undefined) {
    if (typeof cob.chave !== 'string' || cob.chave.length < 1 || cob.chave.length > 77) {
      wrong('cob.chave', 'Deve ser um texto de 1 a 77 caracteres');
    } else change.key = cob.chave;
  }

  if (cob.devedor !== undefined) {
    const debtor = readObject(cob.devedor, 'cob.devedor', ['cpf', 'cnpj', 'nome'], violations) ?? {};
    const { cpf, cnpj, nome } = debtor;
    if ((cpf === undefined) === (cnpj === undefined))
      wrong('cob.devedor', 'Exige cpf ou cnpj, e só um deles');
    if (cpf !== undefined && !(typeof cpf === 'string' && /^\d{11}$/.test(cpf))) {
      wrong('cob.devedor.cpf', 'Não respeita o schema');
    }
    if (cnpj !== undefined && !(typeof cnpj === 'string' && /^[0-9A-Z]{14}$/.test(cnpj))) {
      wrong('cob.devedor.cnpj', 'Não respeita o schema');
    }
    if (typeof nome !== 'string' || nome.length > 200)
      wrong('cob.devedor.nome', 'Obrigatório, até 200 caracteres');
    details.devedor = debtor;
  }

  if (cob.loc !== undefined) wrong('cob.loc.id', 'O location referenciado inexiste');

  if (cob.solicitacaoPagador !== undefined) {
    if (typeof cob.solicitacaoPagador !== 'string' || [...cob.solicitacaoPagador].length > 140) {
      wrong('cob.solicitacaoPagador', 'Deve ser um texto de até 140 caracteres');
    } else details.solicitacaoPagador = cob.solicitacaoPagador;
  }

  if (cob.infoAdicionais !== undefined) {
    const infos = cob.infoAdicionais;
    if (!Array.isArray(infos) || infos.length > 50) {
      wrong('cob.infoAdicionais', 'Deve ser uma lista de até 50 itens');
    } else {
      infos.forEach((info, index) => {
        const place = `cob.infoAdicionais[${index}]`;
        const { nome, valor } = readObject(info, place, ['nome', 'valor'], violations) ?? {};
        if (typeof nome !== 'string' || [...nome].length > 50)
          wrong(`${place}.nome`, 'Obrigatório, até 50 caracteres');
        if (typeof valor !== 'string' || [...valor].length > 200) {
          wrong(`${place}.valor`, 'Obrigatório, até 200 caracteres');
        }
      });
      details.infoAdicionais = infos;
    }
  }

  if (Object.keys(details).length > 0) change.details = details;
  return change;
}

/** The object, without any property that is not known; undefined when it is none. */
function readObject(
  value: unknown,
  place: string,
  known: readonly string[],
  violations: Violation[],
): Record<string, unknown> | undefined {
  if (!isRecord(value)) {
    violations.push({ razao: 'Deve ser um objeto', propriedade: place });
    return undefined;
  }
  for (const name of Object.keys(value)) {
    if (!known.includes(name)) {
      violations.push({ razao: 'Propriedade desconhecida', propriedade: `${place}.${name}` });
    }
  }
  return value;
}

/** Reads the body of PUT /webhook/{chave}: an https address, as providers demand it, or one of this machine. */
export function readWebhookUrl(body: unknown): { url: string } | { violations: Violation[] } {
  const violations: Violation[] = [];
  const { webhookUrl } = readObject(body, 'webhook', ['webhookUrl'], violations) ?? {};
  const url = typeof webhookUrl === 'string' ? URL.parse(webhookUrl) : null;
  const isOwn = url?.protocol === 'http:' && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
  if (url?.protocol !== 'https:' && !isOwn) {
    violations.push({ razao: 'Não respeita o schema', propriedade: 'webhook.webhookUrl' });
  }
  return violations.length > 0 ? { violations } : { url: webhookUrl as string };
}

// ----------------------------------------------------------------------------------------------- answers

/** Where the payload of a charge would be read by the payer's bank; without `https://`. */
export function locationOf(txid: string): string {
  return `pix.simulator.example/qr/v2/${txid}`;
}

export function copyPasteOf(charge: Charge): string {
  return brCode(locationOf(charge.txid), toReais(charge.amountCents));
}

/** CobGerada: what the creation and a revision of a charge answer. */
export function chargeAnswer(
  charge: Charge,
  status: Charge['status'] = charge.status,
  calendar = charge.moved,
) {
  if (charge.due) return dueAnswer(charge, charge.due, status);
  const { createdAt, lifeSeconds } = calendar ?? charge;
  const { modalidadeAlteracao, ...details } = charge.details;
  const location = locationOf(charge.txid);
  return {
    txid: charge.txid,
    revisao: charge.revision,
    calendario: { criacao: new Date(createdAt).toISOString(), expiracao: lifeSeconds },
    status,
    valor: {
      original: toReais(charge.amountCents),
      ...(modalidadeAlteracao === undefined ? {} : { modalidadeAlteracao }),
    },
    chave: charge.key,
    ...details,
    ...(charge.withoutCode
      ? {}
      : {
          loc: {
            id: charge.n + 1,
            txid: charge.txid,
            location,
            tipoCob: 'cob',
            criacao: new Date(charge.createdAt).toISOString(),
          },
          location,
          pixCopiaECola: copyPasteOf(charge),
        }),
  };
}

/** The receiver, as an answer about a charge with a due date names it. */
const receiver = {
  ...{ cpf: '12345678909', nome: 'Recebedor do Simulador', email: 'recebedor@simulator.example' },
  ...{ logradouro: 'Rua do Simulador, 1', cidade: 'São Paulo', uf: 'SP', cep: '01310100' },
};

/** CobVGerada. */
function dueAnswer(charge: Charge, due: NonNullable<Charge['due']>, status: Charge['status']) {
  const location = locationOf(charge.txid);
  const createdAt = new Date(charge.createdAt).toISOString();
  return {
    ...{ txid: charge.txid, revisao: charge.revision, status, chave: charge.key },
    calendario: { criacao: createdAt, ...calendarOf(due) },
    valor: amountsOf(charge.amountCents, due),
    ...charge.details,
    recebedor: receiver,
    ...(charge.withoutCode
      ? {}
      : {
          loc: { id: charge.n + 1, txid: charge.txid, location, tipoCob: 'cobv', criacao: createdAt },
          location,
          pixCopiaECola: copyPasteOf(charge),
        }),
  };
}

/**
 * As Efí's client 2.0.1 has it: the location of one charge with a due date says neither its charge nor when it was made, that of a list says the latter, and
 * nothing beside it repeats the location.
 */
export function asEfiHasIt<View extends object>(view: View, isListed: boolean): View {
  if (!('recebedor' in view) || !('loc' in view)) return view;
  const { location: _, ...rest } = view as View & { location?: unknown };
  const { id, location, tipoCob, criacao } = view.loc as Record<string, unknown>;
  return { ...rest, loc: { id, location, tipoCob, ...(isListed && { criacao }) } } as unknown as View;
}

/** The Pix of one charge have no `chave` at Efí, and those in a list of charges have it (its client 2.0.1). */
export function withoutKeys<Charge extends object>(charge: Charge): Charge {
  // Those with a due date have it.
  if (!('pix' in charge) || !Array.isArray(charge.pix) || 'recebedor' in charge) return charge;
  return { ...charge, pix: charge.pix.map(({ chave: _, ...rest }: Record<string, unknown>) => rest) };
}

/** CobCompleta: what a query answers. A stale one shows the charge as it was created. */
export function chargeView(bank: Bank, charge: Charge, stale: boolean) {
  if (stale) {
    const asCreated = { createdAt: charge.createdAt, lifeSeconds: charge.lifeSeconds };
    return chargeAnswer(charge, 'ATIVA', asCreated);
  }
  const pix = charge.payments.flatMap((endToEnd) => {
    const payment = bank.payments.get(endToEnd);
    return payment === undefined ? [] : [paymentView(payment, payment.returns.length, nextReturnForm(bank))];
  });
  return { ...chargeAnswer(charge), ...(pix.length > 0 ? { pix } : {}) };
}

/** Pix: a received payment, in queries and webhooks, with the first `returns` of its returns. */
export function paymentView(payment: Payment, returns: number, form: ReturnForm) {
  return {
    endToEndId: payment.endToEnd,
    ...(payment.txid !== '' && { txid: payment.txid }),
    valor: toReais(payment.amountCents),
    ...(payment.parts && { componentesValor: componentsOf(payment.parts) }),
    chave: payment.key,
    horario: new Date(payment.at).toISOString(),
    ...(returns === 0
      ? {}
      : { devolucoes: payment.returns.slice(0, returns).map((returned) => returnView(returned, form)) }),
  };
}

/** Devolucao, under one of its names or both. */
export function returnView(
  { id, rtrId, amountCents, at, requestedAt = at, state }: PixReturn,
  form: ReturnForm,
) {
  const time = (ms: number) => new Date(ms).toISOString();
  return {
    ...(form === 'rtrId' ? {} : { id }),
    ...(form === 'id' ? {} : { rtrId }),
    valor: toReais(amountCents),
    horario: { solicitacao: time(requestedAt), ...(state === undefined && { liquidacao: time(at) }) },
    status: state === undefined ? 'DEVOLVIDO' : state === 'pending' ? 'EM_PROCESSAMENTO' : 'NAO_REALIZADO',
    ...(state === 'failed' && { motivo: 'Devolução recusada pelo simulador' }),
  };
}

/** Devolucao: the answer to a request for a refund and to its query. */
export function refundAnswer(refund: PixReturn) {
  const { message } = refund;
  return {
    ...returnView(refund, 'both'),
    natureza: 'ORIGINAL',
    ...(message === undefined || message === '' ? {} : { descricao: message }),
  };
}

/** Reads the body of PUT /pix/{e2eid}/devolucao/{id} (DevolucaoSolicitada). */
export function readRefund(
  id: string,
  body: unknown,
): { request: { amountCents: number; message: string } } | { violations: Violation[] } {
  const violations: Violation[] = [];
  if (!/^[a-zA-Z0-9]{1,35}$/.test(id))
    violations.push({ razao: 'Deve ter de 1 a 35 letras ou dígitos', propriedade: 'id', valor: id });
  const asked = readObject(body, 'devolucao', ['valor', 'natureza', 'descricao'], violations) ?? {};
  const { valor, natureza, descricao = '' } = asked;
  const amountCents = fromReais(valor) ?? 0;
  if (amountCents === 0) violations.push({ razao: 'Não respeita o schema', propriedade: 'devolucao.valor' });
  if (natureza !== undefined && natureza !== 'ORIGINAL' && natureza !== 'RETIRADA')
    violations.push({ razao: 'Não respeita o schema', propriedade: 'devolucao.natureza' });
  if (typeof descricao !== 'string' || [...descricao].length > 140)
    violations.push({ razao: 'Deve ter até 140 caracteres', propriedade: 'devolucao.descricao' });
  if (violations.length > 0) return { violations };
  return { request: { amountCents, message: descricao as string } };
}

export function invalidRefund(violations: Violation[]): Reply {
  return problem(
    400,
    'PixDevolucaoInvalida',
    'Devolução inválida.',
    'A presente requisição de devolução não respeita o schema ou não faz sentido semanticamente.',
    violations,
  );
}

export function refundNotFound(): Reply {
  return problem(
    404,
    'PixDevolucaoNaoEncontrada',
    'Devolução não encontrada',
    'Não há devolução com o id informado para o e2eid informado.',
  );
}

export function chargeStatusWord(charge: Charge, now: number): 'open' | 'paid' | 'removed' | 'expired' {
  if (charge.status === 'CONCLUIDA') return 'paid';
  if (charge.status !== 'ATIVA') return 'removed';
  return deadlineOf(charge) <= now ? 'expired' : 'open';
}

/** Charges without a due date and those with one: one space of ids, and calls of their own. */
export type Noun = 'cob' | 'cobv';

export function chargeNotFound(noun: Noun = 'cob'): Reply {
  return problem(
    404,
    noun === 'cob' ? 'CobNaoEncontrado' : 'CobVNaoEncontrada',
    'Cobrança não encontrada',
    'Não há cobrança para o txid informado.',
  );
}

export function invalidCharge(violations: Violation[], noun: Noun = 'cob'): Reply {
  return problem(
    400,
    noun === 'cob' ? 'CobOperacaoInvalida' : 'CobVOperacaoInvalida',
    'Cobrança inválida',
    'A requisição não respeita o schema ou está semanticamente errada.',
    violations,
  );
}

export function duplicateTxid(txid: string): Reply {
  return problem(
    409,
    'CobOperacaoInvalida',
    'txid_duplicado',
    'txid_duplicado: já existe uma cobrança com o txid informado.',
    [{ razao: 'O txid já foi utilizado', propriedade: 'txid', valor: txid }],
  );
}
