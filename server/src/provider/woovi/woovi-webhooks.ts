import type { Net } from '../../ports/net.ts';
import { textOf } from '../../ports/outside-text.ts';
import type { WebhookNews } from '../provider.ts';
import { unreadItem } from '../unread.ts';
import { callerHeaders } from '../wire.ts';
import { readPayout, readReturn, readTransaction, recordOf, staticCodeOf } from './woovi-bodies.ts';

/** Woovi's deliveries: one event a delivery, signed with a key that it publishes. */

/** Woovi sends a delivery to one address for one event only, so each of these is registered. */
export const events = [
  'OPENPIX:CHARGE_COMPLETED',
  'OPENPIX:CHARGE_COMPLETED_NOT_SAME_CUSTOMER_PAYER',
  'OPENPIX:TRANSACTION_RECEIVED',
  'OPENPIX:MOVEMENT_CONFIRMED',
  'OPENPIX:MOVEMENT_FAILED',
  'OPENPIX:MOVEMENT_REMOVED',
  'PIX_TRANSACTION_REFUND_RECEIVED_CONFIRMED',
  'PIX_TRANSACTION_REFUND_SENT_CONFIRMED',
  'PIX_TRANSACTION_REFUND_SENT_REJECTED',
] as const;

/**
 * The keys that Woovi publishes without authentication; its answer may be kept for an hour (docs/webhook/seguranca/webhook-public-keys.md).
 * @throws Error when there are none
 */
export async function readPublicKeys(net: Net, url: string, timeoutMs: number): Promise<string[]> {
  const { status, text } = await net.request({
    method: 'GET',
    url,
    headers: callerHeaders,
    timeoutMs,
    maxBytes: 64 * 1024,
  });
  if (status !== 200) throw new Error(`status ${status}, no keys`);
  const list = bodyOf(Buffer.from(text))?.public_keys;
  return (Array.isArray(list) ? list : [])
    .map((one) => recordOf(one)?.key)
    .filter((key): key is string => typeof key === 'string');
}

/** The call that Woovi makes when an address is registered: it names no money, and nothing says whether it is signed. */
export const isTestDelivery = (body: Record<string, unknown>): boolean =>
  (body.evento === 'teste_webhook' || 'data_criacao' in body) &&
  ['charge', 'pix', 'payment', 'refundTransaction'].every((name) => body[name] == null);

export function bodyOf(rawBody: Buffer): Record<string, unknown> | null {
  try {
    return recordOf(JSON.parse(textOf(rawBody)));
  } catch {
    return null;
  }
}

/** Whom deliveries must name. */
export interface OwnAccount {
  accountId: string;
  /** CPF or CNPJ of its owner (`plainId`); null: Woovi does not say it to this application. */
  taxId: string | null;
  /** Branch and account number (`plainNumber`); null: Woovi does not say them to this application. */
  number: string | null;
}

export interface Addressing {
  /** Null: Woovi has not said which account it is, so no delivery is for it. */
  account: OwnAccount | null;
  /** Of Woovi's sandbox, or the simulator. */
  isTest: boolean;
}

/** A document without points, strokes and hyphens. */
export const plainId = (text: string): string => text.replace(/[^0-9A-Za-z]/g, '').toUpperCase();

/** Branch and number without the zeros before them, which Woovi writes in one place and not in another; null: one of them is not there. */
export const plainNumber = ({ branch, account }: Record<string, unknown>): string | null =>
  typeof branch === 'string' && typeof account === 'string' && /\d/.test(branch + account)
    ? [branch, account].map((part) => part.replace(/^0+/, '')).join('/')
    : null;

/**
 * Whether a delivery names the account, and nothing that contradicts it. Woovi's keys are those of the platform: they say that Woovi
 * sent it, and not to whom. `MOVEMENT_CONFIRMED` names the account in the newer of Woovi's two documents of it, `MOVEMENT_FAILED` in none: what these name is
 * queried. Deliveries of refunds have `account.id` beside branch and number, and no document says that it is the `accountId`: where the number is ours,
 * another id contradicts nothing.
 */
function isAddressed(body: Record<string, unknown>, { account: own, isTest }: Addressing): boolean {
  if (own === null) return false;
  const account = recordOf(body.account);
  if (account?.environment !== undefined && (account.environment === 'TESTING') !== isTest) return false;
  if (typeof account?.accountId === 'string') return account.accountId === own.accountId;
  if (account?.id === own.accountId) return true;
  const number = account && plainNumber(account);
  if (number !== null && number !== undefined && own.number !== null) return number === own.number;
  if (typeof account?.id === 'string') return false;
  const taxId = recordOf(body.company)?.taxID;
  return own.taxId !== null && typeof taxId === 'string' && plainId(taxId) === own.taxId;
}

/** One event a delivery. One that is not asked for, or that is new, says nothing. */
export function readDelivery(body: Record<string, unknown>, addressing: Addressing): WebhookNews {
  const news: WebhookNews = { addressed: isAddressed(body, addressing), received: [], payouts: [] };
  const unreadable = (): void => {
    news.unread = [unreadItem('delivery', body)];
  };
  // The same event comes as `OPENPIX:…` and as `woovi:…` (docs/flows/sandbox-error-simulation.md).
  const event = String(body.event ?? '').replace(/^(OPENPIX|woovi):/i, '');
  switch (event) {
    case 'CHARGE_COMPLETED':
    case 'CHARGE_COMPLETED_NOT_SAME_CUSTOMER_PAYER':
    case 'TRANSACTION_RECEIVED': {
      const txid = recordOf(body.charge)?.correlationID;
      const code = staticCodeOf({ pixQrCode: body.pixQrCode });
      const moved = readTransaction(body.pix, typeof txid === 'string' ? txid : code);
      if (moved?.kind === 'received') news.received.push(moved.pix);
      else if (moved === null) unreadable();
      break;
    }
    case 'MOVEMENT_CONFIRMED':
    case 'MOVEMENT_FAILED': {
      const payout = readPayout(body);
      if (payout !== null) news.payouts.push(payout);
      else unreadable();
      break;
    }
    case 'MOVEMENT_REMOVED': {
      // "Payment was removed by a user" (description of the events in the OpenAPI document), which a payout that is processed or confirmed cannot be
      // (docs/payment/payment-how-to-remove.md). It names no account, no amount and no state.
      const removed = recordOf(body.payment)?.correlationID;
      if (typeof removed === 'string') news.removed = [removed];
      else unreadable();
      break;
    }
    case 'PIX_TRANSACTION_REFUND_RECEIVED_CONFIRMED':
    case 'PIX_TRANSACTION_REFUND_SENT_CONFIRMED': {
      const returned = readReturn(body, 'settled');
      if (returned !== null) news.returned = [returned];
      else unreadable();
      break;
    }
    case 'PIX_TRANSACTION_REFUND_SENT_REJECTED': {
      const returned = readReturn(body, 'failed');
      if (returned !== null) news.returned = [returned];
      else unreadable();
    }
  }
  return news;
}
