import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { settingsIn } from '../../../deploy/systemd/settings.ts';

/** The files in deploy/, as far as they can be judged by reading. `deploy/check` asks the tools. */

const at = (path: string): string => fileURLToPath(new URL(`../../../deploy/${path}`, import.meta.url));
const read = (path: string): string => readFileSync(at(path), 'utf8');

interface Part {
  build?: object;
  image: string;
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  ports?: string[];
  secrets?: string[];
  environment?: Record<string, string>;
  volumes?: string[];
}
const compose = parse(read('compose.yaml'), { merge: true }) as {
  services: Record<string, Part>;
  secrets: Record<string, { file: string }>;
};
const services = Object.entries(compose.services);

test('compose: no part of ours can write to its image, gain a right, or has the owner of the schema as its login', () => {
  const ours = services.filter(([, part]) => part.build);
  expect(ours.map(([name]) => name)).toEqual(['migrate', 'api', 'worker', 'simulator']);
  for (const [name, part] of ours) {
    expect(part, name).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
    expect(part.secrets?.includes('migration_database_url') ?? false, name).toBe(name === 'migrate');
  }
});

test('chart: the example for production delivers to the host that asks for a certificate', () => {
  const { settings, ingress } = parse(read('helm/vintem/ci/production-values.yaml'));
  expect(settings).toMatchObject({
    PROVIDER_WEBHOOK_TRUST: 'mtls',
    HOOKS_URL: `https://${ingress.hooks.host}`,
    HOOKS_HEADER: 'ssl-client-verify',
  });
});

test('compose: the database drops what it does not need and gains nothing', () => {
  expect(compose.services.database).toMatchObject({
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
  });
});

test("compose: a caller's own word about a certificate does not pass the proxy", () => {
  expect(read('compose/Caddyfile')).toMatch(/header_up X-SSL-Client-Verify NONE/);
});

test('compose: only the proxy listens beyond this machine', () => {
  for (const [name, { ports = [] }] of services)
    if (name !== 'proxy') for (const port of ports) expect(port, name).toMatch(/^127\.0\.0\.1:/);
});

test('compose: images are pinned by their digests, and passwords have no default', () => {
  for (const [name, { image, environment = {} }] of services) {
    expect(image, name).toMatch(/:v?\d[^@]*@sha256:[0-9a-f]{64}$|^\$\{VINTEM_IMAGE:-vintem:\d/);
    for (const [key, value] of Object.entries(environment))
      if (/PASSWORD|SECRET|DATABASE_URL/.test(key)) expect(String(value), key).toMatch(/^\/run\/secrets\//);
  }
  const made = [...read('compose/secrets.sh').matchAll(/^make (\w+) /gm)].map(([, name]) => name);
  expect(made.sort()).toEqual(Object.keys(compose.secrets).sort());
});

test('compose: every file that it mounts exists', () => {
  const files = services.flatMap(([, { volumes = [] }]) => volumes).filter((one) => one.startsWith('./'));
  expect(files.length).toBeGreaterThan(5);
  for (const file of files) expect(existsSync(at(file.split(':')[0] as string)), file).toBe(true);
});

test('Dockerfile: pinned bases, another user than root, exec forms, the live check', () => {
  const text = read('image/Dockerfile');
  const bases = [...text.matchAll(/^FROM .*$/gm)].map(([line]) => line);
  for (const base of bases) expect(base).toMatch(/@sha256:[0-9a-f]{64}/);
  expect(text).toMatch(/^USER 65532:65532$/m);
  expect(text).toMatch(/HEALTHCHECK [^\n]*\\\n {2}CMD \[.*"check", "--live"\]/);
  expect(text).toMatch(/^ENTRYPOINT \["\/usr\/bin\/node", "server\/src\/main\/cli\/launch\.js"\]$/m);
});

test('units: the command of operators reads the settings as systemd reads them for the units', () => {
  expect(
    settingsIn(
      [
        'MAIL_FROM=Loja São João <pix@example.com>',
        'A=Loja de teste  ',
        '  B = x',
        'URL=https://pix.example/?a=1&b=2',
        'PASS=p$ss`word`;',
        '# comment \\',
        'AFTER=1',
        "SINGLE='a $b \\n' ",
        'DOUBLE="a \\"b\\" \\$c \\n"',
        'JOINED="a" "b"',
        'LONG=one \\',
        'two',
        'HASH=a#b',
        'EMPTY=',
        'not a name=1',
        'C=1\r',
        'C=2',
      ].join('\n'),
    ),
  ).toEqual({
    MAIL_FROM: 'Loja São João <pix@example.com>',
    A: 'Loja de teste',
    B: 'x',
    URL: 'https://pix.example/?a=1&b=2',
    PASS: 'p$ss`word`;',
    AFTER: '1',
    SINGLE: 'a $b \\n',
    DOUBLE: 'a "b" $c \\n',
    JOINED: 'ab',
    LONG: 'one two',
    HASH: 'a#b',
    EMPTY: '',
    C: '2',
  });
  expect(read('systemd/vintem.sh')).not.toMatch(/^\s*(\.|source|set -a) /m);
  const units = read('systemd/vintem-api.service');
  expect(Object.keys(settingsIn(read('systemd/settings.example')))).toContain('TRUSTED_PROXIES');
  expect(units).toContain('EnvironmentFile=/etc/vintem/settings');
});

test('units: every family of sockets that the program opens is allowed', () => {
  for (const part of ['api', 'worker', 'migrate', 'verify', 'backup'])
    expect(read(`systemd/vintem-${part}.service`)).toMatch(
      /^RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK$/m,
    );
});

test('units: no secret as a setting, and only the migration has the login of the owner', () => {
  for (const part of ['api', 'worker', 'migrate', 'verify', 'backup']) {
    const unit = read(`systemd/vintem-${part}.service`);
    expect(unit).not.toMatch(/^Environment=.*(?:VINTEM_SECRET|DATABASE_URL)=/m);
    expect(unit.includes('migration-database-url'), part).toBe(part === 'migrate');
    expect(unit).toMatch(
      /^RestartPreventExitStatus=2$/m.test(unit) ? /^Restart=on-failure$/m : /^Type=oneshot$/m,
    );
  }
});
