import type { Ids } from '../../ports/ids.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { describeRows, text, timestamptz, uuid } from '../database/define-table.ts';
import { timestamp } from '../database/pool.ts';
import { rankOf, type Table } from '../database/table.ts';

/** Every type, in the order of the pages, with its description in both languages. `kept: false`: written only for accounts with an endpoint that subscribes to it. */
export const eventTypes = {
  'charge.created': {
    kept: false,
    description: 'The provider has answered for the first time about a charge.',
    inPortuguese: 'O provedor respondeu pela primeira vez sobre uma cobrança.',
  },
  'charge.paid': { kept: true, description: 'A charge was paid.', inPortuguese: 'Uma cobrança foi paga.' },
  'charge.expired': {
    kept: true,
    description: 'A charge expired unpaid.',
    inPortuguese: 'Uma cobrança expirou sem ser paga.',
  },
  'charge.changed': {
    kept: true,
    description:
      'A change of a due-date charge has ended; `dueChange.outcome` says whether the provider carried it out.',
    inPortuguese:
      'A alteração de uma cobrança com vencimento terminou; `dueChange.outcome` diz se o provedor a fez.',
  },
  'charge.failed': {
    kept: true,
    description: 'The provider refused to create a charge, or removed it.',
    inPortuguese: 'O provedor recusou ou removeu uma cobrança.',
  },
  'charge.unexpected_payment': {
    kept: true,
    description:
      'A charge was paid a second time, with another amount or after it had failed; the money awaits review.',
    inPortuguese:
      'Uma cobrança foi paga pela segunda vez, com outro valor ou depois de ter falhado; o dinheiro aguarda análise.',
  },
  'charge.card_refused': {
    kept: true,
    description: 'An attempt to pay a charge by card was refused; `card` says why and how many are left.',
    inPortuguese:
      'Uma tentativa de pagar uma cobrança com cartão foi recusada; `card` diz por quê e quantas ainda restam.',
  },
  'charge.card_available': {
    kept: true,
    description: 'The acquirer released a card payment; the amount less the fee is in the balance.',
    inPortuguese: 'A adquirente liberou um pagamento com cartão; o valor menos a tarifa está no saldo.',
  },
  'charge.card_chargeback': {
    kept: true,
    description:
      'The holder of the card contests a payment (chargeback). `dispute.*` events show how it ends.',
    inPortuguese:
      'O portador do cartão contesta um pagamento (chargeback). Eventos `dispute.*` mostram como termina.',
  },
  'transfer.created': {
    kept: false,
    description: 'The provider has a transfer.',
    inPortuguese: 'O provedor registrou uma transferência.',
  },
  'transfer.completed': {
    kept: true,
    description: 'A transfer reached its receiver.',
    inPortuguese: 'Uma transferência chegou ao recebedor.',
  },
  'transfer.cancelled': {
    kept: true,
    description: 'A transfer was refused or cancelled; the whole amount is back in the balance.',
    inPortuguese: 'Uma transferência foi recusada ou cancelada; o valor inteiro voltou ao saldo.',
  },
  'transfer.returned': {
    kept: true,
    description: 'A completed transfer came back, in whole or in part; the amount is in the balance.',
    inPortuguese: 'Uma transferência concluída voltou, no todo ou em parte; o valor está no saldo.',
  },
  'transfer.unknown': {
    kept: true,
    description: 'The outcome of a transfer has been unknown for 15 minutes. Sent once per transfer.',
    inPortuguese:
      'O resultado de uma transferência é desconhecido há 15 minutos. Enviado uma vez por transferência.',
  },
  'dispute.opened': {
    kept: true,
    description: 'The provider reports that a received Pix is disputed (MED); the amount is held.',
    inPortuguese: 'O provedor informa que um Pix recebido foi contestado (MED); o valor está bloqueado.',
  },
  'dispute.defending': {
    kept: true,
    description: 'The defence of a dispute reached the provider.',
    inPortuguese: 'A defesa de uma contestação chegou ao provedor.',
  },
  'dispute.defence_failed': {
    kept: true,
    description: 'A defence certainly did not reach the provider; `defence.reasonCode` says why.',
    inPortuguese: 'Uma defesa com certeza não chegou ao provedor; `defence.reasonCode` diz por quê.',
  },
  'dispute.accepted': {
    kept: true,
    description: 'A dispute was accepted: the provider takes the money, and it stays held until then.',
    inPortuguese:
      'Uma contestação foi aceita: o provedor vai retirar o dinheiro, que continua bloqueado até lá.',
  },
  'dispute.rejected': {
    kept: true,
    description: 'A dispute was rejected; what was held for it is free again.',
    inPortuguese: 'Uma contestação foi rejeitada; o que estava bloqueado por ela está disponível de novo.',
  },
  'dispute.cancelled': {
    kept: true,
    description: 'A dispute was cancelled; what was held for it is free again.',
    inPortuguese: 'Uma contestação foi cancelada; o que estava bloqueado por ela está disponível de novo.',
  },
  'charge.refunded': {
    kept: false,
    description:
      'A refund of a charge was completed; `refundedCents` says how much it has given back in all.',
    inPortuguese:
      'Um reembolso de uma cobrança foi concluído; `refundedCents` é o total já reembolsado dela.',
  },
  'refund.completed': {
    kept: true,
    description: 'A refund reached the payer.',
    inPortuguese: 'Um reembolso chegou ao pagador.',
  },
  'refund.failed': {
    kept: true,
    description: 'A refund was refused; the whole amount is back in the balance.',
    inPortuguese: 'Um reembolso foi recusado; o valor inteiro voltou ao saldo.',
  },
  'payment_link.completed': {
    kept: true,
    description: 'A payment link has as many payments as it takes.',
    inPortuguese: 'Um link de pagamento recebeu todos os pagamentos que aceita.',
  },
  'payment_link.overpaid': {
    kept: true,
    description:
      'A payment link was paid more often than it takes, by payers who had their codes before; you may refund them.',
    inPortuguese:
      'Um link de pagamento foi pago mais vezes do que aceita, por quem já tinha o código; você pode reembolsar.',
  },
  'payment_link.expired': {
    kept: true,
    description: 'The time of a payment link is over.',
    inPortuguese: 'O prazo de um link de pagamento terminou.',
  },
  'operation.created': {
    kept: true,
    description: 'A business operation was created.',
    inPortuguese: 'Uma operação foi criada.',
  },
  'operation.updated': {
    kept: true,
    description: 'A business operation was renamed or became the main one.',
    inPortuguese: 'Uma operação mudou de nome ou se tornou a principal.',
  },
  'operation.deleted': {
    kept: true,
    description: 'A business operation was deleted.',
    inPortuguese: 'Uma operação foi excluída.',
  },
  'close.completed': {
    kept: false,
    description:
      'A day of a business operation was closed: what it began with, what moved, what it ended with.',
    inPortuguese: 'Um dia de uma operação foi fechado: o saldo inicial, os movimentos e o saldo final.',
  },
  'webhook.test': {
    kept: false,
    description: 'A person asked for a test of this endpoint.',
    inPortuguese: 'Foi pedido um teste deste endpoint.',
  },
} as const satisfies Record<string, { kept: boolean; description: string; inPortuguese: string }>;

export type EventType = keyof typeof eventTypes;

export const isEventType = (name: string): name is EventType => Object.hasOwn(eventTypes, name);

/**
 * A row of the outbox: written in the transaction of the state change that it reports, its body frozen from the state as it
 * was committed. Who delivers it reads these exact bytes.
 */
export interface EventRow {
  accountId: string;
  id: string;
  type: EventType;
  operationId: string;
  paymentId: string | null;
  body: string;
  createdAt: number;
}

export interface EventContent {
  accountId: string;
  operationId: string;
  paymentId: string | null;
  type: EventType;
  livemode: boolean;
  change: { from: string | null; to: string } | null;
  /** The resource as it is after the change; carries `operationId`. */
  data: object;
  at: number;
}

/** Raised when a member of the payload is removed or retyped; new optional members do not raise it. */
export const eventSchemaVersion = 1;

export function eventRow(ids: Pick<Ids, 'uuid'>, content: EventContent): EventRow {
  const id = ids.uuid();
  const { accountId, operationId, paymentId, type, at } = content;
  return { accountId, id, type, operationId, paymentId, body: eventBody(id, content), createdAt: at };
}

/** The payload, to the byte. */
export function eventBody(
  id: string,
  { type, livemode, change, data, at }: Pick<EventContent, 'type' | 'livemode' | 'change' | 'data' | 'at'>,
): string {
  return JSON.stringify({
    id,
    type,
    timestamp: new Date(at).toISOString(),
    schemaVersion: eventSchemaVersion,
    livemode,
    ...(change ? { change } : {}),
    data,
  });
}

const ofEvent = {
  accountId: uuid,
  type: text,
  operationId: uuid,
  paymentId: uuid.orNull,
  createdAt: timestamptz,
};

export const eventRows = describeRows<EventRow>({
  name: 'event',
  alias: 'e',
  key: ['accountId', 'id'],
  verbs: ['insert'],
  columns: { ...ofEvent, id: uuid, body: text },
});

/** Events that the publisher has not seen yet. */
export const freshRows = describeRows<Omit<EventRow, 'body'>>({
  name: 'event_fresh',
  alias: 'f',
  key: ['accountId', 'id'],
  verbs: ['insert'],
  columns: { ...ofEvent, id: uuid.named('event_id') },
});

export const events: Table<EventRow> = {
  name: 'event',
  rank: rankOf('event'),
  keyOf: eventRows.keyOf,
  read: () => Promise.reject(new Error('events are written, never read, by the till')),
  write: (tx, { inserted }) =>
    inserted.length === 0 ? [] : [eventRows.insert(tx, inserted), freshRows.insert(tx, inserted)],
};

const insertTest: Statement = {
  name: 'event_insert_test',
  text: `INSERT INTO event (account_id, id, type, operation_id, payment_id, body, created_at, endpoint_id)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
};

/** An event for one endpoint alone: neither published nor in the log. */
export const insertTestEvent = (tx: Queries, event: EventRow, endpointId: string): Promise<unknown> =>
  tx.run(insertTest, [
    event.accountId,
    event.id,
    event.type,
    event.operationId,
    event.paymentId,
    event.body,
    timestamp(event.createdAt),
    endpointId,
  ]);
