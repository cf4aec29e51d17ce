import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Log } from '../../ground/log.ts';
import { centsOf } from '../../ground/money.ts';
import type { Clock } from '../../ports/clock.ts';
import { textOf } from '../../ports/outside-text.ts';
import { isTestCall, pixIn, readReceived } from '../bacen.ts';
import { type Exchange, failureOf, isSuccess } from '../exchange.ts';
import type {
  PayoutReport,
  ProviderCost,
  ReceivedPix,
  UnreadItem,
  WebhookContent,
  WebhookDelivery,
  WebhookNews,
} from '../provider.ts';
import { costOfPix } from '../provider.ts';
import { unreadItem } from '../unread.ts';
import { hasIdEnvio, type ReadPayout } from './efi-payouts.ts';

/** Efí's deliveries, how they are recognised, and how our address is registered. */

export type WebhookTrust =
  /**
   * A header `t=<unix s>,v1=<hex>` with the HMAC-SHA256 under `secret` of `<t>.<raw body>`. The simulator signs so with
   * its client secret under `x-simulator-signature`; Efí signs nothing, but a proxy of ours that checks its
   * certificate can.
   */
  | { trust: 'signed'; secret: string; header?: string }
  /** A proxy of ours verifies Efí's certificate and says so (`WebhookDelivery.clientVerified`). */
  | { trust: 'mtls' }
  /** Only the secret address protects it. */
  | { trust: 'path' };

/** How old a signed delivery may be: as long as the clocks of both sides may differ, no longer. */
const signatureToleranceMs = 5 * 60_000;

/** Efí calls the new address, once or twice, before it answers its registration. */
const registrationTimeoutMs = 60_000;

export interface WebhookCalls {
  parseWebhook(delivery: WebhookDelivery): WebhookContent;
  readWebhook(rawBody: Buffer, receivedAt: number): WebhookNews | null;
  registerWebhook(url: string): Promise<void>;
}

export function efiWebhooks(options: {
  exchange: Exchange;
  clock: Clock;
  log: Log;
  connection: string;
  pixKey: string;
  trust: WebhookTrust;
  payoutOf: ReadPayout;
}): WebhookCalls {
  const { exchange, clock, pixKey, trust } = options;
  const readWebhook = (rawBody: Buffer, receivedAt: number) => readDelivery(rawBody, receivedAt, options);
  return {
    readWebhook,

    parseWebhook(delivery) {
      const fault = faultOf(delivery, trust);
      if (fault !== null) return { authentic: false, reason: fault };
      const news = readWebhook(delivery.rawBody, delivery.receivedAt);
      return news ? { authentic: true, ...news } : { authentic: false, reason: 'the body is no JSON' };
    },

    async registerWebhook(url) {
      const reply = await exchange({
        method: 'PUT',
        path: `/v2/webhook/${encodeURIComponent(pixKey)}`,
        body: { webhookUrl: url },
        timeoutMs: registrationTimeoutMs,
        // Efí otherwise tests that our address refuses callers without its certificate.
        ...(trust.trust === 'mtls' ? {} : { headers: { 'x-skip-mtls-checking': 'true' } }),
      });
      if (reply.kind === 'answer' && isSuccess(reply.status)) return;
      throw failureOf('the provider did not take our webhook address', reply, clock);
    },
  };
}

/** Why it is not authentic; null when it is. */
function faultOf(delivery: WebhookDelivery, trust: WebhookTrust): string | null {
  switch (trust.trust) {
    case 'signed':
      return signatureFault(delivery, trust.secret, trust.header ?? 'x-simulator-signature');
    case 'mtls':
      return delivery.clientVerified === true ? null : "no proxy has verified the provider's certificate";
    case 'path':
      return null;
  }
}

/**
 * A delivery of several Pix and payouts. What concerns another key than ours is left out. Null: the body is no JSON.
 */
function readDelivery(
  rawBody: Buffer,
  receivedAt: number,
  {
    connection,
    pixKey,
    log,
    payoutOf,
  }: { connection: string; pixKey: string; log: Log; payoutOf: ReadPayout },
): WebhookNews | null {
  let body: unknown;
  try {
    body = JSON.parse(textOf(rawBody));
  } catch {
    return null;
  }
  const received: ReceivedPix[] = [];
  const payouts: PayoutReport[] = [];
  const unread: UnreadItem[] = [];
  const items = pixIn(body);
  const costs: ProviderCost[] = [];
  let addressed = true;
  // Efí's test delivery at registration has no list: authentic, and empty.
  if (items === null && !isTestCall(body)) unread.push(unreadItem('delivery', body));
  for (const item of items ?? []) {
    const { tipo, chave } = (item ?? {}) as { tipo?: unknown; chave?: unknown };
    // Of a payout it is the payer's key.
    if (chave !== pixKey) addressed = false;
    if (tipo === 'SOLICITACAO' || hasIdEnvio(item)) {
      const payout = payoutOf(item, receivedAt);
      if (payout !== null) {
        payouts.push(payout);
        costs.push(...costIn(item, 'sent', payout.endToEnd, payout.settledAt ?? receivedAt));
      } else unread.push(unreadItem('delivery', item));
    } else if (typeof chave === 'string' && chave !== pixKey) {
      // Another customer of the same provider can point its webhook at our address (bacen/pix-api issue 239).
      log.warn({ connection }, 'a delivery of the provider names a Pix to a key that is not ours');
    } else {
      const pix = readReceived(item, receivedAt);
      if (pix !== null) {
        received.push(pix);
        costs.push(...costIn(item, 'received', pix.endToEnd, pix.paidAt));
      } else unread.push(unreadItem('delivery', item));
    }
  }
  return { addressed, received, payouts, unread, ...(costs.length > 0 && { costs }) };
}

/** `gnExtras.tarifa`, where the account has asked for it (`PUT /v2/gn/config`, `notificacao.tarifa`); text or a number of reais. */
function costIn(item: unknown, of: 'received' | 'sent', endToEnd: string | null, at: number): ProviderCost[] {
  const { tarifa } = ((item as { gnExtras?: unknown } | null)?.gnExtras ?? {}) as { tarifa?: unknown };
  const amountCents = centsOf(tarifa);
  if (amountCents === null || endToEnd === null) return [];
  return [{ reference: costOfPix(of, endToEnd), amountCents, at }];
}

/** Null when the signature is right. More than one `v1` is allowed, so that a secret can be changed. */
function signatureFault(delivery: WebhookDelivery, secret: string, header: string): string | null {
  const value = delivery.headers[header];
  if (typeof value !== 'string') return `no header ${header}`;
  let seconds = '';
  const given: string[] = [];
  for (const part of value.split(',')) {
    const [name, content = ''] = part.trim().split('=', 2);
    if (name === 't') seconds = content;
    if (name === 'v1') given.push(content);
  }
  if (!/^\d{1,12}$/.test(seconds)) return 'no time in the signature';
  const right = createHmac('sha256', secret).update(`${seconds}.`).update(delivery.rawBody).digest();
  const matches = given.some((hex) => {
    const bytes = Buffer.from(hex, 'hex');
    return bytes.length === right.length && timingSafeEqual(bytes, right);
  });
  if (!matches) return 'the signature is not ours';
  // Looked at last: only what is signed has a time.
  if (Math.abs(delivery.receivedAt - Number(seconds) * 1000) > signatureToleranceMs)
    return 'the signature is too old';
  return null;
}
