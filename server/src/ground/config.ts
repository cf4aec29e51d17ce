import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { certificateProblem } from './certificate.ts';
import { isLoopbackHost, isPublicHost } from './hosts.ts';
import { parseQuotas, type Quotas, quotaNames } from './quotas.ts';
import {
  addresses,
  host as hostForm,
  listOf,
  mailbox,
  oneOf,
  origin,
  postgresUrl,
  type SettingReader,
  secretBytes,
  settingReader,
  url,
  whole,
  withoutSlash,
} from './setting-reader.ts';

/** The settings of the environment, read once. Durations carry their unit in the name. */
export interface Config {
  readonly host: string;
  readonly port: number;
  /** Absolute. */
  readonly dataDir: string;
  /** Null: the embedded PostgreSQL in `dataDir`. */
  readonly databaseUrl: string | null;
  readonly migrationDatabaseUrl: string | null;
  /** Without a slash at its end. */
  readonly publicUrl: string;
  /** Where providers deliver; `publicUrl` where deliveries have no host of their own. */
  readonly hooksUrl: string;
  /** Base of the payer's pages, without a slash at its end; `publicUrl` where they have no host of their own. */
  readonly checkoutUrl: string;
  /** In lower case: what the proxy says of the provider's certificate. */
  readonly hooksHeader: string;
  /** Null: no simulator is started here. */
  readonly simulatorPort: number | null;
  /** Where `vintem simulator` listens; beside `start` it listens on this machine only. */
  readonly simulatorHost: string;
  readonly simulatorUrl: string;
  readonly simulatorState: string;
  readonly rateLimits: boolean;
  /** The limits that differ from the defaults. */
  readonly rateQuotas: Quotas;
  /** Of messages to callers that ask for none. */
  readonly defaultLanguage: 'en' | 'pt-BR';
  /** CNPJs with letters are Pix keys. */
  readonly cnpjLetters: boolean;
  readonly transferWaitMs: number;
  readonly logLevel: string;
  readonly chargeExpirySeconds: number;
  /** How long a payment that a provider took may be missing in its lists. */
  readonly listLagSeconds: number;
  /** 32 bytes; null: the one kept in `dataDir`. */
  readonly secret: Buffer | null;
  readonly secretPrevious: Buffer | null;
  /** Addresses and networks (CIDR) whose forwarded headers count. */
  readonly trustedProxies: readonly string[];
  /** Where the operators' console is, without a slash at its end; `publicUrl` where it has no host of its own. */
  readonly operatorUrl: string;
  /** The OpenID provider of the console; null: none. */
  readonly operatorOidc: OidcSettings | null;
  /** Addresses and networks from which the operators' console opens; empty: from everywhere. */
  readonly operatorAddresses: readonly string[];
  /** The most that one operator moves alone in the console, in cents: above it a second one has to agree. */
  readonly operatorAloneCents: number;
  /** Whether support sees a merchant's panel under the owner's grant alone, or without one after a mail to the owners. */
  readonly supportViews: 'granted' | 'mailed';
  readonly smtpUrl: string | null;
  /** Mail may go to another machine unencrypted, when its server offers no TLS. */
  readonly smtpWithoutTls: boolean;
  readonly mailFrom: string | null;
  /** Where mails for the operator go; null: to `mailFrom`. */
  readonly operatorEmail: string | null;
  readonly metricsPort: number | null;
  /** Expected number of standbys of the database; null: not configured. */
  readonly databaseStandbys: number | null;
  readonly webhookAllowCidrs: readonly string[];
  readonly webhookDenyCidrs: readonly string[];
  readonly webhookAllowInsecureLocal: boolean;
  readonly webhookProxyUrl: string | null;
  /** Null: only test accounts can be created. */
  readonly provider: LiveProvider | null;
  /** Null: no traces. */
  readonly tracing: Tracing | null;
  /** Null: the audit log stays in the database. */
  readonly auditForward: AuditForward | null;
}

export interface OidcSettings {
  /** To the letter, as its documents and tokens name it. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string;
  /** Claims of a token that stand for a second factor; empty: the console always asks for one. */
  readonly secondFactor: readonly { claim: 'acr' | 'amr'; value: string }[];
  /** The role that a group of the claim `groups` may have; null: groups are not looked at. */
  readonly groups: ReadonlyMap<string, string> | null;
}

export interface Tracing {
  /** Of the collector, without `/v1/traces`. */
  readonly endpoint: string;
  /** Of the traces that are kept, 0 to 1. */
  readonly share: number;
}

/** Where the audit log is sent to. */
export interface AuditForward {
  /** The whole address, as `https://collector.example.com:4318/v1/logs`. */
  readonly url: string;
  /** That the receiver asks for, as `authorization`. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface LiveProvider {
  readonly adapter: (typeof ADAPTERS)[number];
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** PKCS #12: the bytes of `PROVIDER_CERTIFICATE_FILE`, or `PROVIDER_CERTIFICATE` in base64. */
  readonly certificate: Buffer | null;
  readonly certificatePassphrase: string | null;
  readonly pixKey: string;
  readonly webhookTrust: (typeof TRUSTS)[number];
  /** Not null where `webhookTrust` is `signed`, and only there. */
  readonly webhookSecret: string | null;
}

const hostWanted = 'an address or the name of a host, without port';
const ADAPTERS = ['efi'] as const;
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];
const PROVIDER_NEEDS = ['PROVIDER_URL', 'PROVIDER_CLIENT_ID', 'PROVIDER_CLIENT_SECRET', 'PROVIDER_PIX_KEY'];
const PROVIDER_MAY = [
  'PROVIDER_CERTIFICATE',
  'PROVIDER_CERTIFICATE_PASSPHRASE',
  'PROVIDER_WEBHOOK_SECRET',
  'PROVIDER_WEBHOOK_TRUST',
];
const TRUSTS = ['path', 'mtls', 'signed'] as const;

/** A host that a browser on this machine can open: the addresses that mean "every interface" are not one. */
export function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return isIP(host) === 6 ? `[${host}]` : host;
}

/** Something to be put right in the settings before a start; every line names the setting. Ends with exit code 2. */
export class SettingFault extends Error {
  override name = 'SettingFault';
  readonly lines: readonly string[];
  constructor(...lines: string[]) {
    super(lines.join('\n'));
    this.lines = lines;
  }
}

/**
 * An installation to try things with: no money moves and no stranger reaches it. Only it gets the first test account, the mailbox page
 * and a simulator without being asked.
 */
export const isTrial = ({ provider, publicUrl }: Pick<Config, 'provider' | 'publicUrl'>): boolean =>
  provider === null && !isPublicHost(new URL(publicUrl).hostname);

/** The ways that may go without TLS, named one by one in `ALLOW_WITHOUT_TLS`. */
const plainChoices = ['public-url', 'database', 'smtp', 'audit-forward'] as const;
type PlainChoice = (typeof plainChoices)[number];

/** Modes of libpq in which a connection without TLS fails. */
const encryptedModes = ['require', 'verify-ca', 'verify-full'];

/** Whether what is sent to PostgreSQL can be read on the way. A socket of this machine has no host. */
function isPlainDatabase(url: string): boolean {
  const { hostname, searchParams } = new URL(url);
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  if (host === '' || host.startsWith('/') || isLoopbackHost(host)) return false;
  return !encryptedModes.includes(searchParams.get('sslmode') ?? '');
}

/**
 * Reads every setting, each also from the file that `NAME_FILE` names (one line end at its end is dropped). An empty
 * value counts as unset.
 * @throws SettingFault with all faults at once
 */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const from = settingReader(env);
  const withoutTls: readonly PlainChoice[] = from.setting(
    'ALLOW_WITHOUT_TLS',
    [],
    `a list of ${plainChoices.join(', ')}`,
    listOf(plainChoices),
  );
  const dataDir = resolve(from.text('DATA_DIR') ?? './data');
  const config: Config = {
    dataDir,
    ...edgeSettings(from),
    ...databaseSettings(from),
    ...simulatorSettings(from, dataDir),
    ...webhookSettings(from),
    cnpjLetters: from.setting('CNPJ_LETTERS', false, 'on or off', (value) =>
      value === 'on' ? true : value === 'off' ? false : undefined,
    ),
    transferWaitMs: from.setting('TRANSFER_WAIT_MS', 6000, 'milliseconds from 0 to 60000', whole(0, 60_000)),
    chargeExpirySeconds: from.setting(
      'CHARGE_EXPIRY_SECONDS',
      86_400,
      'seconds from 60 to 604800',
      whole(60, 604_800),
    ),
    listLagSeconds: from.setting('LIST_LAG_SECONDS', 3_600, 'seconds from 0 to 604800', whole(0, 604_800)),
    secret: from.setting('VINTEM_SECRET', null, '32 bytes in base64', secretBytes),
    secretPrevious: from.setting('VINTEM_SECRET_PREVIOUS', null, '32 bytes in base64', secretBytes),
    smtpUrl: from.setting('SMTP_URL', null, 'an smtp or smtps URL', url(['smtp:', 'smtps:'])),
    smtpWithoutTls: withoutTls.includes('smtp'),
    mailFrom: from.setting(
      'MAIL_FROM',
      null,
      'one e-mail address, as pix@example.com or Loja <pix@example.com>',
      mailbox,
    ),
    operatorEmail: from.setting('OPERATOR_EMAIL', null, 'one e-mail address, as ops@example.com', mailbox),
    logLevel: from.setting('LOG_LEVEL', 'info', `one of ${LOG_LEVELS.join(', ')}`, oneOf(LOG_LEVELS)),
    metricsPort: portOrOff(from, 'METRICS_PORT', null),
    provider: liveProvider(from, env),
    tracing: tracing(from),
    auditForward: auditForward(from, withoutTls.includes('audit-forward')),
    operatorOidc: operatorOidc(from),
  };
  checkPorts(from, config);
  checkTls(from, config, withoutTls);
  checkNeeds(from, config);
  for (const name of Object.keys(env)) {
    if (name.startsWith('VINTEM_') && !from.knows(name) && !injectedByKubernetes.test(name))
      from.fault(name, 'is not a setting of vintem');
  }
  if (from.faults.length > 0) throw new SettingFault(...from.faults);
  return Object.freeze(config);
}

// ------------------------------------------------------------------------------------------------------------- groups

function edgeSettings(from: SettingReader) {
  const host = from.setting('HOST', '127.0.0.1', hostWanted, hostForm);
  const port = from.setting('PORT', 3000, 'a port from 1 to 65535', whole(1, 65_535));
  const rateLimits = from.setting(
    'RATE_LIMITS',
    'on' as const,
    `on, off, or a list like reads=200/400,transfers=20/40 of ${quotaNames.join(', ')} (calls a second / at once)`,
    (value) => (value === 'on' || value === 'off' ? value : (parseQuotas(value) ?? undefined)),
  );
  const publicUrl = from.setting(
    'PUBLIC_URL',
    `http://${reachableHost(host)}:${port}`,
    'an http or https address without a path, query or user, such as https://pay.example.com (a proxy cannot serve vintem below a path)',
    origin,
  );
  return {
    host,
    port,
    publicUrl,
    hooksUrl: from.setting(
      'HOOKS_URL',
      publicUrl,
      'an https address without a path, query or user',
      (value) => (value.startsWith('https:') ? origin(value) : undefined),
    ),
    checkoutUrl: from.setting(
      'CHECKOUT_URL',
      publicUrl,
      'an http or https address without a path, query or user, such as https://pay.example.com',
      origin,
    ),
    hooksHeader: from.setting('HOOKS_HEADER', 'x-ssl-client-verify', 'the name of a header', (value) =>
      /^[A-Za-z][A-Za-z0-9-]{2,63}$/.test(value) ? value.toLowerCase() : undefined,
    ),
    rateLimits: rateLimits !== 'off',
    rateQuotas: typeof rateLimits === 'string' ? {} : rateLimits,
    defaultLanguage: from.setting(
      'DEFAULT_LANGUAGE',
      'en' as const,
      'en or pt-BR',
      oneOf(['en', 'pt-BR'] as const),
    ),
    trustedProxies: from.setting(
      'TRUSTED_PROXIES',
      [],
      'addresses or networks, with commas between',
      addresses,
    ),
    operatorUrl: from.setting(
      'OPERATOR_URL',
      publicUrl,
      'an http or https address without a path, query or user, such as https://console.example.com',
      origin,
    ),
    operatorAddresses: from.setting(
      'OPERATOR_ADDRESSES',
      [],
      'addresses or networks, with commas between',
      addresses,
    ),
    operatorAloneCents: from.setting(
      'OPERATOR_ALONE_CENTS',
      0,
      'cents from 0 to 100000000000',
      whole(0, 100_000_000_000),
    ),
    supportViews: from.setting(
      'SUPPORT_VIEWS',
      'granted' as const,
      'granted or mailed',
      oneOf(['granted', 'mailed'] as const),
    ),
  };
}

function databaseSettings(from: SettingReader) {
  const form =
    'a URL of the form postgres://USER:PASSWORD@HOST:PORT/DATABASE with one host (a socket: ?host=/var/run/postgresql); in the password # / ? @ are written %23 %2F %3F %40';
  return {
    databaseUrl: from.setting('DATABASE_URL', null, form, postgresUrl),
    migrationDatabaseUrl: from.setting('MIGRATION_DATABASE_URL', null, form, postgresUrl),
    databaseStandbys: from.setting('DATABASE_STANDBYS', null, 'a number from 1 to 99', whole(1, 99)),
  };
}

function simulatorSettings(from: SettingReader, dataDir: string) {
  const simulatorPort = portOrOff(from, 'SIMULATOR_PORT', 4010);
  return {
    simulatorPort,
    simulatorHost: from.setting('SIMULATOR_HOST', '127.0.0.1', hostWanted, hostForm),
    simulatorUrl: from.setting(
      'SIMULATOR_URL',
      `http://127.0.0.1:${simulatorPort ?? 4010}`,
      'an http or https URL',
      url(['http:', 'https:']),
    ),
    simulatorState: resolve(from.text('SIMULATOR_STATE') ?? `${dataDir}/simulator`),
  };
}

function webhookSettings(from: SettingReader) {
  const networks = (name: string) => from.setting(name, [], 'networks, with commas between', addresses);
  const insecureLocal = 'WEBHOOK_ALLOW_INSECURE_LOCAL';
  return {
    webhookAllowCidrs: networks('WEBHOOK_ALLOW_CIDRS'),
    webhookDenyCidrs: networks('WEBHOOK_DENY_CIDRS'),
    webhookAllowInsecureLocal:
      from.setting(insecureLocal, 'false', 'true or false', oneOf(['true', 'false'])) === 'true',
    webhookProxyUrl: from.setting('WEBHOOK_PROXY_URL', null, 'an http URL', url(['http:'])),
  };
}

/** Null: off. */
function portOrOff(from: SettingReader, name: string, otherwise: number | null): number | null {
  const value = from.setting(name, otherwise ?? 0, 'a port from 1 to 65535, or off', (given) => {
    if (servicePort.test(given)) return otherwise ?? 0;
    return given === 'off' ? 0 : whole(1, 65_535)(given);
  });
  return value === 0 ? null : value;
}

function tracing(from: SettingReader): Tracing | null {
  const endpoint = from.setting(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    null,
    'an http or https URL',
    url(['http:', 'https:']),
  );
  const share = from.setting('OTEL_TRACES_SAMPLER_ARG', 0.1, 'a share from 0 to 1', (value) =>
    /^(?:0(?:\.\d{1,6})?|1(?:\.0)?)$/.test(value) ? Number(value) : undefined,
  );
  return endpoint === null ? null : { endpoint, share };
}

function auditForward(from: SettingReader, withoutTls: boolean): AuditForward | null {
  const address = from.setting(
    'AUDIT_FORWARD_URL',
    null,
    'the https address that takes OTLP logs, as https://collector.example.com:4318/v1/logs (http on this machine, or with ALLOW_WITHOUT_TLS=audit-forward)',
    (value) =>
      isSafeProvider(value) || (withoutTls && value.startsWith('http:') && URL.canParse(value))
        ? value
        : undefined,
  );
  const headers = from.setting(
    'AUDIT_FORWARD_HEADERS',
    null,
    'a list like Authorization=Bearer%20TOKEN, with commas between, each value percent-encoded',
    headersOf,
  );
  if (address === null && headers !== null)
    from.fault('AUDIT_FORWARD_URL', 'is missing, but AUDIT_FORWARD_HEADERS stands alone');
  return address === null ? null : { url: address, headers: headers ?? {} };
}

/** Characters of one header, as it stands in the environment. */
const headerMost = 4_096;

/** `Authorization=Bearer%20TOKEN,X-Scope-OrgID=bank`, as OpenTelemetry writes headers in the environment. */
function headersOf(list: string): Record<string, string> | undefined {
  const pairs = list.split(',').map((one) => {
    if (one.length > headerMost) return undefined;
    const [, name, encoded] = /^\s*([A-Za-z][A-Za-z0-9-]*)=([\x21-\x7e]+)\s*$/.exec(one) ?? [];
    if (name === undefined || encoded === undefined || /%(?![0-9a-f]{2})/i.test(encoded)) return undefined;
    const value = encoded.replace(/%([0-9a-f]{2})/gi, (_, hex) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    return /^[\x20-\x7e]+$/.test(value) ? ([name.toLowerCase(), value] as const) : undefined;
  });
  return pairs.every((one) => one !== undefined) ? Object.fromEntries(pairs) : undefined;
}

// ------------------------------------------------------------------------------------------------------ the OpenID provider

function operatorOidc(from: SettingReader): OidcSettings | null {
  const issuer = from.setting(
    'OPERATOR_OIDC_ISSUER',
    null,
    'the https address of an OpenID provider without query, as its documents name it (http only on this machine)',
    (value) => (isSafeProvider(value) && !/[?#]/.test(value) ? value : undefined),
  );
  const clientId = from.text('OPERATOR_OIDC_CLIENT_ID');
  const clientSecret = from.text('OPERATOR_OIDC_CLIENT_SECRET');
  const scope = from.setting(
    'OPERATOR_OIDC_SCOPE',
    'openid',
    'scopes with spaces between, openid among them',
    (value) =>
      /^[\x21-\x7e ]{1,200}$/.test(value) && value.split(' ').includes('openid') ? value : undefined,
  );
  const secondFactor = from.setting(
    'OPERATOR_OIDC_SECOND_FACTOR',
    [],
    'claims like amr:mfa or acr:urn:example:2fa, with blanks between',
    claimsOf,
  );
  const groups = from.setting(
    'OPERATOR_OIDC_GROUPS',
    null,
    'a list like vintem-risk=risk, with blanks between, of the roles support, risk, treasury, administrator, auditor',
    groupsOf,
  );
  if (issuer === null) {
    if (clientId !== null || clientSecret !== null)
      from.fault('OPERATOR_OIDC_ISSUER', 'is missing, but OPERATOR_OIDC_CLIENT_ID or _SECRET stands alone');
    return null;
  }
  if (clientId === null)
    from.fault('OPERATOR_OIDC_CLIENT_ID', 'is missing, and OPERATOR_OIDC_ISSUER needs it');
  if (clientSecret === null)
    from.fault('OPERATOR_OIDC_CLIENT_SECRET', 'is missing, and OPERATOR_OIDC_ISSUER needs it');
  return {
    ...{ issuer, clientId: clientId ?? '', clientSecret: clientSecret ?? '', scope, secondFactor, groups },
  };
}

/** `amr:mfa acr:phr` */
function claimsOf(text: string): OidcSettings['secondFactor'] | undefined {
  const claims = text.split(' ').map((one) => {
    const [, claim, value] = /^(acr|amr):([\x21-\x7e]{1,200})$/.exec(one) ?? [];
    return claim === undefined || value === undefined ? undefined : { claim: claim as 'acr' | 'amr', value };
  });
  return claims.every((one) => one !== undefined) ? claims : undefined;
}

/** `vintem-risk=risk vintem-ops=support` */
function groupsOf(text: string): ReadonlyMap<string, string> | undefined {
  const groups = new Map<string, string>();
  for (const one of text.split(' ')) {
    const [, group, role] =
      /^([\x21-\x3c\x3e-\x7e]{1,200})=(support|risk|treasury|administrator|auditor)$/.exec(one) ?? [];
    if (group === undefined || role === undefined) return undefined;
    groups.set(group, role);
  }
  return groups;
}

// ----------------------------------------------------------------------------------------------------- the live provider

function liveProvider(from: SettingReader, env: NodeJS.ProcessEnv): LiveProvider | null {
  const adapter = from.setting('PROVIDER', null, `one of ${ADAPTERS.join(', ')}`, oneOf(ADAPTERS));
  const values = new Map([...PROVIDER_NEEDS, ...PROVIDER_MAY].map((name) => [name, from.bytes(name)]));
  if (adapter === null) {
    const alone = [...values].filter(([, value]) => value !== null).map(([name]) => name);
    if (alone.length > 0) from.fault('PROVIDER', `is missing, but ${alone.join(', ')} stands alone`);
    return null;
  }
  for (const name of PROVIDER_NEEDS) {
    if (values.get(name) === null) from.fault(name, `is missing, and PROVIDER=${adapter} needs it`);
  }
  const line = (name: string) => from.line(name, values.get(name) ?? null);
  const address = line('PROVIDER_URL');
  if (address !== null && !isSafeProvider(address)) {
    from.fault('PROVIDER_URL', 'must be an https URL (http only on this machine)');
  }
  const certificate = env.PROVIDER_CERTIFICATE
    ? Buffer.from(env.PROVIDER_CERTIFICATE, 'base64')
    : (values.get('PROVIDER_CERTIFICATE') ?? null);
  const certificatePassphrase = line('PROVIDER_CERTIFICATE_PASSPHRASE');
  checkCertificate(from, certificate, certificatePassphrase);
  return {
    adapter,
    url: withoutSlash(address ?? ''),
    clientId: line('PROVIDER_CLIENT_ID') ?? '',
    clientSecret: line('PROVIDER_CLIENT_SECRET') ?? '',
    certificate,
    certificatePassphrase,
    pixKey: line('PROVIDER_PIX_KEY') ?? '',
    ...webhookTrust(from, line('PROVIDER_WEBHOOK_TRUST'), line('PROVIDER_WEBHOOK_SECRET')),
  };
}

function checkCertificate(from: SettingReader, certificate: Buffer | null, passphrase: string | null): void {
  const problem =
    certificate && certificateProblem({ pfx: certificate, ...(passphrase === null ? {} : { passphrase }) });
  if (!problem) return;
  from.fault(
    'PROVIDER_CERTIFICATE',
    problem.part === 'passphrase' ? 'PROVIDER_CERTIFICATE_PASSPHRASE is not its passphrase' : problem.text,
  );
}

/** @param given null: `signed` where there is a secret, else `path` */
function webhookTrust(from: SettingReader, given: string | null, webhookSecret: string | null) {
  const asked = given ?? (webhookSecret === null ? 'path' : 'signed');
  const trust = oneOf(TRUSTS)(asked);
  if (trust === undefined) from.fault('PROVIDER_WEBHOOK_TRUST', `must be one of ${TRUSTS.join(', ')}`);
  if (trust === 'signed' && webhookSecret === null)
    from.fault('PROVIDER_WEBHOOK_SECRET', 'is missing, and PROVIDER_WEBHOOK_TRUST=signed needs it');
  if (trust !== 'signed' && webhookSecret !== null)
    from.fault('PROVIDER_WEBHOOK_SECRET', `is of no use with PROVIDER_WEBHOOK_TRUST=${asked}`);
  return { webhookTrust: trust ?? ('path' as const), webhookSecret };
}

// ---------------------------------------------------------------------------------------- what one setting says of another

function checkPorts(from: SettingReader, { port, simulatorPort, metricsPort }: Config): void {
  if (simulatorPort === port) from.fault('SIMULATOR_PORT', `is ${port} as well as PORT`);
  if (metricsPort === port) from.fault('METRICS_PORT', `is ${port} as well as PORT`);
}

function checkTls(from: SettingReader, config: Config, withoutTls: readonly PlainChoice[]): void {
  const isPlain = (address: string): boolean => {
    const { protocol, hostname } = new URL(address);
    return protocol === 'http:' && isPublicHost(hostname) && !withoutTls.includes('public-url');
  };
  if (isPlain(config.publicUrl)) {
    from.fault(
      'PUBLIC_URL',
      'must be an https URL, since keys and passwords would travel readable (ALLOW_WITHOUT_TLS=public-url allows it)',
    );
  }
  if (config.checkoutUrl !== config.publicUrl && isPlain(config.checkoutUrl)) {
    from.fault(
      'CHECKOUT_URL',
      'must be an https URL, since a code to pay could be exchanged on its way (ALLOW_WITHOUT_TLS=public-url allows it)',
    );
  }
  if (config.operatorUrl !== config.publicUrl && isPlain(config.operatorUrl)) {
    from.fault(
      'OPERATOR_URL',
      'must be an https URL, since passwords would travel readable (ALLOW_WITHOUT_TLS=public-url allows it)',
    );
  }
  for (const [name, database] of [
    ['DATABASE_URL', config.databaseUrl],
    ['MIGRATION_DATABASE_URL', config.migrationDatabaseUrl],
  ] as const) {
    if (database === null || !isPlainDatabase(database) || withoutTls.includes('database')) continue;
    from.fault(
      name,
      'needs sslmode=verify-full on another machine (ALLOW_WITHOUT_TLS=database allows it without TLS)',
    );
  }
}

function checkNeeds(from: SettingReader, config: Config): void {
  if (config.smtpUrl !== null && config.mailFrom === null) {
    from.fault('MAIL_FROM', 'is missing, and SMTP_URL needs it');
  }
  if (config.smtpUrl !== null && config.provider !== null && config.operatorEmail === null) {
    from.fault('OPERATOR_EMAIL', 'is missing, and SMTP_URL beside a live provider needs it');
  }
  if (config.migrationDatabaseUrl !== null && config.databaseUrl === null) {
    from.fault('DATABASE_URL', 'is missing, and MIGRATION_DATABASE_URL needs it');
  }
  if (config.provider?.webhookTrust === 'mtls' && config.trustedProxies.length === 0) {
    from.fault('TRUSTED_PROXIES', 'is missing, and PROVIDER_WEBHOOK_TRUST=mtls needs it');
  }
  if (config.webhookAllowInsecureLocal && config.provider !== null) {
    from.fault('WEBHOOK_ALLOW_INSECURE_LOCAL', 'cannot be true beside a live provider');
  }
}

/**
 * Kubernetes describes each Service of a namespace to its pods in variables that begin with the Service's name, here
 * `vintem` or `vintem-…` (Kubernetes documentation, "Accessing the Service": `{SVCNAME}_SERVICE_HOST`, `{SVCNAME}_PORT…`).
 */
const injectedByKubernetes = /_(?:SERVICE_\w|PORT_\w|PORT$)/;

/** The form that Kubernetes writes into `{SVCNAME}_PORT`, as in `METRICS_PORT=tcp://10.0.0.7:9090` beside a Service named `metrics`. */
const servicePort = /^(?:tcp|udp|sctp):\/\//;

function isSafeProvider(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  return protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname));
}
