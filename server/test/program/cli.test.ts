import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finish } from '@vintem/testkit/command.ts';
import { createDatabase, type TestDatabase } from '@vintem/testkit/database.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Command } from '../../src/main/cli/command.ts';
import { commands } from '../../src/main/cli/commands.ts';
import { findCommand, help, overview, parseWords } from '../../src/main/cli/words.ts';

let db: TestDatabase;
let env: Record<string, string>;

beforeAll(async () => {
  db = await createDatabase({ empty: true });
  env = {
    DATABASE_URL: db.url,
    DATA_DIR: await mkdtemp(join(tmpdir(), 'vintem-cli-')),
    VINTEM_SECRET: randomBytes(32).toString('base64'),
  };
});
afterAll(async () => {
  await db.drop();
  await rm(env.DATA_DIR as string, { recursive: true });
});

const draftWords = [
  'transfer',
  'draft',
  '--operation',
  crypto.randomUUID(),
  '--pix-key',
  'a@b.example',
].concat(['--description', '', '--email', 'a@b.example']);

/** One document on standard output, exit code 0. */
async function json(...words: string[]) {
  const { code, stdout, stderr } = await finish([...words, '--json'], env);
  expect(code, stderr).toBe(0);
  expect(stdout.trimEnd().split('\n')).toHaveLength(1);
  return JSON.parse(stdout);
}

describe('the command line', () => {
  it('migrates once', async () => {
    const { applied } = await json('migrate');
    expect(applied[0]).toBe('0001_schema');
    expect(await json('migrate')).toEqual({ applied: [] });
    expect(await json('migrate', '--plan')).toEqual({ pending: [] });
  });

  it('works with a login of its own, since a superuser could leave the role of the service', async () => {
    const { stderr } = await finish(['account', 'list'], { ...env, LOG_LEVEL: 'warn' });
    expect(stderr).toBe('');
  });

  it('creates and lists accounts', async () => {
    const created = await json('account', 'create', '--name', 'Padaria São João', '--test');
    expect(created).toEqual({ ownerId: expect.any(String), operationId: expect.any(String) });
    const { accounts } = await json('account', 'list');
    expect(accounts).toEqual([
      {
        ...created,
        name: 'Padaria São João',
        test: true,
        enabled: true,
        withdrawalsBlocked: false,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z$/),
      },
    ]);
    const { entries } = await json('audit', 'list', '--account', created.ownerId);
    expect(entries).toMatchObject([
      { action: 'account.create', actor: expect.any(String), subject: created.ownerId },
    ]);
  });

  it('creates, lists and revokes keys, and shows a key once', async () => {
    const { ownerId } = (await json('account', 'list')).accounts[0];
    const wanted = ['--account', ownerId, '--name', 'till', '--permissions', 'read,charges'];
    const { id, key } = await json('key', 'create', ...wanted);
    expect(key).toMatch(new RegExp(`^vtm_test_${id}_\\w{49}$`));
    expect((await json('key', 'list', '--account', ownerId)).keys).toMatchObject([
      { id, name: 'till', permissions: ['read', 'charges'], revokedAt: null },
    ]);
    expect(await json('key', 'revoke', id)).toMatchObject({ id });
    const listed = await finish(['key', 'list', '--account', ownerId, '--json'], env);
    expect(listed.stdout).not.toContain(key);
    expect(JSON.parse(listed.stdout).keys[0].revokedAt).not.toBeNull();
  });

  it.each([
    [['frobnicate'], 'unknown command: frobnicate. See: npx vintem --help\n'],
    [['acount', 'list'], 'Did you mean `account list`?'],
    [['account', 'create', '--test'], '--name is missing'],
    [['account', 'create', '--name', 'x', '--test'], '2 to 64 characters'],
    [['account', 'create', '--name', 'Live one'], 'only test accounts'],
    [['account', 'list', '--what'], "'--what'"],
    [['key', 'create', '--account', 'no', '--name', 'n', '--permissions', 'read'], 'takes a UUID'],
    [
      ['key', 'create', '--account', crypto.randomUUID(), '--name', 'n', '--permissions', 'all'],
      '--permissions takes',
    ],
    [['key', 'revoke'], 'needs ID'],
    [['find', ' '], 'needs TEXT'],
    [['connection', 'create', '--name', 'n', '--adapter', 'banco', '--simulator'], '--adapter takes efi,'],
    [[...draftWords, '--amount-cents', '1e3', '--pix-key-type', 'EMAIL'], '--amount-cents takes a whole'],
    [[...draftWords, '--amount-cents', '2000', '--pix-key-type', 'MAIL'], '--pix-key-type takes CPF,'],
  ])('answers wrong usage with exit code 2: %j', async (words, reason) => {
    const { code, stdout, stderr } = await finish(words, env);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(reason);
  });

  it('answers what does not exist with exit code 1', async () => {
    const { code, stdout, stderr } = await finish(['key', 'revoke', 'aaaaaaaaaaaa'], env);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('there is no such key');
  });

  it.each([
    [['verify']],
    [['incident', 'list']],
    [['dispute', 'list']],
    [['audit', 'list']],
    [['audit', 'export', '/nowhere/audit.jsonl']],
    [['key', 'list']],
    [['member', 'list']],
    [['reconcile']],
    [['subject', 'export', '--name', 'Ana']],
  ])('names an account that there is not, instead of nothing found there: %j', async (words) => {
    const { code, stdout, stderr } = await finish(
      [...words, '--account', crypto.randomUUID(), '--json'],
      env,
    );
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('vintem: no such account\n');
  });

  it('lists every faulty setting with exit code 2', async () => {
    const { code, stderr } = await finish(['start'], { ...env, PORT: 'x', VINTEM_WHAT: '1' });
    expect(code).toBe(2);
    expect(stderr).toBe(
      'vintem: PORT: must be a port from 1 to 65535\nvintem: VINTEM_WHAT: is not a setting of vintem\n',
    );
  });

  it('explains itself, as a whole and each command', async () => {
    const whole = await finish(['--help'], env);
    expect([whole.code, whole.stdout]).toEqual([0, overview()]);
    const command = findCommand(['account', 'create']) as Command;
    const one = await finish(['account', 'create', '--help'], env);
    expect([one.code, one.stdout]).toEqual([0, help(command)]);
  });

  it.each(commands.map((command) => [command.name, command] as const))('explains %s', (name, command) => {
    expect(overview()).toContain(`\n  ${name} `);
    expect(findCommand([...name.split(' '), '--help'])).toBe(command);
    expect(parseWords(command, ['--help']).values.help).toBe(true);
    expect(help(command)).toContain(`vintem ${name}`);
  });
});
