import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig, SettingFault } from '../../src/ground/config.ts';
import { passphrase, pfx } from './certificate.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vintem-config-'));
});
afterAll(() => rm(folder, { recursive: true }));

function faultsOf(env: NodeJS.ProcessEnv): string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(SettingFault);
    return [...(error as SettingFault).lines];
  }
}

const live = {
  PROVIDER: 'efi',
  PROVIDER_URL: 'https://pix.example',
  PROVIDER_CLIENT_ID: 'id',
  PROVIDER_CLIENT_SECRET: 'secret',
  PROVIDER_PIX_KEY: 'key@example.com',
};

describe('settings', () => {
  it('have the defaults of the contract', () => {
    const config = readConfig({});
    expect(config).toEqual({
      host: '127.0.0.1',
      port: 3000,
      dataDir: resolve('data'),
      databaseUrl: null,
      migrationDatabaseUrl: null,
      publicUrl: 'http://127.0.0.1:3000',
      hooksUrl: 'http://127.0.0.1:3000',
      checkoutUrl: 'http://127.0.0.1:3000',
      hooksHeader: 'x-ssl-client-verify',
      simulatorPort: 4010,
      simulatorHost: '127.0.0.1',
      simulatorUrl: 'http://127.0.0.1:4010',
      simulatorState: resolve('data/simulator'),
      rateLimits: true,
      rateQuotas: {},
      defaultLanguage: 'en',
      transferWaitMs: 6000,
      logLevel: 'info',
      chargeExpirySeconds: 86_400,
      listLagSeconds: 3_600,
      secret: null,
      secretPrevious: null,
      trustedProxies: [],
      operatorUrl: 'http://127.0.0.1:3000',
      operatorOidc: null,
      operatorAddresses: [],
      operatorAloneCents: 0,
      supportViews: 'granted',
      smtpUrl: null,
      smtpWithoutTls: false,
      mailFrom: null,
      operatorEmail: null,
      metricsPort: null,
      databaseStandbys: null,
      auditForward: null,
      cnpjLetters: false,
      webhookAllowCidrs: [],
      webhookDenyCidrs: [],
      webhookAllowInsecureLocal: false,
      webhookProxyUrl: null,
      provider: null,
      tracing: null,
    });
    expect(Object.isFrozen(config)).toBe(true);
  });

  it('follow each other where one is made of others', () => {
    const config = readConfig({ HOST: '::1', PORT: '3100', DATA_DIR: '/srv/v', SIMULATOR_PORT: '4100' });
    expect(config.publicUrl).toBe('http://[::1]:3100');
    expect(config.simulatorUrl).toBe('http://127.0.0.1:4100');
    expect(config.simulatorState).toBe('/srv/v/simulator');
    expect(readConfig({ SIMULATOR_PORT: 'off' }).simulatorPort).toBeNull();
  });

  it('can each come from a file, but not from both', async () => {
    const file = join(folder, 'secret');
    const secret = Buffer.alloc(32, 7);
    await writeFile(file, `${secret.toString('base64')}\n`);
    expect(readConfig({ VINTEM_SECRET_FILE: file }).secret).toEqual(secret);
    expect(faultsOf({ VINTEM_SECRET_FILE: file, VINTEM_SECRET: 'x' })[0]).toContain('VINTEM_SECRET');
    expect(faultsOf({ PORT_FILE: join(folder, 'none') })[0]).toContain('PORT_FILE');
  });

  it('read from a file lose its byte order mark and its line ends, and say what else the file is', async () => {
    const file = join(folder, 'password');
    const read = async (bytes: Buffer) => {
      await writeFile(file, bytes);
      const env = { SMTP_URL_FILE: file, MAIL_FROM: 'a@example.com' };
      const faults = faultsOf(env);
      return faults.length > 0 ? faults[0] : readConfig(env).smtpUrl;
    };
    const url = 'smtps://u:p@mail.example';
    expect(await read(Buffer.from(`\ufeff${url}\r\n\n`))).toBe(url);
    expect(await read(Buffer.from(`\ufeff${url}\n`, 'utf16le'))).toMatch(
      /^SMTP_URL_FILE: the file is UTF-16/,
    );
    expect(await read(Buffer.from(`${url}ç`, 'latin1'))).toMatch(/^SMTP_URL_FILE: the file is not UTF-8/);
    expect(await read(Buffer.from(`${url} \n`))).toMatch(/^SMTP_URL_FILE: .*blanks/);
  });

  it.each([
    'https://pay.example.com/vintem',
    'https://pay.example.com?x=1',
    'https://pay.example.com/#a',
    'https://u:p@pay.example.com',
    'https://@pay.example.com',
    'pay.example.com',
  ])('PUBLIC_URL is refused where paths of ours cannot follow it: %s', (given) => {
    expect(faultsOf({ PUBLIC_URL: given })[0]).toMatch(
      /^PUBLIC_URL: must be an http or https address without a path/,
    );
  });

  it.each(['a b', 'http://pay.example.com', '[::1]', 'fe80::1%eth0', '127.0.0.1:3000', '-x'])(
    'HOST and SIMULATOR_HOST are refused where no server can listen on them: %s',
    (given) => {
      for (const name of ['HOST', 'SIMULATOR_HOST'])
        expect(faultsOf({ [name]: given })).toEqual([
          `${name}: must be an address or the name of a host, without port`,
        ]);
    },
  );

  it.each(['127.0.0.1', '0.0.0.0', '::', '::1', 'localhost', 'pix-1', 'api_1'])(
    'HOST is taken: %s',
    (given) => {
      expect(readConfig({ HOST: given }).host).toBe(given);
    },
  );

  it('HOOKS_URL is that of everything else until deliveries have a host of their own', () => {
    const url = 'https://hooks.example.com';
    expect(readConfig({ PUBLIC_URL: 'https://pay.example.com' }).hooksUrl).toBe('https://pay.example.com');
    const config = readConfig({ HOOKS_URL: `${url}/`, HOOKS_HEADER: 'SSL-Client-Verify' });
    expect([config.hooksUrl, config.hooksHeader]).toEqual([url, 'ssl-client-verify']);
    expect(faultsOf({ HOOKS_URL: 'http://hooks.example.com' })[0]).toContain('HOOKS_URL');
  });

  it('CHECKOUT_URL is PUBLIC_URL until the payer has a host of its own, and must be https on a public host', () => {
    const publicUrl = 'https://pix.example.com';
    expect(readConfig({ PUBLIC_URL: publicUrl }).checkoutUrl).toBe(publicUrl);
    expect(readConfig({ PUBLIC_URL: publicUrl, CHECKOUT_URL: 'https://pay.example.com/' }).checkoutUrl).toBe(
      'https://pay.example.com',
    );
    for (const wrong of ['http://pay.example.com', 'https://pay.example.com/loja', 'pay.example.com'])
      expect(faultsOf({ PUBLIC_URL: publicUrl, CHECKOUT_URL: wrong })[0]).toMatch(/^CHECKOUT_URL: must be/);
  });

  it.each(['loja', 'a@b, c@d', 'Loja <loja>', 'Loja <a@example.com', '<a@example.com> Loja'])(
    'MAIL_FROM is refused where no server would take it: %s',
    (given) => {
      expect(faultsOf({ MAIL_FROM: given })[0]).toMatch(/^MAIL_FROM: must be one e-mail address/);
    },
  );

  it.each(['pix@example.com', 'Loja São João, Ltda <pix@example.com>', '"Loja" <pix@example.com>'])(
    'MAIL_FROM is taken with a name and without: %s',
    (given) => {
      expect(readConfig({ MAIL_FROM: given }).mailFrom).toBe(given);
    },
  );

  it('OPERATOR_EMAIL is one address, and is needed where real incidents are mailed', () => {
    expect(readConfig({ OPERATOR_EMAIL: 'ops@example.com' }).operatorEmail).toBe('ops@example.com');
    expect(faultsOf({ OPERATOR_EMAIL: 'ops' })[0]).toMatch(/^OPERATOR_EMAIL: must be one e-mail address/);
    const mailed = { SMTP_URL: 'smtps://mail.example.com', MAIL_FROM: 'pix@example.com' };
    expect(readConfig(mailed).operatorEmail).toBeNull();
    expect(faultsOf({ ...live, ...mailed })).toEqual([
      'OPERATOR_EMAIL: is missing, and SMTP_URL beside a live provider needs it',
    ]);
    expect(
      readConfig({ ...live, ...mailed, OPERATOR_EMAIL: 'ops@example.com' }).operatorEmail,
    ).not.toBeNull();
  });

  it('PUBLIC_URL may end with a slash', () => {
    expect(readConfig({ PUBLIC_URL: 'https://pay.example.com/' }).publicUrl).toBe('https://pay.example.com');
  });

  it.each([
    'postgresql://u:p@/db?host=/var/run/postgresql',
    'postgresql:///db?host=/var/run/postgresql',
    'postgresql://%2Fvar%2Frun%2Fpostgresql/vintem',
    'postgres://u:p%23x@127.0.0.1/db',
  ])('DATABASE_URL is taken in the forms of libpq: %s', (given) => {
    expect(faultsOf({ DATABASE_URL: given })).toEqual([]);
  });

  it.each(['postgres://u:p@a:1,b:2/db', 'postgres://u:p#x@127.0.0.1/db', 'socket://u@/tmp'])(
    'DATABASE_URL is refused with what to write instead: %s',
    (given) => {
      expect(faultsOf({ DATABASE_URL: given })[0]).toMatch(/with one host .*%23/);
    },
  );

  it('that are empty count as unset', () => {
    expect(readConfig({ PORT: '', PROVIDER: '' }).port).toBe(3000);
  });
});

it('the page of settings names every setting, and no other', async () => {
  const root = new URL('../../../', import.meta.url);
  const source = await readFile(new URL('server/src/ground/config.ts', root), 'utf8');
  const page = await readFile(new URL('docs/operators/settings.md', root), 'utf8');
  const inSource = new Set([...source.matchAll(/'([A-Z][A-Z_]*[A-Z])'/g)].map(([, name]) => name as string));
  const rows = page.split('\n').filter((line) => line.startsWith('| `'));
  const onPage = rows.flatMap((line) =>
    [...(line.split('|')[1] ?? '').matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name as string),
  );
  expect(onPage.filter((name) => !inSource.has(name))).toEqual([]);
  expect([...inSource].filter((name) => !onPage.includes(name))).toEqual([]);
});

describe('variables that Kubernetes injects for a Service', () => {
  it('are no settings, whatever the Service is called', () => {
    const config = readConfig({
      VINTEM_SERVICE_HOST: '10.96.0.7',
      VINTEM_SERVICE_PORT: '3000',
      VINTEM_SERVICE_PORT_HTTP: '3000',
      VINTEM_PORT: 'tcp://10.96.0.7:3000',
      VINTEM_PORT_3000_TCP: 'tcp://10.96.0.7:3000',
      VINTEM_PORT_3000_TCP_ADDR: '10.96.0.7',
      VINTEM_API_SERVICE_HOST: '10.96.0.8',
      VINTEM_API_PORT_3000_TCP_PROTO: 'tcp',
      METRICS_PORT: 'tcp://10.96.0.9:9464',
      SIMULATOR_PORT: 'tcp://10.96.0.10:4010',
    });
    expect(config).toMatchObject({ port: 3000, metricsPort: null, simulatorPort: 4010 });
  });

  it('do not hide a misspelt setting', () => {
    expect(faultsOf({ VINTEM_SERVICE: '1' })).toEqual(['VINTEM_SERVICE: is not a setting of vintem']);
  });
});

describe('an address that means every interface', () => {
  it.each([
    ['0.0.0.0', 'http://127.0.0.1:3000'],
    ['::', 'http://[::1]:3000'],
    ['::1', 'http://[::1]:3000'],
  ])('%s is shown as %s', (HOST, publicUrl) => {
    expect(readConfig({ HOST }).publicUrl).toBe(publicUrl);
  });
});

describe('faults', () => {
  it('are all listed at once, each naming its setting', () => {
    const faults = faultsOf({
      PORT: '70000',
      DATABASE_STANDBYS: '0',
      DATABASE_URL: 'mysql://x',
      PUBLIC_URL: 'example',
      RATE_LIMITS: 'no',
      TRANSFER_WAIT_MS: '-1',
      LOG_LEVEL: 'loud',
      CHARGE_EXPIRY_SECONDS: '59',
      VINTEM_SECRET: 'c2hvcnQ=',
      TRUSTED_PROXIES: '10.0.0.0/33',
      SIMULATOR_PORT: '0',
      WEBHOOK_ALLOW_INSECURE_LOCAL: 'yes',
      VINTEM_TYPO: '1',
    });
    const names = faults.map((fault) => fault.split(':')[0]);
    expect(names.sort()).toEqual([
      'CHARGE_EXPIRY_SECONDS',
      'DATABASE_STANDBYS',
      'DATABASE_URL',
      'LOG_LEVEL',
      'PORT',
      'PUBLIC_URL',
      'RATE_LIMITS',
      'SIMULATOR_PORT',
      'TRANSFER_WAIT_MS',
      'TRUSTED_PROXIES',
      'VINTEM_SECRET',
      'VINTEM_TYPO',
      'WEBHOOK_ALLOW_INSECURE_LOCAL',
    ]);
  });

  it('never repeat the value of a secret', () => {
    expect(faultsOf({ VINTEM_SECRET: 'not-base64-secret' }).join()).not.toContain('not-base64');
  });

  it('are two settings that want the same port', () => {
    expect(faultsOf({ PORT: '4010' })[0]).toContain('SIMULATOR_PORT');
  });
});

describe('a live provider', () => {
  it('is complete or absent', () => {
    expect(readConfig(live).provider).toMatchObject({ adapter: 'efi', pixKey: 'key@example.com' });
    expect(faultsOf({ PROVIDER: 'efi' })).toHaveLength(4);
    expect(faultsOf({ PROVIDER_PIX_KEY: 'key@example.com' })[0]).toContain('PROVIDER:');
    expect(faultsOf({ ...live, PROVIDER: 'bank' })[0]).toContain('PROVIDER:');
  });

  it('is reached over TLS, except on this machine', () => {
    expect(faultsOf({ ...live, PROVIDER_URL: 'http://pix.example' })[0]).toContain('PROVIDER_URL');
    expect(faultsOf({ ...live, PROVIDER_URL: 'http://127.0.0.1:9' })).toEqual([]);
  });

  it('believes deliveries by signature, by certificate at a trusted proxy, or by address alone', () => {
    const trustOf = (more: Record<string, string>) => readConfig({ ...live, ...more }).provider?.webhookTrust;
    expect(trustOf({})).toBe('path');
    expect(trustOf({ PROVIDER_WEBHOOK_SECRET: 's' })).toBe('signed');
    const mtls = { PROVIDER_WEBHOOK_TRUST: 'mtls' };
    expect(trustOf({ ...mtls, TRUSTED_PROXIES: '10.0.0.1' })).toBe('mtls');
    expect(faultsOf({ ...live, ...mtls })[0]).toContain('TRUSTED_PROXIES');
    expect(faultsOf({ ...live, PROVIDER_WEBHOOK_TRUST: 'signed' })[0]).toContain('PROVIDER_WEBHOOK_SECRET');
    const both = { ...live, PROVIDER_WEBHOOK_TRUST: 'path', PROVIDER_WEBHOOK_SECRET: 's' };
    expect(faultsOf(both)[0]).toContain('PROVIDER_WEBHOOK_SECRET');
    expect(faultsOf({ ...live, PROVIDER_WEBHOOK_TRUST: 'ip' })[0]).toContain('PROVIDER_WEBHOOK_TRUST');
  });

  it('is refused with a certificate that cannot be used, and says why', () => {
    const withFile = (file: Buffer, more: Record<string, string> = {}) =>
      faultsOf({ ...live, PROVIDER_CERTIFICATE: file.toString('base64'), ...more });
    expect(withFile(pfx, { PROVIDER_CERTIFICATE_PASSPHRASE: passphrase })).toEqual([]);
    expect(withFile(pfx, { PROVIDER_CERTIFICATE_PASSPHRASE: 'x' })[0]).toContain('is not its passphrase');
    expect(withFile(Buffer.from('none'))[0]).toContain('PKCS #12');
  });

  it('excludes webhooks to addresses of this machine', () => {
    expect(faultsOf({ ...live, WEBHOOK_ALLOW_INSECURE_LOCAL: 'true' })[0]).toContain(
      'WEBHOOK_ALLOW_INSECURE_LOCAL',
    );
  });
});

describe('the receiver of the audit log', () => {
  it('has an address as it stands, and headers as OpenTelemetry writes them', () => {
    expect(readConfig({}).auditForward).toBe(null);
    const url = 'https://otlp.example/otlp/v1/logs?tenant=1';
    expect(readConfig({ AUDIT_FORWARD_URL: url }).auditForward).toEqual({ url, headers: {} });
    const list = 'Authorization=Bearer%20a%3D%2C, X-Scope-OrgID=bank';
    expect(readConfig({ AUDIT_FORWARD_URL: url, AUDIT_FORWARD_HEADERS: list }).auditForward?.headers).toEqual(
      { authorization: 'Bearer a=,', 'x-scope-orgid': 'bank' },
    );
  });

  it.each(['Authorization', 'a b=c', 'a=%zz', 'a=%0d%0ab', 'a=%ff', 'a=1,,b=2'])(
    'refuses the headers %s',
    (list) => {
      expect(faultsOf({ AUDIT_FORWARD_URL: 'https://otlp.example', AUDIT_FORWARD_HEADERS: list })[0]).toMatch(
        /^AUDIT_FORWARD_HEADERS: must be/,
      );
    },
  );

  it('is missed where headers stand alone', () => {
    expect(faultsOf({ AUDIT_FORWARD_HEADERS: 'a=b' })[0]).toMatch(/^AUDIT_FORWARD_URL: is missing/);
  });
});

describe('without TLS', () => {
  it.each([
    ['PUBLIC_URL', { PUBLIC_URL: 'http://pay.example' }, 'public-url'],
    ['PUBLIC_URL', { PUBLIC_URL: 'http://203.0.113.7:3000' }, 'public-url'],
    ['PUBLIC_URL', { PUBLIC_URL: 'http://[2001:db8::1]' }, 'public-url'],
    ['DATABASE_URL', { DATABASE_URL: 'postgres://u:p@db.example/vintem' }, 'database'],
    ['DATABASE_URL', { DATABASE_URL: 'postgres://u:p@10.0.0.5/vintem?sslmode=prefer' }, 'database'],
    ['DATABASE_URL', { DATABASE_URL: 'postgres://u:p@127.0.0.1/vintem?host=10.0.0.5' }, 'database'],
    ['AUDIT_FORWARD_URL', { AUDIT_FORWARD_URL: 'http://collector:4318/v1/logs' }, 'audit-forward'],
  ])('%s %j is refused, unless ALLOW_WITHOUT_TLS says %s', (name, env, choice) => {
    const [fault, ...more] = faultsOf(env as Record<string, string>);
    expect(fault).toContain(`${name}: `);
    expect(fault).toContain(`ALLOW_WITHOUT_TLS=${choice}`);
    expect(more).toEqual([]);
    expect(() => readConfig({ ...env, ALLOW_WITHOUT_TLS: choice } as Record<string, string>)).not.toThrow();
  });

  it.each([
    { PUBLIC_URL: 'https://pay.example' },
    { PUBLIC_URL: 'http://localhost:3000' },
    { PUBLIC_URL: 'http://192.168.1.7:3000' },
    { PUBLIC_URL: 'http://vintem:3000' },
    { HOST: '0.0.0.0' },
    { DATABASE_URL: 'postgres://u:p@127.0.0.1:5432/vintem' },
    { DATABASE_URL: 'postgres://u@localhost/vintem?host=/run/postgresql' },
    { DATABASE_URL: 'postgres://u:p@db.example/vintem?sslmode=verify-full' },
  ])('%j is taken', (env) => {
    expect(() => readConfig(env as Record<string, string>)).not.toThrow();
  });

  it('what may go without TLS is named in words', () => {
    expect(faultsOf({ ALLOW_WITHOUT_TLS: 'everything' })[0]).toContain(
      'public-url, database, smtp, audit-forward',
    );
  });

  it('an http provider needs an address of this machine, not a name that begins like one', () => {
    const live = { PROVIDER_CLIENT_ID: 'c', PROVIDER_CLIENT_SECRET: 's', PROVIDER_PIX_KEY: 'k' };
    expect(faultsOf({ PROVIDER: 'efi', PROVIDER_URL: 'http://127.evil.example', ...live })[0]).toContain(
      'PROVIDER_URL',
    );
  });
});
