import type { Log } from '../../ground/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ClientCertificate, Net } from '../../ports/net.ts';
import { type Adapter, CredentialFault } from '../adapter.ts';
import { balanceOf, dayReports, statementOf } from '../api-pix/efi-account.ts';
import { bacenCharges, plainForm } from '../bacen.ts';
import { identityOf } from '../identity.ts';
import type { Capabilities, Provider, WebhookContent, WebhookDelivery } from '../provider.ts';
import { type EfiAccess, efiAccess } from './efi-access.ts';
import { defenceTextMost, efiDisputes } from './efi-disputes.ts';
import { efiPayouts, type PayoutCalls, payoutReader } from './efi-payouts.ts';
import { efiWebhooks, type WebhookTrust } from './efi-webhooks.ts';

/**
 * Efí: charges over API Pix (`bacen.ts`) and Efí's own calls: payouts (`efi-payouts.ts`), the account (`efi-account.ts`), infractions
 * (`efi-disputes.ts`), webhooks (`efi-webhooks.ts`) and permissions (`efi-access.ts`). The simulator speaks the same, so test accounts go
 * through this adapter too.
 */
export interface EfiOptions {
  connection: string;
  /** No money moves. */
  test: boolean;
  /** It is the simulator of this installation. */
  simulated?: boolean;
  /** Everything before `/v2` and `/oauth`. */
  baseUrl: string;
  clientId: string;
  clientSecret: string;
  /** Ours: charges are received under it, payouts paid from its account. */
  pixKey: string;
  /** Efí asks for one on every call, the simulator for none. */
  certificate?: ClientCertificate;
  webhook: WebhookTrust;
  net: Net;
  clock: Clock;
  log: Log;
  limits?: Partial<EfiLimits>;
}

export interface EfiLimits {
  /** For a query, or a page of a list. */
  callTimeoutMs: number;
  /** For the creation of a charge and for a payout. */
  sendTimeoutMs: number;
  maxParallelSends: number | null;
  /** Items of a page; API Pix allows 1000. */
  pageSize: number;
  /** A listing that is longer is answered as incomplete. */
  maxPages: number;
}

/**
 * Efí asks for one send after the other, the next when the one before has ended: parallel ones collide over the
 * balance and fail.
 *
 * It looks the receiver's key up at the central directory before it answers a payout, and public clients give it 15 to 60 s: with 5 s
 * more payouts end unclear, and each of those costs a query.
 */
const efiLimits = { sendTimeoutMs: 15_000, maxParallelSends: 1 };

/** The simulator answers at once or not at all, and its balance limits nothing, so nothing limits its sends. */
export const simulatorLimits = { sendTimeoutMs: 5_000, maxParallelSends: null };

/** Days of reports are those of Brasília, which has had no summer time since 2019. */
const brasiliaOffsetMs = -3 * 3_600_000;

/**
 * Where Efí's API is, and what its connections are made with. The name of the header is the simulator's own where it signs;
 * elsewhere a proxy of the operator signs.
 */
export const efiAdapter: Adapter = {
  members: {
    clientId: {
      required: true,
      secret: false,
      about: 'Client_Id of the application in the panel (API, Aplicações)',
    },
    clientSecret: { required: true, secret: true, about: 'Client_Secret of the same application' },
    pixKey: {
      required: true,
      secret: false,
      about: 'a Pix key of the account: charges are received under it',
    },
    webhookTrust: { required: false, secret: false, about: 'path (default), mtls or signed' },
    webhookSecret: {
      required: false,
      secret: true,
      about: 'for signed: what the proxy signs deliveries with',
    },
  },
  certificate: 'required',
  defaultUrl: 'https://pix.api.efipay.com.br',
  testUrl: 'https://pix-h.api.efipay.com.br',
  // Of Efí under its name Gerencianet (its SDKs before 2023).
  otherHosts: { live: ['api-pix.gerencianet.com.br'], test: ['api-pix-h.gerencianet.com.br'] },
  simulatorPath: '',
  create({ name, test, simulated, url, credentials, certificate }, world) {
    const { clientId = '', clientSecret = '', pixKey = '' } = credentials;
    return createEfiProvider({
      ...world,
      connection: name,
      test,
      simulated,
      baseUrl: url,
      clientId,
      clientSecret,
      pixKey,
      ...(certificate === null ? {} : { certificate }),
      webhook: trustOf(credentials, simulated),
      ...(simulated ? { limits: simulatorLimits } : {}),
    });
  },
};

function trustOf(
  { webhookTrust, webhookSecret, clientSecret }: Readonly<Record<string, string>>,
  simulated: boolean,
): WebhookTrust {
  // The simulator signs with the secret of the client that registered the address.
  if (simulated && webhookTrust === undefined) return { trust: 'signed', secret: clientSecret ?? '' };
  const trust = webhookTrust ?? (webhookSecret === undefined ? 'path' : 'signed');
  if (trust !== 'signed' && webhookSecret !== undefined)
    throw new CredentialFault(`webhookSecret: is of no use with webhookTrust ${trust}`);
  if (trust === 'path' || trust === 'mtls') return { trust };
  if (trust !== 'signed') throw new CredentialFault('webhookTrust: must be path, mtls or signed');
  if (webhookSecret === undefined)
    throw new CredentialFault('webhookSecret: is missing, and webhookTrust signed needs it');
  return { trust, secret: webhookSecret, header: 'x-provider-signature' };
}

/** Whether a delivery is authentic shows in itself: nothing has to be asked for. */
export interface EfiProvider extends Provider {
  parseWebhook(delivery: WebhookDelivery): WebhookContent;
}

export function createEfiProvider(options: EfiOptions): EfiProvider {
  const { connection, pixKey, clock, log } = options;
  const limits: EfiLimits = {
    callTimeoutMs: 5_000,
    ...efiLimits,
    pageSize: 1000,
    maxPages: 10,
    ...options.limits,
  };
  const { exchange, mayDefend, takesDueCharges, diagnose } = efiAccess({
    ...options,
    callTimeoutMs: limits.callTimeoutMs,
  });
  const deps = { exchange, clock, log, pixKey, ...limits };
  const payoutOf = payoutReader({ connection, pixKey, clock, log });
  const { listReceived, queryReceived, ...charges } = bacenCharges({
    ...deps,
    // The body of a return is `{valor}` and nothing else (`PixDevolutionBody` of Efí's SDK 2.0.1, strict). A text that steers the simulator is for it alone.
    form: {
      ...plainForm,
      takesRefundText: (text) => options.simulated === true && text.endsWith('@simulator.example'),
    },
  });
  const { listSent, querySent, ...payouts } = efiPayouts({ ...deps, payoutOf });

  return {
    connection,
    // Efí has no call that names the account.
    identity: identityOf(options.simulated ? null : options.baseUrl, [pixKey]),
    capabilities: capabilitiesOf(options, limits, { mayDefend, takesDueCharges }),
    ...charges,
    ...payouts,
    ...efiWebhooks({ ...deps, connection, trust: options.webhook, payoutOf }),
    ...dayReports(exchange, clock),
    diagnose,
    balance: () => balanceOf(exchange, clock),
    statement: (window) => statementOf(window, { listReceived, listSent: (one) => listSent(one, true) }),
    disputes: efiDisputes(deps),
    findPix: (endToEnd) => findPix(endToEnd, { queryReceived, querySent }),
  };
}

function capabilitiesOf(
  { test, webhook }: EfiOptions,
  { callTimeoutMs, sendTimeoutMs, maxParallelSends }: EfiLimits,
  { mayDefend, takesDueCharges }: Pick<EfiAccess, 'mayDefend' | 'takesDueCharges'>,
): Capabilities {
  return {
    // An idEnvio or txid that was used gets 409, whatever became of it.
    repeatIsSafe: true,
    refusalIsFinal: true,
    maxParallelSends,
    movesMoney: !test,
    charges: true,
    payouts: true,
    queryPayoutByOwnId: true,
    cancelsCharges: true,
    cards: false,
    get dueCharges() {
      return takesDueCharges();
    },
    staticCodes: 'local',
    canListCharges: true,
    canListPayouts: true,
    canRefund: true,
    canDispute: true,
    get defence() {
      return mayDefend() ? { textMost: defenceTextMost, files: null, timeoutMs: callTimeoutMs } : null;
    },
    hasBalance: true,
    webhookTrust: webhook.trust,
    callTimeoutMs,
    sendTimeoutMs,
    statement: { lists: true, dayReports: { utcOffsetMs: brasiliaOffsetMs } },
  };
}

/** Which payment a Pix belongs to: among what was received first, then among what was sent. */
async function findPix(
  endToEnd: string,
  calls: Pick<ReturnType<typeof bacenCharges>, 'queryReceived'> & Pick<PayoutCalls, 'querySent'>,
): ReturnType<Provider['findPix']> {
  const received = await calls.queryReceived(endToEnd);
  if (received.outcome === 'found')
    return { outcome: 'found', report: { direction: 'received', providerId: received.report.txid } };
  if (received.outcome === 'unclear') return received;
  const sent = await calls.querySent(endToEnd);
  if (sent.outcome !== 'found') return sent;
  const { payout } = sent.report;
  return { outcome: 'found', report: { direction: 'sent', providerId: payout?.providerId ?? null } };
}
