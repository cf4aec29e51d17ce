import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type EventType, eventBody, eventTypes } from '../../store/events/event.ts';
import { sampleOf, sampleTypes } from './samples.ts';

/**
 * The payloads of every event as the merchants' pages show them, from the functions that make the real ones.
 *
 * `node server/src/api/webhooks/payloads.ts --write FOLDER` puts them between the marks of `webhooks.md` and `pt/webhooks.md`, `--check FOLDER` ends
 * with 1 when a page says something else.
 */
const begin = '<!-- payloads: generated, see server/src/api/webhooks/payloads.ts -->';
const end = '<!-- /payloads -->';

const operationId = '01939f3a-7a00-7000-8000-000000000003';
const at = Date.parse('2026-11-20T20:43:18.000Z');

type Language = 'en' | 'pt-BR';

export const pages = { en: 'webhooks.md', 'pt-BR': 'pt/webhooks.md' } as const satisfies Record<
  Language,
  string
>;

/** The descriptions of `eventTypes`, for the page in Portuguese. */
const inPortuguese: Readonly<Record<EventType, string>> = {
  'charge.created': 'O provedor respondeu pela primeira vez sobre uma cobrança.',
  'charge.paid': 'Uma cobrança foi paga.',
  'charge.expired': 'Uma cobrança expirou sem ser paga.',
  'charge.changed':
    'A alteração de uma cobrança com vencimento terminou; `dueChange.outcome` diz se o provedor a fez.',
  'charge.failed': 'O provedor recusou ou removeu uma cobrança.',
  'charge.unexpected_payment':
    'Uma cobrança foi paga pela segunda vez, com outro valor ou depois de ter falhado; o dinheiro aguarda análise.',
  'charge.card_refused':
    'Uma tentativa de pagar uma cobrança com cartão foi recusada; `card` diz por quê e quantas ainda restam.',
  'charge.card_available':
    'A adquirente liberou um pagamento com cartão; o valor menos a tarifa está no saldo.',
  'charge.card_chargeback':
    'O portador do cartão contesta um pagamento (chargeback). Eventos `dispute.*` mostram como termina.',
  'transfer.created': 'O provedor registrou uma transferência.',
  'transfer.completed': 'Uma transferência chegou ao recebedor.',
  'transfer.cancelled': 'Uma transferência foi recusada ou cancelada; o valor inteiro voltou ao saldo.',
  'transfer.returned': 'Uma transferência concluída voltou, no todo ou em parte; o valor está no saldo.',
  'transfer.unknown':
    'O resultado de uma transferência é desconhecido há 15 minutos. Enviado uma vez por transferência.',
  'dispute.opened': 'O provedor informa que um Pix recebido foi contestado (MED); o valor está bloqueado.',
  'dispute.defending': 'A defesa de uma contestação chegou ao provedor.',
  'dispute.defence_failed':
    'Uma defesa com certeza não chegou ao provedor; `defence.reasonCode` diz por quê.',
  'dispute.accepted':
    'Uma contestação foi aceita: o provedor vai retirar o dinheiro, que continua bloqueado até lá.',
  'dispute.rejected':
    'Uma contestação foi rejeitada; o que estava bloqueado por ela está disponível de novo.',
  'dispute.cancelled':
    'Uma contestação foi cancelada; o que estava bloqueado por ela está disponível de novo.',
  'charge.refunded':
    'Um reembolso de uma cobrança foi concluído; `refundedCents` é o total já reembolsado dela.',
  'refund.completed': 'Um reembolso chegou ao pagador.',
  'refund.failed': 'Um reembolso foi recusado; o valor inteiro voltou ao saldo.',
  'operation.created': 'Uma operação foi criada.',
  'payment_link.completed': 'Um link de pagamento recebeu todos os pagamentos que aceita.',
  'payment_link.overpaid':
    'Um link de pagamento foi pago mais vezes do que aceita, por quem já tinha o código; você pode reembolsar.',
  'payment_link.expired': 'O prazo de um link de pagamento terminou.',
  'operation.updated': 'Uma operação mudou de nome ou se tornou a principal.',
  'operation.deleted': 'Uma operação foi excluída.',
  'close.completed': 'Um dia de uma operação foi fechado: o saldo inicial, os movimentos e o saldo final.',
  'webhook.test': 'Foi pedido um teste deste endpoint.',
};

const onlyWhileAsked: Readonly<Record<Language, string>> = {
  en: 'Written only while an endpoint of the account subscribes to it.',
  'pt-BR': 'Escrito só enquanto um endpoint da conta o assina.',
};

function section(type: EventType, language: Language): string {
  const content = { type, livemode: true, at, ...sampleOf(type, operationId, at) };
  const body = eventBody('01939f3a-7c00-7000-8000-000000000001', content);
  const pretty = JSON.stringify(JSON.parse(body), null, 2);
  const { kept } = eventTypes[type];
  const description = language === 'en' ? eventTypes[type].description : inPortuguese[type];
  const asked = kept || type === 'webhook.test' ? '' : ` ${onlyWhileAsked[language]}`;
  return `### \`${type}\`\n\n${description}${asked}\n\n\`\`\`json\n${pretty}\n\`\`\`\n`;
}

export function withPayloads(page: string, language: Language): string {
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined)
    throw new Error('the page lacks the marks of the payloads');
  return `${before}${begin}\n\n${sampleTypes.map((type) => section(type, language)).join('\n')}\n${end}${after}`;
}

async function main([what, folder]: readonly string[]): Promise<void> {
  if ((what !== '--write' && what !== '--check') || folder === undefined) {
    throw new Error('usage: payloads.ts --write FOLDER | --check FOLDER');
  }
  for (const language of ['en', 'pt-BR'] as const) {
    const file = join(folder, pages[language]);
    const page = await readFile(file, 'utf8');
    const wanted = withPayloads(page, language);
    if (what === '--write') await writeFile(file, wanted);
    else if (page !== wanted)
      throw new Error(`${file} does not show the payloads as they are: npm run payloads`);
  }
}

if (import.meta.main) {
  main(process.argv.slice(2)).catch((error: Error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
}
