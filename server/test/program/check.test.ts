import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endPrograms, finish, run } from '@vintem/testkit/command.ts';
import { createDatabase, type TestDatabase } from '@vintem/testkit/database.ts';
import { freePort } from '@vintem/testkit/free-port.ts';
import { openReceiver } from '@vintem/testkit/receiver.ts';
import { openService, type Service } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** `vintem check`, and what probes ask of the processes that serve. */

const secret = randomBytes(32).toString('base64');
let service: Service;
let empty: TestDatabase;
let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  [service, empty, folder] = await Promise.all([
    openService({ worker: false, env: { VINTEM_SECRET: secret } }),
    createDatabase({ empty: true }),
    mkdtemp(join(tmpdir(), 'vintem-check-')),
  ]);
  env = {
    DATABASE_URL: service.database.url,
    DATA_DIR: folder,
    VINTEM_SECRET: secret,
    SIMULATOR_URL: service.simulator.url,
    SIMULATOR_PORT: 'off',
    LOG_LEVEL: 'silent',
  };
});
afterAll(async () => {
  await endPrograms();
  await service?.close();
  await empty?.drop();
  await rm(folder, { recursive: true, force: true });
});

interface Checked {
  code: number | null;
  ok: boolean;
  checks: Record<string, { ok: boolean; message: string }>;
}

async function check(more: Record<string, string> = {}, ...words: string[]): Promise<Checked> {
  const { code, stdout, stderr } = await finish(['check', ...words, '--json'], { ...env, ...more });
  expect(stderr).toBe('');
  const { ok, checks } = JSON.parse(stdout) as {
    ok: boolean;
    checks: { name: string; ok: boolean; message: string }[];
  };
  return { code, ok, checks: Object.fromEntries(checks.map(({ name, ...rest }) => [name, rest])) };
}

describe('check', () => {
  it('finds an installation ready, names what it looked at, and exits with 0', async () => {
    const { code, ok, checks } = await check();
    expect({ code, ok }).toEqual({ code: 0, ok: true });
    expect(Object.keys(checks)).toEqual([
      'settings',
      'database',
      'migrations',
      'rights',
      'secret',
      'connection simulator',
      'mail',
    ]);
    expect(checks.database?.message).toMatch(/^PostgreSQL \d+/);
  });

  it('answers with a document and exit code 1 when a setting cannot be read', async () => {
    const { code, ok, checks } = await check({ PORT: 'none' });
    expect({ code, ok }).toEqual({ code: 1, ok: false });
    expect(checks.settings).toEqual({ ok: false, message: 'PORT: must be a port from 1 to 65535' });
  });

  it('says why the database cannot be used, without its password', async () => {
    const port = await freePort();
    const { code, checks } = await check({ DATABASE_URL: `postgres://u:hidden-word@127.0.0.1:${port}/v` });
    expect(code).toBe(1);
    expect(checks.database?.ok).toBe(false);
    expect(checks.database?.message).toContain('ECONNREFUSED');
    expect(JSON.stringify(checks)).not.toContain('hidden-word');
    expect(checks.mail?.ok).toBe(true);
  });

  it('names migrations that are missing, and applies none', async () => {
    const { code, checks } = await check({ DATABASE_URL: empty.url });
    expect(code).toBe(1);
    expect(checks.database?.ok).toBe(true);
    expect(checks.migrations?.message).toContain('run `vintem migrate`: 0001_schema');
    expect(checks.rights).toEqual({
      ok: false,
      message: 'the roles of the service are made by `vintem migrate`',
    });
    expect(await empty.admin(`SELECT FROM pg_namespace WHERE nspname = 'vintem'`)).toEqual([]);
  });

  it('names a role of the service that may change journals', async () => {
    await service.database.admin('GRANT UPDATE ON vintem.journal TO vintem_app');
    try {
      const { code, checks } = await check();
      expect(code).toBe(1);
      expect(checks.rights?.message).toContain('may change journals');
    } finally {
      await service.database.admin('REVOKE UPDATE ON vintem.journal FROM vintem_app');
    }
  });

  it('names another secret than the one of the installation, and does not claim it', async () => {
    const count = () => service.database.admin<{ id: string }>('SELECT id FROM sealing_secret ORDER BY id');
    const before = await count();
    const { code, checks } = await check({ VINTEM_SECRET: randomBytes(32).toString('base64') });
    expect(code).toBe(1);
    expect(checks.secret?.message).toContain('secrets that are not set');
    expect(await count()).toEqual(before);
  });

  it('asks each provider whether it takes the credentials', async () => {
    const { code, checks } = await check({ SIMULATOR_URL: `http://127.0.0.1:${await freePort()}` });
    expect(code).toBe(1);
    expect(checks['connection simulator']).toMatchObject({ ok: false });
  });

  it('asks the receiver of the audit log, where there is one', async () => {
    const receiver = await openReceiver();
    const AUDIT_FORWARD_URL = receiver.url;
    try {
      expect((await check({ AUDIT_FORWARD_URL })).checks['audit forward']).toEqual({
        ok: true,
        message: 'the receiver of the audit log answers',
      });
      expect(receiver.got.map(({ body }) => body)).toEqual([{ resourceLogs: [] }]);
      receiver.answer(401);
      const { code, checks } = await check({ AUDIT_FORWARD_URL });
      expect({ code, said: checks['audit forward']?.message }).toEqual({
        code: 1,
        said: 'the receiver of the audit log answers 401',
      });
    } finally {
      await receiver.stop();
    }
  });

  it('asks the mail server', async () => {
    const SMTP_URL = `smtp://127.0.0.1:${await freePort()}`;
    const { code, checks } = await check({ SMTP_URL, MAIL_FROM: 'a@example.com' });
    expect(code).toBe(1);
    expect(checks.mail?.message).toContain('ECONNREFUSED');
  });
});

describe('doctor', () => {
  it('examines each connection beside a running service, and its exit code says whether one has a fault', async () => {
    const doctor = async (more: Record<string, string>, ...words: string[]) => {
      const { code, stdout } = await finish(['doctor', ...words], { ...env, ...more });
      return { code, stdout };
    };
    const beside = { PORT: new URL(service.url).port };
    const well = await doctor(beside, '--json');
    expect(JSON.parse(well.stdout)).toMatchObject({
      ok: true,
      connections: [{ connection: 'simulator', adapter: 'environment' }],
    });
    expect(well.code).toBe(0);
    const alone = await doctor({ PORT: String(await freePort()) }, '--connection', 'simulator');
    expect(alone.code).toBe(1);
    expect(alone.stdout).toMatch(/FAULT +simulator +way in +our address is not reached: ECONNREFUSED/);
    expect((await doctor(beside, '--connection', 'nobody')).code).not.toBe(0);
  });
});

describe('probes', () => {
  it('a worker answers them on METRICS_PORT for `check --live`; a second process on that port fails with advice', async () => {
    const own = { ...env, METRICS_PORT: String(await freePort()), LOG_LEVEL: 'warn' };
    expect((await check(own, '--live')).code).toBe(1);
    const worker = run(['worker'], own);
    await worker.line('vintem worker ready');
    const url = `http://127.0.0.1:${own.METRICS_PORT}`;
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ ok: true });
    await expect.poll(async () => (await fetch(`${url}/readyz`)).status).toBe(200);
    expect((await check(own, '--live')).checks.process).toEqual({
      ok: true,
      message: `${url}/healthz answers`,
    });
    const second = await finish(['worker'], own);
    expect(second.code).toBe(2);
    expect(second.stderr).toContain('every process on a machine needs a METRICS_PORT of its own');
    worker.kill('SIGTERM');
    expect((await worker.exit).code).toBe(0);
  });

  it('a worker whose database cannot write lives and is not ready', async () => {
    const own = { ...env, METRICS_PORT: String(await freePort()), LOG_LEVEL: 'silent' };
    const worker = run(['worker'], own);
    await worker.line('vintem worker ready');
    const url = `http://127.0.0.1:${own.METRICS_PORT}`;
    await service.database.admin('REVOKE INSERT ON vintem.write_probe FROM vintem_app');
    try {
      const ready = async () => (await fetch(`${url}/readyz`)).json();
      await expect.poll(ready).toEqual({ ok: false, problems: ['the database cannot write'] });
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
    } finally {
      await service.database.admin('GRANT INSERT ON vintem.write_probe TO vintem_app');
    }
    worker.kill('SIGTERM');
    await worker.exit;
  });

  it('an api answers `check --live` on PORT', async () => {
    const own = { ...env, PORT: String(await freePort()) };
    const api = run(['api'], own);
    await api.line('vintem api ready');
    expect((await check(own, '--live')).ok).toBe(true);
    api.kill('SIGTERM');
    await api.exit;
  });
});
