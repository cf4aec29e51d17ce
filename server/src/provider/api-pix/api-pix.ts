import type { Log } from '../../ground/log.ts';
import type { Clock } from '../../ports/clock.ts';
import { systemIds } from '../../ports/ids.ts';
import type { ClientCertificate, Net } from '../../ports/net.ts';
import { textOf } from '../../ports/outside-text.ts';
import { type Adapter, CredentialFault } from '../adapter.ts';
import { type ApiPixForm, bacenCharges, isTestCall, pixIn, plainForm, readReceived } from '../bacen.ts';
import { clockFindings, keyFindings, tokenFindings } from '../diagnosis.ts';
import { createExchange, type Exchange, failureOf, isSuccess } from '../exchange.ts';
import { identityOf } from '../identity.ts';
import type { TokenForm } from '../oauth.ts';
import type { Capabilities, Finding, Provider, WebhookNews } from '../provider.ts';
import { unreadItem } from '../unread.ts';
import { type ApiPixBank, banks } from './api-pix-banks.ts';
import { linesOfReceived } from './efi-account.ts';

/**
 * Charges over the Central Bank's API Pix 2.9.0 at a bank that differs from it by settings (`api-pix-banks.ts`). Receipts and refunds: the
 * payouts of banks follow no common form.
 */
export interface ApiPixOptions {
  connection: string;
  /** No money moves. */
  test: boolean;
  /** It is the simulator of this installation. */
  simulated?: boolean;
  /** Everything before `/cob` and `/pix`. */
  url: string;
  tokenUrl: string;
  token: TokenForm;
  clientId: string;
  clientSecret: string;
  pixKey: string;
  certificate?: ClientCertificate;
  extraHeaders?: () => Record<string, string>;
  extraQuery?: string;
  form?: Partial<ApiPixForm>;
  /** `GET /cob` is offered; default: true. */
  listsCharges?: boolean;
  /** `mtls`: a proxy of ours verifies the bank's certificate. */
  trust: 'path' | 'mtls';
  net: Net;
  clock: Clock;
  log: Log;
  limits?: { pageSize?: number; maxPages?: number };
}

const dueScopes: readonly string[] = ['cobv.read', 'cobv.write'];

const callTimeoutMs = 5_000;
/** Banks answer slower than providers that live from their API. */
const sendTimeoutMs = 10_000;
const registrationTimeoutMs = 60_000;

export function createApiPixProvider(options: ApiPixOptions): Provider {
  const { connection, pixKey, clock, log, trust, net } = options;
  const needed = options.token.scope?.split(' ') ?? [];
  let granted: readonly string[] | null = null;
  const exchange = createExchange({
    baseUrl: options.url,
    credentials: {
      type: 'oauth',
      onScopes: (scopes) => {
        granted = scopes;
      },
      clientId: options.clientId,
      clientSecret: options.clientSecret,
      tokenUrl: options.tokenUrl,
      form: options.token,
    },
    ...(options.certificate === undefined ? {} : { certificate: options.certificate }),
    ...(options.extraHeaders === undefined ? {} : { extraHeaders: options.extraHeaders }),
    ...(options.extraQuery === undefined ? {} : { extraQuery: options.extraQuery }),
    callTimeoutMs,
    net,
    clock,
  });
  const capabilities: Capabilities = {
    movesMoney: !options.test,
    charges: true,
    payouts: false,
    queryPayoutByOwnId: false,
    cancelsCharges: true,
    cards: false,
    // Banks without named permissions say with the token what they have granted, or do not say it.
    get dueCharges() {
      const given = granted ?? (options.token.scope === undefined ? dueScopes : needed);
      return dueScopes.every((scope) => given.includes(scope));
    },
    staticCodes: 'local',
    canListCharges: options.listsCharges ?? true,
    canListPayouts: false,
    // Without the permission a refund is refused here, before it is recorded, and not by the bank.
    canRefund: options.token.scope === undefined || needed.includes('pix.write'),
    canDispute: false,
    defence: null,
    hasBalance: false,
    repeatIsSafe: true,
    refusalIsFinal: true,
    maxParallelSends: null,
    webhookTrust: trust,
    callTimeoutMs,
    sendTimeoutMs,
    statement: { lists: true, dayReports: null },
  };
  const form: ApiPixForm = {
    ...plainForm,
    prefix: '',
    ...options.form,
  };
  return {
    connection,
    // API Pix has no call that names the account.
    identity: identityOf(options.simulated ? null : options.url, [pixKey]),
    capabilities,
    ...receiptsOf({
      exchange,
      form,
      pixKey,
      clock,
      log,
      trust,
      limits: options.limits,
      scopes: () => ({ needed, granted }),
    }),
    ...noPayouts,
  };
}

export interface ReceiptsDeps {
  exchange: Exchange;
  form: ApiPixForm;
  pixKey: string;
  clock: Clock;
  log: Log;
  trust: 'path' | 'mtls';
  limits?: { pageSize?: number; maxPages?: number } | undefined;
  /** The scopes requested with the token, and those that the bank granted; null: it does not say. */
  scopes: () => { needed: readonly string[]; granted: readonly string[] | null };
}

type Receipts = Omit<Provider, 'connection' | 'identity' | 'capabilities' | keyof typeof noPayouts>;

/** The half of a connection that receives. */
export function receiptsOf(deps: ReceiptsDeps): Receipts {
  const { exchange, form, pixKey, clock, log, trust } = deps;
  const { pageSize = 100, maxPages = 100 } = deps.limits ?? {};
  const webhookPath = `${form.prefix}/webhook/${encodeURIComponent(pixKey)}`;
  const { listReceived, queryReceived, ...charges } = bacenCharges({
    exchange,
    pixKey,
    clock,
    log,
    pageSize,
    maxPages,
    sendTimeoutMs,
    form,
  });
  return {
    ...charges,
    parseWebhook({ rawBody, receivedAt, clientVerified }) {
      if (trust === 'mtls' && clientVerified !== true)
        return { authentic: false, reason: "no proxy has verified the provider's certificate" };
      const news = readDelivery(rawBody, receivedAt, deps);
      return news ? { authentic: true, ...news } : { authentic: false, reason: 'the body is no JSON' };
    },
    readWebhook: (rawBody, receivedAt) => readDelivery(rawBody, receivedAt, deps),
    async registerWebhook(url) {
      const reply = await exchange({
        method: 'PUT',
        path: webhookPath,
        body: { webhookUrl: url },
        timeoutMs: registrationTimeoutMs,
      });
      if (reply.kind === 'answer' && isSuccess(reply.status)) return;
      throw failureOf('the provider did not take our webhook address', reply, clock);
    },
    async diagnose({ webhookUrl }) {
      const reply = await exchange({ method: 'GET', path: webhookPath });
      const findings: Finding[] = tokenFindings(reply, deps.scopes());
      if (reply.kind !== 'answer' || reply.status === 401) return findings;
      return [...findings, ...clockFindings(reply, clock), ...keyFindings(reply, webhookUrl)];
    },
    async statement(window) {
      const listed = await listReceived(window);
      return listed.outcome === 'listed'
        ? { ...listed, reports: listed.reports.flatMap(linesOfReceived) }
        : listed;
    },
    async findPix(endToEnd) {
      const found = await queryReceived(endToEnd);
      if (found.outcome !== 'found') return found;
      return { outcome: 'found', report: { direction: 'received', providerId: found.report.txid } };
    },
  };
}

const notOffered = async (): Promise<never> => {
  throw new Error('this connection sends no payouts');
};

const noPayouts = {
  sendPayout: notOffered,
  queryPayout: notOffered,
  listPayouts: notOffered,
  balance: notOffered,
  requestDayReport: notOffered,
  readDayReport: notOffered,
};

/** `{pix: [...]}`; what concerns another key is left out. Null: the body is no JSON. */
function readDelivery(
  rawBody: Buffer,
  receivedAt: number,
  { pixKey, log }: Pick<ReceiptsDeps, 'pixKey' | 'log'>,
): WebhookNews | null {
  let body: unknown;
  try {
    body = JSON.parse(textOf(rawBody));
  } catch {
    return null;
  }
  const news = { addressed: true, received: [], payouts: [], unread: [] } as Required<
    Omit<
      WebhookNews,
      'returned' | 'named' | 'namedAs' | 'costs' | 'paidPages' | 'refusedAttempts' | 'removed'
    >
  >;
  const items = pixIn(body);
  for (const item of items ?? []) {
    const { chave } = (item ?? {}) as { chave?: unknown };
    const pix = readReceived(item, receivedAt);
    if (chave !== pixKey) news.addressed = false;
    // Another customer of the same provider can point its webhook at our address (bacen/pix-api issue 239).
    if (typeof chave === 'string' && chave !== pixKey)
      log.warn('a delivery of the provider names a Pix to a key that is not ours');
    else if (pix === null) news.unread.push(unreadItem('delivery', item));
    else news.received.push(pix);
  }
  if (items === null && !isTestCall(body)) news.unread.push(unreadItem('delivery', body));
  return news;
}

// --------------------------------------------------------------------------------------------- adapters

/** Of one bank of the table. */
function adapterOf(bank: ApiPixBank): Adapter {
  const needsSecret = bank.token.value.client !== 'none';
  return {
    members: {
      clientId: { required: true, secret: false, about: `client_id of the application at ${bank.name}` },
      clientSecret: { required: needsSecret, secret: true, about: 'client_secret of the same application' },
      pixKey: {
        required: true,
        secret: false,
        about: 'a Pix key of the account: charges are received under it',
      },
      ...(bank.appKeyQuery === undefined
        ? {}
        : {
            appKey: {
              required: true,
              secret: true,
              about: 'developer application key of the same application',
            },
          }),
      ...(bank.scopes === undefined
        ? {}
        : {
            scopes: {
              required: false,
              secret: false,
              about: `permissions of the application, separated by spaces; default: ${bank.scopes.value}`,
            },
          }),
      tokenUrl: {
        required: false,
        secret: false,
        about: `where the bank gives tokens; default: ${bank.live.tokenUrl.value}${bank.test === null ? '' : `, in its test environment ${bank.test.tokenUrl.value}`}`,
      },
      ...(bank.chargeVersion === undefined
        ? {}
        : {
            chargeVersion: {
              required: false,
              secret: false,
              about: `version in the address of a charge, where it is not that of lists: v3 (default: ${bank.chargeVersion.usual.value})`,
            },
          }),
      webhookTrust: { required: false, secret: false, about: 'path (default) or mtls' },
    },
    certificate: 'required',
    defaultUrl: bank.live.url.value,
    testUrl: bank.test?.url.value ?? null,
    ...(bank.otherHosts && { otherHosts: bank.otherHosts.value }),
    simulatorPath: '/api-pix/v2',
    create({ name, test, simulated, url, credentials, certificate }, world) {
      const { clientId = '', clientSecret = '', pixKey = '', appKey, webhookTrust = 'path' } = credentials;
      if (webhookTrust !== 'path' && webhookTrust !== 'mtls')
        throw new CredentialFault('webhookTrust: must be path or mtls');
      const { correlationHeader, clientIdHeader, appKeyQuery } = bank;
      const ids = systemIds(world.clock);
      return createApiPixProvider({
        ...world,
        connection: name,
        test,
        simulated,
        ...placesOf(bank, url, credentials.chargeVersion),
        tokenUrl: credentials.tokenUrl ?? tokenUrlOf(bank, url, simulated),
        token: { ...tokenFormOf(bank, simulated), ...scopeOf(bank, credentials.scopes) },
        clientId,
        clientSecret,
        pixKey,
        ...(certificate === null ? {} : { certificate }),
        extraHeaders: () => ({
          ...(correlationHeader === undefined ? {} : { [correlationHeader.value]: ids.uuid() }),
          ...(clientIdHeader === undefined ? {} : { [clientIdHeader.value]: clientId }),
        }),
        ...(appKeyQuery === undefined
          ? {}
          : { extraQuery: `${appKeyQuery.value}=${encodeURIComponent(appKey ?? '')}` }),
        listsCharges: bank.listsNoCharges === undefined,
        trust: webhookTrust,
      });
    },
  };
}

/** The scopes that every charge needs. */
const leastScopes = ['cob.read', 'cob.write', 'pix.read'];

/** @throws CredentialFault for permissions without which no charge can be made and followed */
function scopeOf(bank: ApiPixBank, given: string | undefined): Pick<TokenForm, 'scope'> {
  if (bank.scopes === undefined) return {};
  const scopes = (given ?? bank.scopes.value).split(/\s+/).filter(Boolean);
  const missing = leastScopes.filter((scope) => !scopes.includes(scope));
  if (missing.length > 0) throw new CredentialFault(`scopes: must name ${missing.join(', ')}`);
  return { scope: scopes.join(' ') };
}

/** The simulator sees no client certificate: the secret proves who asks, also for a bank that takes none. */
function tokenFormOf({ token: { value } }: ApiPixBank, simulated: boolean): TokenForm {
  return simulated && value.client === 'none' ? { ...value, client: 'body' } : value;
}

/**
 * Of the environment that the address is of. One that the table does not know is the live one: a wrong place for tokens gives none, and an operator who
 * knows a newer address of the bank needs no more than that.
 */
function tokenUrlOf({ live, test }: ApiPixBank, url: string, simulated: boolean): string {
  if (simulated) return `${url.replace(/\/v2$/, '')}/oauth/token`;
  const isTest = test !== null && hostOf(url) === hostOf(test.url.value);
  return (isTest ? test : live).tokenUrl.value;
}

const hostOf = (url: string): string => new URL(url).hostname;

/**
 * Where the bank has one charge under another version than lists and Pix, the version is taken off its address.
 * @throws CredentialFault for what is no version, or for an address that names none
 */
function placesOf(
  { codeField, wholeSeconds, windowMostDays, chargeVersion }: ApiPixBank,
  url: string,
  version = chargeVersion?.usual.value,
): Pick<ApiPixOptions, 'url' | 'form'> {
  const form: Partial<ApiPixForm> = {
    codeFields: ['pixCopiaECola', ...(codeField === undefined ? [] : [codeField.value])],
    wholeSeconds: wholeSeconds?.value ?? false,
    windowMostMs: windowMostDays === undefined ? null : windowMostDays.value * 86_400_000,
  };
  if (version === chargeVersion?.listed || version === undefined) return { url, form };
  const ending = `/${chargeVersion?.listed}`;
  if (!/^v\d$/.test(version) || !url.endsWith(ending))
    throw new CredentialFault(`chargeVersion: must be such as v3, beside an address that ends in ${ending}`);
  return {
    url: url.slice(0, -ending.length),
    form: { ...form, prefix: ending, chargePrefix: `/${version}` },
  };
}

export const apiPixAdapters = {
  bb: adapterOf(banks.bb),
  itau: adapterOf(banks.itau),
  santander: adapterOf(banks.santander),
  sicoob: adapterOf(banks.sicoob),
  sicredi: adapterOf(banks.sicredi),
  bradesco: adapterOf(banks.bradesco),
  c6: adapterOf(banks.c6),
} satisfies Record<keyof typeof banks, Adapter>;
