import { type AccountConfig, accountNameOf, type Bank, type Payment, type Payout, resend } from './bank.ts';
import { refusal } from './efi.ts';
import { isRecord } from './money.ts';
import type { Reply } from './reply.ts';
import type { World } from './world.ts';

/** Settings of an account at Efí, and deliveries that its client asks for once more. The forms are those of Efí's client 2.0.1. */

const invalid = (mensagem: string): { refusal: Reply } => ({
  refusal: refusal(400, 'json_invalido', mensagem),
});

/** The flag of a delivery in `recebimento` or `envio` of a key; undefined: it is not said. */
function feeOf(part: unknown): unknown {
  const { webhook } = isRecord(part) ? part : {};
  const { notificacao } = isRecord(webhook) ? webhook : {};
  return isRecord(notificacao) ? notificacao.tarifa : undefined;
}

/** Reads the body of PUT /v2/gn/config. */
export function readConfig(account: string, body: unknown): { config: AccountConfig } | { refusal: Reply } {
  const { pix } = isRecord(body) ? body : {};
  if (!isRecord(body) || !isRecord(pix) || Object.keys(body).length > 1)
    return invalid('O corpo deve ter o objeto pix, e só ele');
  const { receberSemChave, chaves = {} } = pix;
  if (typeof receberSemChave !== 'boolean') return invalid('pix.receberSemChave deve ser um booleano');
  if (!isRecord(chaves)) return invalid('pix.chaves deve ser um objeto');
  const withoutFees: AccountConfig['withoutFees'] = { received: [], sent: [] };
  for (const [key, one] of Object.entries(chaves)) {
    const { recebimento, envio } = isRecord(one) ? one : {};
    if (!isRecord(recebimento) || typeof recebimento.txidObrigatorio !== 'boolean')
      return invalid(`pix.chaves.${key}.recebimento.txidObrigatorio deve ser um booleano`);
    if (!isRecord(recebimento.qrCodeEstatico) || typeof recebimento.qrCodeEstatico.recusarTodos !== 'boolean')
      return invalid(`pix.chaves.${key}.recebimento.qrCodeEstatico.recusarTodos deve ser um booleano`);
    if (feeOf(recebimento) !== true) withoutFees.received.push(key);
    if (feeOf(envio) !== true) withoutFees.sent.push(key);
  }
  return { config: { account, said: { pix }, withoutFees } };
}

/** Whether deliveries about a key name the fee: where its account is not set at all they do, as `docs/operators/efi.md` has it set. */
export function namesFee(bank: Bank, key: string, direction: 'received' | 'sent'): boolean {
  const config = bank.configs.get(accountNameOf(bank, key));
  return config === undefined || !config.withoutFees[direction].includes(key);
}

const kinds = ['PIX_RECEBIDO', 'PIX_ENVIADO', 'DEVOLUCAO_RECEBIDA', 'DEVOLUCAO_ENVIADA'];

/** Reads the body of POST /v2/gn/webhook/reenviar. */
export function readResend(
  body: unknown,
): { sent: boolean; endToEnds: readonly string[] } | { refusal: Reply } {
  const { tipo, e2eids } = isRecord(body) ? body : {};
  if (typeof tipo !== 'string' || !kinds.includes(tipo))
    return invalid(`tipo deve ser um de ${kinds.join(', ')}`);
  const isList =
    Array.isArray(e2eids) &&
    e2eids.length >= 1 &&
    e2eids.length <= 1000 &&
    e2eids.every((one) => typeof one === 'string');
  if (!isList) return invalid('e2eids deve ser uma lista de 1 a 1000 textos');
  return { sent: tipo === 'PIX_ENVIADO' || tipo === 'DEVOLUCAO_RECEBIDA', endToEnds: e2eids };
}

/** Delivers again what was to tell of these. */
export const resendAll = (bank: Bank, world: World, all: readonly (Payment | Payout)[]) =>
  all.flatMap((one) => resend(bank, world, one));
