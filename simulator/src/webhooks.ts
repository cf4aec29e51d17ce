import { createHmac } from 'node:crypto';
import { Agent } from 'undici';
import { paymentView } from './api-pix.ts';
import { type Bank, nextReturnForm } from './bank.ts';
import type { Desk, Request } from './desk.ts';
import { payoutNotice } from './efi.ts';
import { namesFee } from './efi-account.ts';
import { toReais } from './money.ts';
import { readToken } from './oauth.ts';
import { inForm } from './odd-wire.ts';
import type { Delivery } from './outbox.ts';

/** One request of a delivery. */
export type Post = {
  address: URL;
  headers: Record<string, string>;
  body: string;
  /** Of a question: reads the answer. @returns whether it is one */
  answered?: (text: string) => boolean;
};

/**
 * The requests that a delivery consists of, in the form of a protocol. None: the registration was removed in the meantime, so there is
 * no address to send to.
 */
export type PostsOf = (bank: Bank, delivery: Delivery, now: number) => Post[];

const trialMs = 5_000;

/** Whether an address takes a call: any 2xx. */
export async function isReached({ address, headers, body }: Post): Promise<boolean> {
  try {
    const answer = await fetch(address, {
      ...{ method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } },
      ...{ redirect: 'error', signal: AbortSignal.timeout(trialMs) },
    });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false;
  }
}

/** Posts deliveries. What is delivered, again and when, is the outbox's business. */
export type Sender = {
  /** Queues a delivery; `ended` is called once for it, `answered` once for every answer that came. */
  send(delivery: Delivery): void;
  stop(): Promise<void>;
};

/** With one delivery for each payment, and 100 ms for each answer, this allows 2,500 payments a second. */
const parallelDeliveries = 256;
const timeoutMs = 10_000;

export function startSender(
  bank: Bank,
  now: () => number,
  postsOf: PostsOf,
  ended: (delivery: Delivery, delivered: boolean, answers: number) => void,
): Sender {
  const agent = new Agent({
    connections: parallelDeliveries,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  const stopping = new AbortController();
  const queue: Delivery[] = [];
  let running = 0;

  const next = () => {
    while (running < parallelDeliveries && !stopping.signal.aborted) {
      const delivery = queue.shift();
      if (delivery === undefined) return;
      running++;
      void deliver(delivery);
    }
  };

  const deliver = async (delivery: Delivery) => {
    let delivered = false;
    let answers = 0;
    try {
      for (let copy = 0; copy < delivery.copies; copy++) {
        delivered = true;
        for (const { address, headers, body, answered } of postsOf(bank, delivery, now())) {
          const answer = await agent.request({
            origin: address.origin,
            path: address.pathname + address.search,
            method: 'POST',
            headers: { 'content-type': 'application/json', ...headers },
            body,
            signal: stopping.signal,
          });
          answers++;
          const isTaken = answer.statusCode >= 200 && answer.statusCode < 300;
          if (answered === undefined) await answer.body.dump();
          const text = answered === undefined ? '' : await answer.body.text();
          delivered &&= isTaken && (answered?.(text) ?? true);
        }
        if (!delivered) break;
      }
    } catch {
      // Refused, reset, too late: the client did not take it, whatever it was.
      delivered = false;
    }
    running--;
    if (stopping.signal.aborted) return;
    ended(delivery, delivered, answers);
    next();
  };

  return {
    send(delivery) {
      queue.push(delivery);
      next();
    },
    async stop() {
      stopping.abort();
      await agent.destroy();
    },
  };
}

/**
 * Efí's form: one request with all items, to the address that is registered for their key, `/pix` appended, signed with the secret of the
 * client that registered it.
 */
export const efiPosts: PostsOf = (bank, delivery, now) => {
  const webhook = bank.webhooks.get(delivery.key);
  if (webhook === undefined) return [];
  const body = deliveryBody(bank, delivery);
  const secret = bank.clients.get(webhook.clientId)?.secret ?? '';
  const signature = sign(secret, Math.floor(now / 1000), body);
  return [{ address: callbackAddress(webhook.url), headers: { 'x-simulator-signature': signature }, body }];
};

/** Efí calls an address while it registers it. This provider signs, so it signs that call as well. */
export function efiTrial({ bank, world }: Desk, request: Request): Post | undefined {
  const [version, noun, key] = request.path;
  if (request.method !== 'PUT' || version !== 'v2' || noun !== 'webhook' || key === undefined)
    return undefined;
  const url = webhookUrlIn(request.body);
  const client = bank.clients.get(clientOfToken(bank, request) ?? '');
  if (url === undefined || client === undefined) return undefined;
  const body = '{"evento":"teste_webhook"}';
  const signature = sign(client.secret, Math.floor(world.now() / 1000), body);
  return { address: new URL(url), headers: { 'x-simulator-signature': signature }, body };
}

function webhookUrlIn(body: string): string | undefined {
  try {
    const { webhookUrl } = JSON.parse(body);
    return URL.canParse(webhookUrl) ? webhookUrl : undefined;
  } catch {
    return undefined;
  }
}

const clientOfToken = (bank: Bank, { headers }: Request): string | undefined =>
  readToken(bank.tokenSecret, /^bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? '')?.client;

function deliveryBody(bank: Bank, delivery: Delivery): string {
  const pix: unknown[] = [];
  for (const { kind, id, returns } of delivery.notifications) {
    if (kind === 'payment') {
      const payment = bank.payments.get(id);
      if (payment !== undefined)
        pix.push({
          ...paymentView(payment, returns, nextReturnForm(bank)),
          ...(namesFee(bank, payment.key, 'received') && feeNotice(payment)),
        });
    } else {
      const payout = bank.payouts.get(id);
      if (payout === undefined) continue;
      const { feeCents: _, ...free } = payout;
      const shown = namesFee(bank, payout.payerKey, 'sent') ? payout : free;
      pix.push(payoutNotice(shown, returns, nextReturnForm(bank)));
    }
  }
  return JSON.stringify(inForm({ pix }, bank.behaviour.amounts));
}

/** Efí reports its fee where the account has asked for it (`notificacao.tarifa`). */
const feeNotice = ({ feeCents }: { feeCents?: number }) =>
  feeCents === undefined ? {} : { gnExtras: { tarifa: toReais(feeCents) } };

/** The registered address with `/pix` after its path, as API Pix demands; a query stays behind it. */
export function callbackAddress(webhookUrl: string): URL {
  const address = new URL(webhookUrl);
  address.pathname = `${address.pathname.replace(/\/$/, '')}/pix`;
  return address;
}

/** `t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">` */
export function sign(secret: string, seconds: number, body: string): string {
  const mac = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
  return `t=${seconds},v1=${mac}`;
}
