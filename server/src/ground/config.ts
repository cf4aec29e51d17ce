import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { certificateProblem } from './certificate.ts';
import { isLoopbackHost, isPublicHost } from './hosts.ts';
import { parseQuotas, type Quotas, quotaNames } from './quotas.ts';

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
  /** Null: no simulator is started here. */
  readonly simulatorPort: number | null;
  /** Where `vintem simulator` listens; beside `start` it listens on this machine only. */
  readonly simulatorHost: string;
  readonly simulatorUrl: string;
  readonly simulatorState: string;
  readonly rateLimits: boolean;
  /** What of the limits differs from the defaults. */
  readonly rateQuotas: Quotas;
  /** Of messages to callers that ask for none. */
  readonly defaultLanguage: 'en' | 'pt-BR';
  readonly transferWaitMs: number;
  readonly logLevel: string;
  readonly chargeExpirySeconds: number;
  /** 32 bytes; null: the one kept in `dataDir`. */
  readonly secret: Buffer | null;
  readonly secretPrevious: Buffer | null;
  /** Addresses and networks (CIDR) whose forwarded headers count. */
  readonly trustedProxies: readonly string[];
  readonly smtpUrl: string | null;
  /** Mail may go to another machine unencrypted, when its server offers no TLS. */
  readonly smtpWithoutTls: boolean;
  readonly mailFrom: string | null;
  readonly metricsPort: number | null;
  /** How many standbys the database should have; null: nobody said. */
  readonly databaseStandbys: number | null;
  readonly webhookAllowCidrs: readonly string[];
  readonly webhookDenyCidrs: readonly string[];
  readonly webhookAllowInsecureLocal: boolean;
  readonly webhookProxyUrl: string | null;
  /** Null: only test accounts can be created. */
  readonly provider: LiveProvider | null;
  /** Null: no traces. */
  readonly tracing: Tracing | null;
}

export interface Tracing {
  /** Of the collector, without `/v1/traces`. */
  readonly endpoint: string;
  /** Of the traces that are kept, 0 to 1. */
  readonly share: number;
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

/** What may go without TLS, named one by one in `ALLOW_WITHOUT_TLS`. */
const plainChoices = ['public-url', 'database', 'smtp'] as const;

/** Modes of libpq in which a connection without TLS fails. */
const encryptedModes = ['require', 'verify-ca', 'verify-full'];

/** Whether what is sent to PostgreSQL can be read on the way. A socket of this machine has no host. */
function isPlainDatabase(url: string): boolean {
  const { hostname, searchParams } = new URL(url);
  const host = searchParams.get('host') ?? hostname;
  if (host === '' || host.startsWith('/') || isLoopbackHost(host)) return false;
  return !encryptedModes.includes(searchParams.get('sslmode') ?? '');
}

/**
 * Reads every setting, each also from the file that `NAME_FILE` names (one line end at its end is dropped). An empty
 * value counts as unset.
 * @throws SettingFault with all faults at once
 */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const faults: string[] = [];
  const names = new Set<string>();
  const fault = (name: string, problem: string): undefined => {
    faults.push(`${name}: ${problem}`);
  };

  function bytes(name: string): Buffer | null {
    names.add(name);
    names.add(`${name}_FILE`);
    const value = env[name] || null;
    const file = env[`${name}_FILE`] || null;
    if (value !== null && file !== null) {
      fault(name, `is set twice, by itself and by ${name}_FILE`);
    } else if (file !== null) {
      try {
        return readFileSync(file);
      } catch (error) {
        fault(`${name}_FILE`, (error as Error).message);
      }
    }
    return value === null ? null : Buffer.from(value);
  }
  const text = (name: string): string | null =>
    bytes(name)
      ?.toString()
      .replace(/\r?\n$/, '') || null;

  /** `read` answers undefined for what it cannot take. */
  function setting<Value, Default>(
    name: string,
    otherwise: Default,
    wanted: string,
    read: (value: string) => Value | undefined,
  ): Value | Default {
    const value = text(name);
    if (value === null) return otherwise;
    const taken = read(value);
    if (taken === undefined) fault(name, `must be ${wanted}`);
    return taken ?? otherwise;
  }
  const whole = (low: number, high: number) => (value: string) =>
    /^\d{1,10}$/.test(value) && Number(value) >= low && Number(value) <= high ? Number(value) : undefined;
  const oneOf = (choices: readonly string[]) => (value: string) =>
    choices.includes(value) ? value : undefined;
  const url = (schemes: readonly string[]) => (value: string) =>
    URL.canParse(value) && schemes.includes(new URL(value).protocol)
      ? value.replace(/\/{1,9}$/, '')
      : undefined;
  const addresses = (value: string) => {
    const list = value.split(/[\s,]+/).filter((address) => address !== '');
    return list.every(isAddressOrNetwork) ? list : undefined;
  };
  const port = (name: string, otherwise: number) =>
    setting(name, otherwise, 'a port from 1 to 65535', whole(1, 65_535));
  const portOrOff = (name: string, otherwise: number | null) => {
    const value = setting(name, otherwise ?? 0, 'a port from 1 to 65535, or off', (given) => {
      if (servicePort.test(given)) return otherwise ?? 0;
      return given === 'off' ? 0 : whole(1, 65_535)(given);
    });
    return value === 0 ? null : value;
  };
  const secret = (name: string) =>
    setting(name, null, '32 bytes in base64', (value) => {
      const decoded = Buffer.from(value, 'base64');
      const same = decoded.toString('base64').replace(/={1,2}$/, '') === value.replace(/={1,2}$/, '');
      return decoded.length === 32 && same ? decoded : undefined;
    });
  const postgres = (name: string) =>
    setting(name, null, 'a URL of the form postgres://USER:PASSWORD@HOST:PORT/DATABASE', (value) =>
      URL.canParse(value) && ['postgres:', 'postgresql:'].includes(new URL(value).protocol)
        ? value
        : undefined,
    );

  function provider(): LiveProvider | null {
    const adapter = setting('PROVIDER', null, `one of ${ADAPTERS.join(', ')}`, oneOf(ADAPTERS));
    const values = new Map([...PROVIDER_NEEDS, ...PROVIDER_MAY].map((name) => [name, bytes(name)]));
    if (adapter === null) {
      const alone = [...values].filter(([, value]) => value !== null).map(([name]) => name);
      if (alone.length > 0) fault('PROVIDER', `is missing, but ${alone.join(', ')} stands alone`);
      return null;
    }
    for (const name of PROVIDER_NEEDS) {
      if (values.get(name) === null) fault(name, `is missing, and PROVIDER=${adapter} needs it`);
    }
    const line = (name: string) =>
      values
        .get(name)
        ?.toString()
        .replace(/\r?\n$/, '') || null;
    const address = line('PROVIDER_URL');
    if (address !== null && !isSafeProvider(address)) {
      fault('PROVIDER_URL', 'must be an https URL (http only on this machine)');
    }
    const certificate = env.PROVIDER_CERTIFICATE
      ? Buffer.from(env.PROVIDER_CERTIFICATE, 'base64')
      : (values.get('PROVIDER_CERTIFICATE') ?? null);
    const certificatePassphrase = line('PROVIDER_CERTIFICATE_PASSPHRASE');
    const passphrase = certificatePassphrase === null ? {} : { passphrase: certificatePassphrase };
    const problem = certificate && certificateProblem({ pfx: certificate, ...passphrase });
    if (problem)
      fault(
        'PROVIDER_CERTIFICATE',
        problem.part === 'passphrase'
          ? 'PROVIDER_CERTIFICATE_PASSPHRASE is not its passphrase'
          : problem.text,
      );
    const webhookSecret = line('PROVIDER_WEBHOOK_SECRET');
    const asked = line('PROVIDER_WEBHOOK_TRUST') ?? (webhookSecret === null ? 'path' : 'signed');
    const webhookTrust = TRUSTS.find((one) => one === asked);
    if (webhookTrust === undefined) fault('PROVIDER_WEBHOOK_TRUST', `must be one of ${TRUSTS.join(', ')}`);
    if (webhookTrust === 'signed' && webhookSecret === null)
      fault('PROVIDER_WEBHOOK_SECRET', 'is missing, and PROVIDER_WEBHOOK_TRUST=signed needs it');
    if (webhookTrust !== 'signed' && webhookSecret !== null)
      fault('PROVIDER_WEBHOOK_SECRET', `is of no use with PROVIDER_WEBHOOK_TRUST=${asked}`);
    return {
      adapter: adapter as LiveProvider['adapter'],
      url: address?.replace(/\/{1,9}$/, '') ?? '',
      clientId: line('PROVIDER_CLIENT_ID') ?? '',
      clientSecret: line('PROVIDER_CLIENT_SECRET') ?? '',
      certificate,
      certificatePassphrase,
      pixKey: line('PROVIDER_PIX_KEY') ?? '',
      webhookTrust: webhookTrust ?? 'path',
      webhookSecret,
    };
  }

  function tracing(): Tracing | null {
    const endpoint = setting(
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      null,
      'an http or https URL',
      url(['http:', 'https:']),
    );
    const share = setting('OTEL_TRACES_SAMPLER_ARG', 0.1, 'a share from 0 to 1', (value) =>
      /^(?:0(?:\.\d{1,6})?|1(?:\.0)?)$/.test(value) ? Number(value) : undefined,
    );
    return endpoint === null ? null : { endpoint, share };
  }

  const host = text('HOST') ?? '127.0.0.1';
  const ownPort = port('PORT', 3000);
  const dataDir = resolve(text('DATA_DIR') ?? './data');
  const simulatorPort = portOrOff('SIMULATOR_PORT', 4010);
  const rateLimits = setting(
    'RATE_LIMITS',
    'on' as const,
    `on, off, or a list like reads=200/400,transfers=20/40 of ${quotaNames.join(', ')} (calls a second / at once)`,
    (value) => (value === 'on' || value === 'off' ? value : (parseQuotas(value) ?? undefined)),
  );
  const plain = new Set(
    setting('ALLOW_WITHOUT_TLS', [], `a list of ${plainChoices.join(', ')}`, (value) => {
      const list = value.split(/[\s,]+/).filter((one) => one !== '');
      return list.every((one) => (plainChoices as readonly string[]).includes(one)) ? list : undefined;
    }),
  );
  const config: Config = {
    host,
    port: ownPort,
    dataDir,
    databaseUrl: postgres('DATABASE_URL'),
    migrationDatabaseUrl: postgres('MIGRATION_DATABASE_URL'),
    publicUrl: setting(
      'PUBLIC_URL',
      `http://${reachableHost(host)}:${ownPort}`,
      'an http or https URL',
      url(['http:', 'https:']),
    ),
    simulatorPort,
    simulatorHost: text('SIMULATOR_HOST') ?? '127.0.0.1',
    simulatorUrl: setting(
      'SIMULATOR_URL',
      `http://127.0.0.1:${simulatorPort ?? 4010}`,
      'an http or https URL',
      url(['http:', 'https:']),
    ),
    simulatorState: resolve(text('SIMULATOR_STATE') ?? `${dataDir}/simulator`),
    rateLimits: rateLimits !== 'off',
    rateQuotas: typeof rateLimits === 'string' ? {} : rateLimits,
    defaultLanguage: setting('DEFAULT_LANGUAGE', 'en' as const, 'en or pt-BR', (value) =>
      value === 'en' || value === 'pt-BR' ? value : undefined,
    ),
    transferWaitMs: setting('TRANSFER_WAIT_MS', 6000, 'milliseconds from 0 to 60000', whole(0, 60_000)),
    logLevel: setting('LOG_LEVEL', 'info', `one of ${LOG_LEVELS.join(', ')}`, oneOf(LOG_LEVELS)),
    chargeExpirySeconds: setting(
      'CHARGE_EXPIRY_SECONDS',
      86_400,
      'seconds from 60 to 604800',
      whole(60, 604_800),
    ),
    secret: secret('VINTEM_SECRET'),
    secretPrevious: secret('VINTEM_SECRET_PREVIOUS'),
    trustedProxies: setting('TRUSTED_PROXIES', [], 'addresses or networks, with commas between', addresses),
    smtpUrl: setting('SMTP_URL', null, 'an smtp or smtps URL', url(['smtp:', 'smtps:'])),
    smtpWithoutTls: plain.has('smtp'),
    mailFrom: text('MAIL_FROM'),
    metricsPort: portOrOff('METRICS_PORT', null),
    databaseStandbys: setting('DATABASE_STANDBYS', null, 'a number from 1 to 99', whole(1, 99)),
    webhookAllowCidrs: setting('WEBHOOK_ALLOW_CIDRS', [], 'networks, with commas between', addresses),
    webhookDenyCidrs: setting('WEBHOOK_DENY_CIDRS', [], 'networks, with commas between', addresses),
    webhookAllowInsecureLocal:
      setting('WEBHOOK_ALLOW_INSECURE_LOCAL', 'false', 'true or false', oneOf(['true', 'false'])) === 'true',
    webhookProxyUrl: setting('WEBHOOK_PROXY_URL', null, 'an http URL', url(['http:'])),
    provider: provider(),
    tracing: tracing(),
  };

  if (config.simulatorPort === config.port) fault('SIMULATOR_PORT', `is ${config.port} as well as PORT`);
  if (config.metricsPort === config.port) fault('METRICS_PORT', `is ${config.port} as well as PORT`);
  const { protocol, hostname } = new URL(config.publicUrl);
  if (protocol === 'http:' && isPublicHost(hostname) && !plain.has('public-url')) {
    fault(
      'PUBLIC_URL',
      'must be an https URL, since keys and passwords would travel readable (ALLOW_WITHOUT_TLS=public-url allows it)',
    );
  }
  for (const [name, database] of [
    ['DATABASE_URL', config.databaseUrl],
    ['MIGRATION_DATABASE_URL', config.migrationDatabaseUrl],
  ] as const) {
    if (database === null || !isPlainDatabase(database) || plain.has('database')) continue;
    fault(
      name,
      'needs sslmode=verify-full on another machine (ALLOW_WITHOUT_TLS=database allows it without TLS)',
    );
  }
  if (config.smtpUrl !== null && config.mailFrom === null) {
    fault('MAIL_FROM', 'is missing, and SMTP_URL needs it');
  }
  if (config.migrationDatabaseUrl !== null && config.databaseUrl === null) {
    fault('DATABASE_URL', 'is missing, and MIGRATION_DATABASE_URL needs it');
  }
  if (config.provider?.webhookTrust === 'mtls' && config.trustedProxies.length === 0) {
    fault('TRUSTED_PROXIES', 'is missing, and PROVIDER_WEBHOOK_TRUST=mtls needs it');
  }
  if (config.webhookAllowInsecureLocal && config.provider !== null) {
    fault('WEBHOOK_ALLOW_INSECURE_LOCAL', 'cannot be true beside a live provider');
  }
  for (const name of Object.keys(env)) {
    if (name.startsWith('VINTEM_') && !names.has(name) && !injectedByKubernetes.test(name))
      fault(name, 'is not a setting of vintem');
  }
  if (faults.length > 0) throw new SettingFault(...faults);
  return Object.freeze(config);
}

/**
 * Kubernetes describes each Service of a namespace to its pods in variables that begin with the Service's name, here
 * `vintem` or `vintem-…` (Kubernetes documentation, "Accessing the Service": `{SVCNAME}_SERVICE_HOST`, `{SVCNAME}_PORT…`).
 */
const injectedByKubernetes = /_(?:SERVICE_\w|PORT_\w|PORT$)/;

/** What Kubernetes writes into `{SVCNAME}_PORT`, as in `METRICS_PORT=tcp://10.0.0.7:9090` beside a Service named `metrics`. */
const servicePort = /^(?:tcp|udp|sctp):\/\//;

function isAddressOrNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128));
}

function isSafeProvider(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  return protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname));
}
